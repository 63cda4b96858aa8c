//! "All but `approval` is immutable; approval needs verb `approve` and is never the requester's own
//! (compared by name and uid)" (DESIGN section 4).

use crate::field::FieldError;
use crate::request::{Change, Judged};
use ichor_crds::{
    AccessApproval, REQUESTED_BY, REQUESTED_BY_UID, TalosAccessRequest, TalosAccessRequestSpec,
};

type Snapshot = crate::request::Snapshot<TalosAccessRequest>;

const AGAIN: &str = "create another TalosAccessRequest";

pub(super) fn only_approval_changes(snapshot: &Snapshot) -> Vec<FieldError> {
    let Some((spec, old)) = snapshot.facts.change_of_spec() else {
        return Vec::new();
    };
    // Named one by one, so that a new field has to be thought about here.
    let TalosAccessRequestSpec {
        cluster_ref,
        role,
        reason,
        duration,
        csr,
        approval: _,
    } = spec;
    [
        ("spec.clusterRef", *cluster_ref == old.cluster_ref),
        ("spec.role", *role == old.role),
        ("spec.reason", *reason == old.reason),
        ("spec.duration", *duration == old.duration),
        ("spec.csr", *csr == old.csr),
    ]
    .into_iter()
    .filter(|(_, same)| !same)
    .map(|(path, _)| {
        FieldError::forbidden(
            path,
            format!("only approval can change after creation; {AGAIN}"),
        )
    })
    .collect()
}

pub(super) fn begins_pending(snapshot: &Snapshot) -> Vec<FieldError> {
    match &snapshot.facts.change {
        Change::Create { spec } if spec.approval != AccessApproval::Pending => {
            let why = "a request begins as Pending: another person decides";
            vec![FieldError::forbidden("spec.approval", why)]
        }
        _ => Vec::new(),
    }
}

pub(super) fn is_final(snapshot: &Snapshot) -> Vec<FieldError> {
    let change = snapshot.facts.change_of_spec();
    let redone = change.is_some_and(|(spec, old)| {
        spec.approval != old.approval && old.approval != AccessApproval::Pending
    });
    let why = || FieldError::forbidden("spec.approval", format!("a decision is final; {AGAIN}"));
    redone.then(why).into_iter().collect()
}

/// By what admission recorded at the creation, not by what the request says now. The uid counts by itself,
/// too: an account that was renamed is the same one.
pub(super) fn is_never_the_requesters(snapshot: &Snapshot) -> Vec<FieldError> {
    let facts = &snapshot.facts;
    if !TalosAccessRequest::decides(facts) {
        return Vec::new();
    }
    let refuse = |why: String| vec![FieldError::forbidden("spec.approval", why)];
    let Some(requester) = facts.old_annotations.get(REQUESTED_BY) else {
        return refuse(format!(
            "nobody recorded who asked, so nobody can decide; {AGAIN}"
        ));
    };
    let uid = facts.old_annotations.get(REQUESTED_BY_UID);
    let same_uid = uid.is_some() && uid == facts.caller_uid.as_ref();
    if *requester == facts.caller || same_uid {
        return refuse(format!(
            "{requester:?} asked for it, so somebody else decides: another person with role ichor-approver"
        ));
    }
    Vec::new()
}
