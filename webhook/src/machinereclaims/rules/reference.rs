//! Credentials are resolved (DESIGN section 4). A lookup that failed is not judged here but denied as
//! such, see [`super::super::unknown`].

use crate::field::FieldError;
use crate::machinereclaims::snapshot::Snapshot;
use crate::ports::{Access, ClusterLookup};
use ichor_crds::TALOSCONFIG_SECRET_TYPE;

/// The cluster that `clusterRef` names exists in the Ichor namespace (record 0136).
pub(crate) fn cluster_exists(snapshot: &Snapshot) -> Vec<FieldError> {
    let Some(Ok(ClusterLookup::Missing { existing })) = &snapshot.findings.cluster else {
        return Vec::new();
    };
    let questions = snapshot.facts.questions();
    let name = questions.cluster.unwrap_or_default();
    let namespace = &snapshot.facts.namespace;
    let mut names = existing.clone();
    names.sort();
    let there = match names.as_slice() {
        [] => "there is none".to_owned(),
        [one] => format!("there is {one}"),
        many => format!("there are {}", many.join(", ")),
    };
    vec![FieldError::not_found(
        "spec.clusterRef.name",
        &name,
        format!("no TalosCluster of that name in namespace {namespace}; {there}"),
    )]
}

/// The Secret is in this namespace, has type `ichor.maesh.dev/talosconfig`, and the caller may `get` it:
/// no confused deputy (DESIGN section 4). Who may not get it does not learn whether it is there.
pub(crate) fn secret_is_the_callers(snapshot: &Snapshot) -> Vec<FieldError> {
    let questions = snapshot.facts.questions();
    let (Some(name), found) = (questions.secret, &snapshot.findings) else {
        return Vec::new();
    };
    let namespace = &snapshot.facts.namespace;
    let path = "spec.credentialSecretRef.name";
    let create = format!(
        "kubectl create secret generic NAME -n {namespace} --type={TALOSCONFIG_SECRET_TYPE} --from-file=talosconfig=FILE"
    );
    let error = match (&found.secret_access, &found.secret_type) {
        (Some(Ok(Access::Denied)), _) => FieldError::forbidden(
            path,
            format!(
                "user {:?} may not get Secret {name:?} in namespace {namespace}, so Ichor does not use it for them: needs verb \"get\" on secrets",
                snapshot.facts.caller
            ),
        ),
        (_, Some(Ok(None))) => FieldError::not_found(
            path,
            &name,
            format!("no Secret of that name in namespace {namespace}; make one: {create}"),
        ),
        (_, Some(Ok(Some(kind)))) if kind != TALOSCONFIG_SECRET_TYPE => FieldError::invalid(
            path,
            &name,
            format!(
                "the Secret has type {kind:?}, and only type {TALOSCONFIG_SECRET_TYPE} is used as a talosconfig; make one: {create}"
            ),
        ),
        _ => return Vec::new(),
    };
    vec![error]
}
