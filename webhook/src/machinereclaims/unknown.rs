//! What could not be found out is not allowed: a denial that says so (DESIGN section 4).

use super::snapshot::Snapshot;
use super::verdict::Denial;
use crate::ports::LookupError;

/// Denies when a lookup failed that the rules would have needed.
pub(crate) fn lookups(snapshot: &Snapshot) -> Option<Denial> {
    let found = &snapshot.findings;
    let asked = snapshot.facts.questions();
    let cluster = asked.cluster.as_deref().unwrap_or_default();
    let secret = asked.secret.as_deref().unwrap_or_default();
    let failed = [
        failure(found.cluster.as_ref(), || {
            format!("spec.clusterRef.name {cluster:?}")
        }),
        failure(found.secret_access.as_ref(), || {
            format!(
                "whether user {:?} may get Secret {secret:?}",
                snapshot.facts.caller
            )
        }),
        failure(found.secret_type.as_ref(), || {
            format!("spec.credentialSecretRef.name {secret:?}")
        }),
        failure(found.others.as_ref(), || {
            "whether another MachineReclaim acts on this machine".to_owned()
        }),
    ];
    failed.into_iter().flatten().next()
}

fn failure<T>(
    answer: Option<&Result<T, LookupError>>,
    what: impl FnOnce() -> String,
) -> Option<Denial> {
    match answer {
        Some(Err(error)) => Some(Denial::Unknown {
            what: what(),
            error: error.clone(),
        }),
        _ => None,
    }
}
