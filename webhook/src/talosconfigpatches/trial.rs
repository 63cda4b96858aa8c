//! The patch is tried: it "parses and applies to a rendered sample of the cluster, and in the result every
//! CA, accepted CA, token, cluster ID and secret, encryption secret, service account key and Talos API access
//! grant is what it was without the patch" (DESIGN section 4).

use crate::field::FieldError;
use crate::findings::known;
use crate::ports::ClusterLookup;
use ichor_crds::{MachineRole, TalosCluster, TalosConfigPatch, TalosConfigPatchSpec};
use ichor_machineconfig::{Patch, protected_changes, sample};

type Snapshot = crate::request::Snapshot<TalosConfigPatch>;

/// What is wrong with the patch. "A stored patch that breaks a newer rule may be updated as long as it does
/// not get worse" (DESIGN section 4): what was wrong with it before is no reason to refuse.
pub(super) fn patch(snapshot: &Snapshot) -> Vec<FieldError> {
    let Some((now, before)) = defects(snapshot) else {
        return Vec::new();
    };
    let new = now.into_iter().filter(|defect| !before.contains(defect));
    // The path alone: the text may hold what is secret.
    new.map(|defect| FieldError::forbidden("spec.patch", defect))
        .collect()
}

/// What stays wrong draws a warning.
pub(super) fn still_broken(snapshot: &Snapshot) -> Option<String> {
    let (now, _) = defects(snapshot)?;
    let first: String = now.first()?.chars().take(180).collect();
    Some(format!(
        "the patch was stored with a fault and still has it: {first}"
    ))
}

/// What is wrong with the patch as it would be and as it is, where there is a cluster to try it on.
fn defects(snapshot: &Snapshot) -> Option<(Vec<String>, Vec<String>)> {
    let Some(ClusterLookup::Found(cluster)) = known(&snapshot.findings.cluster) else {
        return None;
    };
    let spec = snapshot.facts.spec()?;
    let now = trial(cluster, spec);
    let old = snapshot.facts.change_of_spec().filter(|_| !now.is_empty());
    let before = old.map(|(_, old)| trial(cluster, old)).unwrap_or_default();
    Some((now, before))
}

/// Tries the patch on the sample of each role that it is for.
fn trial(cluster: &TalosCluster, spec: &TalosConfigPatchSpec) -> Vec<String> {
    let patch = match Patch::parse(&spec.patch) {
        Ok(patch) => patch,
        Err(error) => return vec![error.to_string()],
    };
    let contract = cluster
        .spec
        .version_contract
        .as_deref()
        .unwrap_or(&cluster.spec.talos_version);
    let role = spec.target.as_ref().and_then(|target| target.role);
    let mut defects = Vec::new();
    for (name, role_of_sample) in [
        ("control plane", MachineRole::ControlPlane),
        ("worker", MachineRole::Worker),
    ] {
        if role.is_some_and(|role| role != role_of_sample) {
            continue;
        }
        let control_plane = role_of_sample == MachineRole::ControlPlane;
        let Some(before) = sample(contract, control_plane) else {
            defects.push(format!("there is no sample of contract {contract} to try it on: set spec.versionContract of the cluster to one of v1.9 to v1.14"));
            break;
        };
        match patch.apply(&before) {
            Err(error) => defects.push(format!(
                "does not apply to a {name} of contract {contract}: {error}"
            )),
            Ok(after) => {
                let changed = protected_changes(&before, &after);
                if !changed.is_empty() {
                    defects.push(format!(
                        "changes on a {name} what makes it trust its cluster, and no patch may: {}; take it out",
                        changed.join(", ")
                    ));
                }
            }
        }
    }
    defects
}
