//! Status is the controller's own record, and still nothing is decided from it that can be read again (DESIGN section 4,
//! "Without the webhook"): with the policy gone and the status forged by an administrator, no machine is wiped and no
//! Node deleted that nobody confirmed.

use crate::{common, node_exists};
use anyhow::{Result, ensure};
use ichor_crds::ReclaimPhase;
use ichor_ground::{ClusterSetup, Controller, GroundCluster, Request, World, eventually};
use ichor_simulator::{NodeHandle, StartMode};
use serde_json::{Value, json};

/// Writes a status as an administrator.
async fn forge(cluster: &GroundCluster, request: &Request, status: &Value) -> Result<bool> {
    let change = json!({"status": status});
    let kubectl = cluster.kubectl();
    let said = kubectl
        .merge(
            "machinereclaim",
            &request.name,
            &change,
            &["--subresource=status"],
        )
        .await?;
    ensure!(
        said.ok || said.err.contains("it is the record of the controller"),
        "{said:?}"
    );
    Ok(said.ok)
}

fn identity(node: &NodeHandle) -> Value {
    json!({"uuid": node.uuid(), "serial": node.serial(), "macs": node.macs()})
}

fn record(node: &NodeHandle) -> Value {
    json!({"recordedAt": "2026-01-01T00:00:00Z", "identity": identity(node), "bootID": node.boot_id(), "graceful": true})
}

#[tokio::test]
async fn a_forged_status_wipes_no_machine_and_deletes_no_node() -> Result<()> {
    let mut world = World::start(common::ichor()).await?;
    let alice = world.operator("alice").await?;
    let setup = ClusterSetup {
        orphans: 5,
        adjust: |node| {
            if node.name.ends_with("orphan-5") {
                node.mode = StartMode::Maintenance;
            }
        },
        ..ClusterSetup::new("forged")
    };
    let cluster = world.cluster(&setup).await?;
    let nodes: Vec<NodeHandle> = (1..=5)
        .map(|number| cluster.node(&format!("orphan-{number}")))
        .collect::<Result<_>>()?;
    let mut requests = Vec::new();
    for node in &nodes {
        requests.push(Request::create(&alice, node.address(), "forged").await?);
    }
    for request in &requests[..4] {
        request.inspected().await?;
    }
    requests[4].reaches(ReclaimPhase::Refused).await?;
    ensure!(
        !forge(&cluster, &requests[0], &json!({"phase": "Done"})).await?,
        "the policy refuses it"
    );
    let kubectl = cluster.kubectl();
    for kind in [
        "validatingadmissionpolicybinding",
        "validatingadmissionpolicy",
    ] {
        kubectl
            .run(&["delete", kind, "ichor-status-writers"])
            .await?;
    }
    // Nothing in its cache: a controller that starts reads what is stored.
    world.controller.kill().await?;
    let inspection = |node: &NodeHandle, hostname: &str| json!({"identity": identity(node), "hostname": hostname, "role": "worker", "managedCluster": "forged", "clusterID": "forged"});
    let forgeries = [
        // "The reset is recorded": only watched.
        json!({"phase": "Resetting", "reset": record(&nodes[0])}),
        // "The machine was accepted and stopped": only watched.
        json!({"phase": "AwaitingMaintenance", "reset": record(&nodes[1]), "progress": {"stoppedAt": "2026-01-01T00:00:01Z"}}),
        // "This is another machine": what is typed for it does not wipe this one.
        json!({"phase": "AwaitingConfirmation", "inspection": inspection(&nodes[0], "forged-orphan-1")}),
        // "It is wiped": nothing is done.
        json!({"phase": "Done", "result": "wiped", "completedAt": "2026-01-01T00:00:01Z"}),
        // A machine in maintenance mode, on another boot than "the recorded one": "it was this Node", and so it was.
        json!({"phase": "AwaitingMaintenance", "completedAt": null, "result": null, "conditions": [],
            "reset": {"recordedAt": "2026-01-01T00:00:00Z", "identity": identity(&nodes[4]), "bootID": "another", "graceful": true},
            "inspection": inspection(&nodes[4], "forged-orphan-5")}),
    ];
    kubectl
        .create_node("forged-orphan-5", nodes[4].uuid())
        .await?;
    for (request, status) in requests.iter().zip(&forgeries) {
        eventually("the policy to be gone", async || {
            Ok(forge(&cluster, request, status).await?.then_some(()))
        })
        .await?;
    }
    world.controller = Controller::start(&world.plane, &world.options).await?;

    requests[0].reaches(ReclaimPhase::Failed).await?;
    requests[1].reaches(ReclaimPhase::Failed).await?;
    // Its machine is back and has the Node's UUID: what is missing is that anybody typed it.
    let done = requests[4].reaches(ReclaimPhase::Done).await?;
    let result = done.result.unwrap_or_default();
    ensure!(result.contains("nobody confirmed this machine"), "{result}");
    let typed = eventually("the webhook to be back", async || {
        let patch = json!({"confirmUUID": nodes[0].uuid()});
        let said = requests[2].patch(patch).await?;
        Ok((!said.err.contains("failed calling webhook")).then_some(said))
    })
    .await?;
    // Admission judges the UUID by the forged inspection and takes it; the machine does not.
    ensure!(typed.ok, "{typed:?}");
    requests[2].reaches(ReclaimPhase::Refused).await?;
    ensure!(cluster.resets() == 0, "no machine was wiped");
    for number in 1..=5 {
        let node = format!("orphan-{number}");
        let name = format!("forged-{node}");
        ensure!(node_exists(&cluster, &name).await?, "{name} was deleted");
    }
    Ok(())
}
