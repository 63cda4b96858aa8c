//! Admission of talosmachines: who lets a machine in, and what an approved one keeps (DESIGN section 4).

mod actor;
mod deletion;
mod shape;
#[cfg(test)]
mod tests;
mod unique;
mod warning;

use crate::common::{canonical_address, cluster_exists, named};
use crate::findings::{Questions, Verb};
use crate::handler::Paths;
use crate::request::{Change, Facts, Judged, Rule, Snapshot, Warning};
use ichor_crds::{
    ABANDON, Approval, NodeAddress, SystemUuid, TalosMachine, TalosMachineSpec, TalosMachineStatus,
};
use serde_json::Value;

/// Who may let machines in.
const ROLE: &str = "ichor-approver";
/// The stage of a machine that takes a configuration from whoever sends one.
const MAINTENANCE: &str = "maintenance";

impl Judged for TalosMachine {
    const KIND: &'static str = "TalosMachine";
    const RESOURCE: &'static str = "talosmachines";
    const PATHS: Paths = Paths {
        mutate: "/mutate/talosmachines",
        validate: "/validate/talosmachines",
    };
    type Spec = TalosMachineSpec;
    type Status = TalosMachineStatus;

    const RULES: &'static [Rule<Self>] = &[
        shape::endpoint,
        shape::addresses,
        shape::labels_and_taints,
        shape::cluster_name,
        shape::what_approval_needs,
        shape::what_never_changes,
        cluster_exists,
        unique::among_approved,
        actor::nothing_acts_on_it,
    ];
    const WARNINGS: &'static [Warning<Self>] = &[
        warning::fingerprint,
        warning::shared_uuid,
        warning::abandoned,
    ];

    fn questions(facts: &Facts<Self>) -> Questions {
        let mut asked = Questions {
            verb: verb(facts),
            ..Questions::default()
        };
        if !facts.is_ichors() {
            return Questions::default();
        }
        if let Change::Delete { old } = &facts.change {
            return deletion::questions(facts, old.as_ref());
        }
        let Some(spec) = facts.spec() else {
            return asked;
        };
        let old = facts.change_of_spec().map(|(_, old)| old);
        if approves(facts) || old.is_none_or(|old| old.cluster_ref != spec.cluster_ref) {
            asked.cluster = named(spec.cluster_ref.as_ref());
        }
        asked.machines = unique::selectors(facts);
        (asked.reclaims, asked.operations) = actor::selectors(facts);
        asked
    }

    fn keeps(snapshot: &Snapshot<Self>) -> Option<String> {
        deletion::keeps(snapshot)
    }

    /// One text for a UUID, an address and a MAC.
    fn fill(snapshot: &Snapshot<Self>) -> Vec<(&'static str, Value)> {
        let Some(spec) = snapshot.facts.spec() else {
            return Vec::new();
        };
        let old = snapshot.facts.change_of_spec();
        let stored = old.and_then(|(_, old)| old.endpoint.as_deref());
        let uuid = spec.identity.system_uuid().map(|uuid| uuid.to_string());
        let endpoint = spec
            .endpoint
            .as_deref()
            .and_then(|text| canonical_address(text, stored));
        let network = spec.network.as_ref();
        let interface = network.and_then(|network| network.interface.as_ref());
        let texts = [
            ("/identity/uuid", uuid),
            ("/endpoint", endpoint),
            (
                "/network/interface",
                interface.map(|mac| mac.to_ascii_lowercase()),
            ),
        ];
        let texts = texts
            .into_iter()
            .filter_map(|(path, text)| Some((path, Value::String(text?))));
        texts.collect()
    }

    fn audit(facts: &Facts<Self>) -> Vec<(&'static str, String)> {
        let spec = match &facts.change {
            Change::Delete { old } => old.as_ref(),
            _ => facts.spec(),
        };
        let mut audit = vec![("abandon", facts.is_annotated(ABANDON).to_string())];
        let Some(spec) = spec else {
            return audit;
        };
        audit.push(("approval", format!("{:?}", spec.approval)));
        let cluster = spec
            .cluster_ref
            .as_ref()
            .map(|cluster| cluster.name.clone());
        let role = spec.role.map(|role| format!("{role:?}").to_lowercase());
        for (key, value) in [
            ("cluster", cluster),
            ("role", role),
            ("endpoint", spec.endpoint.clone()),
            ("fingerprint", spec.maintenance_fingerprint.clone()),
        ] {
            audit.extend(value.map(|value| (key, value)));
        }
        audit
    }
}

/// What needs verb `approve` (DESIGN sections 3 and 4; section 18, decision 16); the policy `ichor-approve` holds the same
/// without the webhook:
///
/// 1. `spec.approval` becomes `Approved`, at creation too;
/// 2. `spec.maintenanceFingerprint` of an approved machine changes, always: "changing it is a new approval";
/// 3. its `role`, `endpoint` or `install` changes while the fingerprint decides who gets a configuration, which carries CA
///    keys: until `status.appliedHash` is there, and again while `status.stage` is `maintenance`, after a reset;
/// 4. the annotation `ichor.maesh.dev/abandon` becomes `true`.
fn verb(facts: &Facts<TalosMachine>) -> Option<Verb> {
    let doing = if approves(facts) {
        "approve machines"
    } else if changes_fingerprint(facts) {
        "change maintenanceFingerprint of an approved machine: what the approver saw"
    } else if changes_what_was_approved(facts) {
        "change role, endpoint or install of an approved machine that is not configured"
    } else if facts.annotates(ABANDON) {
        "abandon machines"
    } else {
        return None;
    };
    Some(Verb {
        verb: "approve",
        resource: TalosMachine::RESOURCE,
        name: facts.name.clone(),
        doing,
        role: ROLE,
    })
}

/// Whether the request lets the machine in.
fn approves(facts: &Facts<TalosMachine>) -> bool {
    let was = facts
        .change_of_spec()
        .is_some_and(|(_, old)| is_approved(old));
    facts.spec().is_some_and(is_approved) && !was
}

fn changes_fingerprint(facts: &Facts<TalosMachine>) -> bool {
    facts.change_of_spec().is_some_and(|(spec, old)| {
        is_approved(old) && spec.maintenance_fingerprint != old.maintenance_fingerprint
    })
}

fn changes_what_was_approved(facts: &Facts<TalosMachine>) -> bool {
    let (Some((spec, old)), Some(status)) = (facts.change_of_spec(), facts.status()) else {
        return false;
    };
    let same =
        spec.role == old.role && spec.endpoint == old.endpoint && spec.install == old.install;
    is_approved(old) && !runs_its_configuration(status) && !same
}

fn is_approved(spec: &TalosMachineSpec) -> bool {
    spec.approval == Approval::Approved
}

/// Whether a configuration was applied.
fn is_configured(status: &TalosMachineStatus) -> bool {
    status.applied_hash.is_some()
}

/// Whether it runs what was applied: not before, and not in maintenance mode again after a reset.
pub(crate) fn runs_its_configuration(status: &TalosMachineStatus) -> bool {
    is_configured(status) && status.stage.as_deref() != Some(MAINTENANCE)
}

/// What a person calls the machine: its hostname, where it has one.
fn called<'a>(spec: &'a TalosMachineSpec, name: &'a str) -> &'a str {
    spec.hostname.as_deref().unwrap_or(name)
}

/// What the link gets, without prefix lengths.
pub(crate) fn link_addresses(spec: &TalosMachineSpec) -> impl Iterator<Item = NodeAddress> {
    let link = spec.network.iter().flat_map(|network| &network.addresses);
    link.filter_map(|address| address.split('/').next()?.parse().ok())
}

/// Every address of the machine: where it is dialled and what its link gets.
fn addresses(spec: &TalosMachineSpec) -> Vec<NodeAddress> {
    let endpoint = spec.endpoint.as_deref().and_then(|text| text.parse().ok());
    let mut all: Vec<_> = endpoint.into_iter().chain(link_addresses(spec)).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Both byte orders in which its board may print the UUID.
fn uuids(spec: &TalosMachineSpec) -> Option<[SystemUuid; 2]> {
    let uuid = spec.identity.system_uuid()?;
    Some([uuid, uuid.swapped()])
}
