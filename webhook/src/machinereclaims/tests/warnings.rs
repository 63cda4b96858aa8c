use super::*;
use ichor_crds::MachineRole;

/// Longest text of a warning that the API server passes on whole.
const LONGEST: usize = 256;

fn warnings(change: Change) -> Vec<String> {
    let verdict = judge(&snapshot(change));
    assert_eq!(verdict.denial, None);
    verdict.warnings
}

fn inspected_as(change: impl FnOnce(&mut ReclaimInspection)) -> MachineReclaimStatus {
    let mut status = inspected_status();
    change(status.inspection.as_mut().expect("an inspection"));
    status
}

#[test]
fn what_is_probably_not_meant_draws_a_warning() {
    let forced = || with(orphan(), |s| s.force = Some(true));
    let named = |spec, name: &str| with(spec, |s| s.confirm_cluster_name = Some(name.to_owned()));
    let hard = || with(orphan(), |s| s.force_ungraceful = Some(true));
    let inspected = inspected_status;
    let worker = inspected_as(|seen| seen.role = Some(MachineRole::Worker));
    let member = inspected_as(|seen| {
        seen.role = Some(MachineRole::ControlPlane);
        seen.etcd_member_id = Some("8e9e05c52164694d".to_owned());
    });
    let foreign = inspected_as(|seen| seen.cluster_name = Some("lab".to_owned()));
    let done = MachineReclaimStatus {
        phase: ReclaimPhase::Refused,
        ..inspected_status()
    };
    let long = "x".repeat(253);
    for (change, want) in [
        (create(orphan()), &[][..]),
        (
            create(forced()),
            &["spec.force has no effect until spec.confirmClusterName"][..],
        ),
        (create(named(forced(), "prod")), &[][..]),
        (
            create(named(orphan(), "prod")),
            &["spec.confirmClusterName has no effect without spec.force"][..],
        ),
        (
            create(named(forced(), "prd")),
            &["\"prd\" is not the cluster's name \"prod\""][..],
        ),
        (
            create(named(forced(), &long)),
            &["is not the cluster's name \"prod\""][..],
        ),
        (
            update(
                pasted(),
                foreign,
                named(with(pasted(), |s| s.force = Some(true)), "lab"),
            ),
            &[][..],
        ),
        (
            create(hard()),
            &["meant for a control plane whose cluster does not answer"][..],
        ),
        (
            update(orphan(), worker, hard()),
            &["the machine is a worker"][..],
        ),
        (
            update(orphan(), member, hard()),
            &["its member \"8e9e05c52164694d\" stays"][..],
        ),
        (
            update(orphan(), inspected(), confirmed(orphan(), UUID)),
            &[][..],
        ),
        (
            update(orphan(), inspected(), confirmed(orphan(), OTHER_UUID)),
            &["is not the UUID of the machine"][..],
        ),
        (
            update(orphan(), inspected(), confirmed(orphan(), SWAPPED)),
            &["in another byte order"][..],
        ),
        (
            update(orphan(), done, confirmed(orphan(), UUID)),
            &["this request has ended (Refused)"][..],
        ),
        (Change::Metadata, &[][..]),
    ] {
        let warnings = warnings(change);
        let all = warnings.len() == want.len()
            && warnings
                .iter()
                .zip(want)
                .all(|(warning, want)| warning.contains(want));
        assert!(all, "{warnings:#?}\ninstead of {want:#?}");
        assert!(warnings.iter().all(|w| w.len() <= LONGEST), "{warnings:#?}");
    }
}

#[test]
fn a_refusal_has_no_warnings() {
    let spec = with(orphan(), |s| {
        s.force = Some(true);
        s.address = "x".to_owned();
    });
    let verdict = judge(&snapshot(create(spec)));
    assert!(verdict.denial.is_some() && verdict.warnings.is_empty());
}

#[test]
fn the_audit_log_says_what_was_asked_and_decided() {
    let forced = with(confirmed(orphan(), UUID), |s| s.force = Some(true));
    for (change, want) in [
        (
            create(pasted()),
            vec![
                ("address", "10.5.0.7"),
                ("credential-source", "secret pasted"),
                ("decision", "allowed"),
                ("force", "false"),
                ("force-ungraceful", "false"),
            ],
        ),
        (
            update(orphan(), inspected_status(), forced),
            vec![
                ("address", "10.5.0.7"),
                ("cluster", "prod"),
                ("confirmed-uuid", UUID),
                ("credential-source", "cluster"),
                ("decision", "allowed"),
                ("force", "true"),
                ("force-ungraceful", "false"),
            ],
        ),
        (
            Change::Metadata,
            vec![("decision", "allowed: metadata only")],
        ),
    ] {
        // generateName: the name is empty, and nothing relies on it (FAULTS 6).
        let mut snapshot = snapshot(change);
        snapshot.facts.name = String::new();
        let audit = judge(&snapshot).audit;
        let audit: Vec<(&str, &str)> = audit.iter().map(|(k, v)| (*k, v.as_str())).collect();
        assert_eq!(audit, want);
    }
    let mut refused = snapshot(create(orphan()));
    refused.findings.verb = Some(Ok(Access::Denied));
    assert_eq!(judge(&refused).audit["decision"], "denied: Forbidden");
}
