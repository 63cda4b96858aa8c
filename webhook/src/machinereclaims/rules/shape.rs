//! The shape of the spec. CEL in the CRD says most of it too, and holds without the webhook; here it is
//! said with what to do instead.

use crate::common::{node_address, reference_name};
use crate::field::FieldError;
use crate::request::{Change, Snapshot};
use ichor_crds::{MachineReclaim, SystemUuid};

/// An IP address of one machine; loopback and link-local only where `--allow-local-addresses` says so
/// (DESIGN section 5). An address that was accepted once is not refused again: it cannot change.
pub(crate) fn address(snapshot: &Snapshot<MachineReclaim>) -> Vec<FieldError> {
    let Change::Create { spec } = &snapshot.facts.change else {
        return Vec::new();
    };
    let error = node_address(snapshot, "spec.address", &spec.address);
    error.into_iter().collect()
}

/// Exactly one of `credentialSecretRef` and (`clusterCredentials: true` with `clusterRef`) (record 0136).
pub(crate) fn one_credential(snapshot: &Snapshot<MachineReclaim>) -> Vec<FieldError> {
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
pub(crate) fn reference_names(snapshot: &Snapshot<MachineReclaim>) -> Vec<FieldError> {
    let Some(spec) = snapshot.facts.spec() else {
        return Vec::new();
    };
    let cluster = reference_name("spec.clusterRef.name", spec.cluster_ref.as_ref());
    let secret = spec.credential_secret_ref.as_ref();
    let secret = reference_name("spec.credentialSecretRef.name", secret);
    cluster.into_iter().chain(secret).collect()
}

/// What is typed is a UUID; whether it is the machine's is the controller's to see (condition
/// `UUIDMismatch`, DESIGN section 18, decision 15).
pub(crate) fn confirm_uuid(snapshot: &Snapshot<MachineReclaim>) -> Vec<FieldError> {
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
