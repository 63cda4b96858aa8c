//! The Kubernetes API of a managed cluster, as its `kubernetesAccess` says (DESIGN sections 3 and 18, decision 12).

use crate::controller::clusters::Managed;
use crate::controller::endpoint;
use crate::runtime::clock;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ichor_certs::mint::kubernetes_admin;
use ichor_crds::AccessMode;
use k8s_openapi::api::core::v1::Node;
use kube::api::{DeleteParams, Preconditions};
use kube::config::AuthInfo;
use kube::{Api, Client, Config};
use std::time::Duration;

/// For a connection, and for an answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Why the API of a cluster is not used. Texts are Ichor's own and fit for a status.
#[derive(Debug, thiserror::Error)]
pub enum AccessRefused {
    /// `self` is wrong.
    #[error(
        "kubernetesAccess of TalosCluster {0} is \"self\", and the Kubernetes CA of its bundle is not the root CA of the API server that \
         Ichor runs in: it is another cluster. Set kubernetesAccess to \"bundle\""
    )]
    NotThisCluster(String),
    /// The bundle does not give what is needed.
    #[error("the bundle of TalosCluster {cluster} gives no access to its Kubernetes API: {why}")]
    Bundle {
        /// The cluster.
        cluster: String,
        /// What is wrong.
        why: String,
    },
    /// The endpoint is not dialled.
    #[error("the endpoint of TalosCluster {0} is not an https URL of another machine")]
    Endpoint(String),
    /// The Node changed between look and deletion.
    #[error("Kubernetes node {0} changed while it was looked at")]
    Changed(String),
    /// The API did not answer, or refused.
    #[error("the Kubernetes API of cluster {0} does not answer as it should")]
    Unavailable(String),
}

/// How to reach the Kubernetes API of clusters.
pub struct KubernetesAccess {
    own: Client,
    /// The root CAs by which this process verifies its own API server, DER.
    roots: Vec<Vec<u8>>,
    allow_local_addresses: bool,
}

impl std::fmt::Debug for KubernetesAccess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("KubernetesAccess")
    }
}

impl KubernetesAccess {
    /// Access by way of the process's own client and the CAs of its configuration.
    pub fn new(own: Client, roots: Vec<Vec<u8>>, allow_local_addresses: bool) -> Self {
        Self {
            own,
            roots,
            allow_local_addresses,
        }
    }

    /// The Nodes of a cluster.
    pub fn nodes(&self, cluster: &Managed) -> Result<Nodes, AccessRefused> {
        let client = match cluster.object.spec.kubernetes_access {
            AccessMode::OwnCluster => self.own_cluster(cluster)?,
            AccessMode::Bundle => self.by_bundle(cluster)?,
        };
        Ok(Nodes {
            api: Api::all(client),
            cluster: cluster.name.clone(),
        })
    }

    /// "`self` is refused when the API server's root CA is not the bundle's" (DESIGN section 18, decision 12): else a
    /// Node of another cluster that happens to have the name would be looked at.
    fn own_cluster(&self, cluster: &Managed) -> Result<Client, AccessRefused> {
        let ca = kubernetes_ca(cluster)?;
        if self.roots.iter().any(|root| root.as_slice() == ca) {
            Ok(self.own.clone())
        } else {
            Err(AccessRefused::NotThisCluster(cluster.name.clone()))
        }
    }

    fn by_bundle(&self, cluster: &Managed) -> Result<Client, AccessRefused> {
        let now = clock::now();
        let bundle = |why: String| AccessRefused::Bundle {
            cluster: cluster.name.clone(),
            why,
        };
        let refused = || AccessRefused::Endpoint(cluster.name.clone());
        let ca = cluster
            .bundle
            .kubernetes_ca(now)
            .map_err(|error| bundle(error.to_string()))?;
        let admin = kubernetes_admin(ca, now).map_err(|error| bundle(error.to_string()))?;
        let url: http::Uri = cluster
            .object
            .spec
            .endpoint
            .parse()
            .map_err(|_| refused())?;
        let host = url.host().unwrap_or_default();
        if url.scheme_str() != Some("https")
            || !endpoint::may_dial(host, self.allow_local_addresses)
        {
            return Err(refused());
        }
        let mut config = Config::new(url);
        config.root_cert = Some(vec![ca.certificate_der().to_vec()]);
        config.connect_timeout = Some(PATIENCE);
        config.auth_info = AuthInfo {
            client_certificate_data: Some(STANDARD.encode(admin.certificate_pem())),
            client_key_data: Some(STANDARD.encode(admin.key_pem().as_bytes()).into()),
            ..AuthInfo::default()
        };
        endpoint::client(&config, self.allow_local_addresses)
            .map_err(|error| bundle(error.to_string()))
    }
}

/// The Kubernetes CA of a cluster's bundle, DER.
fn kubernetes_ca(cluster: &Managed) -> Result<Vec<u8>, AccessRefused> {
    let ca = cluster.bundle.kubernetes_ca(clock::now());
    ca.map(|ca| ca.certificate_der().to_vec())
        .map_err(|error| AccessRefused::Bundle {
            cluster: cluster.name.clone(),
            why: error.to_string(),
        })
}

/// The Kubernetes Nodes of one cluster.
#[derive(Debug)]
pub struct Nodes {
    api: Api<Node>,
    cluster: String,
}

/// A Node, as far as it matters here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenNode {
    /// UID of the object.
    pub uid: String,
    /// Version of the object.
    pub resource_version: String,
    /// `status.nodeInfo.systemUUID`.
    pub system_uuid: String,
}

impl Nodes {
    /// The Node of a name.
    pub async fn get(&self, name: &str) -> Result<Option<SeenNode>, AccessRefused> {
        let found = self.bounded(self.api.get_opt(name)).await?;
        Ok(found.map(|node| SeenNode {
            uid: node.metadata.uid.unwrap_or_default(),
            resource_version: node.metadata.resource_version.unwrap_or_default(),
            system_uuid: node
                .status
                .and_then(|status| status.node_info)
                .map(|info| info.system_uuid)
                .unwrap_or_default(),
        }))
    }

    /// Deletes exactly the object that was seen; false when it is another one by now.
    pub async fn delete(
        &self,
        name: &str,
        uid: &str,
        resource_version: &str,
    ) -> Result<bool, AccessRefused> {
        let exactly = DeleteParams::default().preconditions(Preconditions {
            uid: Some(uid.to_owned()),
            resource_version: Some(resource_version.to_owned()),
        });
        let deleted = async {
            match self.api.delete(name, &exactly).await {
                Ok(_) => Ok(true),
                Err(kube::Error::Api(status)) if status.code == 404 => Ok(true),
                Err(kube::Error::Api(status)) if status.code == 409 => Ok(false),
                Err(error) => Err(error),
            }
        };
        self.bounded(deleted).await
    }

    async fn bounded<T>(
        &self,
        call: impl Future<Output = Result<T, kube::Error>>,
    ) -> Result<T, AccessRefused> {
        match tokio::time::timeout(PATIENCE, call).await {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) if endpoint::is_local(&error) => {
                Err(AccessRefused::Endpoint(self.cluster.clone()))
            }
            Ok(Err(error)) => {
                tracing::info!(cluster = %self.cluster, %error, "a Node could not be read or deleted");
                Err(AccessRefused::Unavailable(self.cluster.clone()))
            }
            Err(_) => Err(AccessRefused::Unavailable(self.cluster.clone())),
        }
    }
}
