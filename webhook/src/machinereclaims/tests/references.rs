use super::*;
use crate::ports::OtherReclaim;
use ichor_crds::SystemUuid;

#[test]
fn the_cluster_exists() {
    for (existing, want) in [
        (&[][..], "there is none"),
        (&["test"][..], "there is test"),
        (&["test", "lab"][..], "there are lab, test"),
    ] {
        let mut snapshot = snapshot(create(orphan()));
        let existing = existing.iter().map(|name| (*name).to_owned()).collect();
        snapshot.findings.cluster = Some(Ok(ClusterLookup::Missing { existing }));
        let start = "spec.clusterRef.name: Not found: \"prod\": no TalosCluster of that name in namespace ichor-system; ";
        assert_errors(&snapshot, &[&format!("{start}{want}")]);
    }
}

#[test]
fn the_secret_is_a_talosconfig_that_the_caller_may_get() {
    let path = "spec.credentialSecretRef.name: ";
    for (access, kind, want) in [
        (Access::Allowed, Some(Some(TALOSCONFIG_SECRET_TYPE)), None),
        (
            Access::Denied,
            None,
            Some(
                "Forbidden: user \"alice\" may not get Secret \"pasted\" in namespace ichor-system",
            ),
        ),
        (
            Access::Allowed,
            Some(None),
            Some(
                "Not found: \"pasted\": no Secret of that name in namespace ichor-system; make one: kubectl create secret generic",
            ),
        ),
        (
            Access::Allowed,
            Some(Some("Opaque")),
            Some("Invalid value: \"pasted\": the Secret has type \"Opaque\""),
        ),
    ] {
        let mut snapshot = snapshot(create(pasted()));
        snapshot.findings.secret_access = Some(Ok(access));
        snapshot.findings.secret_type = kind.map(|kind| Ok(kind.map(ToOwned::to_owned)));
        let want = want.map(|want| format!("{path}{want}"));
        assert_errors(&snapshot, want.as_deref().as_slice());
    }
}

#[test]
fn references_are_resolved_at_every_change_of_spec() {
    let mut snapshot = snapshot(update(
        orphan(),
        inspected_status(),
        confirmed(orphan(), UUID),
    ));
    snapshot.findings.cluster = Some(Ok(ClusterLookup::Missing {
        existing: Vec::new(),
    }));
    assert_errors(&snapshot, &["spec.clusterRef.name: Not found"]);
}

fn other(name: &str, address: &str, machine: Option<&str>, confirmed: bool) -> OtherReclaim {
    OtherReclaim {
        name: name.to_owned(),
        address: address.parse().ok(),
        machine: machine.and_then(|uuid| uuid.parse::<SystemUuid>().ok()),
        confirmed,
    }
}

#[test]
fn an_address_is_reclaimed_once_at_a_time() {
    for (there, given, want) in [
        (other("a", "10.5.0.8", None, false), "10.5.0.7", None),
        (
            other("a", "10.5.0.7", None, false),
            "10.5.0.7",
            Some("\"a\" has not ended"),
        ),
        (
            other("a", "fc00:22::2", None, false),
            "fc00:22:0::2",
            Some("\"a\" has not ended"),
        ),
        (other("a", "junk", None, false), "10.5.0.7", None),
        (
            other("reclaim-x7k2p", "10.5.0.7", None, false),
            "10.5.0.7",
            None,
        ),
    ] {
        let mut snapshot = snapshot(create(with(orphan(), |s| s.address = given.to_owned())));
        snapshot.findings.others = Some(Ok(vec![there]));
        assert_errors(&snapshot, want.as_slice());
    }
}

#[test]
fn one_confirmed_reclaim_acts_on_a_machine() {
    for (there, want) in [
        (other("a", "10.5.0.8", Some(UUID), false), None),
        (other("a", "10.5.0.8", Some(OTHER_UUID), true), None),
        (other("a", "10.5.0.8", None, true), None),
        (
            other("a", "10.5.0.8", Some(UUID), true),
            Some("spec.confirmUUID: Duplicate value"),
        ),
        (
            other("a", "10.5.0.8", Some(SWAPPED), true),
            Some("spec.confirmUUID: Duplicate value"),
        ),
        (other("reclaim-x7k2p", "10.5.0.7", Some(UUID), true), None),
    ] {
        let change = update(orphan(), inspected_status(), confirmed(orphan(), UUID));
        let mut snapshot = snapshot(change);
        snapshot.findings.others = Some(Ok(vec![there]));
        assert_errors(&snapshot, want.as_slice());
    }
}

#[test]
fn other_reclaims_are_read_only_where_they_matter() {
    let force = with(orphan(), |s| s.force = Some(true));
    for (change, want) in [
        (create(orphan()), true),
        (
            update(orphan(), inspected_status(), confirmed(orphan(), UUID)),
            true,
        ),
        (update(orphan(), inspected_status(), force), false),
        (Change::Metadata, false),
    ] {
        assert_eq!(snapshot(change).facts.questions().others, want);
    }
}

#[test]
fn what_has_ended_or_cannot_be_read_is_no_other() {
    for (text, want) in [
        (
            r#"{"metadata":{"name":"a"},"spec":{"address":"10.5.0.7"}}"#,
            true,
        ),
        (
            r#"{"metadata":{"name":"a"},"spec":{"address":"10.5.0.7"},"status":{"phase":"Resetting"}}"#,
            true,
        ),
        (
            r#"{"metadata":{"name":"a"},"spec":{"address":"10.5.0.7"},"status":{"phase":"Done"}}"#,
            false,
        ),
        (
            r#"{"metadata":{"name":"a"},"spec":{"address":"10.5.0.7"},"status":{"phase":"Refused"}}"#,
            false,
        ),
        (r#"{"metadata":{"name":"a"},"spec":{"address":7}}"#, false),
    ] {
        let stored: StoredReclaim<'_> = serde_json::from_str(text).expect(text);
        assert_eq!(stored.unfinished().is_some(), want, "{text}");
    }
}
