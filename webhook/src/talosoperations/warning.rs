//! What is legal and probably not meant (DESIGN section 4).

use super::kind_name;
use crate::common::short;
use crate::findings::{found, known};
use crate::request::Change;
use ichor_crds::{OperationKind, OperationPhase, RETRY, TalosOperation, YES};

type Snapshot = crate::request::Snapshot<TalosOperation>;

/// "An operation that will have to wait for another one on the cluster is admitted with a warning", with
/// record 0067's text; "`shutdown` may always be asked for", and waits for another shutdown only.
pub(super) fn waits(snapshot: &Snapshot) -> Option<String> {
    let Change::Create { spec } = &snapshot.facts.change else {
        return None;
    };
    let others = found(&snapshot.findings.operations).iter();
    let mut others = others.filter(|other| {
        let counts =
            spec.kind != OperationKind::Shutdown || other.spec.kind == OperationKind::Shutdown;
        counts && phase(other) != OperationPhase::Completed
    });
    let other = others.next()?;
    let name = other.metadata.name.as_deref().unwrap_or_default();
    let (kind, phase) = (kind_name(other.spec.kind), phase(other));
    Some(format!(
        "operation \"{name}\" ({kind}) on this cluster is not finished (phase \"{phase:?}\")"
    ))
}

/// The snapshot is listed, and of this cluster.
pub(super) fn snapshot(snapshot: &Snapshot) -> Option<String> {
    let spec = snapshot.facts.spec()?;
    let restore = spec.etcd_restore.as_ref()?;
    let backup = known(&snapshot.findings.backup)?.as_ref()?;
    if backup.spec.cluster_ref != spec.cluster_ref {
        let other = short(&backup.spec.cluster_ref.name);
        return Some(format!(
            "the snapshots of this TalosEtcdBackup are of cluster {other}: its etcd is encrypted with that cluster's secrets"
        ));
    }
    let mut listed = backup.status.iter().flat_map(|status| &status.snapshots);
    let name = short(&restore.snapshot);
    (!listed.any(|one| one.name == restore.snapshot)).then(|| {
        format!("status.snapshots of the TalosEtcdBackup does not list {name}: the restore pauses if it is not at its destination")
    })
}

/// "A retry annotation in a repeatedly applied file draws a warning" (DESIGN section 18, decision 17).
pub(super) fn retry(snapshot: &Snapshot) -> Option<String> {
    let facts = &snapshot.facts;
    let created =
        matches!(facts.change, Change::Create { .. }) && facts.annotations.contains_key(RETRY);
    let applied = facts.applied_annotations.contains(RETRY);
    (created || applied).then(|| {
        format!("{RETRY} is in a file: every time it is applied, a failed step runs again. Take it out and ask once: ichor operation resume NAME")
    })
}

/// "Any value other than `true` is ignored and left in place" (record 0095, second amendment).
pub(super) fn retry_value(snapshot: &Snapshot) -> Option<String> {
    let facts = &snapshot.facts;
    let value = facts.annotations.get(RETRY).filter(|value| *value != YES)?;
    let changed = facts.old_annotations.get(RETRY) != Some(value);
    changed.then(|| {
        format!(
            "{RETRY}: {} is ignored; only \"{YES}\" asks for a retry",
            short(value)
        )
    })
}

fn phase(operation: &TalosOperation) -> OperationPhase {
    operation
        .status
        .as_ref()
        .map(|status| status.phase)
        .unwrap_or_default()
}
