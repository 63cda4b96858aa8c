use super::*;
use ichor_crds::ResetRecord;

#[test]
fn what_is_asked_for_never_changes_in_any_direction() {
    let cluster =
        |spec, name: Option<&str>| with(spec, |s| s.cluster_ref = name.map(LocalReference::new));
    let secret = |spec, name: Option<&str>| {
        with(spec, |s| {
            s.credential_secret_ref = name.map(LocalReference::new);
        })
    };
    let credentials = |spec, value| with(spec, |s| s.cluster_credentials = value);
    let address = with(orphan(), |s| s.address = "10.5.0.8".to_owned());
    let force = with(orphan(), |s| s.force = Some(true));
    for (old, new, want) in [
        (orphan(), force, &[][..]),
        (
            orphan(),
            address,
            &["spec.address: Invalid value: \"10.5.0.8\": cannot change from \"10.5.0.7\""][..],
        ),
        (
            orphan(),
            cluster(orphan(), Some("test")),
            &["spec.clusterRef: Forbidden: cannot change from \"prod\" to \"test\""][..],
        ),
        (
            pasted(),
            cluster(pasted(), Some("prod")),
            &["spec.clusterRef: Forbidden: cannot be set to \"prod\""][..],
        ),
        (
            cluster(pasted(), Some("prod")),
            pasted(),
            &["spec.clusterRef: Forbidden: cannot be cleared of \"prod\""][..],
        ),
        (
            pasted(),
            secret(pasted(), Some("b")),
            &["spec.credentialSecretRef: Forbidden: cannot change from \"pasted\" to \"b\""][..],
        ),
        (
            credentials(cluster(pasted(), Some("prod")), None),
            orphan(),
            &[
                "spec.clusterCredentials: Forbidden: cannot be set, cleared",
                "spec.credentialSecretRef: Forbidden: cannot be cleared of",
            ][..],
        ),
        (
            orphan(),
            credentials(secret(orphan(), Some("pasted")), Some(false)),
            &[
                "spec.clusterCredentials: Forbidden: cannot be set, cleared",
                "spec.credentialSecretRef: Forbidden: cannot be set to",
            ][..],
        ),
        (
            pasted(),
            credentials(pasted(), Some(false)),
            &["spec.clusterCredentials: Forbidden"][..],
        ),
    ] {
        assert_errors(&snapshot(update(old, inspected_status(), new)), want);
    }
}

#[test]
fn consent_follows_inspection() {
    let none = MachineReclaimStatus::default();
    for (change, want) in [
        (create(orphan()), None),
        (
            create(confirmed(orphan(), UUID)),
            Some("spec.confirmUUID: Forbidden: is not accepted at creation"),
        ),
        (
            update(orphan(), none.clone(), confirmed(orphan(), UUID)),
            Some("spec.confirmUUID: Forbidden: the machine is not inspected yet"),
        ),
        (
            update(orphan(), inspected_status(), confirmed(orphan(), UUID)),
            None,
        ),
        (update(confirmed(orphan(), UUID), none, orphan()), None),
    ] {
        assert_errors(&snapshot(change), want.as_slice());
    }
}

#[test]
fn consent_and_force_stand_once_the_uuid_matched() {
    type Edit = fn(&mut MachineReclaimSpec);
    let edits: [(Edit, &str); 5] = [
        (
            |s| s.confirm_uuid = Some(OTHER_UUID.to_owned()),
            "spec.confirmUUID: Forbidden",
        ),
        (|s| s.confirm_uuid = None, "spec.confirmUUID: Forbidden"),
        (|s| s.force = Some(true), "spec.force: Forbidden"),
        (
            |s| s.confirm_cluster_name = Some("prod".to_owned()),
            "spec.confirmClusterName: Forbidden",
        ),
        (
            |s| s.force_ungraceful = Some(true),
            "spec.forceUngraceful: Forbidden",
        ),
    ];
    let recorded = MachineReclaimStatus {
        reset: Some(ResetRecord::default()),
        ..inspected_status()
    };
    for (edit, want) in edits {
        let wrong = confirmed(orphan(), OTHER_UUID);
        let right = confirmed(orphan(), UUID);
        // A wrong UUID was no consent: all of it may be corrected.
        let corrected = with(wrong.clone(), edit);
        if corrected != wrong {
            assert_errors(
                &snapshot(update(wrong.clone(), inspected_status(), corrected)),
                &[],
            );
        }
        let upper = confirmed(orphan(), &UUID.to_uppercase());
        for (old, status) in [
            (right, inspected_status()),
            (upper, inspected_status()),
            // A record outlives an inspection that now sees another machine.
            (confirmed(orphan(), SWAPPED), recorded.clone()),
        ] {
            let changed = with(old.clone(), edit);
            assert_errors(&snapshot(update(old, status, changed)), &[want]);
        }
    }
}

/// Record 0136: "unless --force and the typed cluster name". The two may be typed one after the other.
#[test]
fn a_cluster_name_that_is_still_asked_for_may_be_typed_after_the_uuid() {
    let asked = |recorded: bool| {
        let mut status = inspected_status();
        status
            .inspection
            .as_mut()
            .expect("there")
            .cluster_name_needed = Some("prod".to_owned());
        status.reset = recorded.then(ResetRecord::default);
        status
    };
    let forced = with(confirmed(orphan(), UUID), |s| s.force = Some(true));
    let named = |name: &str| MachineReclaimSpec {
        confirm_cluster_name: Some(name.to_owned()),
        ..forced.clone()
    };
    let stands = Some("spec.confirmClusterName: Forbidden");
    for (old, new, recorded, want) in [
        (forced.clone(), named("prod"), false, None),
        (named("prdo"), named("prod"), false, None),
        (named("prod"), named("other"), false, stands),
        (forced.clone(), named("prod"), true, stands),
    ] {
        assert_errors(
            &snapshot(update(old, asked(recorded), new)),
            want.as_slice(),
        );
    }
}

#[test]
fn the_requester_is_written_by_admission_only() {
    let by = |name: &str| Some(name.to_owned());
    let spec = || update(orphan(), inspected_status(), confirmed(orphan(), UUID));
    for (change, old, new, good) in [
        (create(orphan()), None, by("alice"), true),
        // The mutating webhook did not run: nothing is forged.
        (create(orphan()), None, None, true),
        (create(orphan()), None, by("bob"), false),
        (spec(), by("bob"), by("bob"), true),
        (spec(), by("bob"), by("alice"), false),
        (Change::Metadata, by("bob"), by("bob"), true),
        (Change::Metadata, by("bob"), by("alice"), false),
        (Change::Metadata, by("bob"), None, false),
        (Change::Metadata, None, by("alice"), false),
    ] {
        let mut snapshot = snapshot(change);
        let annotated = |by: Option<String>| by.map(|by| (REQUESTED_BY.to_owned(), by));
        snapshot.facts.old_annotations = annotated(old).into_iter().collect();
        snapshot.facts.annotations = annotated(new).into_iter().collect();
        let want =
            ["metadata.annotations: Forbidden: ichor.maesh.dev/requested-by is set by admission"];
        assert_errors(&snapshot, if good { &[] } else { &want });
    }
}
