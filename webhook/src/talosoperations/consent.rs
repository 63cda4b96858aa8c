//! What a person has to type before something is wiped (DESIGN section 3, record 0095).

use crate::field::FieldError;
use crate::request::Change;
use ichor_crds::{OperationKind, TalosOperation};

type Snapshot = crate::request::Snapshot<TalosOperation>;

/// The typed `confirm`: "the machine's own name or the name typed"; the cluster's name for a restore, and
/// for what `force` allows.
pub(super) fn is_typed(snapshot: &Snapshot) -> Vec<FieldError> {
    let Change::Create { spec } = &snapshot.facts.change else {
        return Vec::new();
    };
    let cluster = &spec.cluster_ref.name;
    let mut errors = Vec::new();
    let mut typed =
        |path: &'static str, text: Option<&str>, wanted: &[&str], why: String| match text {
            None => errors.push(FieldError::required(path, why)),
            Some(text) if !wanted.contains(&text) => {
                errors.push(FieldError::invalid(path, text, why));
            }
            Some(_) => {}
        };
    if let Some(node) = &spec.node
        && matches!(spec.kind, OperationKind::Reset | OperationKind::Remove)
    {
        let own = node.machine.as_deref().unwrap_or(&node.name);
        let why = format!(
            "type the name of the machine, {:?}: the consent to wipe it",
            node.name
        );
        typed(
            "spec.node.confirm",
            node.confirm.as_deref(),
            &[&node.name, own],
            why,
        );
        if node.force == Some(true) {
            let why = format!(
                "type the name of the cluster, {cluster:?}: the consent to what force allows"
            );
            let text = node.confirm_cluster_name.as_deref();
            typed("spec.node.confirmClusterName", text, &[cluster], why);
        }
    }
    if let Some(restore) = &spec.etcd_restore {
        let why = format!(
            "type the name of the cluster, {cluster:?}: the consent to replace what is in etcd"
        );
        typed(
            "spec.etcdRestore.confirm",
            Some(&restore.confirm),
            &[cluster],
            why,
        );
    }
    if let Some(block) = &spec.replace_control_plane {
        let why = format!(
            "type the name of the machine that goes, {:?}: the consent to wipe it",
            block.machine
        );
        typed(
            "spec.replaceControlPlane.confirm",
            Some(&block.confirm),
            &[&block.machine],
            why,
        );
    }
    errors
}
