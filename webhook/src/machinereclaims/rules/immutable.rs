//! What never changes after creation, in either direction (set, cleared, changed), also under a deletion
//! timestamp (record 0136, DESIGN section 3; FAULTS 5). The deletion timestamp is not even looked at.

use crate::field::FieldError;
use crate::request::Snapshot;
use ichor_crds::{LocalReference, MachineReclaim, MachineReclaimSpec};

const AGAIN: &str = "create another MachineReclaim";

/// `address` never changes.
pub(crate) fn address(snapshot: &Snapshot<MachineReclaim>) -> Vec<FieldError> {
    compared(snapshot, |spec, old| {
        (spec.address != old.address).then(|| {
            let why = format!(
                "cannot change from {:?} after creation; {AGAIN}",
                old.address
            );
            FieldError::invalid("spec.address", &spec.address, why)
        })
    })
}

/// `clusterRef` is never set, cleared or changed.
pub(crate) fn cluster_ref(snapshot: &Snapshot<MachineReclaim>) -> Vec<FieldError> {
    compared(snapshot, |spec, old| {
        let (now, was) = (spec.cluster_ref.as_ref(), old.cluster_ref.as_ref());
        reference("spec.clusterRef", now, was)
    })
}

/// `credentialSecretRef` is never set, cleared or changed.
pub(crate) fn credential_secret_ref(snapshot: &Snapshot<MachineReclaim>) -> Vec<FieldError> {
    compared(snapshot, |spec, old| {
        let (now, was) = (
            spec.credential_secret_ref.as_ref(),
            old.credential_secret_ref.as_ref(),
        );
        reference("spec.credentialSecretRef", now, was)
    })
}

/// `clusterCredentials` is never set, cleared or changed.
pub(crate) fn cluster_credentials(snapshot: &Snapshot<MachineReclaim>) -> Vec<FieldError> {
    compared(snapshot, |spec, old| {
        (spec.cluster_credentials != old.cluster_credentials).then(|| {
            FieldError::forbidden(
                "spec.clusterCredentials",
                format!("cannot be set, cleared or changed after creation; {AGAIN}"),
            )
        })
    })
}

/// What happened to a reference, in words.
fn reference(
    path: &'static str,
    now: Option<&LocalReference>,
    was: Option<&LocalReference>,
) -> Option<FieldError> {
    let what = match (now, was) {
        (now, was) if now == was => return None,
        (Some(now), None) => format!("cannot be set to {:?}", now.name),
        (None, Some(was)) => format!("cannot be cleared of {:?}", was.name),
        (Some(now), Some(was)) => format!("cannot change from {:?} to {:?}", was.name, now.name),
        (None, None) => return None,
    };
    Some(FieldError::forbidden(
        path,
        format!("{what} after creation; {AGAIN}"),
    ))
}

fn compared(
    snapshot: &Snapshot<MachineReclaim>,
    rule: impl Fn(&MachineReclaimSpec, &MachineReclaimSpec) -> Option<FieldError>,
) -> Vec<FieldError> {
    let changed = snapshot.facts.change_of_spec();
    changed
        .and_then(|(spec, old)| rule(spec, old))
        .into_iter()
        .collect()
}
