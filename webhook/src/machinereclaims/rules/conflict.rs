//! One machine, one actor: "a second reclaim of the UUID or address is refused" (DESIGN section 18,
//! decision 11). Two requests at the same instant may both pass here; the controller's mark per UUID
//! decides between them.

use crate::field::FieldError;
use crate::machinereclaims::snapshot::{Change, Snapshot};
use crate::ports::OtherReclaim;
use ichor_crds::{NodeAddress, SystemUuid};

/// At creation no other unfinished reclaim has the address; at consent none acts on the UUID.
pub(crate) fn one_reclaim_per_machine(snapshot: &Snapshot) -> Vec<FieldError> {
    let Some(Ok(others)) = &snapshot.findings.others else {
        return Vec::new();
    };
    let mut others = others
        .iter()
        .filter(|other| other.name != snapshot.facts.name);
    let error = match &snapshot.facts.change {
        Change::Create { spec } => {
            let address = spec.address.parse::<NodeAddress>().ok();
            let taken = others.find(|other| address.is_some() && other.address == address);
            taken.map(|other| FieldError::duplicate("spec.address", &spec.address, wait(other)))
        }
        Change::Spec { spec, .. } => {
            let typed = spec.confirm_uuid.as_deref().unwrap_or_default();
            let uuid = typed.parse::<SystemUuid>().ok();
            let acts = |other: &&OtherReclaim| match (uuid, other.machine) {
                (Some(mine), Some(theirs)) => other.confirmed && mine.same_board(theirs),
                _ => false,
            };
            let taken = others.find(acts);
            taken.map(|other| FieldError::duplicate("spec.confirmUUID", typed, wait(other)))
        }
        Change::Metadata => None,
    };
    error.into_iter().collect()
}

fn wait(other: &OtherReclaim) -> String {
    let name = &other.name;
    format!(
        "MachineReclaim {name:?} has not ended; wait for it, or end it with kubectl delete machinereclaim {name}"
    )
}
