use super::*;
use serde_json::json;

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

fn other(name: &str, address: &str, machine: Option<&str>, confirmed: bool) -> MachineReclaim {
    let typed = machine.filter(|_| confirmed);
    let inspection = machine.map(|uuid| json!({"identity": {"uuid": uuid}}));
    let mut other = json!({
        "apiVersion": "ichor.maesh.dev/v1alpha1", "kind": "MachineReclaim",
        "metadata": {"name": name}, "spec": {"address": address}, "status": {},
    });
    if let Some(typed) = typed {
        other["spec"]["confirmUUID"] = json!(typed);
    }
    if let Some(inspection) = inspection {
        other["status"]["inspection"] = inspection;
    }
    serde_json::from_value(other).expect("a reclaim")
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
        snapshot.findings.reclaims = Some(Ok(vec![there.into()]));
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
        snapshot.findings.reclaims = Some(Ok(vec![there.into()]));
        assert_errors(&snapshot, want.as_slice());
    }
}

#[test]
fn other_reclaims_are_read_only_where_they_matter_and_by_field() {
    let force = with(orphan(), |s| s.force = Some(true));
    let local = with(orphan(), |s| s.address = "FC00:22:0::2".to_owned());
    let uuid = |uuid: &str| Selector::Field("spec.confirmUUID", uuid.to_owned());
    let address = |text: &str| Selector::Field("spec.address", text.to_owned());
    for (change, want) in [
        (create(orphan()), vec![address("10.5.0.7")]),
        (create(local), vec![address("fc00:22::2")]),
        (
            update(orphan(), inspected_status(), confirmed(orphan(), UUID)),
            vec![uuid(UUID), uuid(SWAPPED)],
        ),
        (update(orphan(), inspected_status(), force), vec![]),
        (Change::Metadata, vec![]),
    ] {
        let asked = MachineReclaim::questions(&snapshot(change).facts);
        assert_eq!(asked.reclaims, want);
    }
}

#[test]
fn what_has_ended_is_not_in_the_way() {
    for (phase, want) in [
        ("Pending", &["\"a\" has not ended"][..]),
        ("Resetting", &["\"a\" has not ended"][..]),
        ("Done", &[]),
        ("Refused", &[]),
        ("Failed", &[]),
    ] {
        let mut there = other("a", "10.5.0.7", None, false);
        let status = serde_json::from_value(json!({"phase": phase}));
        there.status = Some(status.expect("a status"));
        let mut snapshot = snapshot(create(orphan()));
        snapshot.findings.reclaims = Some(Ok(vec![there.into()]));
        assert_errors(&snapshot, want);
    }
}
