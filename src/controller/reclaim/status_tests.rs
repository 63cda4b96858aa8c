//! What is written, and when nothing is.

use super::*;
use ichor_crds::{MachineReclaimSpec, ReclaimInspection};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("a time")
}

fn request(status: MachineReclaimStatus) -> MachineReclaim {
    let mut request = MachineReclaim::new("reclaim-1", MachineReclaimSpec::default());
    request.metadata.generation = Some(3);
    request.status = Some(status);
    request
}

fn complete(status: &MachineReclaimStatus) -> (String, String) {
    let found = status
        .conditions
        .iter()
        .find(|condition| condition.type_ == COMPLETE);
    let found = found.expect("a Complete condition");
    (found.status.clone(), found.reason.clone())
}

#[test]
fn faults_33_the_same_state_later_is_the_same_status() {
    let wait = Wait::new(reason::UNREACHABLE, "10.5.0.7 does not answer");
    let first = Draft::of(&request(MachineReclaimStatus::default()), at(1))
        .inspecting()
        .waiting(&wait)
        .finish();
    let second = Draft::of(&request(first.clone()), at(99))
        .waiting(&wait)
        .finish();
    assert!(same(&first, &second));
    let facts = Facts::default();
    let shown = Draft::of(&request(first.clone()), at(2))
        .inspected(&facts, &Assessment::default())
        .finish();
    let again = Draft::of(&request(shown.clone()), at(99))
        .inspected(&facts, &Assessment::default())
        .finish();
    assert!(same(&shown, &again) && !same(&first, &shown));
}

#[test]
fn a_changed_clock_in_a_message_is_no_news() {
    let wait = |second: u8| {
        Wait::new(
            reason::TALOS_CONNECT_FAILED,
            format!("not valid now: the clock here is at 10:00:{second:02}"),
        )
    };
    let first = Draft::of(&request(MachineReclaimStatus::default()), at(1))
        .waiting(&wait(1))
        .finish();
    let second = Draft::of(&request(first.clone()), at(31))
        .waiting(&wait(31))
        .finish();
    assert!(same(&first, &second));
    let other = Wait::new(reason::TALOS_CONNECT_FAILED, "another cause");
    assert!(!same(
        &first,
        &Draft::of(&request(first.clone()), at(31))
            .waiting(&other)
            .finish()
    ));
}

#[test]
fn complete_says_how_far_it_is_and_how_it_ended() {
    let record = ResetRecord::default();
    let recorded = Draft::of(&request(MachineReclaimStatus::default()), at(1))
        .recorded(record)
        .finish();
    assert_eq!(
        complete(&recorded),
        ("False".to_owned(), reason::RESETTING.to_owned())
    );
    let stopped = ReclaimProgress {
        stopped_at: Some(Time(at(2))),
        ..ReclaimProgress::default()
    };
    let stopped = Draft::of(&request(recorded), at(2))
        .watched(stopped, false)
        .finish();
    assert_eq!(stopped.phase, ReclaimPhase::AwaitingMaintenance);
    let ending = Ending {
        phase: ReclaimPhase::Done,
        reason: reason::DONE,
        result: "wiped".to_owned(),
    };
    let done = Draft::of(&request(stopped), at(3)).ended(&ending).finish();
    assert_eq!(
        complete(&done),
        ("True".to_owned(), reason::DONE.to_owned())
    );
    assert_eq!(done.result.as_deref(), Some("wiped"));
    assert_eq!(done.completed_at, Some(Time(at(3))));
    assert_eq!(done.observed_generation, Some(3));
}

#[test]
fn section_11_overdue_says_what_was_sent_and_when() {
    let record = ResetRecord {
        recorded_at: Some(Time(at(0))),
        graceful: true,
        ..ResetRecord::default()
    };
    let recorded = Draft::of(&request(MachineReclaimStatus::default()), at(0))
        .recorded(record)
        .finish();
    let late = Draft::of(&request(recorded), at(1800))
        .watched(ReclaimProgress::default(), true)
        .finish();
    let overdue = late
        .conditions
        .iter()
        .find(|condition| condition.type_ == OVERDUE)
        .expect("overdue");
    for part in ["graceful reset", "1970-01-01T00:00:00Z", "keeps looking"] {
        assert!(
            overdue.message.contains(part),
            "{part}: {}",
            overdue.message
        );
    }
    let later = Draft::of(&request(late.clone()), at(9000))
        .watched(ReclaimProgress::default(), true)
        .finish();
    assert!(same(&late, &later));
}

#[test]
fn decision_4_a_record_taken_back_leaves_no_trace_of_a_reset() {
    let recorded = Draft::of(&request(MachineReclaimStatus::default()), at(1))
        .recorded(ResetRecord::default())
        .finish();
    let wait = Wait::new(reason::TALOS_CONNECT_FAILED, "refused");
    let back = Draft::of(&request(recorded), at(2))
        .not_sent(&wait)
        .finish();
    assert!(back.reset.is_none() && back.progress.is_none());
    assert_eq!(back.phase, ReclaimPhase::AwaitingConfirmation);
}

/// Consent was given: neither the Event nor `Complete` asks for it again.
#[test]
fn a_record_taken_back_does_not_ask_for_the_uuid_again() {
    let recorded = Draft::of(&request(MachineReclaimStatus::default()), at(1))
        .recorded(ResetRecord::default())
        .finish();
    let wait = Wait::new(reason::TALOS_CONNECT_FAILED, "busy");
    let back = Draft::of(&request(recorded.clone()), at(2))
        .not_sent(&wait)
        .finish();
    let told = notices(&recorded, &back, None);
    let told: Vec<&str> = told.iter().map(|notice| notice.reason.as_str()).collect();
    assert_eq!(told, [reason::TALOS_CONNECT_FAILED]);
    assert_eq!(complete(&back).1, reason::TALOS_CONNECT_FAILED);
    let asked = Draft::of(&request(back), at(3)).awaiting(&Consent::Missing);
    assert_eq!(complete(&asked.finish()).1, reason::AWAITING_CONFIRMATION);
}

#[test]
fn the_first_look_is_told_with_who_asked() {
    let old = MachineReclaimStatus::default();
    let looked = Draft::of(&request(old.clone()), at(1))
        .inspecting()
        .finish();
    let told = notices(&old, &looked, Some("alice"));
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].reason, reason::INSPECTING);
    assert!(told[0].note.ends_with("; asked for by alice"), "{told:?}");
}

#[test]
fn every_transition_is_told_once() {
    let old = MachineReclaimStatus::default();
    let new = Draft::of(&request(old.clone()), at(1))
        .awaiting(&Consent::WrongUuid)
        .finish();
    let reasons = |old: &MachineReclaimStatus, new: &MachineReclaimStatus| -> Vec<String> {
        notices(old, new, None)
            .into_iter()
            .map(|notice| notice.reason)
            .collect()
    };
    assert_eq!(
        reasons(&old, &new),
        [reason::AWAITING_CONFIRMATION, reason::UUID_MISMATCH]
    );
    assert_eq!(reasons(&new, &new), Vec::<String>::new());
    let ended = Draft::of(&request(new.clone()), at(2))
        .ended(&Ending::refused(reason::REFUSED, "no"))
        .finish();
    let told = notices(&new, &ended, None);
    assert_eq!(told.len(), 1);
    assert!(told[0].warning && told[0].note == "no");
}

#[test]
fn texts_fit_what_the_crd_takes() {
    let long = "x".repeat(5000);
    let assessment = Assessment {
        refusals: vec![long.clone()],
        ..Assessment::default()
    };
    let facts = Facts {
        inspection: ReclaimInspection::default(),
        ..Facts::default()
    };
    let draft =
        Draft::of(&request(MachineReclaimStatus::default()), at(1)).inspected(&facts, &assessment);
    let status = draft
        .ended(&Ending::refused(reason::REFUSED, long))
        .finish();
    assert_eq!(status.result.map(|text| text.len()), Some(RESULT_MAX));
    assert_eq!(
        status.inspection.map(|seen| seen.refusals[0].len()),
        Some(LINE_MAX)
    );
}

#[test]
fn the_event_of_the_reset_names_who_asked() {
    let old = MachineReclaimStatus::default();
    let recorded = Draft::of(&request(old.clone()), at(1))
        .recorded(ResetRecord::default())
        .finish();
    let told = notices(&old, &recorded, Some("alice"));
    assert!(told[0].note.ends_with("; asked for by alice"), "{told:?}");
}
