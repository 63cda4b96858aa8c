//! What the fields of a machine have to be.

use super::{approves, is_approved, is_configured};
use crate::common::{node_address, one_text, reference_name};
use crate::field::FieldError;
use crate::target::{label_key, label_value};
use ichor_crds::{TalosMachine, TalosMachineSpec};

type Snapshot = crate::request::Snapshot<TalosMachine>;

/// An address that the controller dials. One that was accepted once is not refused again.
pub(super) fn endpoint(snapshot: &Snapshot) -> Vec<FieldError> {
    let facts = &snapshot.facts;
    let old = facts
        .change_of_spec()
        .and_then(|(_, old)| old.endpoint.as_ref());
    let endpoint = facts.spec().and_then(|spec| spec.endpoint.as_ref());
    let changed = endpoint.filter(|endpoint| old != Some(endpoint));
    let error = changed.and_then(|text| node_address(snapshot, "spec.endpoint", text));
    error.into_iter().collect()
}

/// Static addresses, each once.
pub(super) fn addresses(snapshot: &Snapshot) -> Vec<FieldError> {
    let facts = &snapshot.facts;
    let old = facts.change_of_spec().map(|(_, old)| old);
    let lists = [facts.spec(), old].map(|spec| {
        let network = spec.and_then(|spec| spec.network.as_ref());
        network.map_or(&[][..], |network| &network.addresses)
    });
    one_text("spec.network.addresses", lists).collect()
}

/// Labels and taints that a Kubernetes Node can have. One that was accepted once is not refused again.
pub(super) fn labels_and_taints(snapshot: &Snapshot) -> Vec<FieldError> {
    let facts = &snapshot.facts;
    let Some(spec) = facts.spec() else {
        return Vec::new();
    };
    let old = facts.change_of_spec().map(|(_, old)| old);
    let mut errors = Vec::new();
    for (key, value) in &spec.labels {
        if old.and_then(|old| old.labels.get(key)) != Some(value) {
            errors.extend(label_key("spec.labels".to_owned(), key));
            errors.extend(label_value(format!("spec.labels[{key}]"), value));
        }
    }
    for (number, taint) in spec.taints.iter().enumerate() {
        if !old.is_some_and(|old| old.taints.contains(taint)) {
            let path = format!("spec.taints[{number}]");
            errors.extend(label_key(format!("{path}.key"), &taint.key));
            let value = taint.value.as_deref().unwrap_or_default();
            errors.extend(label_value(format!("{path}.value"), value));
        }
    }
    errors
}

pub(super) fn cluster_name(snapshot: &Snapshot) -> Vec<FieldError> {
    let reference = snapshot
        .facts
        .spec()
        .and_then(|spec| spec.cluster_ref.as_ref());
    reference_name("spec.clusterRef.name", reference)
        .into_iter()
        .collect()
}

/// "An approved machine has role, cluster, fingerprint (or an applied configuration) and an install disk"
/// (DESIGN section 4). What an approved machine already lacked stays as it is: it was approved under
/// earlier rules.
pub(super) fn what_approval_needs(snapshot: &Snapshot) -> Vec<FieldError> {
    type Lacks = fn(&TalosMachineSpec) -> bool;
    let facts = &snapshot.facts;
    let Some(spec) = facts.spec().filter(|spec| is_approved(spec)) else {
        return Vec::new();
    };
    let was = facts
        .change_of_spec()
        .map(|(_, old)| old)
        .filter(|_| !approves(facts));
    let configured = facts.status().is_some_and(is_configured);
    let needed: [(&'static str, Lacks, &str); 4] = [
        (
            "spec.clusterRef",
            |spec| spec.cluster_ref.is_none(),
            "an approved machine belongs to a cluster: name it",
        ),
        (
            "spec.role",
            |spec| spec.role.is_none(),
            "an approved machine has a role: controlplane or worker",
        ),
        (
            "spec.install",
            |spec| spec.install.is_none(),
            "an approved machine has a disk to install Talos to: one of status.hardware.disks",
        ),
        (
            "spec.maintenanceFingerprint",
            |spec| spec.maintenance_fingerprint.is_none(),
            "an approved machine has the fingerprint that the approver saw: what status.maintenanceFingerprint shows and the machine's console confirms; ichor machine approve asks for it",
        ),
    ];
    let lacking = needed.into_iter().filter(|(path, lacks, _)| {
        let excused = configured && *path == "spec.maintenanceFingerprint";
        lacks(spec) && !excused && !was.is_some_and(lacks)
    });
    lacking
        .map(|(path, _, why)| FieldError::required(path, why))
        .collect()
}

/// "`clusterRef` is immutable once approved; identity is immutable" (DESIGN section 4), the role once the
/// machine is configured (section 3).
pub(super) fn what_never_changes(snapshot: &Snapshot) -> Vec<FieldError> {
    let facts = &snapshot.facts;
    let (Some((spec, old)), Some(status)) = (facts.change_of_spec(), facts.status()) else {
        return Vec::new();
    };
    let name = &facts.name;
    let (approved, configured) = (is_approved(old), is_configured(status));
    let remove = format!("ichor node remove {}", super::called(old, name));
    [
        (
            "spec.identity",
            spec.identity != old.identity,
            "the identity of a machine cannot change: another identity is another machine".to_owned(),
        ),
        (
            "spec.clusterRef",
            approved && spec.cluster_ref != old.cluster_ref,
            format!("cannot change once the machine is approved: take it out with {remove}, then approve it in the other cluster"),
        ),
        (
            "spec.role",
            configured && spec.role != old.role,
            format!("cannot change once the machine is configured: take it out with {remove}, then approve it in the other role"),
        ),
        (
            "spec.approval",
            configured && approved && !is_approved(spec),
            format!("cannot be taken back once the machine is configured: take it out with {remove}"),
        ),
    ]
    .into_iter()
    .filter(|(_, changed, _)| *changed)
    .map(|(path, _, why)| FieldError::forbidden(path, why))
    .collect()
}
