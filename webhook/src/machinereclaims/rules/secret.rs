//! The talosconfig that a request names (DESIGN section 4).

use crate::common::{named, used_secret};
use crate::field::FieldError;
use crate::findings::known;
use crate::request::Snapshot;
use ichor_crds::{MachineReclaim, TALOSCONFIG_SECRET_TYPE};

/// The Secret is in this namespace, has type `ichor.maesh.dev/talosconfig`, and the caller may `get` it:
/// no confused deputy (DESIGN section 4). Who may not get it does not learn whether it is there.
pub(crate) fn is_the_callers(snapshot: &Snapshot<MachineReclaim>) -> Vec<FieldError> {
    let spec = snapshot.facts.spec();
    let Some(name) = spec.and_then(|spec| named(spec.credential_secret_ref.as_ref())) else {
        return Vec::new();
    };
    let (found, namespace) = (&snapshot.findings, &snapshot.facts.namespace);
    let path = "spec.credentialSecretRef.name";
    let create = format!(
        "kubectl create secret generic NAME -n {namespace} --type={TALOSCONFIG_SECRET_TYPE} --from-file=talosconfig=FILE"
    );
    let error = match known(&found.secret_type) {
        Some(None) => FieldError::not_found(
            path,
            &name,
            format!("no Secret of that name in namespace {namespace}; make one: {create}"),
        ),
        Some(Some(kind)) if kind != TALOSCONFIG_SECRET_TYPE => FieldError::invalid(
            path,
            &name,
            format!(
                "the Secret has type {kind:?}, and only type {TALOSCONFIG_SECRET_TYPE} is used as a talosconfig; make one: {create}"
            ),
        ),
        _ => return used_secret(snapshot, path, Some(name), ""),
    };
    vec![error]
}
