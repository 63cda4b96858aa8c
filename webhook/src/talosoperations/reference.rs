//! The objects that an operation names besides its cluster.

use crate::common::{named, used_secret};
use crate::field::FieldError;
use crate::findings::{found, known};
use crate::request::Change;
use crate::seen::Seen;
use ichor_crds::{AGE_IDENTITY_KEY, MachineRole, TalosMachine, TalosOperation};

type Snapshot = crate::request::Snapshot<TalosOperation>;

/// Both machines of a replacement are approved control planes of the cluster.
pub(super) fn control_planes(snapshot: &Snapshot) -> Vec<FieldError> {
    let Change::Create { spec } = &snapshot.facts.change else {
        return Vec::new();
    };
    let Some(block) = spec
        .replace_control_plane
        .as_ref()
        .filter(|_| !matches!(snapshot.findings.machines, Some(Err(_))))
    else {
        return Vec::new();
    };
    let cluster = &spec.cluster_ref.name;
    let machines = found(&snapshot.findings.machines);
    let errors = [
        ("spec.replaceControlPlane.machine", &block.machine),
        ("spec.replaceControlPlane.replacement", &block.replacement),
    ]
    .into_iter()
    .filter_map(|(path, name)| {
        let is_named = |machine: &&Seen<TalosMachine>| {
            machine.metadata.name.as_ref() == Some(name)
                && machine.spec.cluster_ref.as_ref() == Some(&spec.cluster_ref)
        };
        match machines.iter().find(is_named) {
            None => {
                let why = format!("no TalosMachine of that name belongs to cluster {cluster}");
                Some(FieldError::not_found(path, name, why))
            }
            Some(machine) if !machine.is_approved() || machine.spec.role != Some(MachineRole::ControlPlane) => {
                let why = format!("is not an approved control plane of cluster {cluster}: approve it with role controlplane");
                Some(FieldError::invalid(path, name, why))
            }
            Some(_) => None,
        }
    });
    errors.collect()
}

/// "`etcdRestore` names a snapshot" (DESIGN section 12), which is at the destination of a TalosEtcdBackup.
pub(super) fn backup(snapshot: &Snapshot) -> Vec<FieldError> {
    if !matches!(known(&snapshot.findings.backup), Some(None)) {
        return Vec::new();
    }
    let restore = snapshot
        .facts
        .spec()
        .and_then(|spec| spec.etcd_restore.as_ref());
    let name = restore.map_or("", |restore| &restore.backup_ref.name);
    let namespace = &snapshot.facts.namespace;
    let why = format!(
        "no TalosEtcdBackup of that name; kubectl get talosetcdbackups -n {namespace} lists them"
    );
    vec![FieldError::not_found(
        "spec.etcdRestore.backupRef.name",
        name,
        why,
    )]
}

/// The identity that opens the snapshot is there and the caller's to use: no confused deputy.
pub(super) fn identity(snapshot: &Snapshot) -> Vec<FieldError> {
    let restore = snapshot
        .facts
        .spec()
        .and_then(|spec| spec.etcd_restore.as_ref());
    let name = restore.and_then(|restore| named(restore.identity_secret_ref.as_ref()));
    let path = "spec.etcdRestore.identitySecretRef.name";
    let keys = format!("the key {AGE_IDENTITY_KEY}");
    used_secret(snapshot, path, name, &keys)
}
