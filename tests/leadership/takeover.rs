//! One acts, and the next one goes on from what is stored.

use crate::replicas;
use anyhow::{Context, Result, ensure};
use ichor::runtime::clock;
use ichor_crds::ReclaimPhase;
use ichor_crds::conditions::reclaim as reason;
use ichor_ground::controller::NAMESPACE;
use ichor_ground::wait::within;
use ichor_ground::{ClusterSetup, Request, eventually};
use ichor_simulator::{Action, Fault, Stage};
use std::time::Duration;

/// DESIGN section 15: "Leader election by Lease; webhooks on all replicas". The leader is killed; the other one admits the
/// confirmation, takes over and finishes.
#[tokio::test]
async fn one_acts_and_the_other_takes_over_after_a_kill() -> Result<()> {
    let turn = replicas(&[]).await?;
    let alice = turn.operator("alice").await?;
    let first = turn.replica().await?;
    first.leads().await?;
    let second = turn.replica().await?;
    let cluster = turn.cluster(&ClusterSetup::new("killed")).await?;
    let orphan = cluster.node("orphan-1")?;
    let request = Request::create(&alice, orphan.address(), "killed").await?;
    request.inspected().await?;
    ensure!(
        second.controller.get("/readyz").await?.0 == 200 && !second.controller.leads().await?,
        "the second one is ready and does not lead"
    );
    ensure!(
        second.trap.steps().is_empty(),
        "it wrote {:?}",
        second.trap.steps()
    );

    turn.kill(first).await?;
    eventually("the webhook of the second one", async || {
        request.confirm(orphan.uuid()).await.map(Some)
    })
    .await?;
    request.reaches(ReclaimPhase::Done).await?;
    ensure!(second.controller.leads().await?);
    ensure!(orphan.in_maintenance() && cluster.resets() == 1);
    Ok(())
}

/// A leader that is told to stop lets go of its lease: the next one does not wait for its end, which is a minute here.
#[tokio::test]
async fn a_leader_that_is_told_to_stop_hands_over_at_once() -> Result<()> {
    let turn = replicas(&[
        ("--lease-duration", "60s"),
        ("--lease-renew-deadline", "40s"),
    ])
    .await?;
    let mut first = turn.replica().await?;
    first.leads().await?;
    let second = turn.replica().await?;
    let status = turn.terminate(&mut first).await?;
    ensure!(status.success(), "{status}: {}", first.controller.log());
    within(
        Duration::from_secs(20),
        "the second one to lead",
        async || Ok(second.controller.leads().await?.then_some(())),
    )
    .await
}

/// "graceful shutdown that finishes or records what is in flight": told to stop while a machine is on its way back, it
/// ends well, and the next one finishes.
#[tokio::test]
async fn told_to_stop_while_a_machine_is_away_the_next_one_finishes() -> Result<()> {
    let turn = replicas(&[("--observe-timeout", "60s"), ("--overdue", "120s")]).await?;
    let alice = turn.operator("alice").await?;
    let mut first = turn.replica().await?;
    first.leads().await?;
    let second = turn.replica().await?;
    let cluster = turn.cluster(&ClusterSetup::new("away")).await?;
    let orphan = cluster.node("orphan-1")?;
    let request = Request::create(&alice, orphan.address(), "away").await?;
    request.inspected().await?;
    request.confirm(orphan.uuid()).await?;
    while orphan.stage() == Stage::Running {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    orphan.fault(Fault::always(Action::CloseConnections));
    request
        .until("the machine to be away", |status| {
            status.phase == ReclaimPhase::AwaitingMaintenance
        })
        .await?;
    ensure!(first.controller.leads().await?, "who came first leads");
    let status = turn.terminate(&mut first).await?;
    ensure!(status.success(), "{status}: {}", first.controller.log());
    second.leads().await?;
    orphan.clear_faults();
    request.reaches(ReclaimPhase::Done).await?;
    ensure!(orphan.in_maintenance() && cluster.resets() == 1);
    Ok(())
}

/// DESIGN section 11: "take the disruption lock and keep it until the member is gone", also where nobody follows it any more: a
/// request is deleted after its reset was sent, and the leader ends, well or not. Another control plane of the cluster
/// goes only when the first may have gone, however long the next leader has been there.
#[tokio::test]
async fn section_11_a_deleted_request_keeps_the_lock_whoever_leads() -> Result<()> {
    const OVERDUE: Duration = Duration::from_secs(20);
    let turn = replicas(&[("--overdue", "20s"), ("--observe-timeout", "15s")]).await?;
    let alice = turn.operator("alice").await?;
    let mut leader = turn.replica().await?;
    leader.leads().await?;
    for killed in [false, true] {
        let name = if killed { "left-killed" } else { "left-ended" };
        let setup = ClusterSetup {
            control_planes: 3,
            orphans: 0,
            orphan_control_planes: 2,
            ..ClusterSetup::new(name)
        };
        let cluster = turn.cluster(&setup).await?;
        let (one, two) = (cluster.node("orphan-cp-1")?, cluster.node("orphan-cp-2")?);
        let first = Request::create(&alice, one.address(), name).await?;
        let second = Request::create(&alice, two.address(), name).await?;
        first.inspected().await?;
        second.inspected().await?;
        // Accepted, and nobody knows what becomes of it.
        one.occupy_sequence();
        first.confirm(one.uuid()).await?;
        eventually("the answer to be noted", async || {
            let record = first.status().await?.reset;
            let accepted = record.is_some_and(|record| record.accepted_at.is_some());
            Ok(accepted.then_some(()))
        })
        .await?;
        let deleted = clock::now();
        let kubectl = turn.plane.kubectl();
        kubectl
            .run(&["delete", "machinereclaim", &first.name, "-n", NAMESPACE])
            .await?;
        let lease = format!("ichor-disruption-{name}");
        let get = [
            "get",
            "lease",
            &lease,
            "-n",
            NAMESPACE,
            "-o",
            "jsonpath={.spec.leaseDurationSeconds}",
        ];
        eventually("the Lease to say how long it lasts", async || {
            Ok((kubectl.run(&get).await? == "20").then_some(()))
        })
        .await?;
        second.confirm(two.uuid()).await?;
        let next = turn.replica().await?;
        if killed {
            turn.kill(leader).await?;
        } else {
            turn.terminate(&mut leader).await?;
        }
        next.leads().await?;
        leader = next;
        second
            .until("the lock to be missed", |status| {
                crate::has_reason(status, reason::CLUSTER_LOCK_HELD)
            })
            .await?;
        second.reaches(ReclaimPhase::Done).await?;
        let sent = two.calls_of("Reset").first().context("a reset")?.time;
        let waited = Duration::try_from(sent.duration_since(deleted))?;
        ensure!(waited >= OVERDUE, "{name}: it waited {waited:?} only");
        ensure!(cluster.resets() == 2, "one each");
    }
    Ok(())
}
