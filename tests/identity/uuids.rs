//! UUIDs that are not one machine's alone, and both byte orders of one.

use crate::common::{alice, world};
use crate::{has_reason, node_exists};
use anyhow::{Result, ensure};
use ichor::runtime::clock;
use ichor_crds::ReclaimPhase;
use ichor_crds::conditions::reclaim as reason;
use ichor_ground::controller::NAMESPACE;
use ichor_ground::{ClusterSetup, Request, eventually};
use ichor_simulator::KubernetesNode;
use serde_json::json;

const BOARD: &str = "4c4c4544-0042-3510-8052-b4c04f463133";
const SWAPPED: &str = "44454c4c-4200-1035-8052-b4c04f463133";

/// FAULTS 12 (omni#3341, #2836): a second machine with the UUID of a machine that is being reclaimed is refused, and the
/// first one is not touched by it.
#[tokio::test]
async fn faults_12_a_second_machine_with_the_same_uuid_is_refused() -> Result<()> {
    let (world, alice) = (world().await?, alice().await?);
    let setup = ClusterSetup {
        orphans: 2,
        adjust: |node| {
            if node.name.contains("orphan") {
                node.uuid = Some("9f0e8d7c-1111-4222-8333-0123456789ab".to_owned());
            }
        },
        ..ClusterSetup::new("twins")
    };
    let cluster = world.cluster(&setup).await?;
    let (first, second) = (cluster.node("orphan-1")?, cluster.node("orphan-2")?);
    let request = Request::create(&alice, first.address(), "twins").await?;
    request.inspected().await?;
    // Kubernetes keeps whole seconds, and of requests of one second either may be the first.
    let made = clock::now().as_second();
    eventually("the next second", async || {
        Ok((clock::now().as_second() > made).then_some(()))
    })
    .await?;
    let other = Request::create(&alice, second.address(), "twins").await?;
    let refused = other.reaches(ReclaimPhase::Refused).await?;
    ensure!(has_reason(&refused, reason::MACHINE_BUSY), "{refused:?}");
    request.confirm(first.uuid()).await?;
    request.reaches(ReclaimPhase::Done).await?;
    ensure!(first.in_maintenance() && !second.in_maintenance());
    ensure!(second.calls_of("Reset").is_empty() && cluster.resets() == 1);
    Ok(())
}

/// FAULTS 12: a machine with the UUID of an approved one is not an orphan.
#[tokio::test]
async fn faults_12_the_uuid_of_an_approved_machine_is_refused() -> Result<()> {
    let (world, alice) = (world().await?, alice().await?);
    let setup = ClusterSetup {
        workers: 1,
        adjust: |node| {
            if !node.name.contains("-cp-") {
                node.uuid = Some("8e0e8d7c-1111-4222-8333-0123456789ab".to_owned());
            }
        },
        ..ClusterSetup::new("lookalike")
    };
    let cluster = world.cluster(&setup).await?;
    let request = Request::create(&alice, cluster.node("orphan-1")?.address(), "lookalike").await?;
    let status = request.reaches(ReclaimPhase::Refused).await?;
    let text = status.result.unwrap_or_default();
    ensure!(text.contains("Remove node"), "{text}");
    ensure!(cluster.resets() == 0 && cluster.node("worker-1")?.calls().is_empty());
    Ok(())
}

/// DESIGN section 18, decision 9: "The swapped byte order of a UUID counts for membership (no false orphan)".
#[tokio::test]
async fn decision_9_an_approved_machine_in_the_other_byte_order_is_refused() -> Result<()> {
    let (world, alice) = (world().await?, alice().await?);
    let setup = ClusterSetup {
        adjust: |node| {
            if node.name.ends_with("orphan-1") {
                node.uuid = Some(BOARD.to_owned());
            }
        },
        ..ClusterSetup::new("byte-order")
    };
    let cluster = world.cluster(&setup).await?;
    let node = cluster.node("orphan-1")?;
    let approved = json!({
        "apiVersion": "ichor.maesh.dev/v1alpha1", "kind": "TalosMachine",
        "metadata": {"name": SWAPPED, "namespace": NAMESPACE},
        "spec": {
            "clusterRef": {"name": "byte-order"}, "approval": "Approved", "role": "worker",
            "identity": {"uuid": SWAPPED, "serial": node.serial(), "macs": node.macs()},
            "endpoint": node.address().to_string(), "hostname": "printed-otherwise", "install": {"disk": "/dev/sda"},
            "maintenanceFingerprint": "5MyYvGEYNLhaDCqSeI9zIZPmSsO3a7hQnaMsmcjM2aU=",
        },
    });
    cluster.kubectl().apply(&approved.to_string()).await?;
    let request = Request::create(&alice, node.address(), "byte-order").await?;
    let status = request.reaches(ReclaimPhase::Refused).await?;
    let text = status.result.unwrap_or_default();
    ensure!(
        text.contains("Remove node") && text.contains("printed-otherwise"),
        "{text}"
    );
    ensure!(cluster.resets() == 0);
    Ok(())
}

/// Decision 9: "deleting a Node then also needs the name": here it has it.
#[tokio::test]
async fn decision_9_a_node_in_the_other_byte_order_is_deleted_by_name() -> Result<()> {
    let (world, alice) = (world().await?, alice().await?);
    let setup = ClusterSetup {
        adjust: |node| {
            if node.name.ends_with("orphan-1") {
                node.uuid = Some("4c4c4544-0042-3510-8052-b4c04f463134".to_owned());
                node.kubernetes_node = KubernetesNode {
                    system_uuid: Some("44454c4c-4200-1035-8052-b4c04f463134".to_owned()),
                    ..KubernetesNode::default()
                };
            }
        },
        ..ClusterSetup::new("kubelet-order")
    };
    let cluster = world.cluster(&setup).await?;
    let node = cluster.node("orphan-1")?;
    let name = "kubelet-order-orphan-1";
    eventually("the Node", async || {
        Ok(node_exists(&cluster, name).await?.then_some(()))
    })
    .await?;
    Request::create(&alice, node.address(), "kubelet-order")
        .await?
        .confirm_and_finish(node.uuid())
        .await?;
    ensure!(!node_exists(&cluster, name).await?);
    Ok(())
}
