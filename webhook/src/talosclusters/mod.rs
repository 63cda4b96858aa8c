//! Admission of talosclusters (DESIGN section 4).

mod bundle;
mod deletion;
mod shape;
#[cfg(test)]
mod tests;
mod upgrade;
mod warning;

use crate::common::named;
use crate::findings::Questions;
use crate::handler::Paths;
use crate::request::{Change, Facts, Judged, Rule, Snapshot, Warning};
use crate::versions::Minor;
use ichor_crds::{ABANDON, TalosCluster, TalosClusterSpec, TalosClusterStatus};
use serde_json::Value;

impl Judged for TalosCluster {
    const KIND: &'static str = "TalosCluster";
    const RESOURCE: &'static str = "talosclusters";
    const PATHS: Paths = Paths {
        mutate: "/mutate/talosclusters",
        validate: "/validate/talosclusters",
    };
    type Spec = TalosClusterSpec;
    type Status = TalosClusterStatus;

    const RULES: &'static [Rule<Self>] = &[
        shape::secret_name,
        shape::endpoint,
        shape::versions,
        upgrade::is_one_step,
        shape::contract,
        shape::addresses,
        shape::what_never_changes,
        bundle::is_the_callers,
        bundle::is_sound,
        bundle::is_nobody_elses,
    ];
    const WARNINGS: &'static [Warning<Self>] = &[
        warning::contract,
        warning::abandoned,
        upgrade::without_an_operation,
    ];

    fn questions(facts: &Facts<Self>) -> Questions {
        if !facts.is_ichors() {
            return Questions::default();
        }
        match &facts.change {
            // The bundle is the cluster's for ever, so it is looked at once.
            Change::Create { spec } => Questions {
                bundle: named(Some(&spec.secrets_bundle_ref)),
                clusters: true,
                ..Questions::default()
            },
            Change::Delete { .. } => deletion::questions(facts),
            _ => Questions {
                machines: upgrade::selectors(facts),
                ..Questions::default()
            },
        }
    }

    fn keeps(snapshot: &Snapshot<Self>) -> Option<String> {
        deletion::keeps(snapshot)
    }

    /// "`versionContract` (defaulted once from `talosVersion`, then changed only by an explicit edit:
    /// upgrading Talos must not change what is rendered)" (DESIGN section 3, FAULTS 26).
    fn fill(snapshot: &Snapshot<Self>) -> Vec<(&'static str, Value)> {
        let facts = &snapshot.facts;
        let Some(spec) = facts.spec().filter(|spec| spec.version_contract.is_none()) else {
            return Vec::new();
        };
        // A file that leaves it out does not take it away; an object that was stored without gets the one
        // that it was rendered by.
        let contract = match facts.change_of_spec() {
            Some((_, old)) => old
                .version_contract
                .clone()
                .or_else(|| contract(&old.talos_version)),
            None => contract(&spec.talos_version),
        };
        let contract = contract.map(|text| ("/versionContract", Value::String(text)));
        contract.into_iter().collect()
    }

    fn audit(facts: &Facts<Self>) -> Vec<(&'static str, String)> {
        let mut audit = vec![("abandon", facts.is_annotated(ABANDON).to_string())];
        if let Some(spec) = facts.spec() {
            audit.push(("bundle", spec.secrets_bundle_ref.name.clone()));
            audit.push(("talos-version", spec.talos_version.clone()));
            audit.push(("kubernetes-version", spec.kubernetes_version.clone()));
            audit.extend(
                spec.version_contract
                    .clone()
                    .map(|text| ("version-contract", text)),
            );
            audit.extend(
                spec.install_image
                    .clone()
                    .map(|image| ("install-image", image)),
            );
        }
        audit
    }
}

/// The contract of a version: its minor release.
fn contract(version: &str) -> Option<String> {
    Minor::of(version).map(|minor| minor.to_string())
}
