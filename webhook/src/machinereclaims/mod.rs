//! Admission of machinereclaims (record 0136).

mod rules;
#[cfg(test)]
mod tests;

use crate::common::{canonical_address, cluster_exists, named};
use crate::findings::{Questions, Verb};
use crate::handler::Paths;
use crate::ports::Selector;
use crate::request::{Change, Facts, Judged, Rule, Snapshot, Warning};
use ichor_crds::{
    MachineReclaim, MachineReclaimSpec, MachineReclaimStatus, NodeAddress, SystemUuid,
};
pub(crate) use rules::conflict::is_unfinished;
use rules::{conflict, consent, immutable, secret, shape, warning};
use serde_json::Value;

impl Judged for MachineReclaim {
    const KIND: &'static str = "MachineReclaim";
    const RESOURCE: &'static str = "machinereclaims";
    const PATHS: Paths = Paths {
        mutate: "/mutate/machinereclaims",
        validate: "/validate/machinereclaims",
    };
    type Spec = MachineReclaimSpec;
    type Status = MachineReclaimStatus;

    const RULES: &'static [Rule<Self>] = &[
        shape::address,
        shape::one_credential,
        shape::reference_names,
        shape::confirm_uuid,
        immutable::address,
        immutable::cluster_ref,
        immutable::cluster_credentials,
        immutable::credential_secret_ref,
        consent::follows_inspection,
        consent::stands_once_matched,
        cluster_exists,
        secret::is_the_callers,
        conflict::one_reclaim_per_machine,
    ];
    const WARNINGS: &'static [Warning<Self>] = &[
        warning::force,
        warning::confirm_cluster_name,
        warning::force_ungraceful,
        warning::confirm_uuid,
        warning::ended,
    ];

    /// Nothing for a change of metadata: a finalizer must come off although the references are gone
    /// (DESIGN section 4, step 1; FAULTS 5).
    fn questions(facts: &Facts<Self>) -> Questions {
        let Some(spec) = facts.spec().filter(|_| facts.is_ichors()) else {
            return Questions::default();
        };
        Questions {
            verb: Some(Verb {
                verb: "reclaim",
                resource: Self::RESOURCE,
                name: facts.name.clone(),
                doing: "reclaim machines",
                role: "ichor-operator",
            }),
            cluster: named(spec.cluster_ref.as_ref()),
            secret: named(spec.credential_secret_ref.as_ref()),
            reclaims: others(facts),
            ..Questions::default()
        }
    }

    /// One text for an address and for a UUID.
    fn fill(snapshot: &Snapshot<Self>) -> Vec<(&'static str, Value)> {
        let Some(spec) = snapshot.facts.spec() else {
            return Vec::new();
        };
        let old = snapshot
            .facts
            .change_of_spec()
            .map(|(_, old)| old.address.as_str());
        let address = canonical_address(&spec.address, old).map(|text| ("/address", text));
        let uuid = typed(spec).map(|uuid| ("/confirmUUID", uuid.to_string()));
        let texts = address.into_iter().chain(uuid);
        texts
            .map(|(path, text)| (path, Value::String(text)))
            .collect()
    }

    fn audit(facts: &Facts<Self>) -> Vec<(&'static str, String)> {
        let Some(spec) = facts.spec() else {
            return Vec::new();
        };
        let source = match &spec.credential_secret_ref {
            Some(secret) => format!("secret {}", secret.name),
            None if spec.cluster_credentials == Some(true) => "cluster".to_owned(),
            None => "none".to_owned(),
        };
        let flag = |value: Option<bool>| value.unwrap_or(false).to_string();
        let mut audit = vec![
            ("address", spec.address.clone()),
            ("credential-source", source),
            ("force", flag(spec.force)),
            ("force-ungraceful", flag(spec.force_ungraceful)),
        ];
        let cluster = spec.cluster_ref.as_ref();
        audit.extend(cluster.map(|cluster| ("cluster", cluster.name.clone())));
        audit.extend(
            spec.confirm_uuid
                .clone()
                .map(|uuid| ("confirmed-uuid", uuid)),
        );
        audit
    }
}

/// The reclaims that may be in the way: at creation those of the address, at consent those that act on
/// the machine, which is what their own typed UUID says. Both fields have one text, which admission
/// wrote; one that is stored otherwise is left to the controller's mark (DESIGN section 18, decision 11).
fn others(facts: &Facts<MachineReclaim>) -> Vec<Selector> {
    match &facts.change {
        Change::Create { spec } => {
            let address = spec.address.parse::<NodeAddress>().ok();
            address
                .map(|address| Selector::Field("spec.address", address.to_string()))
                .into_iter()
                .collect()
        }
        Change::Spec { spec, old, .. } if spec.confirm_uuid != old.confirm_uuid => {
            let uuids = typed(spec).map(|uuid| [uuid, uuid.swapped()]);
            let by_uuid = |uuid: SystemUuid| Selector::Field("spec.confirmUUID", uuid.to_string());
            uuids.into_iter().flatten().map(by_uuid).collect()
        }
        _ => Vec::new(),
    }
}

/// The UUID that was typed, where it is one.
fn typed(spec: &MachineReclaimSpec) -> Option<SystemUuid> {
    spec.confirm_uuid.as_deref()?.parse().ok()
}

/// The UUID that the inspection found.
fn inspected(status: &MachineReclaimStatus) -> Option<SystemUuid> {
    status.inspection.as_ref()?.identity.system_uuid()
}

/// Whether consent was given: the typed UUID is the inspected one, or a reset is recorded, which does not
/// happen without.
pub(crate) fn matched(spec: &MachineReclaimSpec, status: &MachineReclaimStatus) -> bool {
    status.reset.is_some() || typed(spec).is_some_and(|uuid| inspected(status) == Some(uuid))
}
