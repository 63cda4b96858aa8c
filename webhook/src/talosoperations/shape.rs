//! What the fields of an operation have to be.

use super::kind_name;
use crate::common::reference_name;
use crate::field::FieldError;
use ichor_crds::{OperationKind, TalosOperation};

type Snapshot = crate::request::Snapshot<TalosOperation>;

pub(super) fn reference_names(snapshot: &Snapshot) -> Vec<FieldError> {
    let Some(spec) = snapshot.facts.spec() else {
        return Vec::new();
    };
    let restore = spec.etcd_restore.as_ref();
    let backup = restore.map(|restore| &restore.backup_ref);
    let identity = restore.and_then(|restore| restore.identity_secret_ref.as_ref());
    let names = [
        reference_name("spec.clusterRef.name", Some(&spec.cluster_ref)),
        reference_name("spec.etcdRestore.backupRef.name", backup),
        reference_name("spec.etcdRestore.identitySecretRef.name", identity),
    ];
    names.into_iter().flatten().collect()
}

/// "Block matches kind" (DESIGN section 4).
pub(super) fn block_of_the_kind(snapshot: &Snapshot) -> Vec<FieldError> {
    let Some(spec) = snapshot.facts.spec() else {
        return Vec::new();
    };
    let kind = spec.kind;
    let blocks = [
        (
            "spec.talosUpgrade",
            kind == OperationKind::TalosUpgrade,
            spec.talos_upgrade.is_some(),
        ),
        (
            "spec.kubernetesUpgrade",
            kind == OperationKind::KubernetesUpgrade,
            spec.kubernetes_upgrade.is_some(),
        ),
        (
            "spec.ciliumUpgrade",
            kind == OperationKind::CiliumUpgrade,
            spec.cilium_upgrade.is_some(),
        ),
        (
            "spec.etcdRestore",
            kind == OperationKind::EtcdRestore,
            spec.etcd_restore.is_some(),
        ),
        (
            "spec.replaceControlPlane",
            kind == OperationKind::ReplaceControlPlane,
            spec.replace_control_plane.is_some(),
        ),
        ("spec.node", kind.is_of_one_machine(), spec.node.is_some()),
    ];
    let kind = kind_name(kind);
    let errors = blocks
        .into_iter()
        .filter_map(|(path, needed, there)| match (needed, there) {
            (true, false) => Some(FieldError::required(
                path,
                format!("kind {kind} needs this block"),
            )),
            (false, true) => Some(FieldError::forbidden(
                path,
                format!("does not belong to kind {kind}; take it out"),
            )),
            _ => None,
        });
    errors.collect()
}
