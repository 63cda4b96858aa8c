//! "Deleting an approved machine is refused unless it is annotated `ichor.maesh.dev/abandon=true`", and a
//! namespace that is terminating goes (DESIGN section 4).

use super::actor::acts_on;
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
    let name = &facts.name;
    let mut operations = found(&snapshot.findings.operations).iter();
    // The last step of taking a machine out is that its TalosMachine goes.
    let removed = operations.any(|operation| takes_out(operation) && acts_on(operation, name));
    if free || terminating || removed {
        return None;
    }
    let Some(old) = old else {
        return Some(format!(
            "TalosMachine {name:?} is stored in a form that this version of Ichor cannot read and counts as approved, so it is not deleted: upgrade Ichor, or correct it with kubectl edit talosmachine {name}. To forget it and leave it running as it is: kubectl annotate talosmachine {name} {ABANDON}=true, then delete it"
        ));
    };
    let called = called(old, name);
    let cluster = old
        .cluster_ref
        .as_ref()
        .map_or("no cluster", |cluster| &cluster.name);
    Some(format!(
        "TalosMachine {name:?} ({called}) is an approved machine of cluster {cluster} and is not deleted: use ichor node remove {called}, which drains it, lets it leave etcd and wipes it. To forget it and leave it running as it is: kubectl annotate talosmachine {name} {ABANDON}=true, then delete it"
    ))
}

fn takes_out(operation: &TalosOperation) -> bool {
    matches!(
        operation.spec.kind,
        OperationKind::Remove | OperationKind::ReplaceControlPlane
    )
}
