//! DESIGN section 18, decisions 1, 3, 9 and 15, as tables.

use super::*;
use std::time::Duration;

const UUID: &str = "4c4c4544-0042-3510-8052-b4c04f463133";

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("a time")
}

fn machine(serial: &str) -> MachineIdentity {
    MachineIdentity {
        uuid: UUID.to_owned(),
        serial: serial.to_owned(),
        macs: vec!["02:00:00:00:00:07".to_owned()],
    }
}

fn record(accepted: bool) -> ResetRecord {
    ResetRecord {
        recorded_at: Some(Time(at(0))),
        identity: machine("5B5RF13"),
        boot_id: Some("boot-1".to_owned()),
        graceful: true,
        accepted_at: accepted.then(|| Time(at(1))),
    }
}

fn look(record: &ResetRecord, sight: &Sight, second: i64) -> Outlook {
    look_after(record, None, sight, second)
}

fn look_after(
    record: &ResetRecord,
    progress: Option<&ReclaimProgress>,
    sight: &Sight,
    second: i64,
) -> Outlook {
    let known = Duration::from_secs(second.unsigned_abs());
    look_knowing(record, progress, sight, second, known)
}

fn look_knowing(
    record: &ResetRecord,
    progress: Option<&ReclaimProgress>,
    sight: &Sight,
    second: i64,
    known: Duration,
) -> Outlook {
    let spec = MachineReclaimSpec {
        address: "10.5.0.7".to_owned(),
        ..MachineReclaimSpec::default()
    };
    let settings = Settings {
        allow_local_addresses: false,
        recheck: Duration::from_secs(30),
        watch: Duration::from_secs(5),
        observe_timeout: Duration::from_mins(2),
        overdue: Duration::from_mins(30),
        history: Duration::from_secs(1),
    };
    let now = at(second);
    judge(&spec, record, progress, sight, now, known, &settings)
}

/// A replica whose clock is an hour ahead of the one that wrote the record takes over right after it.
#[test]
fn decision_1_a_clock_that_is_ahead_makes_nothing_late() {
    let running = configured("boot-1", Stage::Running);
    for (known, want) in [
        (0, None),
        (119, None),
        (120, Some(reason::RECORDED_NOT_OBSERVED)),
    ] {
        let known = Duration::from_secs(known);
        let outlook = look_knowing(&record(false), None, &running, 3600, known);
        assert_eq!(failure(&outlook), want, "{known:?}");
    }
    for (known, late) in [(1799, false), (1800, true)] {
        let known = Duration::from_secs(known);
        let outlook = look_knowing(&record(true), None, &Sight::Silence, 7200, known);
        assert!(
            matches!(outlook, Outlook::Waiting { overdue, .. } if overdue == late),
            "{known:?}"
        );
    }
}

/// Discovery saw it back, a person approved it and Ichor configured it, all before it was seen here.
#[test]
fn decision_15_a_machine_that_ichor_configured_since_was_back() {
    for (serial, back) in [("5B5RF13", true), ("OTHER", false)] {
        let sight = Sight::TakenIn {
            identity: machine(serial),
            address: "10.5.0.99".to_owned(),
            boot_id: Some("boot-3".to_owned()),
        };
        match look(&record(true), &sight, 60) {
            Outlook::Returned(progress) => {
                assert_eq!(progress.returned_address.as_deref(), Some("10.5.0.99"));
                assert!(back, "{serial}");
            }
            outlook => assert!(!back, "{serial}: {outlook:?}"),
        }
    }
}

/// A machine that was back, wiped, and was configured before its Node could be looked at, was wiped all the same.
#[test]
fn a_machine_configured_anew_after_its_return_did_not_fail() {
    let returned = ReclaimProgress {
        returned_at: Some(Time(at(90))),
        ..ReclaimProgress::default()
    };
    let anew = configured("boot-3", Stage::Running);
    assert_eq!(
        look_after(&record(true), Some(&returned), &anew, 500),
        Outlook::Returned(returned.clone())
    );
    let before = ReclaimProgress::default();
    assert_eq!(
        failure(&look_after(&record(true), Some(&before), &anew, 500)),
        Some(reason::RETURNED_UNWIPED)
    );
}

fn configured(boot: &str, stage: Stage) -> Sight {
    Sight::Configured {
        identity: machine("5B5RF13"),
        boot_id: Some(boot.to_owned()),
        stage,
    }
}

fn failure(outlook: &Outlook) -> Option<&'static str> {
    match outlook {
        Outlook::Failed(ending) => Some(ending.reason),
        _ => None,
    }
}

#[test]
fn decision_1_two_minutes_on_the_recorded_boot_is_recorded_not_observed() {
    let running = configured("boot-1", Stage::Running);
    assert_eq!(failure(&look(&record(false), &running, 119)), None);
    let failed = look(&record(false), &running, 120);
    assert_eq!(failure(&failed), Some(reason::RECORDED_NOT_OBSERVED));
    let Outlook::Failed(ending) = failed else {
        panic!("failed")
    };
    assert!(
        ending
            .result
            .starts_with("recorded, not observed; ask again"),
        "{}",
        ending.result
    );
}

#[test]
fn decision_3_an_ok_is_not_an_effect() {
    let failed = look(&record(true), &configured("boot-1", Stage::Running), 120);
    assert_eq!(failure(&failed), Some(reason::RESET_NOT_CARRIED_OUT));
    // A reset may take 20 minutes: drain, leaving etcd.
    for stage in [Stage::Resetting, Stage::Rebooting] {
        assert_eq!(
            failure(&look(&record(true), &configured("boot-1", stage), 1200)),
            None,
            "{stage}"
        );
    }
}

#[test]
fn decision_3_a_return_under_the_old_ca_on_a_new_boot_is_failed() {
    for stage in [Stage::Booting, Stage::Running] {
        let failed = look(&record(true), &configured("boot-2", stage), 60);
        assert_eq!(failure(&failed), Some(reason::RETURNED_UNWIPED), "{stage}");
    }
}

#[test]
fn stopped_is_resetting_or_silence_or_another_machine_at_the_address() {
    let stranger = Sight::Configured {
        identity: machine("OTHER"),
        boot_id: Some("boot-9".to_owned()),
        stage: Stage::Running,
    };
    let other_in_maintenance = Sight::Maintenance {
        identity: machine("OTHER"),
        address: "10.5.0.7".to_owned(),
        boot_id: Some("boot-2".to_owned()),
    };
    for (sight, stopped) in [
        (configured("boot-1", Stage::Running), false),
        (configured("boot-1", Stage::Resetting), true),
        (Sight::Silence, true),
        (Sight::Unclear, false),
        (stranger, true),
        (other_in_maintenance, true),
    ] {
        let Outlook::Waiting { progress, overdue } = look(&record(true), &sight, 10) else {
            panic!("{sight:?} is no end");
        };
        assert_eq!(progress.stopped_at.is_some(), stopped, "{sight:?}");
        assert!(!overdue && progress.returned_at.is_none());
    }
}

#[test]
fn decision_9_only_the_same_identity_in_maintenance_mode_completes_it() {
    for (serial, returned) in [("5B5RF13", true), ("OTHER", false)] {
        let sight = Sight::Maintenance {
            identity: machine(serial),
            address: "10.5.0.7".to_owned(),
            boot_id: Some("boot-2".to_owned()),
        };
        let outlook = look(&record(true), &sight, 60);
        assert_eq!(
            matches!(outlook, Outlook::Returned(_)),
            returned,
            "{serial}"
        );
    }
}

#[test]
fn decision_15_a_machine_that_returns_at_another_address_completes_it() {
    for (address, elsewhere) in [("10.5.0.7", None), ("10.5.0.99", Some("10.5.0.99"))] {
        let sight = Sight::Maintenance {
            identity: machine("5B5RF13"),
            address: address.to_owned(),
            boot_id: Some("boot-2".to_owned()),
        };
        let Outlook::Returned(progress) = look(&record(true), &sight, 60) else {
            panic!("it is back");
        };
        assert_eq!(progress.returned_address.as_deref(), elsewhere);
        assert!(progress.stopped_at.is_some() && progress.returned_at.is_some());
    }
}

#[test]
fn decision_3_overdue_after_thirty_minutes_and_the_looking_goes_on() {
    for (second, want) in [(1799, false), (1800, true), (1_000_000, true)] {
        let outlook = look(&record(true), &Sight::Silence, second);
        assert!(
            matches!(outlook, Outlook::Waiting { overdue, .. } if overdue == want),
            "{second}"
        );
    }
}

#[test]
fn faults_24_maintenance_mode_on_the_recorded_boot_is_no_effect() {
    for (boot, failed) in [
        (Some("boot-1"), Some(reason::RESET_NOT_CARRIED_OUT)),
        (Some("boot-2"), None),
        (None, None),
    ] {
        let sight = Sight::Maintenance {
            identity: machine("5B5RF13"),
            address: "10.5.0.7".to_owned(),
            boot_id: boot.map(str::to_owned),
        };
        let outlook = look(&record(true), &sight, 60);
        assert_eq!(failure(&outlook), failed, "{boot:?}");
        let returned = matches!(outlook, Outlook::Returned(_));
        assert_eq!(returned, failed.is_none(), "{boot:?}");
    }
}
