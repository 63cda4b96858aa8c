//! The rules for machinereclaims as an ordered chain (DESIGN section 4, record 0136). Pure: the same
//! snapshot has the same verdict.

use super::rules::{authority, conflict, consent, immutable, reference, shape, warning};
use super::snapshot::Snapshot;
use super::verdict::{Denial, Verdict};
use super::{audit, unknown};
use crate::field::FieldError;

/// Each may end the judgement by itself. Who may not ask learns nothing but that.
const GATES: [fn(&Snapshot) -> Option<Denial>; 2] =
    [authority::ichor_namespace, authority::reclaim_verb];

/// All are asked, so that a person sees every error at once.
const RULES: [fn(&Snapshot) -> Vec<FieldError>; 14] = [
    immutable::requester,
    shape::address,
    shape::one_credential,
    shape::reference_names,
    shape::confirm_uuid,
    immutable::address,
    immutable::cluster_ref,
    immutable::cluster_credentials,
    immutable::credential_secret_ref,
    consent::follows_inspection,
    consent::stands_once_matched,
    reference::cluster_exists,
    reference::secret_is_the_callers,
    conflict::one_reclaim_per_machine,
];

/// Judges one request.
pub fn judge(snapshot: &Snapshot) -> Verdict {
    let denial = GATES
        .iter()
        .find_map(|gate| gate(snapshot))
        .or_else(|| field_errors(snapshot))
        .or_else(|| unknown::lookups(snapshot));
    let warnings = if denial.is_none() {
        warning::all(snapshot)
    } else {
        Vec::new()
    };
    let audit = audit::annotations(&snapshot.facts, denial.as_ref());
    Verdict {
        denial,
        warnings,
        audit,
    }
}

fn field_errors(snapshot: &Snapshot) -> Option<Denial> {
    let errors: Vec<FieldError> = RULES.iter().flat_map(|rule| rule(snapshot)).collect();
    (!errors.is_empty()).then_some(Denial::Invalid(errors))
}
