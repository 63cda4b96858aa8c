//! Asking for a reclaim and consenting to it (record 0136): the objects, and the requests that carry them.

use super::error::{ActionError, bounded};
use ichor_crds::{LocalReference, MachineReclaim, MachineReclaimSpec, NodeAddress};
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Map, Value, json};

/// The field manager of what a person writes through the command line.
pub const FIELD_MANAGER: &str = "ichor-cli";
/// What the API server makes names of requests from.
const NAME_PREFIX: &str = "reclaim-";

/// With what the machine is dialled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Credential {
    /// A certificate made from the bundle of the cluster that the request names.
    Cluster,
    /// The talosconfig in a Secret of this name.
    Secret(String),
}

/// A request as a person asks for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReclaimRequest {
    /// Address of the machine.
    pub address: NodeAddress,
    /// The managed cluster: whose credentials are used, and where the machine is to be found afterwards.
    pub cluster: Option<String>,
    /// With what the machine is dialled.
    pub credential: Credential,
    /// Wipe even against quorum.
    pub force: bool,
    /// Wipe without leaving etcd first.
    pub force_ungraceful: bool,
    /// Name of the request; without it the API server chooses one.
    pub name: Option<String>,
}

impl ReclaimRequest {
    /// The object. `confirmUUID` is never in it: consent follows inspection.
    pub fn build(&self, namespace: &str) -> MachineReclaim {
        let spec = MachineReclaimSpec {
            address: self.address.to_string(),
            cluster_ref: self.cluster.as_deref().map(LocalReference::new),
            cluster_credentials: (self.credential == Credential::Cluster).then_some(true),
            credential_secret_ref: match &self.credential {
                Credential::Cluster => None,
                Credential::Secret(name) => Some(LocalReference::new(name)),
            },
            force: self.force.then_some(true),
            force_ungraceful: self.force_ungraceful.then_some(true),
            ..MachineReclaimSpec::default()
        };
        let mut request = MachineReclaim::new(self.name.as_deref().unwrap_or_default(), spec);
        if self.name.is_none() {
            request.metadata.name = None;
            request.metadata.generate_name = Some(NAME_PREFIX.to_owned());
        }
        request.metadata.namespace = Some(namespace.to_owned());
        request
    }
}

/// What a person typed after the inspection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Consent {
    /// The machine's UUID.
    pub uuid: String,
    /// The cluster's name, with `force`.
    pub cluster_name: Option<String>,
}

/// The merge patch that writes a consent into the request of this UID and no other of the same name.
pub fn consent_patch(consent: &Consent, uid: Option<&str>) -> Value {
    let mut spec = Map::new();
    spec.insert("confirmUUID".to_owned(), json!(consent.uuid));
    if let Some(name) = &consent.cluster_name {
        spec.insert("confirmClusterName".to_owned(), json!(name));
    }
    let mut patch = json!({ "spec": spec });
    if let Some(uid) = uid {
        patch["metadata"] = json!({ "uid": uid });
    }
    patch
}

/// Creates the request as the person; with `dry_run` the API server judges it and keeps nothing.
pub async fn create_reclaim(
    client: &Client,
    request: &MachineReclaim,
    dry_run: bool,
) -> Result<MachineReclaim, ActionError> {
    let params = PostParams {
        dry_run,
        field_manager: Some(FIELD_MANAGER.to_owned()),
    };
    let requests = requests(client, request);
    bounded("creating the request", requests.create(&params, request)).await
}

/// Writes the consent as the person.
pub async fn confirm_reclaim(
    client: &Client,
    request: &MachineReclaim,
    consent: &Consent,
) -> Result<MachineReclaim, ActionError> {
    let params = PatchParams {
        field_manager: Some(FIELD_MANAGER.to_owned()),
        ..PatchParams::default()
    };
    let patch = consent_patch(consent, request.metadata.uid.as_deref());
    let name = request.metadata.name.as_deref().unwrap_or_default();
    let requests = requests(client, request);
    bounded(
        "confirming the request",
        requests.patch(name, &params, &Patch::Merge(patch)),
    )
    .await
}

fn requests(client: &Client, request: &MachineReclaim) -> Api<MachineReclaim> {
    let namespace = request.metadata.namespace.as_deref().unwrap_or_default();
    Api::namespaced(client.clone(), namespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(cluster: Option<&str>, credential: Credential) -> ReclaimRequest {
        ReclaimRequest {
            address: "10.5.0.7".parse().expect("address"),
            cluster: cluster.map(str::to_owned),
            credential,
            force: false,
            force_ungraceful: false,
            name: None,
        }
    }

    #[test]
    fn a_request_says_what_was_asked_and_nothing_else() {
        let secret = || Credential::Secret("pasted".to_owned());
        for (asked, want) in [
            (
                request(Some("prod"), Credential::Cluster),
                json!({"address": "10.5.0.7", "clusterRef": {"name": "prod"}, "clusterCredentials": true}),
            ),
            (
                request(None, secret()),
                json!({"address": "10.5.0.7", "credentialSecretRef": {"name": "pasted"}}),
            ),
            (
                request(Some("prod"), secret()),
                json!({"address": "10.5.0.7", "clusterRef": {"name": "prod"}, "credentialSecretRef": {"name": "pasted"}}),
            ),
            (
                ReclaimRequest {
                    force: true,
                    force_ungraceful: true,
                    ..request(Some("prod"), Credential::Cluster)
                },
                json!({"address": "10.5.0.7", "clusterRef": {"name": "prod"}, "clusterCredentials": true,
                       "force": true, "forceUngraceful": true}),
            ),
        ] {
            let built = asked.build("ichor-system");
            assert_eq!(serde_json::to_value(&built.spec).expect("JSON"), want);
            assert_eq!(built.metadata.name, None);
            assert_eq!(built.metadata.generate_name.as_deref(), Some("reclaim-"));
            assert_eq!(built.metadata.namespace.as_deref(), Some("ichor-system"));
            assert_eq!(built.status, None);
        }
    }

    #[test]
    fn a_given_name_is_kept() {
        let named = ReclaimRequest {
            name: Some("worker-7".to_owned()),
            ..request(Some("prod"), Credential::Cluster)
        };
        let built = named.build("ichor-system");
        assert_eq!(built.metadata.name.as_deref(), Some("worker-7"));
        assert_eq!(built.metadata.generate_name, None);
    }

    #[test]
    fn a_consent_is_bound_to_one_request() {
        let consent = |cluster_name: Option<&str>| Consent {
            uuid: "4c4c4544-0042-3510-8052-b4c04f463133".to_owned(),
            cluster_name: cluster_name.map(str::to_owned),
        };
        assert_eq!(
            consent_patch(&consent(None), Some("u-1")),
            json!({"metadata": {"uid": "u-1"}, "spec": {"confirmUUID": "4c4c4544-0042-3510-8052-b4c04f463133"}})
        );
        assert_eq!(
            consent_patch(&consent(Some("prod")), None),
            json!({"spec": {"confirmUUID": "4c4c4544-0042-3510-8052-b4c04f463133", "confirmClusterName": "prod"}})
        );
    }
}
