//! Two control planes of one cluster reclaimed at the same moment: the lock orders them, and etcd keeps its quorum
//! (DESIGN sections 10 and 18, decisions 10 and 12; FAULTS 17).

use crate::common::{alice, world};
use anyhow::{Result, ensure};
use ichor_crds::ReclaimPhase;
use ichor_crds::conditions::machine::CLUSTER_SHUTTING_DOWN;
use ichor_crds::conditions::reclaim as reason;
use ichor_ground::controller::NAMESPACE;
use ichor_ground::{ClusterSetup, GroundCluster, Request};
use ichor_simulator::{Action, Fault};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// What was seen of etcd while others acted.
#[derive(Default)]
struct Seen {
    quorum_lost: bool,
    /// The second reset came while the first machine was a member.
    overlapped: bool,
}

/// Looks at etcd all the time until `over`.
async fn sample(cluster: &GroundCluster, at_first: usize, over: &AtomicBool) -> Result<Seen> {
    let mut seen = Seen::default();
    while !over.load(Ordering::SeqCst) {
        let resets = cluster.resets();
        let members = cluster.fleet.etcd_members(&cluster.name)?;
        let voters = members.iter().filter(|member| !member.learner).count();
        let healthy = members
            .iter()
            .filter(|member| !member.learner && member.running)
            .count();
        seen.quorum_lost |= healthy * 2 <= voters;
        seen.overlapped |= resets == 2 && members.len() == at_first;
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    Ok(seen)
}

/// Asks for both orphaned control planes, types both UUIDs at once, and gives the phases they end in.
async fn both(cluster: &GroundCluster) -> Result<Vec<ReclaimPhase>> {
    let alice = alice().await?;
    let nodes = [cluster.node("orphan-cp-1")?, cluster.node("orphan-cp-2")?];
    let mut requests = Vec::new();
    for node in &nodes {
        let request = Request::create(&alice, node.address(), &cluster.name).await?;
        request.inspected().await?;
        requests.push(request);
    }
    let (one, two) = tokio::join!(
        requests[0].confirm(nodes[0].uuid()),
        requests[1].confirm(nodes[1].uuid())
    );
    one?;
    two?;
    let mut phases = Vec::new();
    for request in &requests {
        let ended = request.until("the end", |status| status.phase.is_final());
        phases.push(ended.await?.phase);
    }
    Ok(phases)
}

async fn watched(cluster: &GroundCluster, at_first: usize) -> Result<(Vec<ReclaimPhase>, Seen)> {
    let over = Arc::new(AtomicBool::new(false));
    let act = async {
        let phases = both(cluster).await;
        over.store(true, Ordering::SeqCst);
        phases
    };
    let (phases, seen) = tokio::join!(act, sample(cluster, at_first, &over));
    Ok((phases?, seen?))
}

/// Of four members two go, one after the other: at once, they would take the quorum with them.
#[tokio::test]
async fn two_of_four_control_planes_go_one_after_the_other() -> Result<()> {
    let setup = ClusterSetup {
        control_planes: 2,
        orphans: 0,
        orphan_control_planes: 2,
        ..ClusterSetup::new("two-of-four")
    };
    let cluster = world().await?.cluster(&setup).await?;
    let (phases, seen) = watched(&cluster, 4).await?;
    ensure!(
        phases == [ReclaimPhase::Done, ReclaimPhase::Done],
        "{phases:?}"
    );
    ensure!(!seen.quorum_lost, "quorum was lost");
    ensure!(!seen.overlapped, "both were under way at once");
    ensure!(cluster.fleet.etcd_members("two-of-four")?.len() == 2);
    ensure!(cluster.resets() == 2);
    Ok(())
}

/// Of three members two are orphans, and nobody but the one approved control plane can vouch for a member: neither goes
/// ("members' health is asked of the cluster's approved control planes …, unknown counts as unhealthy", section 11).
#[tokio::test]
async fn faults_17_of_three_members_that_one_vouches_for_none_goes() -> Result<()> {
    let setup = ClusterSetup {
        control_planes: 1,
        orphans: 0,
        orphan_control_planes: 2,
        ..ClusterSetup::new("two-of-three")
    };
    let cluster = world().await?.cluster(&setup).await?;
    let alice = alice().await?;
    let mut requests = Vec::new();
    for short in ["orphan-cp-1", "orphan-cp-2"] {
        let address = cluster.node(short)?.address();
        requests.push(Request::create(&alice, address, "two-of-three").await?);
    }
    for request in &requests {
        let status = request.reaches(ReclaimPhase::Refused).await?;
        let text = status.result.unwrap_or_default();
        ensure!(text.contains("quorum"), "{text}");
    }
    ensure!(cluster.resets() == 0 && cluster.fleet.etcd_members("two-of-three")?.len() == 3);
    Ok(())
}

/// A control plane lists the members of etcd and does not say which one it is, while another is down: whether it may go
/// cannot be judged, so it waits, and nothing is sent.
#[tokio::test]
async fn faults_17_a_member_that_does_not_name_itself_is_waited_for() -> Result<()> {
    let setup = ClusterSetup {
        control_planes: 3,
        orphans: 0,
        orphan_control_planes: 1,
        ..ClusterSetup::new("nameless")
    };
    let cluster = world().await?.cluster(&setup).await?;
    let orphan = cluster.node("orphan-cp-1")?;
    let request = Request::create(&alice().await?, orphan.address(), "nameless").await?;
    request.inspected().await?;
    let refusal = |code: i32, message: &str| Action::Refuse {
        code,
        message: message.to_owned(),
    };
    orphan.fault(Fault::on("EtcdStatus", refusal(14, "etcd is busy")));
    let gone = Fault::on("Get", refusal(5, "resource doesn't exist"));
    orphan.fault(gone.resource("EtcdMembers.etcd.talos.dev"));
    let down = cluster.node("cp-2")?;
    down.power_off();
    request.confirm(orphan.uuid()).await?;
    let status = request
        .until("the member to be missed", |status| {
            let mut all = status.conditions.iter();
            all.any(|one| {
                one.reason == reason::NOT_READY && one.message.contains("which one it is")
            })
        })
        .await?;
    ensure!(
        status.reset.is_none() && cluster.resets() == 0,
        "{status:?}"
    );
    orphan.clear_faults();
    request.reaches(ReclaimPhase::Done).await?;
    ensure!(cluster.resets() == 1 && orphan.in_maintenance());
    Ok(())
}

/// Record 0067, decision 3: while a shutdown of the cluster is not completed, no control plane of it is taken away; deleting
/// the operation is the way out.
#[tokio::test]
async fn record_0067_nothing_is_taken_away_while_the_cluster_is_shut_down() -> Result<()> {
    let setup = ClusterSetup {
        control_planes: 3,
        orphans: 0,
        orphan_control_planes: 1,
        ..ClusterSetup::new("stopping")
    };
    let cluster = world().await?.cluster(&setup).await?;
    let orphan = cluster.node("orphan-cp-1")?;
    let request = Request::create(&alice().await?, orphan.address(), "stopping").await?;
    request.inspected().await?;
    let operation = json!({
        "apiVersion": "ichor.maesh.dev/v1alpha1", "kind": "TalosOperation",
        "metadata": {"name": "stop-it", "namespace": NAMESPACE},
        "spec": {"clusterRef": {"name": "stopping"}, "kind": "shutdown"},
    });
    cluster.kubectl().apply(&operation.to_string()).await?;
    request.confirm(orphan.uuid()).await?;
    let status = request
        .until("the shutdown to be told", |status| {
            let mut all = status.conditions.iter();
            all.any(|one| {
                one.reason == CLUSTER_SHUTTING_DOWN
                    && one.message.contains("talosoperation/stop-it")
            })
        })
        .await?;
    ensure!(
        status.reset.is_none() && cluster.resets() == 0,
        "{status:?}"
    );
    cluster
        .kubectl()
        .run(&["delete", "talosoperation", "stop-it", "-n", NAMESPACE])
        .await?;
    request.reaches(ReclaimPhase::Done).await?;
    ensure!(cluster.resets() == 1 && orphan.in_maintenance());
    Ok(())
}
