//! What never changes after creation, in either direction (set, cleared, changed), also under a deletion
//! timestamp (record 0136, DESIGN section 3; FAULTS 5). The deletion timestamp is not even looked at.

use crate::field::FieldError;
use crate::machinereclaims::snapshot::{Change, Snapshot};
use ichor_crds::{LocalReference, MachineReclaimSpec, REQUESTED_BY};

const AGAIN: &str = "create another MachineReclaim";

/// The requester annotation is what the mutating webhook wrote. Nobody sets or changes it by hand
/// (DESIGN section 4, step 2), also where the mutating webhook did not run or another one ran after it.
pub(crate) fn requester(snapshot: &Snapshot) -> Vec<FieldError> {
    let facts = &snapshot.facts;
    let (now, want) = (facts.requested_by.as_ref(), facts.old_requested_by.as_ref());
    let kept = match facts.change {
        Change::Create { .. } => now.is_none_or(|by| *by == facts.caller),
        Change::Spec { .. } | Change::Metadata => now == want,
    };
    if kept {
        return Vec::new();
    }
    vec![FieldError::forbidden(
        "metadata.annotations",
        format!("{REQUESTED_BY} is set by admission and cannot be set or changed by hand"),
    )]
}

/// `address` never changes.
pub(crate) fn address(snapshot: &Snapshot) -> Vec<FieldError> {
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
pub(crate) fn cluster_ref(snapshot: &Snapshot) -> Vec<FieldError> {
    compared(snapshot, |spec, old| {
        let (now, was) = (spec.cluster_ref.as_ref(), old.cluster_ref.as_ref());
        reference("spec.clusterRef", now, was)
    })
}

/// `credentialSecretRef` is never set, cleared or changed.
pub(crate) fn credential_secret_ref(snapshot: &Snapshot) -> Vec<FieldError> {
    compared(snapshot, |spec, old| {
        let (now, was) = (
            spec.credential_secret_ref.as_ref(),
            old.credential_secret_ref.as_ref(),
        );
        reference("spec.credentialSecretRef", now, was)
    })
}

/// `clusterCredentials` is never set, cleared or changed.
pub(crate) fn cluster_credentials(snapshot: &Snapshot) -> Vec<FieldError> {
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
    snapshot: &Snapshot,
    rule: impl Fn(&MachineReclaimSpec, &MachineReclaimSpec) -> Option<FieldError>,
) -> Vec<FieldError> {
    match &snapshot.facts.change {
        Change::Spec { spec, old, .. } => rule(spec, old).into_iter().collect(),
        Change::Create { .. } | Change::Metadata => Vec::new(),
    }
}
