use super::*;

#[test]
fn the_address_is_that_of_one_machine() {
    for (address, local, want) in [
        ("10.5.0.7", false, None),
        ("fc00:22::2", false, None),
        ("127.0.0.2", true, None),
        ("127.0.0.2", false, Some("without --allow-local-addresses")),
        ("fe80::1", false, Some("without --allow-local-addresses")),
        (
            "worker-7",
            false,
            Some("spec.address: Invalid value: \"worker-7\": \"worker-7\" is not an IP address"),
        ),
        ("10.5.0.7:50000", true, Some("names a port")),
        ("224.0.0.1", true, Some("not the address of one machine")),
        ("", true, Some("an address is needed")),
    ] {
        let mut snapshot = snapshot(create(with(orphan(), |s| s.address = address.to_owned())));
        snapshot.facts.allow_local_addresses = local;
        assert_errors(&snapshot, want.as_slice());
    }
}

#[test]
fn exactly_one_credential_is_named() {
    let both = with(orphan(), |s| {
        s.credential_secret_ref = Some(LocalReference::new("pasted"));
    });
    let none = with(orphan(), |s| s.cluster_credentials = None);
    let off = with(orphan(), |s| s.cluster_credentials = Some(false));
    let no_cluster = with(orphan(), |s| s.cluster_ref = None);
    let pasted_for_cluster = with(pasted(), |s| {
        s.cluster_ref = Some(LocalReference::new("prod"));
    });
    let pasted_and_off = with(pasted(), |s| s.cluster_credentials = Some(false));
    for (spec, want) in [
        (orphan(), None),
        (pasted(), None),
        (pasted_for_cluster, None),
        (pasted_and_off, None),
        (
            both,
            Some("spec.credentialSecretRef: Forbidden: cannot stand beside clusterCredentials"),
        ),
        (
            none,
            Some("spec.credentialSecretRef: Required value: exactly one of"),
        ),
        (
            off,
            Some("spec.credentialSecretRef: Required value: exactly one of"),
        ),
        (no_cluster, Some("spec.clusterRef: Required value")),
    ] {
        assert_errors(&snapshot(create(spec)), want.as_slice());
    }
}

#[test]
fn references_are_names_and_never_paths() {
    for (name, good) in [
        ("prod", true),
        ("a.b-c.1", true),
        ("", false),
        ("../secrets/x", false),
        ("Prod", false),
        ("-a", false),
        ("a..b", false),
        ("a?watch=1", false),
    ] {
        let cluster = with(orphan(), |s| {
            s.cluster_ref = Some(LocalReference::new(name));
        });
        let secret = with(pasted(), |s| {
            s.credential_secret_ref = Some(LocalReference::new(name));
        });
        for (spec, want) in [
            (cluster, "spec.clusterRef.name: Invalid value"),
            (secret, "spec.credentialSecretRef.name: Invalid value"),
        ] {
            let snapshot = snapshot(create(spec));
            let asked = MachineReclaim::questions(&snapshot.facts);
            assert_eq!(
                asked.cluster.is_some() || asked.secret.is_some(),
                good,
                "{name}"
            );
            assert_errors(
                &snapshot,
                if good {
                    &[]
                } else {
                    std::slice::from_ref(&want)
                },
            );
        }
    }
    let long = "a".repeat(254);
    let spec = with(orphan(), |s| {
        s.cluster_ref = Some(LocalReference::new(long));
    });
    assert_errors(
        &snapshot(create(spec)),
        &["spec.clusterRef.name: Invalid value"],
    );
}

#[test]
fn what_is_typed_is_a_uuid() {
    for (typed, want) in [
        (UUID, None),
        (OTHER_UUID, None),
        (
            "yes",
            Some("spec.confirmUUID: Invalid value: \"yes\": is not a UUID such as"),
        ),
        ("", Some("spec.confirmUUID: Invalid value: \"\"")),
    ] {
        let change = update(orphan(), inspected_status(), confirmed(orphan(), typed));
        assert_errors(&snapshot(change), want.as_slice());
    }
}

#[test]
fn all_field_errors_are_told_at_once() {
    let spec = MachineReclaimSpec {
        address: "x".to_owned(),
        cluster_ref: Some(LocalReference::new("../x")),
        confirm_uuid: Some(UUID.to_owned()),
        ..MachineReclaimSpec::default()
    };
    let mut snapshot = snapshot(create(spec));
    let forged = (REQUESTED_BY.to_owned(), "mallory".to_owned());
    snapshot.facts.annotations = [forged].into();
    let denial = judge(&snapshot).denial.expect("a denial");
    assert_eq!((denial.code(), denial.reason()), (422, "Invalid"));
    let message = denial.message("MachineReclaim", "");
    let start =
        "MachineReclaim.ichor.maesh.dev \"\" is invalid: [metadata.annotations: Forbidden: ";
    assert!(message.starts_with(start), "{message}");
    let status = denial.status("MachineReclaim", "");
    let details = status.details.expect("details");
    let fields: Vec<_> = details
        .causes
        .into_iter()
        .flatten()
        .filter_map(|c| c.field)
        .collect();
    assert_eq!(
        fields,
        [
            "metadata.annotations",
            "spec.address",
            "spec.credentialSecretRef",
            "spec.clusterRef.name",
            "spec.confirmUUID"
        ]
    );
}
