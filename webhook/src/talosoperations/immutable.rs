//! "Kind, cluster and block are immutable; `paused` is not" (DESIGN section 3).

use crate::field::FieldError;
use ichor_crds::{OperationKind, TalosOperation, TalosOperationSpec};

type Snapshot = crate::request::Snapshot<TalosOperation>;

pub(super) fn all_but_paused(snapshot: &Snapshot) -> Vec<FieldError> {
    let Some((spec, old)) = snapshot.facts.change_of_spec() else {
        return Vec::new();
    };
    // Named one by one, so that a new field has to be thought about here.
    let TalosOperationSpec {
        cluster_ref,
        kind,
        paused: _,
        talos_upgrade,
        kubernetes_upgrade,
        cilium_upgrade,
        etcd_restore,
        replace_control_plane,
        node,
    } = spec;
    [
        ("spec.clusterRef", *cluster_ref == old.cluster_ref),
        ("spec.kind", *kind == old.kind),
        ("spec.talosUpgrade", *talos_upgrade == old.talos_upgrade),
        (
            "spec.kubernetesUpgrade",
            *kubernetes_upgrade == old.kubernetes_upgrade,
        ),
        ("spec.ciliumUpgrade", *cilium_upgrade == old.cilium_upgrade),
        ("spec.etcdRestore", *etcd_restore == old.etcd_restore),
        (
            "spec.replaceControlPlane",
            *replace_control_plane == old.replace_control_plane,
        ),
        ("spec.node", *node == old.node),
    ]
    .into_iter()
    .filter(|(_, same)| !same)
    .map(|(path, _)| {
        let why = "cannot be set, cleared or changed after creation; create another TalosOperation";
        FieldError::forbidden(path, why)
    })
    .collect()
}

/// "Pausing is refused for an etcd restore that has started" (DESIGN section 4); resuming one is not
/// (record 0095, first amendment).
pub(super) fn a_started_restore_goes_on(snapshot: &Snapshot) -> Vec<FieldError> {
    let facts = &snapshot.facts;
    let (Some((spec, old)), Some(status)) = (facts.change_of_spec(), facts.status()) else {
        return Vec::new();
    };
    let pauses = spec.paused == Some(true) && old.paused != Some(true);
    if old.kind != OperationKind::EtcdRestore || status.started_at.is_none() || !pauses {
        return Vec::new();
    }
    let why = "an etcd restore that has started cannot be paused: half a restore is no control plane. It pauses by itself when a step fails";
    vec![FieldError::forbidden("spec.paused", why)]
}
