//! Machines of clusters that Ichor does not manage, opened with a talosconfig.

use crate::common::{alice, world};
use crate::terminal::{run, says};
use anyhow::{Context, Result, ensure};
use ichor_ground::controller::NAMESPACE;
use ichor_ground::{ClusterSetup, eventually};
use serde_json::Value;
use tempfile::TempDir;

/// `--talosconfig`: needs rights on Secrets, which the operator role does not have by design; one context is stored, and
/// it goes with the request.
#[tokio::test]
async fn a_talosconfig_is_stored_for_the_request_and_goes_with_it() -> Result<()> {
    let (world, alice) = (world().await?, alice().await?);
    let cluster = world.cluster(&ClusterSetup::new("lab")).await?;
    let orphan = cluster.node("orphan-1")?;
    let folder = TempDir::new()?;
    let file = folder.path().join("talosconfig");
    std::fs::write(&file, cluster.fleet.admin_talosconfig("lab")?)?;
    let (address, file) = (
        orphan.address().to_string(),
        file.to_str().context("UTF-8")?,
    );
    let args = ["machine", "reclaim", &address, "--talosconfig", file];
    says(
        &run(&alice, &args, "").await?,
        1,
        &[
            "you may not get, patch, delete Secrets in namespace ichor-system",
            "kubectl create secret generic NAME -n ichor-system --type=ichor.maesh.dev/talosconfig",
            "--credential-secret NAME",
        ],
    )?;

    let sally = world.operator("sally").await?;
    let admin = cluster.kubectl();
    let role = [
        "create",
        "role",
        "talosconfigs",
        "--verb=create,get,patch,delete",
        "--resource=secrets",
        "-n",
        NAMESPACE,
    ];
    admin.run(&role).await?;
    let bind = [
        "create",
        "rolebinding",
        "sally-talosconfigs",
        "--role=talosconfigs",
        "--user=sally",
        "-n",
        NAMESPACE,
    ];
    admin.run(&bind).await?;
    let wrong = [&args[..], &["--context", "prod"]].concat();
    says(
        &run(&sally, &wrong, "").await?,
        1,
        &["has no context \"prod\"; it has: lab"],
    )?;
    let right = [&args[..], &["--context", "lab", "-o", "json"]].concat();
    let said = run(&sally, &right, orphan.uuid()).await?;
    says(
        &said,
        0,
        &[
            "answered with the talosconfig in Secret reclaim-talosconfig-",
            "done",
        ],
    )?;
    ensure!(orphan.in_maintenance());

    let request: Value = serde_json::from_str(&said.out)?;
    let secret = request["spec"]["credentialSecretRef"]["name"]
        .as_str()
        .context("a Secret")?;
    let get = ["get", "secret", secret, "-n", NAMESPACE, "-o", "json"];
    let stored: Value = serde_json::from_str(&admin.run(&get).await?)?;
    ensure!(
        stored["metadata"]["ownerReferences"][0]["uid"] == request["metadata"]["uid"],
        "it has no owner"
    );
    let name = request["metadata"]["name"].as_str().context("a name")?;
    sally
        .run(&["delete", "machinereclaim", name, "-n", NAMESPACE])
        .await?;
    eventually("the Secret to go with the request", async || {
        Ok(admin
            .try_run(&get)
            .await?
            .err
            .contains("NotFound")
            .then_some(()))
    })
    .await
}
