//! Who may ask, and where.

use crate::field::FieldError;
use crate::machinereclaims::RESOURCE;
use crate::machinereclaims::snapshot::Snapshot;
use crate::machinereclaims::verdict::Denial;
use crate::ports::{Access, LookupError};
use ichor_crds::GROUP;

/// Role of the manifests that holds verb `reclaim`.
const ROLE: &str = "ichor-operator";

/// "The cluster must live in the Ichor namespace (where the controller reads it)" (record 0136): a
/// request elsewhere would wait for ever. Said before the verb is asked for, because whoever forgot the
/// namespace has no role there. Metadata of such an object may change, so that it can go.
pub(crate) fn ichor_namespace(snapshot: &Snapshot) -> Option<Denial> {
    let facts = &snapshot.facts;
    if facts.spec().is_none() || facts.namespace == facts.ichor_namespace {
        return None;
    }
    let here = &facts.ichor_namespace;
    Some(Denial::Invalid(vec![FieldError::invalid(
        "metadata.namespace",
        &facts.namespace,
        format!(
            "Ichor reads MachineReclaims in namespace {here} only: create it there, with -n {here}"
        ),
    )]))
}

/// The caller holds verb `reclaim` at creation and at every change of `spec`, and a review that cannot
/// be made is a denial that says so (DESIGN section 4).
pub(crate) fn reclaim_verb(snapshot: &Snapshot) -> Option<Denial> {
    let facts = &snapshot.facts;
    facts.spec()?;
    let caller = &facts.caller;
    match &snapshot.findings.reclaim {
        Some(Ok(Access::Allowed)) => None,
        Some(Ok(Access::Denied)) => Some(Denial::Forbidden(format!(
            "user {caller:?} may not reclaim machines in namespace {}: needs verb \"reclaim\" on {RESOURCE}.{GROUP} (role {ROLE} has it)",
            facts.namespace
        ))),
        failed => Some(Denial::Unknown {
            what: format!("whether user {caller:?} has verb \"reclaim\""),
            error: match failed {
                Some(Err(error)) => error.clone(),
                _ => LookupError::Unreachable,
            },
        }),
    }
}
