//! Registering the address of a reclaimed machine in its cluster's discovery, as the person (record 0136,
//! DESIGN section 11): where no address or CIDR there covers it already.

use super::coverage::covered_by;
use super::error::{ActionError, bounded};
use super::reclaim::FIELD_MANAGER;
use ichor_crds::{GROUP, NodeAddress, TalosCluster, VERSION};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// How often the apply is tried while others change the cluster.
const ATTEMPTS: u32 = 10;

/// What became of the address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Registration {
    /// It is in `discovery.addresses` now.
    Added,
    /// This entry of discovery covered it before.
    Covered(String),
}

/// Adds the address to `spec.discovery.addresses` of the cluster by server-side apply.
///
/// The list is a set in which every writer owns what it applied, so an apply that leaves out what this field
/// manager applied before would take it away. It therefore names those again, and carries the
/// resourceVersion it was made from: of two at once, one is asked to read again.
pub async fn register_address(
    client: &Client,
    namespace: &str,
    cluster: &str,
    address: NodeAddress,
) -> Result<Registration, ActionError> {
    let clusters: Api<TalosCluster> = Api::namespaced(client.clone(), namespace);
    for _ in 0..ATTEMPTS {
        let seen = bounded("reading the cluster", clusters.get(cluster)).await?;
        if let Some(entry) = covered_by(address, seen.spec.discovery.as_ref()) {
            return Ok(Registration::Covered(entry.to_owned()));
        }
        let apply = Patch::Apply(apply_body(&seen, address));
        let params = PatchParams::apply(FIELD_MANAGER);
        match bounded(
            "adding the address",
            clusters.patch(cluster, &params, &apply),
        )
        .await
        {
            Ok(_) => return Ok(Registration::Added),
            Err(ActionError::Kube(kube::Error::Api(status))) if status.is_conflict() => {}
            Err(error) => return Err(error),
        }
    }
    Err(ActionError::Contended {
        object: format!("taloscluster/{cluster}"),
        attempts: ATTEMPTS,
    })
}

/// What is applied: the addresses this field manager owns already, and the new one.
fn apply_body(seen: &TalosCluster, address: NodeAddress) -> Value {
    let entries = seen.metadata.managed_fields.as_deref().unwrap_or_default();
    let mut addresses = owned_addresses(entries);
    addresses.insert(address.to_string());
    json!({
        "apiVersion": format!("{GROUP}/{VERSION}"),
        "kind": "TalosCluster",
        "metadata": {
            "name": seen.metadata.name,
            "resourceVersion": seen.metadata.resource_version,
        },
        "spec": { "discovery": { "addresses": addresses } },
    })
}

/// The entries of `spec.discovery.addresses` that this field manager applied, out of the field set that the
/// API server keeps: `{"f:spec":{"f:discovery":{"f:addresses":{"v:\"10.5.0.7\"":{}}}}}`.
fn owned_addresses(entries: &[ManagedFieldsEntry]) -> BTreeSet<String> {
    entries
        .iter()
        .filter(|entry| {
            entry.manager.as_deref() == Some(FIELD_MANAGER)
                && entry.operation.as_deref() == Some("Apply")
                && entry.subresource.as_deref().unwrap_or_default().is_empty()
        })
        .filter_map(|entry| entry.fields_v1.as_ref())
        .filter_map(|fields| {
            fields
                .0
                .pointer("/f:spec/f:discovery/f:addresses")?
                .as_object()
        })
        .flat_map(|set| set.keys())
        .filter_map(|key| serde_json::from_str(key.strip_prefix("v:")?).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::FieldsV1;

    fn entry(manager: &str, operation: &str, fields: Value) -> ManagedFieldsEntry {
        ManagedFieldsEntry {
            manager: Some(manager.to_owned()),
            operation: Some(operation.to_owned()),
            fields_v1: Some(FieldsV1(fields)),
            ..ManagedFieldsEntry::default()
        }
    }

    fn addresses(list: &[&str]) -> Value {
        let set: serde_json::Map<_, _> = list
            .iter()
            .map(|address| (format!("v:\"{address}\""), json!({})))
            .chain([(".".to_owned(), json!({}))])
            .collect();
        json!({"f:spec": {"f:discovery": {"f:addresses": set}}})
    }

    #[test]
    fn an_apply_keeps_what_it_owns_and_leaves_what_others_own() {
        let mut cluster = TalosCluster::new(
            "prod",
            serde_json::from_value(json!({
                "endpoint": "https://10.5.0.2:6443",
                "talosVersion": "v1.14.3",
                "kubernetesVersion": "v1.36.1",
                "secretsBundleRef": {"name": "prod-bundle"},
                "kubernetesAccess": "self",
                "discovery": {"addresses": ["10.5.0.5", "10.5.0.6", "10.5.0.9"]},
            }))
            .expect("spec"),
        );
        cluster.metadata.resource_version = Some("41".to_owned());
        cluster.metadata.managed_fields = Some(vec![
            entry(FIELD_MANAGER, "Apply", addresses(&["10.5.0.6", "10.5.0.5"])),
            // Another writer, and the same name through an update: neither is this apply's to repeat.
            entry("argocd", "Apply", addresses(&["10.5.0.9"])),
            entry(FIELD_MANAGER, "Update", addresses(&["10.5.0.8"])),
        ]);
        let body = apply_body(&cluster, "10.5.0.7".parse().expect("address"));
        assert_eq!(
            body,
            json!({
                "apiVersion": "ichor.maesh.dev/v1alpha1",
                "kind": "TalosCluster",
                "metadata": {"name": "prod", "resourceVersion": "41"},
                "spec": {"discovery": {"addresses": ["10.5.0.5", "10.5.0.6", "10.5.0.7"]}},
            })
        );
    }

    #[test]
    fn field_sets_without_addresses_own_none() {
        for fields in [
            json!({}),
            json!({"f:spec": {"f:endpoint": {}}}),
            json!(null),
        ] {
            let owned = owned_addresses(&[entry(FIELD_MANAGER, "Apply", fields)]);
            assert!(owned.is_empty());
        }
        assert!(owned_addresses(&[]).is_empty());
    }
}
