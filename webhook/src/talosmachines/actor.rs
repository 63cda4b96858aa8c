//! One machine, one actor: while an operation or a reclaim acts on a machine, "approval is refused"
//! (DESIGN section 18, decision 11).

use super::{addresses, approves, uuids};
use crate::field::FieldError;
use crate::findings::found;
use crate::machinereclaims::is_unfinished;
use crate::ports::Selector;
use crate::request::Facts;
use crate::seen::Seen;
use ichor_crds::{MachineOperationPhase, OperationPhase, TalosMachine, TalosOperation};
use kube::ResourceExt;

type Snapshot = crate::request::Snapshot<TalosMachine>;

/// The reclaims of its UUID or address, and the operations of its cluster.
pub(super) fn selectors(facts: &Facts<TalosMachine>) -> (Vec<Selector>, Vec<Selector>) {
    let Some(spec) = facts.spec().filter(|_| approves(facts)) else {
        return Default::default();
    };
    let by = |field: &'static str| move |value: String| Selector::Field(field, value);
    let uuids = uuids(spec)
        .into_iter()
        .flatten()
        .map(|uuid| uuid.to_string());
    let uuids = uuids.map(by("spec.confirmUUID"));
    let addresses = addresses(spec)
        .into_iter()
        .map(|address| address.to_string());
    let reclaims = uuids.chain(addresses.map(by("spec.address"))).collect();
    let cluster = spec.cluster_ref.iter().map(|cluster| cluster.name.clone());
    (reclaims, cluster.map(by("spec.clusterRef.name")).collect())
}

pub(super) fn nothing_acts_on_it(snapshot: &Snapshot) -> Vec<FieldError> {
    let facts = &snapshot.facts;
    if !approves(facts) {
        return Vec::new();
    }
    let wait = |kind: &str, name: String, note: String| {
        let why = format!(
            "{kind} {name:?} acts on this machine and is not finished: wait for it, or end it with kubectl delete {} {name} -n {}, then approve{note}",
            kind.to_lowercase(),
            facts.namespace
        );
        FieldError::forbidden("spec.approval", why)
    };
    let reclaims = found(&snapshot.findings.reclaims).iter();
    let reclaims = reclaims.filter(|reclaim| is_unfinished(reclaim));
    let reclaims = reclaims.map(|one| wait("MachineReclaim", one.name_any(), one.note()));
    let operations = found(&snapshot.findings.operations).iter();
    let operations = operations.filter(|operation| may_act_on(operation, &facts.name));
    let operations = operations.map(|one| wait("TalosOperation", one.name_any(), one.note()));
    reclaims.chain(operations).collect()
}

/// Whether it acts on the machine, as far as that is known: one that cannot be read as a whole may work on any machine of
/// its cluster, unless it is known to be for another one or finished.
fn may_act_on(operation: &Seen<TalosOperation>, name: &str) -> bool {
    let spec = &operation.spec;
    let is_for_one = spec
        .node
        .as_ref()
        .is_some_and(|node| node.machine.is_some())
        || spec.replace_control_plane.is_some();
    acts_on(operation, name) || (!operation.is_whole() && !is_for_one && !is_completed(operation))
}

/// Whether an unfinished operation is for the machine `name`, or works on it now.
fn acts_on(operation: &TalosOperation, name: &str) -> bool {
    let status = operation.status.as_ref();
    if is_completed(operation) {
        return false;
    }
    let spec = &operation.spec;
    let node = spec.node.as_ref().and_then(|node| node.machine.as_deref());
    let replaced = spec
        .replace_control_plane
        .as_ref()
        .map(|block| block.machine.as_str());
    let mut machines = status.into_iter().flat_map(|status| &status.machines);
    node == Some(name)
        || replaced == Some(name)
        || machines.any(|one| one.name == name && one.phase == MachineOperationPhase::InProgress)
}

pub(super) fn is_completed(operation: &TalosOperation) -> bool {
    let status = operation.status.as_ref();
    status.is_some_and(|status| status.phase == OperationPhase::Completed)
}
