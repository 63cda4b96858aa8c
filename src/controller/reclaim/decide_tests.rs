//! The rules of DESIGN sections 11 and 18 about what comes next.

use super::*;
use crate::controller::reclaim::status::Draft;
use ichor_crds::{LocalReference, MachineIdentity};

const UUID: &str = "4c4c4544-0042-3510-8052-b4c04f463133";
const SWAPPED: &str = "44454c4c-4200-1035-8052-b4c04f463133";

fn settings() -> Settings {
    Settings {
        allow_local_addresses: false,
        recheck: Duration::from_secs(30),
        watch: Duration::from_secs(5),
        observe_timeout: Duration::from_mins(2),
        overdue: Duration::from_mins(30),
        history: Duration::from_hours(90 * 24),
    }
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("a time")
}

fn seen() -> ReclaimInspection {
    ReclaimInspection {
        identity: MachineIdentity {
            uuid: UUID.to_owned(),
            serial: "5B5RF13".to_owned(),
            macs: vec!["02:00:00:00:00:07".to_owned()],
        },
        role: Some(MachineRole::Worker),
        cluster_id: Some("id".to_owned()),
        managed_cluster: Some("prod".to_owned()),
        stage: Some("running".to_owned()),
        boot_id: Some("boot-1".to_owned()),
        ..ReclaimInspection::default()
    }
}

fn request() -> MachineReclaim {
    let mut request = MachineReclaim::new(
        "reclaim-1",
        MachineReclaimSpec {
            address: "10.5.0.7".to_owned(),
            cluster_ref: Some(LocalReference::new("prod")),
            cluster_credentials: Some(true),
            ..MachineReclaimSpec::default()
        },
    );
    request.metadata.uid = Some("uid-1".to_owned());
    request.metadata.creation_timestamp = Some(Time(at(100)));
    request
}

fn snapshot(change: impl FnOnce(&mut MachineReclaim)) -> Snapshot {
    let mut request = request();
    change(&mut request);
    Snapshot {
        now: at(1_000),
        rivals: vec![Rival::of(&request)],
        cluster_found: true,
        request,
    }
}

fn with_status(change: impl FnOnce(&mut MachineReclaimStatus)) -> Snapshot {
    snapshot(|request| {
        let mut status = MachineReclaimStatus {
            phase: ReclaimPhase::AwaitingConfirmation,
            inspection: Some(seen()),
            ..MachineReclaimStatus::default()
        };
        change(&mut status);
        request.status = Some(status);
    })
}

fn ends(step: &Step) -> Option<&'static str> {
    match step {
        Step::End(ending) => Some(ending.reason),
        _ => None,
    }
}

#[test]
fn record_0136_the_node_is_dialled_only_after_the_cluster_was_found() {
    let mut new = snapshot(|_| {});
    assert_eq!(next(&new, &settings()), Step::Inspect);
    new.cluster_found = false;
    let Step::Wait(wait) = next(&new, &settings()) else {
        panic!("it waits");
    };
    assert_eq!(wait.reason, reason::CLUSTER_NOT_FOUND);
    // Also after consent: the cluster may have gone meanwhile.
    let mut confirmed = with_status(|_| {});
    confirmed.request.spec.confirm_uuid = Some(UUID.to_owned());
    confirmed.cluster_found = false;
    assert!(matches!(next(&confirmed, &settings()), Step::Wait(_)));
}

#[test]
fn section_5_local_addresses_are_not_dialled_unless_allowed() {
    for address in ["127.0.0.1", "::1", "169.254.0.1", "fe80::1"] {
        let local = snapshot(|request| request.spec.address = address.to_owned());
        assert_eq!(
            ends(&next(&local, &settings())),
            Some(reason::LOCAL_ADDRESS),
            "{address}"
        );
        let allowed = Settings {
            allow_local_addresses: true,
            ..settings()
        };
        assert_eq!(next(&local, &allowed), Step::Inspect, "{address}");
    }
}

#[test]
fn decision_11_a_second_reclaim_of_the_address_is_refused() {
    let mut second = snapshot(|_| {});
    let mut older = request();
    older.metadata.uid = Some("uid-0".to_owned());
    older.metadata.creation_timestamp = Some(Time(at(50)));
    second.rivals.push(Rival::of(&older));
    assert_eq!(
        ends(&next(&second, &settings())),
        Some(reason::MACHINE_BUSY)
    );
}

#[test]
fn section_11_it_waits_for_the_typed_uuid() {
    for (typed, want) in [
        (None, Step::AwaitPerson(Consent::Missing)),
        (Some(""), Step::AwaitPerson(Consent::Missing)),
        (
            Some("5f1e0000-0042-3510-8052-b4c04f463133"),
            Step::AwaitPerson(Consent::WrongUuid),
        ),
        (Some("nonsense"), Step::AwaitPerson(Consent::WrongUuid)),
        (Some(SWAPPED), Step::AwaitPerson(Consent::WrongUuid)),
        (Some(UUID), Step::Reset { lock: None }),
        (
            Some("4C4C4544-0042-3510-8052-B4C04F463133"),
            Step::Reset { lock: None },
        ),
    ] {
        let mut waiting = with_status(|_| {});
        waiting.request.spec.confirm_uuid = typed.map(str::to_owned);
        assert_eq!(next(&waiting, &settings()), want, "{typed:?}");
    }
}

#[test]
fn decision_15_a_wrong_uuid_stays_in_awaiting_confirmation() {
    let waiting = with_status(|_| {});
    let status = Draft::of(&waiting.request, at(1))
        .awaiting(&Consent::WrongUuid)
        .finish();
    assert_eq!(status.phase, ReclaimPhase::AwaitingConfirmation);
    assert!(
        status
            .conditions
            .iter()
            .any(|c| c.type_ == "UUIDMismatch" && c.status == "True")
    );
}

#[test]
fn record_0136_force_needs_the_typed_cluster_name() {
    for (typed, given) in [
        (None, false),
        (Some("stage"), false),
        (Some("PROD"), false),
        (Some("prod"), true),
    ] {
        let mut waiting = with_status(|status| {
            status
                .inspection
                .as_mut()
                .expect("there")
                .cluster_name_needed = Some("prod".to_owned());
        });
        waiting.request.spec.confirm_uuid = Some(UUID.to_owned());
        waiting.request.spec.confirm_cluster_name = typed.map(str::to_owned);
        let want = if given {
            Step::Reset { lock: None }
        } else {
            Step::AwaitPerson(Consent::ClusterName("prod".to_owned()))
        };
        assert_eq!(next(&waiting, &settings()), want, "{typed:?}");
    }
}

#[test]
fn section_11_the_lock_is_taken_for_a_control_plane_of_a_managed_cluster() {
    let lock = |role, managed: Option<&str>| {
        lock_of(&ReclaimInspection {
            role: Some(role),
            managed_cluster: managed.map(str::to_owned),
            ..seen()
        })
    };
    assert_eq!(
        lock(MachineRole::ControlPlane, Some("prod")).as_deref(),
        Some("prod")
    );
    assert_eq!(lock(MachineRole::Worker, Some("prod")), None);
    assert_eq!(lock(MachineRole::ControlPlane, None), None);
}

#[test]
fn decision_1_a_record_that_is_found_is_never_sent_again() {
    for phase in [
        ReclaimPhase::AwaitingConfirmation,
        ReclaimPhase::Resetting,
        ReclaimPhase::Pending,
    ] {
        let mut recorded = with_status(|status| {
            status.phase = phase;
            status.reset = Some(ResetRecord::default());
        });
        recorded.request.spec.confirm_uuid = Some(UUID.to_owned());
        assert_eq!(next(&recorded, &settings()), Step::Watch, "{phase:?}");
    }
}

#[test]
fn section_11_ended_requests_are_kept_and_pruned_after_the_history() {
    let ended = |ended: i64| {
        with_status(|status| {
            status.phase = ReclaimPhase::Done;
            status.completed_at = Some(Time(at(ended)));
        })
    };
    let short = Settings {
        history: Duration::from_secs(100),
        ..settings()
    };
    assert_eq!(
        next(&ended(950), &short),
        Step::Rest(Some(Duration::from_secs(50)))
    );
    assert_eq!(next(&ended(900), &short), Step::Prune);
}

#[test]
fn a_request_that_is_being_deleted_begins_nothing() {
    let mut leaving = with_status(|_| {});
    leaving.request.spec.confirm_uuid = Some(UUID.to_owned());
    leaving.request.metadata.deletion_timestamp = Some(Time(at(1)));
    assert_eq!(next(&leaving, &settings()), Step::Rest(None));
}

fn judge(
    change: impl FnOnce(&mut Facts, &mut Assessment, &mut MachineReclaimSpec),
) -> Result<ResetRecord, Step> {
    let mut facts = Facts {
        inspection: seen(),
        ..Facts::default()
    };
    let mut assessment = Assessment {
        graceful: true,
        ..Assessment::default()
    };
    let mut spec = request().spec;
    spec.confirm_uuid = Some(UUID.to_owned());
    change(&mut facts, &mut assessment, &mut spec);
    before_reset(&spec, &seen(), &facts, &assessment, at(5))
}

#[test]
fn the_record_holds_identity_boot_and_manner() {
    let record = judge(|_, _, _| {}).expect("a record");
    assert_eq!(record.identity, seen().identity);
    assert_eq!(record.boot_id.as_deref(), Some("boot-1"));
    assert_eq!(record.recorded_at, Some(Time(at(5))));
    assert!(record.graceful && record.accepted_at.is_none());
}

#[test]
fn decision_15_a_changed_role_cluster_or_identity_after_consent_is_refused() {
    type Change = fn(&mut ReclaimInspection);
    let changes: [(&str, Change); 5] = [
        ("another machine", |seen| {
            seen.identity.uuid = "5f1e0000-0042-3510-8052-b4c04f463133".to_owned();
        }),
        ("FAULTS 12: same UUID, other board", |seen| {
            seen.identity.serial = "OTHER".to_owned();
        }),
        ("role", |seen| seen.role = Some(MachineRole::ControlPlane)),
        ("cluster ID", |seen| {
            seen.cluster_id = Some("other".to_owned());
        }),
        ("CA", |seen| seen.managed_cluster = None),
    ];
    for (what, change) in changes {
        let step = judge(|facts, _, _| change(&mut facts.inspection)).expect_err(what);
        assert_eq!(ends(&step), Some(reason::CHANGED_AFTER_CONSENT), "{what}");
    }
}

#[test]
fn the_fresh_assessment_refuses_as_the_first_one_would() {
    let step =
        judge(|_, assessment, _| assessment.refusals.push("no".to_owned())).expect_err("refused");
    assert_eq!(ends(&step), Some(reason::REFUSED));
    // What only now takes force also takes the typed name.
    let step = judge(|_, assessment, _| assessment.cluster_name_needed = Some("prod".to_owned()))
        .expect_err("asked");
    assert_eq!(
        step,
        Step::AwaitPerson(Consent::ClusterName("prod".to_owned()))
    );
}

#[test]
fn decision_3_a_reset_is_sent_only_at_stage_running() {
    for stage in ["booting", "resetting", "rebooting", "upgrading", "unknown"] {
        let step =
            judge(|facts, _, _| facts.inspection.stage = Some(stage.to_owned())).expect_err(stage);
        assert!(
            matches!(&step, Step::Wait(wait) if wait.reason == reason::NOT_READY),
            "{stage}"
        );
    }
    let step = judge(|facts, _, _| facts.inspection.boot_id = None).expect_err("no boot ID");
    assert!(matches!(step, Step::Wait(_)));
}
