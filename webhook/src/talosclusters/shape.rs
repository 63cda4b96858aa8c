//! What the fields of a cluster have to be. What was accepted once is not refused again.

use crate::common::{no_user_info, node_address, one_text, reference_name};
use crate::field::FieldError;
use crate::versions::{Minor, NEWEST_TALOS, OLDEST_TALOS};
use ichor_crds::{TalosCluster, TalosClusterSpec};

type Snapshot = crate::request::Snapshot<TalosCluster>;

pub(super) fn secret_name(snapshot: &Snapshot) -> Vec<FieldError> {
    let reference = snapshot.facts.spec().map(|spec| &spec.secrets_bundle_ref);
    reference_name("spec.secretsBundleRef.name", reference)
        .into_iter()
        .collect()
}

/// A password in a URL is shown by everybody who shows the URL.
pub(super) fn endpoint(snapshot: &Snapshot) -> Vec<FieldError> {
    let old = snapshot
        .facts
        .change_of_spec()
        .map(|(_, old)| &old.endpoint);
    let endpoint = snapshot.facts.spec().map(|spec| &spec.endpoint);
    let endpoint = endpoint.filter(|endpoint| old != Some(*endpoint));
    let error = endpoint.and_then(|endpoint| no_user_info("spec.endpoint", endpoint));
    error.into_iter().collect()
}

/// Versions that Ichor knows and that go together.
pub(super) fn versions(snapshot: &Snapshot) -> Vec<FieldError> {
    let Some((spec, old)) = changed(snapshot) else {
        return Vec::new();
    };
    let both =
        |spec: &TalosClusterSpec| (spec.talos_version.clone(), spec.kubernetes_version.clone());
    if old.map(both) == Some(both(spec)) {
        return Vec::new();
    }
    let (talos, kubernetes) = (&spec.talos_version, &spec.kubernetes_version);
    let mut errors = Vec::new();
    let mut minor = |path: &'static str, version: &str, example: &str| {
        let minor = Minor::of(version);
        if minor.is_none() {
            let why = format!("is not a version such as {example}");
            errors.push(FieldError::invalid(path, version, why));
        }
        minor
    };
    let runs = minor("spec.talosVersion", talos, "v1.14.3");
    let on_it = minor("spec.kubernetesVersion", kubernetes, "v1.36.1");
    if let Some(talos_minor) = runs
        && !talos_minor.is_known_talos()
    {
        let why = format!("Ichor manages Talos {OLDEST_TALOS} to {NEWEST_TALOS}");
        errors.push(FieldError::invalid("spec.talosVersion", talos, why));
    } else if let (Some(talos), Some(minor)) = (runs, on_it)
        && !talos.runs(minor)
    {
        let (oldest, newest) = talos.kubernetes();
        let why = format!("Talos {talos} runs Kubernetes {oldest} to {newest}");
        errors.push(FieldError::invalid(
            "spec.kubernetesVersion",
            kubernetes,
            why,
        ));
    }
    errors
}

/// A contract that can be rendered and that the Talos of the cluster understands.
pub(super) fn contract(snapshot: &Snapshot) -> Vec<FieldError> {
    let path = "spec.versionContract";
    let Some((spec, old)) = changed(snapshot) else {
        return Vec::new();
    };
    let Some(text) = &spec.version_contract else {
        return Vec::new();
    };
    if old.is_some_and(|old| old.version_contract.as_ref() == Some(text)) {
        return Vec::new();
    }
    let minor = Minor::of(&format!("{text}.0"));
    let talos = Minor::of(&spec.talos_version);
    let why = match (minor, talos) {
        (Some(minor), _) if !minor.is_known_talos() => {
            format!("Ichor renders configurations of Talos {OLDEST_TALOS} to {NEWEST_TALOS}")
        }
        (Some(minor), Some(talos)) if minor > talos => {
            format!(
                "is newer than the cluster's Talos {talos}, which does not understand such a configuration"
            )
        }
        (None, _) => "is not a contract such as v1.14".to_owned(),
        _ => return Vec::new(),
    };
    vec![FieldError::invalid(path, text, why)]
}

/// Addresses that discovery probes.
pub(super) fn addresses(snapshot: &Snapshot) -> Vec<FieldError> {
    let Some((spec, old)) = changed(snapshot) else {
        return Vec::new();
    };
    let known = old.and_then(|old| old.discovery.as_ref());
    let is_known = |address: &String| known.is_some_and(|known| known.addresses.contains(address));
    let given = spec
        .discovery
        .iter()
        .flat_map(|discovery| &discovery.addresses);
    let path = "spec.discovery.addresses";
    let new = given.filter(|address| !is_known(address));
    let errors = new.filter_map(|address| node_address(snapshot, path, address));
    let mut errors: Vec<_> = errors.collect();
    let lists = [Some(spec), old].map(|spec| {
        let discovery = spec.and_then(|spec| spec.discovery.as_ref());
        discovery.map_or(&[][..], |discovery| &discovery.addresses)
    });
    errors.extend(one_text(path, lists));
    errors
}

pub(super) fn what_never_changes(snapshot: &Snapshot) -> Vec<FieldError> {
    let Some((spec, old)) = snapshot.facts.change_of_spec() else {
        return Vec::new();
    };
    let machines = snapshot
        .facts
        .status()
        .and_then(|status| status.machines)
        .unwrap_or(0);
    [
        (
            "spec.secretsBundleRef",
            spec.secrets_bundle_ref != old.secrets_bundle_ref,
            "the secrets bundle of a cluster cannot change: its machines are made from it",
        ),
        (
            "spec.network",
            machines > 0 && spec.network != old.network,
            "the networks of a cluster that has machines cannot be set, cleared or changed; make another cluster",
        ),
    ]
    .into_iter()
    .filter(|(_, changed, _)| *changed)
    .map(|(path, _, why)| FieldError::forbidden(path, why))
    .collect()
}

/// The spec as it would be, and as it is.
fn changed(snapshot: &Snapshot) -> Option<(&TalosClusterSpec, Option<&TalosClusterSpec>)> {
    let old = snapshot.facts.change_of_spec().map(|(_, old)| old);
    snapshot.facts.spec().map(|spec| (spec, old))
}
