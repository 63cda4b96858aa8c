//! "Deleting an approved machine is refused unless it is annotated `ichor.maesh.dev/abandon=true`", and a
//! namespace that is terminating goes (DESIGN section 4).

use super::actor::is_completed;
use super::{called, is_approved};
use crate::findings::{Questions, found, known};
use crate::ports::Selector;
use crate::request::{Change, Facts};
use ichor_crds::{ABANDON, OperationKind, TalosMachine, TalosMachineSpec, TalosOperation};

type Snapshot = crate::request::Snapshot<TalosMachine>;

pub(super) fn questions(facts: &Facts<TalosMachine>, old: Option<&TalosMachineSpec>) -> Questions {
    if old.is_some_and(|old| !is_approved(old)) || facts.is_annotated(ABANDON) {
        return Questions::default();
    }
    let cluster = old.and_then(|old| old.cluster_ref.as_ref());
    let cluster = cluster.iter().map(|cluster| cluster.name.clone());
    Questions {
        terminating: true,
        operations: cluster
            .map(|name| Selector::Field("spec.clusterRef.name", name))
            .collect(),
        ..Questions::default()
    }
}

pub(super) fn keeps(snapshot: &Snapshot) -> Option<String> {
    let facts = &snapshot.facts;
    let Change::Delete { old } = &facts.change else {
        return None;
    };
    let pending = old.as_ref().is_some_and(|old| !is_approved(old));
    let free = pending || facts.is_annotated(ABANDON) || !facts.is_ichors();
    // What could not be found out is refused as such.
    let terminating = known(&snapshot.findings.terminating).is_none_or(|terminating| *terminating);
    let (name, namespace) = (&facts.name, &facts.namespace);
    let mut operations = found(&snapshot.findings.operations).iter();
    // The last step of taking a machine out is that its TalosMachine goes, and the controller's to do: before it, the machine
    // runs on with the keys of its cluster.
    let removed = facts.is_by_the_controller()
        && operations.any(|operation| takes_out(operation, name) && !is_completed(operation));
    if free || terminating || removed {
        return None;
    }
    let Some(old) = old else {
        return Some(format!(
            "TalosMachine {name:?} is stored in a form that this version of Ichor cannot read and counts as approved, so it is not deleted: upgrade Ichor, or correct it with kubectl edit talosmachine {name} -n {namespace}. To forget it and leave it running as it is: kubectl annotate talosmachine {name} -n {namespace} {ABANDON}=true, then delete it"
        ));
    };
    let called = called(old, name);
    let cluster = old
        .cluster_ref
        .as_ref()
        .map_or("no cluster", |cluster| &cluster.name);
    Some(format!(
        "TalosMachine {name:?} ({called}) is an approved machine of cluster {cluster} and is not deleted: use ichor node remove {called}, which drains it, lets it leave etcd and wipes it. To forget it and leave it running as it is: kubectl annotate talosmachine {name} -n {namespace} {ABANDON}=true, then delete it"
    ))
}

/// Whether the operation takes out the machine `name`. The one that takes a place stays.
fn takes_out(operation: &TalosOperation, name: &str) -> bool {
    let spec = &operation.spec;
    let node = spec.node.as_ref().and_then(|node| node.machine.as_deref());
    let replaced = spec.replace_control_plane.as_ref();
    match spec.kind {
        OperationKind::Remove => node == Some(name),
        OperationKind::ReplaceControlPlane => replaced.is_some_and(|block| block.machine == name),
        _ => false,
    }
}
