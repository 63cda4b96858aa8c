//! An edit of the versions of a cluster that has configured machines is no way around an operation: "no downgrade below the
//! running minor, no skipped minor" (DESIGN section 4). What runs decides, not what the spec said before: the operations
//! of an upgrade leave the spec as it is, and it follows when they are done.

use crate::common::short;
use crate::field::FieldError;
use crate::findings::found;
use crate::ports::Selector;
use crate::request::Facts;
use crate::versions::{Minor, Running, runs_as_configured};
use ichor_crds::TalosCluster;

type Snapshot = crate::request::Snapshot<TalosCluster>;

/// A version that is edited.
struct Edit<'a> {
    path: &'static str,
    what: &'static str,
    operation: &'static str,
    version: &'a str,
    target: Minor,
    running: Running,
}

/// The machines of a cluster whose versions are edited.
pub(super) fn selectors(facts: &Facts<TalosCluster>) -> Vec<Selector> {
    let edited = facts.change_of_spec().is_some_and(|(spec, old)| {
        (&spec.talos_version, &spec.kubernetes_version)
            != (&old.talos_version, &old.kubernetes_version)
    });
    let its = Selector::Field("spec.clusterRef.name", facts.name.clone());
    if edited { vec![its] } else { Vec::new() }
}

pub(super) fn is_one_step(snapshot: &Snapshot) -> Vec<FieldError> {
    let errors = edits(snapshot).into_iter().filter_map(|edit| {
        let why = edit.running.step(edit.what, edit.target)?;
        let why = format!("{why}, with a TalosOperation of kind {}", edit.operation);
        Some(FieldError::invalid(edit.path, edit.version, why))
    });
    errors.collect()
}

/// What an operation does in order, an edit does not.
pub(super) fn without_an_operation(snapshot: &Snapshot) -> Option<String> {
    let edits = edits(snapshot);
    let edit = edits
        .iter()
        .find(|edit| edit.target > edit.running.oldest)?;
    Some(format!(
        "{} is now {} and machines run {}: the edit upgrades none of them in order; a TalosOperation of kind {} does",
        edit.path,
        short(edit.version),
        edit.running.oldest,
        edit.operation
    ))
}

fn edits(snapshot: &Snapshot) -> Vec<Edit<'_>> {
    let machines = found(&snapshot.findings.machines);
    let Some((spec, old)) = snapshot.facts.change_of_spec() else {
        return Vec::new();
    };
    if !machines.iter().any(runs_as_configured) {
        return Vec::new();
    }
    [
        (
            "spec.talosVersion",
            "Talos",
            "talosUpgrade",
            &spec.talos_version,
            &old.talos_version,
            Running::talos(machines, Some(&old.talos_version)),
        ),
        (
            "spec.kubernetesVersion",
            "Kubernetes",
            "kubernetesUpgrade",
            &spec.kubernetes_version,
            &old.kubernetes_version,
            Running::kubernetes(machines, Some(&old.kubernetes_version)),
        ),
    ]
    .into_iter()
    .filter(|(_, _, _, version, was, _)| version != was)
    .filter_map(|(path, what, operation, version, _, running)| {
        Some(Edit {
            path,
            what,
            operation,
            version,
            target: Minor::of(version)?,
            running: running?,
        })
    })
    .collect()
}
