//! FAULTS 31 (cilium#42920, kyverno#14984): work is bound to the lease. When it cannot be renewed, no call reaches a node
//! after the deadline, and the process ends.

use crate::{Turn, replicas};
use anyhow::{Context, Result, ensure};
use ichor::runtime::clock;
use ichor_crds::ReclaimPhase;
use ichor_ground::{ClusterSetup, GroundCluster, Replica, Request, eventually};
use ichor_simulator::{Action, Fault, NodeHandle, Stage};
use jiff::{SignedDuration, Timestamp};
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
