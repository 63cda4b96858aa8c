use super::*;
use crate::ports::LookupError;

fn denial(snapshot: &Snapshot) -> Denial {
    judge(snapshot).denial.expect("a denial")
}

#[test]
fn verb_reclaim_is_needed_at_creation_and_at_every_change_of_spec() {
    let force = with(orphan(), |spec| spec.force = Some(true));
    let ungraceful = with(orphan(), |spec| spec.force_ungraceful = Some(true));
    let name = with(orphan(), |spec| {
        spec.confirm_cluster_name = Some("prod".to_owned());
    });
    let confirm = confirmed(orphan(), UUID);
    let changes =
        [force, ungraceful, name, confirm].map(|spec| update(orphan(), inspected_status(), spec));
    for change in changes
        .into_iter()
        .chain([create(orphan()), create(pasted())])
    {
        let mut snapshot = snapshot(change);
        assert_eq!(judge(&snapshot).denial, None, "{snapshot:?}");
        snapshot.facts.caller = "dev".to_owned();
        snapshot.facts.annotations.clear();
        snapshot.facts.old_annotations.clear();
        snapshot.findings.verb = Some(Ok(Access::Denied));
        let denial = denial(&snapshot);
        assert_eq!(
            denial.message("MachineReclaim", "x"),
            "user \"dev\" may not reclaim machines in namespace ichor-system: needs verb \"reclaim\" on machinereclaims.ichor.maesh.dev (role ichor-operator has it)"
        );
        assert_eq!((denial.code(), denial.reason()), (403, "Forbidden"));
    }
}

#[test]
fn a_change_of_metadata_asks_nothing() {
    let snapshot = snapshot(Change::Metadata);
    assert_eq!(
        MachineReclaim::questions(&snapshot.facts),
        Questions::default()
    );
    assert_eq!(snapshot.findings, Findings::default());
    assert_eq!(judge(&snapshot).denial, None);
}

#[test]
fn a_review_that_cannot_be_made_denies_and_says_so() {
    for (error, code, text) in [
        (LookupError::Deadline, 504, "did not answer in time"),
        (
            LookupError::Refused("Forbidden (403)".to_owned()),
            500,
            "answered: Forbidden (403)",
        ),
        (LookupError::Unreachable, 500, "could not be asked"),
    ] {
        let mut snapshot = snapshot(create(orphan()));
        snapshot.findings.verb = Some(Err(error));
        let denial = denial(&snapshot);
        assert_eq!(denial.code(), code);
        let message = denial.message("MachineReclaim", "x");
        assert!(
            message.contains("whether user \"alice\" has verb \"reclaim\""),
            "{message}"
        );
        assert!(
            message.contains("could not be checked, so it is refused"),
            "{message}"
        );
        assert!(message.contains(text), "{message}");
    }
}

#[test]
fn a_review_that_nobody_asked_for_denies() {
    let mut snapshot = snapshot(create(orphan()));
    snapshot.findings.verb = None;
    assert_eq!(denial(&snapshot).code(), 500);
}

#[test]
fn who_may_not_reclaim_learns_nothing_else() {
    let mut snapshot = snapshot(create(confirmed(orphan(), "junk")));
    snapshot.findings.verb = Some(Ok(Access::Denied));
    snapshot.findings.cluster = Some(Ok(ClusterLookup::Missing {
        existing: vec!["s".to_owned()],
    }));
    assert!(matches!(denial(&snapshot), Denial::Forbidden(_)));
}

#[test]
fn requests_live_in_the_namespace_of_ichor() {
    let mut elsewhere = snapshot(create(orphan()));
    elsewhere.facts.namespace = "default".to_owned();
    assert_eq!(
        MachineReclaim::questions(&elsewhere.facts),
        Questions::default()
    );
    assert_errors(
        &elsewhere,
        &[
            "metadata.namespace: Invalid value: \"default\": Ichor reads MachineReclaims in namespace ichor-system only",
        ],
    );
    // One that is there can still go.
    let mut metadata = snapshot(Change::Metadata);
    metadata.facts.namespace = "default".to_owned();
    assert_eq!(judge(&metadata).denial, None);
}

#[test]
fn lookups_that_fail_deny_after_the_fields_are_well() {
    type Break = fn(&mut Findings);
    let breaks: [(Break, &str); 4] = [
        (
            |f| f.cluster = Some(Err(LookupError::Deadline)),
            "spec.clusterRef.name \"prod\"",
        ),
        (
            |f| f.secret_access = Some(Err(LookupError::Deadline)),
            "whether user \"alice\" may get Secret \"pasted\"",
        ),
        (
            |f| f.secret_type = Some(Err(LookupError::Deadline)),
            "spec.credentialSecretRef.name \"pasted\"",
        ),
        (
            |f| f.reclaims = Some(Err(LookupError::Deadline)),
            "whether another MachineReclaim acts on this machine",
        ),
    ];
    for (break_it, want) in breaks {
        let spec = with(pasted(), |spec| {
            spec.cluster_ref = Some(LocalReference::new("prod"));
        });
        let mut snapshot = snapshot(create(spec));
        break_it(&mut snapshot.findings);
        let denial = denial(&snapshot);
        assert_eq!((denial.code(), denial.reason()), (504, "Timeout"));
        assert!(
            denial.message("MachineReclaim", "x").contains(want),
            "{}",
            denial.message("MachineReclaim", "x")
        );
    }
}
