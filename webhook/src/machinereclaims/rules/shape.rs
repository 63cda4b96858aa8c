//! The shape of the spec. CEL in the CRD says most of it too, and holds without the webhook; here it is
//! said with what to do instead.

use crate::field::FieldError;
use crate::machinereclaims::snapshot::{Change, Snapshot, is_object_name};
use ichor_crds::{MachineReclaimSpec, NodeAddress, SystemUuid};

/// An IP address of one machine; loopback and link-local only where `--allow-local-addresses` says so
/// (DESIGN section 5). An address that was accepted once is not refused again: it cannot change.
pub(crate) fn address(snapshot: &Snapshot) -> Vec<FieldError> {
    let Change::Create { spec } = &snapshot.facts.change else {
        return Vec::new();
    };
    let refuse = |why: String| vec![FieldError::invalid("spec.address", &spec.address, why)];
    match spec.address.parse::<NodeAddress>() {
        Err(error) => refuse(error.to_string()),
        Ok(address) if address.is_local() && !snapshot.facts.allow_local_addresses => refuse(
            "is a loopback or link-local address, which the controller does not dial without --allow-local-addresses"
                .to_owned(),
        ),
        Ok(_) => Vec::new(),
    }
}

/// Exactly one of `credentialSecretRef` and (`clusterCredentials: true` with `clusterRef`) (record 0136).
pub(crate) fn one_credential(snapshot: &Snapshot) -> Vec<FieldError> {
    let Some(spec) = snapshot.facts.spec() else {
        return Vec::new();
    };
    let cluster = spec.cluster_credentials == Some(true);
    let mut errors = Vec::new();
    match (spec.credential_secret_ref.is_some(), cluster) {
        (true, true) => errors.push(FieldError::forbidden(
            "spec.credentialSecretRef",
            "cannot stand beside clusterCredentials: true; give exactly one of the two",
        )),
        (false, false) => errors.push(FieldError::required(
            "spec.credentialSecretRef",
            "exactly one of credentialSecretRef and clusterCredentials: true (with clusterRef) says how the machine is dialled",
        )),
        _ => {}
    }
    if cluster && spec.cluster_ref.is_none() {
        errors.push(FieldError::required(
            "spec.clusterRef",
            "clusterCredentials: true needs the cluster whose credentials are used",
        ));
    }
    errors
}

/// References name objects; what cannot be a name is refused before it is looked up.
pub(crate) fn reference_names(snapshot: &Snapshot) -> Vec<FieldError> {
    let Some(MachineReclaimSpec {
        cluster_ref,
        credential_secret_ref,
        ..
    }) = snapshot.facts.spec()
    else {
        return Vec::new();
    };
    [
        ("spec.clusterRef.name", cluster_ref),
        ("spec.credentialSecretRef.name", credential_secret_ref),
    ]
    .into_iter()
    .filter_map(|(path, reference)| Some((path, &reference.as_ref()?.name)))
    .filter(|(_, name)| !is_object_name(name))
    .map(|(path, name)| {
        FieldError::invalid(
            path,
            name,
            "is not the name of an object: lower-case letters, digits, \"-\" and \".\", at most 253",
        )
    })
    .collect()
}

/// What is typed is a UUID; whether it is the machine's is the controller's to see (condition
/// `UUIDMismatch`, DESIGN section 18, decision 15).
pub(crate) fn confirm_uuid(snapshot: &Snapshot) -> Vec<FieldError> {
    let Change::Spec { spec, .. } = &snapshot.facts.change else {
        return Vec::new();
    };
    let Some(text) = &spec.confirm_uuid else {
        return Vec::new();
    };
    match text.parse::<SystemUuid>() {
        Ok(_) => Vec::new(),
        Err(_) => vec![FieldError::invalid(
            "spec.confirmUUID",
            text,
            "is not a UUID such as 4c4c4544-0042-3510-8052-b4c04f463133: type the one that status.inspection.identity.uuid shows",
        )],
    }
}
