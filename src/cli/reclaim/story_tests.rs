use super::*;
use crate::cli::reclaim::story;
use ichor_crds::{
    LocalReference, MachineIdentity, MachineReclaimSpec, MachineRole, NodeView, ReclaimProgress,
    ResetRecord,
};

const UUID: &str = "4c4c4544-0042-3510-8052-b4c04f463133";

fn at(seconds: i64) -> Time {
    let start: k8s_openapi::jiff::Timestamp = "2026-11-07T10:00:00Z".parse().expect("time");
    let time = start.checked_add(k8s_openapi::jiff::SignedDuration::from_secs(seconds));
    Time(time.expect("time"))
}

fn condition(kind: &str, reason: &str, message: &str) -> Condition {
    Condition {
        type_: kind.to_owned(),
        status: "True".to_owned(),
        reason: reason.to_owned(),
        message: message.to_owned(),
        observed_generation: Some(1),
        last_transition_time: at(0),
    }
}

fn request(phase: ReclaimPhase, conditions: Vec<Condition>) -> MachineReclaim {
    let spec = MachineReclaimSpec {
        address: "10.5.0.7".to_owned(),
        cluster_ref: Some(LocalReference::new("prod")),
        cluster_credentials: Some(true),
        ..MachineReclaimSpec::default()
    };
    let mut request = MachineReclaim::new("reclaim-x7k2p", spec);
    request.metadata.namespace = Some("ichor-system".to_owned());
    request.metadata.generation = Some(1);
    request.status = Some(MachineReclaimStatus {
        observed_generation: Some(1),
        phase,
        conditions,
        ..MachineReclaimStatus::default()
    });
    request
}

fn inspection() -> ReclaimInspection {
    ReclaimInspection {
        inspected_at: Some(at(1)),
        identity: MachineIdentity {
            uuid: UUID.to_owned(),
            serial: "5B5RF13".to_owned(),
            macs: Vec::new(),
        },
        hostname: Some("worker-7".to_owned()),
        role: Some(MachineRole::Worker),
        managed_cluster: Some("prod".to_owned()),
        wiped: vec!["STATE".to_owned(), "EPHEMERAL".to_owned()],
        node: Some(NodeView {
            name: "worker-7".to_owned(),
            matches: true,
        }),
        ..ReclaimInspection::default()
    }
}

fn change(
    request: &MachineReclaim,
    phase: ReclaimPhase,
    change: impl FnOnce(&mut MachineReclaimStatus),
) -> MachineReclaim {
    let mut request = request.clone();
    let mut status = request.status.take().unwrap_or_default();
    status.phase = phase;
    status.conditions.clear();
    change(&mut status);
    request.status = Some(status);
    request
}

/// The versions of a request from its creation to its end.
fn versions() -> Vec<MachineReclaim> {
    let unreachable = condition(
        conditions::WAITING,
        reasons::UNREACHABLE,
        "10.5.0.7 does not answer: connection refused; tried again every 30s",
    );
    let mut created = request(ReclaimPhase::Pending, Vec::new());
    created.status = None;
    let waiting = request(ReclaimPhase::Inspecting, vec![unreachable]);
    let asking = change(&waiting, ReclaimPhase::AwaitingConfirmation, |status| {
        status.inspection = Some(inspection());
        let text = "type the UUID";
        let kind = conditions::WAITING;
        status.conditions = vec![condition(kind, reasons::AWAITING_CONFIRMATION, text)];
    });
    let mut confirmed = asking.clone();
    confirmed.spec.confirm_uuid = Some(UUID.to_owned());
    confirmed.metadata.generation = Some(2);
    let locked = change(&confirmed, ReclaimPhase::AwaitingConfirmation, |status| {
        let text = "cluster prod is locked by upgrade-9xk4m; tried again every 30s";
        status.conditions = vec![condition(
            conditions::WAITING,
            reasons::CLUSTER_LOCK_HELD,
            text,
        )];
    });
    let recorded = change(&locked, ReclaimPhase::Resetting, |status| {
        status.reset = Some(ResetRecord {
            recorded_at: Some(at(60)),
            graceful: true,
            ..ResetRecord::default()
        });
    });
    let sent = change(&recorded, ReclaimPhase::Resetting, |status| {
        if let Some(reset) = &mut status.reset {
            reset.accepted_at = Some(at(60));
        }
    });
    let stopped = change(&sent, ReclaimPhase::AwaitingMaintenance, |status| {
        status.progress = Some(ReclaimProgress {
            member_gone_at: Some(at(70)),
            stopped_at: Some(at(81)),
            ..ReclaimProgress::default()
        });
    });
    let overdue = change(&stopped, ReclaimPhase::AwaitingMaintenance, |status| {
        let text = "the reset was sent at 10:01 and the machine has not come back; still looking";
        status.conditions = vec![condition(conditions::OVERDUE, reasons::OVERDUE, text)];
    });
    let done = change(&overdue, ReclaimPhase::Done, |status| {
        if let Some(progress) = &mut status.progress {
            progress.returned_at = Some(at(154));
        }
        status.result = Some("Kubernetes node worker-7 deleted".to_owned());
    });
    vec![
        created, waiting, asking, confirmed, locked, recorded, sent, stopped, overdue, done,
    ]
}

fn told<'a>(versions: impl IntoIterator<Item = &'a MachineReclaim>) -> String {
    let mut story = Story::default();
    let answered = Some(Duration::from_millis(400));
    let lines = versions
        .into_iter()
        .flat_map(|version| story.tell(version, answered));
    lines
        .map(|line| line.render(false))
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn a_reclaim_from_creation_to_done() {
    insta::assert_snapshot!(told(&versions()));
}

#[test]
fn nothing_is_told_twice() {
    let versions = versions();
    let twice = versions.iter().flat_map(|version| [version, version]);
    assert_eq!(told(twice), told(&versions));
}

#[test]
fn what_was_not_seen_live_is_told_at_once() {
    insta::assert_snapshot!(told(versions().last()));
}

#[test]
fn what_comes_next_follows_from_the_object_alone() {
    let steps: Vec<_> = versions().iter().map(story::next).collect();
    let wait = Next::Wait;
    assert_eq!(
        steps,
        [
            wait,
            wait,
            Next::Ask,
            wait,
            wait,
            wait,
            wait,
            wait,
            wait,
            Next::End(ReclaimPhase::Done)
        ]
    );
}

#[test]
fn a_wrong_uuid_is_asked_again_once_the_controller_has_seen_it() {
    let mut request = versions().swap_remove(2);
    request.spec.confirm_uuid = Some("4c4c4544-0042-3510-8052-b4c04f463134".to_owned());
    request.metadata.generation = Some(2);
    let mut wrong = condition(
        conditions::UUID_MISMATCH,
        reasons::UUID_MISMATCH,
        "not its UUID",
    );
    wrong.observed_generation = Some(1);
    let with = |wrong: Condition| {
        let inspection = Some(inspection());
        change(&request, ReclaimPhase::AwaitingConfirmation, |status| {
            status.inspection = inspection;
            status.conditions = vec![wrong];
        })
    };
    assert_eq!(story::next(&with(wrong.clone())), Next::Wait);
    wrong.observed_generation = Some(2);
    assert_eq!(story::next(&with(wrong.clone())), Next::Ask);
    wrong.status = "False".to_owned();
    assert_eq!(story::next(&with(wrong)), Next::Wait);
}

#[test]
fn force_needs_the_clusters_name_before_it_is_confirmed() {
    let mut request = versions().swap_remove(3);
    request.spec.force = Some(true);
    assert_eq!(story::next(&request), Next::Ask);
    request.spec.confirm_cluster_name = Some("prd".to_owned());
    assert_eq!(story::next(&request), Next::Wait);
    // The controller has seen it, and still asks.
    let mut asks = condition(
        conditions::WAITING,
        reasons::AWAITING_CONFIRMATION,
        "type prod",
    );
    asks.observed_generation = Some(2);
    let asked = change(&request, ReclaimPhase::AwaitingConfirmation, |status| {
        status.conditions = vec![asks];
    });
    assert_eq!(story::next(&asked), Next::Ask);
    assert_eq!(story::objection(&asked), Some("type prod"));
}

#[test]
fn a_refusal_is_told_once_and_in_full() {
    let refusals = vec![format!(
        "10.5.0.7 is the approved machine {UUID} (worker-7) of cluster prod. Use Remove node: ichor node remove worker-7"
    )];
    let refused = change(&versions()[1], ReclaimPhase::Refused, |status| {
        status.inspection = Some(ReclaimInspection {
            refusals,
            ..inspection()
        });
        status.result = Some("refused".to_owned());
    });
    let end = ending(&refused, ReclaimPhase::Refused);
    let end: Vec<_> = end.iter().map(|line| line.render(false)).collect();
    insta::assert_snapshot!(format!("{}\n{}", told([&refused]), end.join("\n")));
}

#[test]
fn a_failure_says_how_it_ended() {
    let failed = change(&versions()[6], ReclaimPhase::Failed, |status| {
        status.conditions = vec![condition(
            conditions::COMPLETE,
            reasons::RECORDED_NOT_OBSERVED,
            "recorded, not observed; ask again",
        )];
    });
    let end = ending(&failed, ReclaimPhase::Failed);
    let want = Line::step(Label::Failed, "recorded, not observed; ask again");
    assert_eq!(end, [want]);
}

#[test]
fn an_answer_that_was_lost_is_said_so() {
    let lost = change(
        &versions()[5],
        ReclaimPhase::AwaitingMaintenance,
        |status| {
            status.progress = Some(ReclaimProgress {
                stopped_at: Some(at(70)),
                returned_at: Some(at(100)),
                returned_address: Some("10.5.0.9".to_owned()),
                ..ReclaimProgress::default()
            });
        },
    );
    let text = told([&versions()[5], &lost]);
    for want in [
        "sent (graceful); its answer was not seen",
        "0:10",
        "in maintenance mode at 10.5.0.9",
        "0:40",
    ] {
        assert!(text.contains(want), "{want}: {text}");
    }
}
