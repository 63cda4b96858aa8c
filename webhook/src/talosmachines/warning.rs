//! What is legal and probably not meant (DESIGN section 4).

use super::approves;
use ichor_crds::{ABANDON, TalosMachine};

type Snapshot = crate::request::Snapshot<TalosMachine>;

/// Configuration is only sent to the certificate that the approver saw (DESIGN section 5).
pub(super) fn fingerprint(snapshot: &Snapshot) -> Option<String> {
    let pinned = snapshot.facts.spec()?.maintenance_fingerprint.as_deref()?;
    let seen = snapshot
        .facts
        .status()?
        .maintenance_fingerprint
        .as_deref()?;
    (pinned != seen && approves(&snapshot.facts)).then(|| {
        format!("spec.maintenanceFingerprint is not what the machine shows now, {seen}: no configuration is sent until they are the same")
    })
}

/// Vendors leave one UUID on many boards (FAULTS 13).
pub(super) fn shared_uuid(snapshot: &Snapshot) -> Option<String> {
    let uuid = snapshot.facts.spec()?.identity.system_uuid()?;
    (approves(&snapshot.facts) && !uuid.is_distinctive()).then(|| {
        format!("the UUID {uuid} is one that vendors leave on many boards: another machine may have it too")
    })
}

pub(super) fn abandoned(snapshot: &Snapshot) -> Option<String> {
    snapshot.facts.annotates(ABANDON).then(|| {
        format!("{ABANDON}=true: when this machine is deleted it goes on running with its configuration and keys; ichor node remove wipes it")
    })
}
