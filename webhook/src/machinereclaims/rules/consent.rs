//! The typed UUID is the consent (record 0136): it follows the inspection, and it stands.

use crate::field::FieldError;
use crate::machinereclaims::{inspected, matched};
use crate::request::{Change, Snapshot};
use ichor_crds::{MachineReclaim, MachineReclaimSpec, MachineReclaimStatus};

/// "`confirmUUID` is not accepted at creation: consent follows inspection" (DESIGN section 4). Later on
/// it is accepted once there is an inspection to consent to.
pub(crate) fn follows_inspection(snapshot: &Snapshot<MachineReclaim>) -> Vec<FieldError> {
    let early = match &snapshot.facts.change {
        Change::Create { spec } => spec.confirm_uuid.as_ref().map(|_| {
            "is not accepted at creation: consent follows inspection. Create the request without it, read status.inspection, then type the machine's UUID"
        }),
        Change::Spec { spec, old, status } => (spec.confirm_uuid.is_some()
            && spec.confirm_uuid != old.confirm_uuid
            && inspected(status).is_none())
        .then_some(
            "the machine is not inspected yet: wait for phase AwaitingConfirmation and read status.inspection first",
        ),
        Change::Metadata | Change::Delete { .. } => None,
    };
    early
        .map(|why| FieldError::forbidden("spec.confirmUUID", why))
        .into_iter()
        .collect()
}

/// `confirmUUID` and the force flags are immutable once they matched (DESIGN section 4). A wrong UUID may
/// be typed again: nothing was consented to.
pub(crate) fn stands_once_matched(snapshot: &Snapshot<MachineReclaim>) -> Vec<FieldError> {
    let Change::Spec { spec, old, status } = &snapshot.facts.change else {
        return Vec::new();
    };
    if !matched(old, status) {
        return Vec::new();
    }
    [
        ("spec.confirmUUID", spec.confirm_uuid != old.confirm_uuid),
        ("spec.force", spec.force != old.force),
        (
            "spec.confirmClusterName",
            spec.confirm_cluster_name != old.confirm_cluster_name && !name_is_asked_for(old, status),
        ),
        (
            "spec.forceUngraceful",
            spec.force_ungraceful != old.force_ungraceful,
        ),
    ]
    .into_iter()
    .filter(|(_, changed)| *changed)
    .map(|(path, _)| {
        FieldError::forbidden(
            path,
            "cannot change any more: the machine's UUID was confirmed, and that is what is carried out. To ask for something else, delete this request and create another",
        )
    })
    .collect()
}

/// Whether the cluster's name still has to be typed: a forced request whose UUID was typed first waits for it, and
/// nothing was carried out.
fn name_is_asked_for(old: &MachineReclaimSpec, status: &MachineReclaimStatus) -> bool {
    let needed = status
        .inspection
        .as_ref()
        .and_then(|seen| seen.cluster_name_needed.as_ref());
    status.reset.is_none() && needed.is_some() && needed != old.confirm_cluster_name.as_ref()
}
