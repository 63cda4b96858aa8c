//! Tables of the rules: for each an accepted and a refused example.

mod consent;
mod gates;
mod malformed;
mod mutation;
mod references;
mod requests;
mod shape;
mod warnings;

use super::*;
use crate::denial::Denial;
use crate::findings::Findings;
use crate::judge::judge;
use crate::ports::{Access, ClusterLookup};
use crate::request::Change as ChangeOf;
use ichor_crds::{
    LocalReference, REQUESTED_BY, ReclaimInspection, ReclaimPhase, TALOSCONFIG_SECRET_TYPE,
};

type Change = ChangeOf<MachineReclaim>;
type Snapshot = crate::request::Snapshot<MachineReclaim>;

pub(super) const UUID: &str = "4c4c4544-0042-3510-8052-b4c04f463133";
pub(super) const SWAPPED: &str = "44454c4c-4200-1035-8052-b4c04f463133";
/// UID of the review.
pub(super) const REVIEW: &str = "5f8f6c0e-2d1f-4f0a-9c53-0a5b3d7c9e11";
pub(super) const OTHER_UUID: &str = "9f0c0000-0042-3510-8052-b4c04f463134";

/// A spec with the credentials of cluster `prod`.
pub(super) fn orphan() -> MachineReclaimSpec {
    MachineReclaimSpec {
        address: "10.5.0.7".to_owned(),
        cluster_ref: Some(LocalReference::new("prod")),
        cluster_credentials: Some(true),
        ..MachineReclaimSpec::default()
    }
}

/// A spec with a pasted talosconfig.
pub(super) fn pasted() -> MachineReclaimSpec {
    MachineReclaimSpec {
        address: "10.5.0.7".to_owned(),
        credential_secret_ref: Some(LocalReference::new("pasted")),
        ..MachineReclaimSpec::default()
    }
}

/// `spec` with a change.
pub(super) fn with(
    mut spec: MachineReclaimSpec,
    change: impl FnOnce(&mut MachineReclaimSpec),
) -> MachineReclaimSpec {
    change(&mut spec);
    spec
}

/// `spec` with a typed UUID.
pub(super) fn confirmed(spec: MachineReclaimSpec, uuid: &str) -> MachineReclaimSpec {
    with(spec, |spec| spec.confirm_uuid = Some(uuid.to_owned()))
}

/// A status whose inspection found `UUID`.
pub(super) fn inspected_status() -> MachineReclaimStatus {
    let mut inspection = ReclaimInspection::default();
    inspection.identity.uuid = UUID.to_owned();
    MachineReclaimStatus {
        phase: ReclaimPhase::AwaitingConfirmation,
        inspection: Some(inspection),
        ..MachineReclaimStatus::default()
    }
}

pub(super) fn create(spec: MachineReclaimSpec) -> Change {
    Change::Create { spec }
}

pub(super) fn update(
    old: MachineReclaimSpec,
    status: MachineReclaimStatus,
    spec: MachineReclaimSpec,
) -> Change {
    Change::Spec {
        spec,
        old,
        status: Box::new(status),
    }
}

/// A snapshot of alice's request in which everything asked for is well.
pub(super) fn snapshot(change: Change) -> Snapshot {
    let by_alice = [(REQUESTED_BY.to_owned(), "alice".to_owned())];
    let facts = Facts {
        caller: "alice".to_owned(),
        review: REVIEW.to_owned(),
        caller_uid: None,
        namespace: "ichor-system".to_owned(),
        name: "reclaim-x7k2p".to_owned(),
        annotations: by_alice.clone().into(),
        old_annotations: by_alice.into(),
        applied_annotations: std::collections::BTreeSet::new(),
        ichor_namespace: "ichor-system".to_owned(),
        allow_local_addresses: false,
        change,
    };
    let asked = MachineReclaim::questions(&facts);
    let kind = TALOSCONFIG_SECRET_TYPE.to_owned();
    let findings = Findings {
        verb: asked.verb.map(|_| Ok(Access::Allowed)),
        cluster: asked.cluster.map(|name| Ok(found(&name))),
        secret_access: asked.secret.as_ref().map(|_| Ok(Access::Allowed)),
        secret_type: asked.secret.map(|_| Ok(Some(kind))),
        reclaims: (!asked.reclaims.is_empty()).then_some(Ok(Vec::new())),
        ..Findings::default()
    };
    Snapshot { facts, findings }
}

/// The cluster `name`, found.
pub(super) fn found(name: &str) -> ClusterLookup {
    let cluster = serde_json::from_value(crate::stub::cluster(name)).expect("a cluster");
    ClusterLookup::Found(Box::new(cluster))
}

/// The texts of the field errors that the judge finds; nothing when it allows.
pub(super) fn field_errors(snapshot: &Snapshot) -> Vec<String> {
    match judge(snapshot).denial {
        None => Vec::new(),
        Some(Denial::Invalid(errors)) => errors.iter().map(ToString::to_string).collect(),
        Some(other) => panic!("no field errors but {other:?}"),
    }
}

/// Asserts that there are as many errors as `want`s and that each contains its.
pub(super) fn assert_errors(snapshot: &Snapshot, want: &[&str]) {
    let errors = field_errors(snapshot);
    let all = errors.len() == want.len()
        && errors
            .iter()
            .zip(want)
            .all(|(error, want)| error.contains(want));
    assert!(all, "{errors:#?}\ninstead of {want:#?}");
}
