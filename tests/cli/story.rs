//! `ichor machine reclaim` from the request to the registered address.

use crate::common::{alice, world};
use crate::terminal::{in_order, reclaim, run, says};
use anyhow::{Context, Result, ensure};
use ichor_ground::controller::NAMESPACE;
use ichor_ground::{ClusterSetup, GroundCluster, Request, eventually};
use serde_json::{Value, json};

/// `spec.discovery.addresses` of a cluster.
async fn discovery(cluster: &GroundCluster) -> Result<Value> {
    let get = [
        "get",
        "taloscluster",
        &cluster.name,
        "-n",
        NAMESPACE,
        "-o",
        "json",
    ];
    let object: Value = serde_json::from_str(&cluster.kubectl().run(&get).await?)?;
    Ok(object["spec"]["discovery"]["addresses"].clone())
}

/// Merges `discovery` into the cluster, as another writer.
async fn set_discovery(cluster: &GroundCluster, discovery: &Value) -> Result<()> {
    let patch = json!({"spec": {"discovery": discovery}}).to_string();
    let args = [
        "patch",
        "taloscluster",
        &cluster.name,
        "-n",
        NAMESPACE,
        "--type=merge",
        "-p",
        &patch,
    ];
    cluster.kubectl().run(&args).await.map(drop)
}

/// Record 0136: "creates the request as the user …, prints the controller's inspection, asks for the UUID, patches
/// confirmUUID, waits for Done and registers the address".
#[tokio::test]
async fn one_command_tells_the_whole_story() -> Result<()> {
    let (world, alice) = (world().await?, alice().await?);
    let setup = ClusterSetup {
        adjust: |node| node.user_volumes = vec!["data".to_owned()],
        ..ClusterSetup::new("story")
    };
    let cluster = world.cluster(&setup).await?;
    let orphan = cluster.node("orphan-1")?;
    let (address, uuid) = (orphan.address().to_string(), orphan.uuid().to_lowercase());
    eventually("the Node", async || {
        Ok(cluster
            .kubectl()
            .run(&["get", "node", "story-orphan-1"])
            .await
            .ok())
    })
    .await?;
    let said = reclaim(&alice, &orphan, "story", &[], &format!("{uuid}\n")).await?;
    says(&said, 0, &[])?;
    in_order(
        &said,
        &[
            "request machinereclaim/reclaim-",
            "created as alice",
            "inspect",
            &format!("{address} answered with the credentials of cluster story ("),
            "machine",
            &uuid,
            "serial",
            "hostname",
            "story-orphan-1, role worker, Talos v1.14.0-beta.1, cluster story",
            "node",
            "story-orphan-1 (its system UUID matches: it will be deleted)",
            "wiped",
            "STATE, EPHEMERAL",
            "kept",
            "data",
            "warning",
            &format!("ichor adopt --cluster story --add-machine {address}"),
            "Everything on STATE and EPHEMERAL will be destroyed.",
            "Type the machine's UUID to wipe it:",
            "reset sent (graceful)",
            "reboot the machine stopped answering",
            "wait in maintenance mode, same UUID, serial and MACs",
            "done",
            "story-orphan-1 deleted",
            &format!("{address} added to discovery of story"),
            "Approve it when it appears:",
            &format!("ichor machine approve {uuid} --role worker"),
        ],
    )?;
    ensure!(orphan.in_maintenance() && cluster.resets() == 1);
    ensure!(discovery(&cluster).await? == json!([address]));
    ensure!(
        !said.out.contains('\u{1b}'),
        "colours without a terminal: {:?}",
        said.out
    );
    Ok(())
}

/// DESIGN section 11: the address is added "where no address or CIDR there covers it"; other writers' entries stay.
#[tokio::test]
async fn the_address_is_registered_where_nothing_covers_it() -> Result<()> {
    let (world, alice) = (world().await?, alice().await?);
    let cluster = world
        .cluster(&ClusterSetup {
            orphans: 3,
            ..ClusterSetup::new("register")
        })
        .await?;
    set_discovery(&cluster, &json!({"addresses": ["10.0.0.9"]})).await?;
    let mut known = vec![json!("10.0.0.9")];
    for short in ["orphan-1", "orphan-2"] {
        let orphan = cluster.node(short)?;
        says(
            &reclaim(&alice, &orphan, "register", &[], orphan.uuid()).await?,
            0,
            &["added to discovery of register"],
        )?;
        known.push(json!(orphan.address().to_string()));
        let now = discovery(&cluster).await?;
        let now = now.as_array().context("a list")?;
        ensure!(
            now.len() == known.len() && known.iter().all(|entry| now.contains(entry)),
            "{now:?}"
        );
    }
    let covered = cluster.node("orphan-3")?;
    let network = format!("{}/24", covered.address());
    set_discovery(&cluster, &json!({"cidrs": [network]})).await?;
    let said = reclaim(&alice, &covered, "register", &[], covered.uuid()).await?;
    says(
        &said,
        0,
        &[&format!(
            "discovery of register covers {} already ({network})",
            covered.address()
        )],
    )?;
    ensure!(
        discovery(&cluster)
            .await?
            .as_array()
            .is_some_and(|list| list.len() == known.len())
    );
    Ok(())
}

/// Record 0136, "Quorum": `--force` asks for the cluster's name as well.
#[tokio::test]
async fn force_asks_for_the_name_of_the_cluster() -> Result<()> {
    let (world, alice) = (world().await?, alice().await?);
    let setup = ClusterSetup {
        control_planes: 0,
        orphans: 0,
        orphan_control_planes: 1,
        ..ClusterSetup::new("forced")
    };
    let cluster = world.cluster(&setup).await?;
    let orphan = cluster.node("orphan-cp-1")?;
    let said = reclaim(&alice, &orphan, "forced", &[], "").await?;
    says(&said, 1, &["refused", "last control plane", "--force"])?;
    let uuid = orphan.uuid();
    let said = reclaim(
        &alice,
        &orphan,
        "forced",
        &["--force"],
        &format!("{uuid}\nprod\nforced\n"),
    )
    .await?;
    says(
        &said,
        0,
        &[
            "Type the cluster's name",
            "that is not the cluster's name",
            "done",
        ],
    )?;
    ensure!(orphan.in_maintenance() && cluster.resets() == 1);
    Ok(())
}

/// Somebody else answers while the command still asks: it follows, and does not insist.
#[tokio::test]
async fn a_request_confirmed_elsewhere_is_followed() -> Result<()> {
    let (world, alice) = (world().await?, alice().await?);
    let cluster = world.cluster(&ClusterSetup::new("elsewhere")).await?;
    let orphan = cluster.node("orphan-1")?;
    let request = Request::create(&alice, orphan.address(), "elsewhere").await?;
    request.inspected().await?;
    request.confirm(orphan.uuid()).await?;
    let said = run(
        &alice,
        &["machine", "reclaim", "--request", &request.name],
        "",
    )
    .await?;
    says(&said, 0, &["done", "added to discovery of elsewhere"])
}
