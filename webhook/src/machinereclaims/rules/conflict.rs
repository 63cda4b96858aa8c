//! One machine, one actor: "a second reclaim of the UUID or address is refused" (DESIGN section 18,
//! decision 11). Two requests at the same instant may both pass here; the controller's mark per UUID
//! decides between them.

use crate::field::FieldError;
use crate::findings::found;
use crate::machinereclaims::{inspected, matched, typed};
use crate::request::{Change, Snapshot};
use crate::seen::Seen;
use ichor_crds::{MachineReclaim, NodeAddress};

/// At creation no other unfinished reclaim has the address; at consent none acts on the UUID.
pub(crate) fn one_reclaim_per_machine(snapshot: &Snapshot<MachineReclaim>) -> Vec<FieldError> {
    let others = found(&snapshot.findings.reclaims).iter();
    let mut others =
        others.filter(|other| is_unfinished(other) && name(other) != snapshot.facts.name);
    let namespace = &snapshot.facts.namespace;
    let error = match &snapshot.facts.change {
        Change::Create { spec } => {
            let address = spec.address.parse::<NodeAddress>();
            let taken =
                others.find(|other| address.is_ok() && other.spec.address.parse() == address);
            taken.map(|other| {
                FieldError::duplicate("spec.address", &spec.address, wait(other, namespace))
            })
        }
        Change::Spec { spec, .. } => {
            let uuid = typed(spec);
            let acts = |other: &&Seen<MachineReclaim>| {
                let status = other.status.clone().unwrap_or_default();
                let machine = inspected(&status).filter(|_| matched(&other.spec, &status));
                // Of one that cannot be read as a whole, what was typed counts as confirmed.
                let machine = machine.or_else(|| typed(&other.spec).filter(|_| !other.is_whole()));
                matches!((uuid, machine), (Some(mine), Some(theirs)) if mine.same_board(theirs))
            };
            let text = spec.confirm_uuid.as_deref().unwrap_or_default();
            let taken = others.find(acts);
            taken.map(|other| {
                FieldError::duplicate("spec.confirmUUID", text, wait(other, namespace))
            })
        }
        Change::Metadata | Change::Delete { .. } => None,
    };
    error.into_iter().collect()
}

/// Whether something will still come of it.
pub(crate) fn is_unfinished(reclaim: &MachineReclaim) -> bool {
    !reclaim
        .status
        .as_ref()
        .is_some_and(|status| status.phase.is_final())
}

fn name(reclaim: &MachineReclaim) -> &str {
    reclaim.metadata.name.as_deref().unwrap_or_default()
}

fn wait(other: &Seen<MachineReclaim>, namespace: &str) -> String {
    let name = name(other);
    format!(
        "MachineReclaim {name:?} has not ended; wait for it, or end it with kubectl delete machinereclaim {name} -n {namespace}{}",
        other.note()
    )
}
