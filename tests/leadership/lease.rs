//! FAULTS 31 (cilium#42920, kyverno#14984): work is bound to the lease. When it cannot be renewed, no call reaches a node
//! after the deadline, and the process ends.

use crate::{Turn, replicas};
use anyhow::{Context, Result, ensure};
use ichor::runtime::clock;
use ichor_crds::ReclaimPhase;
use ichor_ground::controller::NAMESPACE;
use ichor_ground::{ClusterSetup, GroundCluster, Replica, Request, eventually};
use ichor_simulator::{Action, Fault, NodeHandle, Stage};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use std::time::Duration;

/// How long a leader acts after its last renewal, as the ground starts it.
const DEADLINE: SignedDuration = SignedDuration::from_secs(3);

struct Story {
    turn: Turn,
    leader: Replica,
    cluster: GroundCluster,
    orphan: NodeHandle,
    request: Request,
}

/// A confirmed reclaim of a worker under one leader.
async fn confirmed(name: &str, fault: Option<Fault>) -> Result<Story> {
    let turn = replicas(&[("--observe-timeout", "15s")]).await?;
    let alice = turn.operator("alice").await?;
    let leader = turn.replica().await?;
    leader.leads().await?;
    let cluster = turn.cluster(&ClusterSetup::new(name)).await?;
    let orphan = cluster.node("orphan-1")?;
    let request = Request::create(&alice, orphan.address(), name).await?;
    request.inspected().await?;
    if let Some(fault) = fault {
        orphan.fault(fault);
    }
    request.confirm(orphan.uuid()).await?;
    Ok(Story {
        turn,
        leader,
        cluster,
        orphan,
        request,
    })
}

impl Story {
    /// Holds the renewals, waits for the process's end, and looks at when the last call came.
    async fn stall(&mut self) -> Result<()> {
        self.leader.trap.stall_leases();
        let stalled: Timestamp = clock::now();
        let status = self.leader.controller.ends().await?;
        ensure!(!status.success(), "a lost lease is no good end");
        let log = self.leader.controller.log();
        ensure!(log.contains("could not be renewed in time"), "{log}");
        let nodes = self.cluster.fleet.nodes().iter();
        let last = nodes.flat_map(NodeHandle::calls).map(|call| call.time);
        let last = last.max().context("no call at all")?;
        ensure!(
            last <= stalled + DEADLINE,
            "a call came {} after the renewals stalled",
            last - stalled
        );
        Ok(())
    }
}

/// In the middle of the reset: its call is on the wire and unanswered.
#[tokio::test]
async fn faults_31_no_call_after_the_deadline_while_a_reset_is_unanswered() -> Result<()> {
    let mut story = confirmed("stalled", Some(Fault::on("Reset", Action::Hang))).await?;
    eventually("the reset on the wire", async || {
        Ok((story.cluster.resets() == 1).then_some(()))
    })
    .await?;
    story.stall().await?;
    story.orphan.clear_faults();
    let next = story.turn.replica().await?;
    story.request.reaches(ReclaimPhase::Failed).await?;
    ensure!(story.cluster.resets() == 1 && next.controller.leads().await?);
    Ok(())
}

/// While a machine is on its way back and looked at all the time.
#[tokio::test]
async fn faults_31_no_call_after_the_deadline_while_a_machine_is_watched() -> Result<()> {
    let mut story = confirmed("watched", None).await?;
    while story.orphan.stage() == Stage::Running {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    // It is looked at again and again and never gives itself to be known.
    let answer = Action::AnswerAs {
        uuid: Some("11111111-2222-4333-8444-555555555555".to_owned()),
        serial: None,
        macs: None,
    };
    story.orphan.fault(Fault::always(answer));
    eventually("some looks at it in maintenance mode", async || {
        Ok(story.orphan.in_maintenance().then_some(()))
    })
    .await?;
    story.stall().await?;
    let seen = story.orphan.calls().len();
    story.orphan.clear_faults();
    let _next = story.turn.replica().await?;
    story.request.reaches(ReclaimPhase::Done).await?;
    ensure!(story.orphan.calls().len() > seen && story.cluster.resets() == 1);
    Ok(())
}

/// DESIGN section 10: "a lost lock stops its holder before the next Talos call". The disruption lock cannot be renewed
/// between the look and the reset: no reset is sent until it is held again.
#[tokio::test]
async fn section_10_a_lost_lock_stops_its_holder_before_the_reset() -> Result<()> {
    let turn = replicas(&[]).await?;
    let alice = turn.operator("alice").await?;
    let leader = turn.replica().await?;
    leader.leads().await?;
    let setup = ClusterSetup {
        control_planes: 2,
        orphans: 0,
        orphan_control_planes: 1,
        ..ClusterSetup::new("lost-lock")
    };
    let cluster = turn.cluster(&setup).await?;
    let orphan = cluster.node("orphan-cp-1")?;
    let request = Request::create(&alice, orphan.address(), "lost-lock").await?;
    request.inspected().await?;
    orphan.fault(Fault::on("EtcdMemberList", Action::Hold).times(1));
    request.confirm(orphan.uuid()).await?;
    eventually("the look under the lock to be held", async || {
        let held = orphan.faults().iter().all(|fault| fault.times == Some(0));
        Ok(held.then_some(()))
    })
    .await?;
    leader.trap.stall_locks();
    let leases: Api<Lease> = Api::namespaced(turn.plane.client().await?, NAMESPACE);
    eventually("the lock to be over", async || {
        let lease = leases.get("ichor-disruption-lost-lock").await?;
        let spec = lease.spec.context("a spec")?;
        let renewed = spec.renew_time.context("a renewal")?.0;
        let lasts = i64::from(spec.lease_duration_seconds.unwrap_or_default());
        let over = renewed + SignedDuration::from_secs(lasts) < clock::now();
        Ok(over.then_some(()))
    })
    .await?;
    orphan.clear_faults();
    ensure!(cluster.resets() == 0, "a reset was sent without the lock");
    ensure!(leader.controller.leads().await?, "only the lock was lost");
    leader.trap.release();
    request.reaches(ReclaimPhase::Done).await?;
    ensure!(cluster.resets() == 1 && orphan.in_maintenance());
    Ok(())
}
