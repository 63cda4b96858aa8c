//! "Versions parse, no downgrade below the running minor, no skipped minor, Talos and Kubernetes versions
//! are compatible" (DESIGN section 4).

use crate::field::FieldError;
use crate::findings::{found, known};
use crate::ports::ClusterLookup;
use crate::request::Change;
use crate::versions::{Minor, NEWEST_TALOS, OLDEST_TALOS, Running};
use ichor_crds::{CniProvider, TalosCluster, TalosOperation, TalosOperationSpec};

type Snapshot = crate::request::Snapshot<TalosOperation>;

pub(super) fn talos(snapshot: &Snapshot) -> Vec<FieldError> {
    let path = "spec.talosUpgrade.version";
    let Some((spec, cluster)) = created(snapshot) else {
        return Vec::new();
    };
    let Some(block) = &spec.talos_upgrade else {
        return Vec::new();
    };
    let version = &block.version;
    let refuse = |why: String| FieldError::invalid(path, version, why);
    let Some(target) = Minor::of(version) else {
        return vec![refuse("is not a version such as v1.14.3".to_owned())];
    };
    let mut errors = Vec::new();
    if !target.is_known_talos() {
        errors.push(refuse(format!(
            "Ichor manages Talos {OLDEST_TALOS} to {NEWEST_TALOS}"
        )));
    }
    if let Some(running) = running_talos(snapshot, cluster) {
        errors.extend(running.step("Talos", target).map(refuse));
    }
    let kubernetes = running_kubernetes(snapshot, cluster);
    let unfit = kubernetes
        .iter()
        .flat_map(|running| [running.oldest, running.newest]);
    if let Some(kubernetes) = unfit
        .into_iter()
        .find(|kubernetes| !target.runs(*kubernetes))
    {
        let (oldest, newest) = target.kubernetes();
        let first = if kubernetes < oldest {
            "upgrade Kubernetes first"
        } else {
            "choose a newer Talos"
        };
        errors.push(refuse(format!(
            "Talos {target} runs Kubernetes {oldest} to {newest}, and the cluster runs {kubernetes}: {first}"
        )));
    }
    errors
}

pub(super) fn kubernetes(snapshot: &Snapshot) -> Vec<FieldError> {
    let path = "spec.kubernetesUpgrade.version";
    let Some((spec, cluster)) = created(snapshot) else {
        return Vec::new();
    };
    let Some(block) = &spec.kubernetes_upgrade else {
        return Vec::new();
    };
    let version = &block.version;
    let refuse = |why: String| FieldError::invalid(path, version, why);
    let Some(target) = Minor::of(version) else {
        return vec![refuse("is not a version such as v1.36.1".to_owned())];
    };
    let mut errors = Vec::new();
    if let Some(running) = running_kubernetes(snapshot, cluster) {
        errors.extend(running.step("Kubernetes", target).map(refuse));
    }
    let talos = running_talos(snapshot, cluster);
    let all = talos
        .iter()
        .flat_map(|running| [running.oldest, running.newest]);
    if let Some(talos) = all.into_iter().find(|talos| !talos.runs(target)) {
        let (oldest, newest) = talos.kubernetes();
        let first = if target > newest {
            "upgrade Talos first"
        } else {
            "choose a newer Kubernetes"
        };
        errors.push(refuse(format!(
            "Talos {talos}, which the cluster runs, runs Kubernetes {oldest} to {newest}: {first}"
        )));
    }
    errors
}

pub(super) fn cilium(snapshot: &Snapshot) -> Vec<FieldError> {
    let path = "spec.ciliumUpgrade.version";
    let Some((spec, cluster)) = created(snapshot) else {
        return Vec::new();
    };
    let Some(block) = &spec.cilium_upgrade else {
        return Vec::new();
    };
    let version = &block.version;
    let cni = cluster.and_then(|cluster| cluster.spec.cni.as_ref());
    let provider = cni.and_then(|cni| cni.provider);
    if cluster.is_some() && provider != Some(CniProvider::Cilium) {
        let why = "the cluster's spec.cni.provider is not cilium: there is no Cilium to upgrade";
        return vec![FieldError::forbidden("spec.ciliumUpgrade", why)];
    }
    let Some(target) = Minor::of(version) else {
        return vec![FieldError::invalid(
            path,
            version,
            "is not a version such as v1.18.2",
        )];
    };
    let installed = cni.and_then(|cni| cni.cilium.as_ref()?.version.as_deref());
    let Some(at) = installed.and_then(Minor::of) else {
        return Vec::new();
    };
    let running = Running {
        oldest: at,
        newest: at,
    };
    let why = running.step("Cilium", target);
    why.map(|why| FieldError::invalid(path, version, why))
        .into_iter()
        .collect()
}

/// The spec of an operation that is created, and its cluster where it was found.
fn created(snapshot: &Snapshot) -> Option<(&TalosOperationSpec, Option<&TalosCluster>)> {
    let Change::Create { spec } = &snapshot.facts.change else {
        return None;
    };
    let cluster = match known(&snapshot.findings.cluster) {
        Some(ClusterLookup::Found(cluster)) => Some(cluster.as_ref()),
        _ => None,
    };
    Some((spec, cluster))
}

fn running_talos(snapshot: &Snapshot, cluster: Option<&TalosCluster>) -> Option<Running> {
    let meant = cluster.map(|cluster| cluster.spec.talos_version.as_str());
    Running::talos(found(&snapshot.findings.machines), meant)
}

fn running_kubernetes(snapshot: &Snapshot, cluster: Option<&TalosCluster>) -> Option<Running> {
    let meant = cluster.map(|cluster| cluster.spec.kubernetes_version.as_str());
    Running::kubernetes(found(&snapshot.findings.machines), meant)
}
