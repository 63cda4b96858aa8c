//! "Versions parse, no downgrade below the running minor, no skipped minor, Talos and Kubernetes versions
//! are compatible" (DESIGN section 4).

use crate::field::FieldError;
use crate::findings::{found, known};
use crate::ports::ClusterLookup;
use crate::request::Change;
use crate::versions::{Minor, NEWEST_TALOS, OLDEST_TALOS};
use ichor_crds::{CniProvider, TalosCluster, TalosMachine, TalosOperation, TalosOperationSpec};

type Snapshot = crate::request::Snapshot<TalosOperation>;

/// The oldest and the newest minor release that runs somewhere.
struct Running {
    oldest: Minor,
    newest: Minor,
}

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
        errors.extend(step("Talos", target, &running).map(refuse));
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
        errors.extend(step("Kubernetes", target, &running).map(refuse));
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
    let why = step(
        "Cilium",
        target,
        &Running {
            oldest: at,
            newest: at,
        },
    );
    why.map(|why| FieldError::invalid(path, version, why))
        .into_iter()
        .collect()
}

/// Why an upgrade of `what` to `target` is no single step upwards.
fn step(what: &str, target: Minor, running: &Running) -> Option<String> {
    let Running { oldest, newest } = running;
    if target < *newest {
        return Some(format!(
            "is older than {what} {newest}, which runs: a downgrade below the running minor release is not supported"
        ));
    }
    oldest.skips_to(target).then(|| {
        format!("leaves out a minor release after {what} {oldest}, which runs: upgrade one minor release at a time")
    })
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
    let seen = |machine: &TalosMachine| machine.status.as_ref()?.talos_version.clone();
    running(
        snapshot,
        seen,
        cluster.map(|cluster| cluster.spec.talos_version.as_str()),
    )
}

fn running_kubernetes(snapshot: &Snapshot, cluster: Option<&TalosCluster>) -> Option<Running> {
    let seen = |machine: &TalosMachine| machine.status.as_ref()?.kubernetes_version.clone();
    running(
        snapshot,
        seen,
        cluster.map(|cluster| cluster.spec.kubernetes_version.as_str()),
    )
}

/// What the approved machines were seen with; what the cluster should run while none was seen. A machine
/// with an upgrade hold does not count: the upgrade leaves it alone.
fn running(
    snapshot: &Snapshot,
    seen: impl Fn(&TalosMachine) -> Option<String>,
    meant: Option<&str>,
) -> Option<Running> {
    let held = |machine: &TalosMachine| {
        machine
            .spec
            .upgrade_hold
            .as_ref()
            .is_some_and(|why| !why.is_empty())
    };
    let machines = found(&snapshot.findings.machines).iter();
    let machines = machines.filter(|machine| machine.is_approved() && !held(machine));
    let mut minors: Vec<Minor> = machines
        .filter_map(|machine| Minor::of(&seen(machine)?))
        .collect();
    if minors.is_empty() {
        minors.extend(meant.and_then(Minor::of));
    }
    Some(Running {
        oldest: *minors.iter().min()?,
        newest: *minors.iter().max()?,
    })
}
