//! The program under the names of kubectl's plugins.

use crate::common::{alice, world};
use crate::terminal::{kubectl, plugins, says};
use anyhow::{Result, ensure};
use ichor_ground::controller::NAMESPACE;
use ichor_ground::{ClusterSetup, eventually};

/// Issue "Command line": `kubectl create machinereclaim` only creates, and prints what `kubectl create` prints.
#[tokio::test]
async fn kubectl_create_machinereclaim_creates_and_prints_as_kubectl_does() -> Result<()> {
    let (world, alice) = (world().await?, alice().await?);
    let cluster = world.cluster(&ClusterSetup::new("plugged")).await?;
    let orphan = cluster.node("orphan-1")?;
    let (path, address) = (plugins(&alice)?, orphan.address().to_string());
    let create = ["create", "machinereclaim", &address, "--cluster", "plugged"];
    let with = |flags: &[&'static str]| [&create[..], flags].concat();
    let count = async || -> Result<usize> {
        let names = alice
            .run(&["get", "machinereclaims", "-n", NAMESPACE, "-o", "json"])
            .await?;
        Ok(names.matches(&format!("\"{address}\"")).count())
    };

    let said = kubectl(
        &alice,
        &path,
        &with(&["--dry-run=client", "-o", "yaml"]),
        "",
    )
    .await?;
    says(
        &said,
        0,
        &[
            "kind: MachineReclaim",
            "generateName: reclaim-",
            "clusterCredentials: true",
        ],
    )?;
    let said = kubectl(&alice, &path, &with(&["--dry-run=server"]), "").await?;
    says(
        &said,
        0,
        &[
            "machinereclaim.ichor.maesh.dev/reclaim-",
            "created (server dry run)",
        ],
    )?;
    ensure!(count().await? == 0, "a dry run left something");
    let said = kubectl(&alice, &path, &with(&["-n", "default"]), "").await?;
    says(&said, 1, &["forbidden"]).or_else(|_| says(&said, 1, &["Forbidden"]))?;

    // --as without the verb, as somebody who may impersonate.
    let admin = cluster.kubectl();
    let said = kubectl(admin, &path, &with(&["--as", "dev"]), "").await?;
    ensure!(
        said.code == Some(1) && said.err.starts_with("Error from server (Forbidden): "),
        "{said:?}"
    );
    let role = [
        "create",
        "role",
        "writer",
        "--verb=create",
        "--resource=machinereclaims.ichor.maesh.dev",
        "-n",
        NAMESPACE,
    ];
    admin.run(&role).await?;
    admin
        .run(&[
            "create",
            "rolebinding",
            "dev-writer",
            "--role=writer",
            "--user=dev",
            "-n",
            NAMESPACE,
        ])
        .await?;
    let said = eventually("RBAC to let dev create", async || {
        let said = kubectl(admin, &path, &with(&["--as", "dev"]), "").await?;
        Ok(said.err.contains("verb \"reclaim\"").then_some(said))
    })
    .await?;
    ensure!(
        said.code == Some(1) && said.err.starts_with("Error from server (Forbidden): "),
        "{said:?}"
    );
    says(&said, 1, &["ichor-operator"])?;

    let said = kubectl(&alice, &path, &create, "").await?;
    let line = said.out.trim_end();
    ensure!(
        said.ok
            && line.starts_with("machinereclaim.ichor.maesh.dev/reclaim-")
            && line.ends_with(" created"),
        "{said:?}"
    );
    ensure!(count().await? == 1);
    let said = kubectl(&alice, &path, &with(&["-o", "name"]), "").await?;
    says(&said, 1, &["spec.address: Duplicate value"])?;
    ensure!(cluster.resets() == 0, "creating wipes nothing");
    Ok(())
}

/// `kubectl ichor …` is `ichor …`, and says so in its help.
#[tokio::test]
async fn kubectl_ichor_is_ichor() -> Result<()> {
    let (world, alice) = (world().await?, alice().await?);
    let cluster = world.cluster(&ClusterSetup::new("kubectl")).await?;
    let (path, orphan) = (plugins(&alice)?, cluster.node("orphan-1")?);
    let said = kubectl(&alice, &path, &["ichor", "machine", "--help"], "").await?;
    says(&said, 0, &["kubectl ichor machine", "reclaim"])?;
    let address = orphan.address().to_string();
    let args = [
        "ichor",
        "machine",
        "reclaim",
        &address,
        "--cluster",
        "kubectl",
    ];
    let said = kubectl(&alice, &path, &args, orphan.uuid()).await?;
    says(&said, 0, &["done", "added to discovery of kubectl"])?;
    ensure!(cluster.resets() == 1);
    Ok(())
}
