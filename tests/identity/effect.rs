//! An OK is not an effect, and no answer is not "nothing happened" (DESIGN section 18, decisions 1, 3 and 4).

use crate::common::{alice, world};
use crate::has_reason;
use anyhow::{Context, Result, ensure};
use ichor_crds::ReclaimPhase;
use ichor_crds::conditions::{COMPLETE, OVERDUE, reclaim as reason};
use ichor_ground::controller::NAMESPACE;
use ichor_ground::request::has_condition;
use ichor_ground::{ClusterSetup, GroundCluster, Request, eventually};
use ichor_simulator::{Action, Fault, NodeHandle, Stage, Timings};
use serde_json::Value;

/// A cluster with an orphan, and its request, inspected.
async fn asked(name: &str) -> Result<(GroundCluster, NodeHandle, Request)> {
    asked_in(&ClusterSetup::new(name)).await
}

async fn asked_in(setup: &ClusterSetup) -> Result<(GroundCluster, NodeHandle, Request)> {
    let (world, alice) = (world().await?, alice().await?);
    let cluster = world.cluster(setup).await?;
    let orphan = cluster.node("orphan-1")?;
    let request = Request::create(&alice, orphan.address(), &setup.name).await?;
    request.inspected().await?;
    Ok((cluster, orphan, request))
}

/// Decision 3: Talos answers OK and drops the request, because another sequence has the lock.
#[tokio::test]
async fn decision_3_an_accepted_reset_that_is_not_carried_out_fails_with_what_was_seen()
-> Result<()> {
    let (cluster, orphan, request) = asked("dropped").await?;
    let boot = orphan.boot_id();
    orphan.occupy_sequence();
    request.confirm(orphan.uuid()).await?;
    let status = request.reaches(ReclaimPhase::Failed).await?;
    ensure!(
        has_reason(&status, reason::RESET_NOT_CARRIED_OUT),
        "{status:?}"
    );
    let text = status.result.unwrap_or_default();
    ensure!(text.contains("accepted") && text.contains(&boot), "{text}");
    ensure!(orphan.sequence_errors().len() == 1 && cluster.resets() == 1);
    Ok(())
}

/// Decision 3: "a return under the old CA on a new boot, is Failed with what was seen".
#[tokio::test]
async fn decision_3_a_machine_that_only_rebooted_fails() -> Result<()> {
    let (cluster, orphan, request) = asked("rebooted").await?;
    orphan.occupy_sequence();
    orphan.fault(Fault::on("Reset", Action::LoseAnswer));
    request.confirm(orphan.uuid()).await?;
    eventually("the reset to be sent", async || {
        Ok((cluster.resets() == 1).then_some(()))
    })
    .await?;
    orphan.power_off();
    orphan.clear_faults();
    orphan.power_on();
    let status = request.reaches(ReclaimPhase::Failed).await?;
    ensure!(has_reason(&status, reason::RETURNED_UNWIPED), "{status:?}");
    ensure!(cluster.resets() == 1 && !orphan.in_maintenance());
    Ok(())
}

/// Decision 4: the reset takes effect and the answer is lost, or the connection breaks: it is watched, never sent again.
#[tokio::test]
async fn decision_4_a_lost_answer_after_the_effect_is_done_with_one_reset() -> Result<()> {
    for (name, action) in [
        ("lost-answer", Action::LoseAnswer),
        ("broken-after", Action::DropAfter),
    ] {
        let (cluster, orphan, request) = asked(name).await?;
        orphan.fault(Fault::on("Reset", action));
        request.confirm(orphan.uuid()).await?;
        request.reaches(ReclaimPhase::Done).await?;
        ensure!(orphan.in_maintenance() && cluster.resets() == 1, "{name}");
    }
    Ok(())
}

/// Decision 1: no effect and no answer is "recorded, not observed; ask again", and nothing is sent twice. Asking again
/// works.
#[tokio::test]
async fn decision_1_recorded_and_not_observed_fails_and_is_never_sent_again() -> Result<()> {
    let (cluster, orphan, request) = asked("broken-before").await?;
    orphan.fault(Fault::on("Reset", Action::DropBefore));
    request.confirm(orphan.uuid()).await?;
    let status = request.reaches(ReclaimPhase::Failed).await?;
    ensure!(
        has_reason(&status, reason::RECORDED_NOT_OBSERVED),
        "{status:?}"
    );
    let text = status.result.unwrap_or_default();
    ensure!(text.contains("recorded, not observed; ask again"), "{text}");
    ensure!(cluster.resets() == 1 && !orphan.in_maintenance());
    orphan.clear_faults();
    Request::create(&alice().await?, orphan.address(), "broken-before")
        .await?
        .confirm_and_finish(orphan.uuid())
        .await?;
    ensure!(orphan.in_maintenance() && cluster.resets() == 2);
    Ok(())
}

/// Decision 4: a definite refusal removes the record. What the machine refuses it would refuse again: it ends, and a
/// person asks anew.
#[tokio::test]
async fn decision_4_a_refused_reset_is_not_recorded_any_more() -> Result<()> {
    let (cluster, orphan, request) = asked("refusing").await?;
    orphan.fault(refusal(7, "not authorized"));
    request.confirm(orphan.uuid()).await?;
    let status = request.reaches(ReclaimPhase::Refused).await?;
    ensure!(status.reset.is_none(), "{status:?}");
    ensure!(
        has_condition(&status, COMPLETE, reason::TALOS_CONNECT_FAILED),
        "{status:?}"
    );
    ensure!(cluster.resets() == 1);
    Ok(())
}

/// Decision 4: a machine that is busy did not carry it out either; it is asked again when it can be.
#[tokio::test]
async fn decision_4_a_busy_machine_is_asked_again() -> Result<()> {
    let (_cluster, orphan, request) = asked("busy").await?;
    orphan.fault(refusal(9, "another sequence is in progress"));
    request.confirm(orphan.uuid()).await?;
    let status = request
        .until("the refusal", |status| {
            has_reason(status, reason::TALOS_CONNECT_FAILED)
        })
        .await?;
    ensure!(
        status.reset.is_none() && !status.phase.is_final(),
        "{status:?}"
    );
    orphan.clear_faults();
    request.reaches(ReclaimPhase::Done).await?;
    let carried_out = orphan.calls_of("Reset").into_iter();
    let carried_out = carried_out.filter(|call| call.code.as_deref() == Some("Ok"));
    ensure!(carried_out.count() == 1);
    Ok(())
}

/// Somebody labels the request between the record and Talos's answer: the answer is noted all the same, so that the end says
/// what is known.
#[tokio::test]
async fn decision_3_the_answer_is_noted_on_a_request_that_was_labelled_meanwhile() -> Result<()> {
    let (cluster, orphan, request) = asked("labelled").await?;
    orphan.fault(Fault::on("Reset", Action::Hold));
    request.confirm(orphan.uuid()).await?;
    eventually("the reset to be sent", async || {
        Ok((cluster.resets() == 1).then_some(()))
    })
    .await?;
    let label = [
        "label",
        "machinereclaim",
        &request.name,
        "-n",
        NAMESPACE,
        "seen=yes",
    ];
    cluster.kubectl().run(&label).await?;
    orphan.clear_faults();
    let done = request.reaches(ReclaimPhase::Done).await?;
    let record = done.reset.context("a record")?;
    ensure!(record.accepted_at.is_some(), "{record:?}");
    ensure!(orphan.in_maintenance() && cluster.resets() == 1);
    Ok(())
}

/// Decision 3 and section 11: a machine that does not come back leaves a condition that says what was sent and when, and
/// Ichor goes on looking: when it is back after all, the request is done.
#[tokio::test]
async fn decision_3_overdue_says_what_was_sent_and_a_late_return_is_done() -> Result<()> {
    // It is away long enough to be kept away.
    let timings = Timings {
        down: 5000,
        ..Timings::default()
    };
    let setup = ClusterSetup {
        timings,
        ..ClusterSetup::new("overdue")
    };
    let (cluster, orphan, request) = asked_in(&setup).await?;
    request.confirm(orphan.uuid()).await?;
    eventually("the reset to begin", async || {
        Ok((orphan.stage() != Stage::Running).then_some(()))
    })
    .await?;
    orphan.fault(Fault::always(Action::CloseConnections));
    let status = request
        .until("it to be overdue", |status| {
            has_condition(status, OVERDUE, reason::OVERDUE)
        })
        .await?;
    let record = status.reset.clone().context("a record")?;
    let at = record.recorded_at.context("a time")?.0.to_string();
    let mut said = status.conditions.iter();
    let said = said.find(|one| one.type_ == OVERDUE).context("Overdue")?;
    for part in [
        "a graceful reset was recorded at",
        &at,
        "Ichor keeps looking",
    ] {
        ensure!(said.message.contains(part), "{part}: {}", said.message);
    }
    ensure!(!status.phase.is_final(), "{status:?}");
    orphan.clear_faults();
    let done = request.reaches(ReclaimPhase::Done).await?;
    ensure!(!has_condition(&done, OVERDUE, reason::OVERDUE), "{done:?}");
    ensure!(orphan.in_maintenance() && cluster.resets() == 1);
    Ok(())
}

fn refusal(code: i32, message: &str) -> Fault {
    Fault::on(
        "Reset",
        Action::Refuse {
            code,
            message: message.to_owned(),
        },
    )
}

/// Decision 15: "deleting the request recalls nothing that was sent and says so in an Event".
#[tokio::test]
async fn decision_15_deleting_a_sent_request_says_that_nothing_is_recalled() -> Result<()> {
    let (cluster, orphan, request) = asked("deleted").await?;
    orphan.fault(Fault::on("Reset", Action::Hang));
    request.confirm(orphan.uuid()).await?;
    eventually("the reset to be sent", async || {
        Ok((cluster.resets() == 1).then_some(()))
    })
    .await?;
    let kubectl = cluster.kubectl();
    kubectl
        .run(&["delete", "machinereclaim", &request.name, "-n", NAMESPACE])
        .await?;
    let of_request = format!("--field-selector=involvedObject.name={}", request.name);
    eventually("the Event", async || {
        let text = kubectl
            .run(&["get", "events", "-n", NAMESPACE, &of_request, "-o", "json"])
            .await?;
        let events: Value = serde_json::from_str(&text)?;
        let events = events["items"].as_array().cloned().unwrap_or_default();
        let said = |event: &Value| {
            let note = event["message"].as_str().unwrap_or_default();
            note.contains("recalls nothing that was sent") && note.contains(orphan.uuid())
        };
        Ok(events.iter().any(said).then_some(()))
    })
    .await?;
    ensure!(cluster.resets() == 1);
    Ok(())
}
