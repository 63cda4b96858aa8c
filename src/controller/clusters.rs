//! Managed clusters: their secrets bundles, read when they are needed and kept nowhere, and the credentials made
//! from them for one node at a time (DESIGN section 5).

use crate::controller::store::{Cache, Guarded};
use crate::runtime::clock;
use ichor_certs::{BundleError, CertificateCache, MintError, Role, SecretsBundle};
use ichor_crds::{BUNDLE_KEY, TALOSCONFIG_KEY, TALOSCONFIG_SECRET_TYPE, TalosCluster};
use ichor_talos::{Credential, CredentialError, Talosconfig, TalosconfigError};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::jiff::Timestamp;
use kube::{Api, Client, ResourceExt};
use std::net::IpAddr;

/// Certificates kept in memory.
const CERTIFICATES: usize = 4096;

/// Why there is no credential. Texts are Ichor's own and fit for a status.
#[derive(Debug, thiserror::Error)]
pub enum CredentialUnavailable {
    /// The Secret is not there.
    #[error("Secret {0} does not exist")]
    NoSecret(String),
    /// The Secret is of another type.
    #[error("Secret {0} is not of type {TALOSCONFIG_SECRET_TYPE}")]
    WrongType(String),
    /// The Secret has not the key.
    #[error("Secret {secret} has no key {key:?}")]
    NoKey {
        /// The Secret.
        secret: String,
        /// The key.
        key: &'static str,
    },
    /// The bundle is defective.
    #[error("Secret {secret}: {defect}")]
    Bundle {
        /// The Secret.
        secret: String,
        /// What is wrong.
        defect: BundleError,
    },
    /// The talosconfig is defective.
    #[error("Secret {secret}: {defect}")]
    Talosconfig {
        /// The Secret.
        secret: String,
        /// What is wrong.
        defect: TalosconfigError,
    },
    /// No certificate could be made.
    #[error("{0}")]
    Mint(#[from] MintError),
    /// What was made cannot be used.
    #[error("{0}")]
    Credential(#[from] CredentialError),
    /// The API server did not say.
    #[error("a Secret could not be read: {0}")]
    Kubernetes(#[source] kube::Error),
}

/// A managed cluster and the secrets it is made from.
#[derive(Debug)]
pub struct Managed {
    /// Name of the TalosCluster.
    pub name: String,
    /// The object.
    pub object: TalosCluster,
    /// Its secrets.
    pub bundle: SecretsBundle,
}

/// Name of a cluster whose bundle cannot be read, and its cluster ID where that was ever seen.
pub type Unreadable = (String, Option<String>);

/// The clusters.
pub struct Clusters {
    secrets: Api<Secret>,
    live: Api<Guarded<TalosCluster>>,
    namespace: String,
    cache: Cache<TalosCluster>,
    certificates: CertificateCache,
}

impl std::fmt::Debug for Clusters {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Clusters")
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}

impl Clusters {
    /// The clusters of a namespace.
    pub fn new(client: Client, namespace: String, cache: Cache<TalosCluster>) -> Self {
        Self {
            secrets: Api::namespaced(client.clone(), &namespace),
            live: Api::namespaced(client, &namespace),
            namespace,
            cache,
            certificates: CertificateCache::new(CERTIFICATES),
        }
    }

    /// The cluster of a name; one that the cache has not seen yet is read live, so that a request made right after its
    /// cluster does not miss it.
    pub async fn find(&self, name: &str) -> Result<Option<TalosCluster>, kube::Error> {
        if let Some(cluster) = self.named(name) {
            return Ok(Some(cluster));
        }
        let found = self.live.get_opt(name).await?;
        Ok(found.and_then(|found| found.0.ok()))
    }

    /// The cluster of a name, if the cache has it.
    pub fn named(&self, name: &str) -> Option<TalosCluster> {
        self.cache.named(&self.namespace, name)
    }

    /// A cluster with its bundle, read now.
    pub async fn managed(&self, cluster: TalosCluster) -> Result<Managed, CredentialUnavailable> {
        let secret = cluster.spec.secrets_bundle_ref.name.clone();
        let text = value(&self.secret(&secret).await?, &secret, BUNDLE_KEY)?;
        let bundle = SecretsBundle::parse(&text.0)
            .map_err(|defect| CredentialUnavailable::Bundle { secret, defect })?;
        Ok(Managed {
            name: cluster.name_any(),
            object: cluster,
            bundle,
        })
    }

    /// Every cluster whose bundle can be read and whose CA is valid at `now`; and of the others the name, with the cluster
    /// ID that was last seen.
    pub async fn readable(
        &self,
        now: Timestamp,
    ) -> Result<(Vec<Managed>, Vec<Unreadable>), CredentialUnavailable> {
        let (mut readable, mut unreadable) = (Vec::new(), Vec::new());
        for cluster in self.cache.all() {
            let last_seen = cluster
                .status
                .as_ref()
                .and_then(|status| status.cluster_id.clone());
            let name = cluster.name_any();
            match self.managed(cluster).await {
                Ok(managed) if managed.bundle.os_ca(now).is_ok() => readable.push(managed),
                Ok(managed) => {
                    unreadable.push((name, Some(managed.bundle.cluster_id().to_owned())));
                }
                Err(error @ CredentialUnavailable::Kubernetes(_)) => return Err(error),
                Err(error) => {
                    tracing::debug!(%error, "a bundle is not readable");
                    unreadable.push((name, last_seen));
                }
            }
        }
        Ok((readable, unreadable))
    }

    /// A credential for one node, made from the cluster's bundle and kept in memory only.
    pub fn credential(
        &self,
        managed: &Managed,
        address: IpAddr,
        role: Role,
    ) -> Result<Credential, CredentialUnavailable> {
        let now = clock::now();
        let defective = |error| match error {
            MintError::Bundle(defect) => CredentialUnavailable::Bundle {
                secret: managed.object.spec.secrets_bundle_ref.name.clone(),
                defect,
            },
            error @ MintError::Sign(_) => error.into(),
        };
        let client = self
            .certificates
            .client(&managed.bundle, address, role, now)
            .map_err(defective)?;
        let ca = managed.bundle.os_ca(now).map_err(MintError::from);
        Ok(Credential::minted(ca.map_err(defective)?, &client)?)
    }

    /// The credential of a pasted talosconfig.
    pub async fn pasted(&self, name: &str) -> Result<Credential, CredentialUnavailable> {
        let secret = self.secret(name).await?;
        if secret.type_.as_deref() != Some(TALOSCONFIG_SECRET_TYPE) {
            return Err(CredentialUnavailable::WrongType(name.to_owned()));
        }
        let text = value(&secret, name, TALOSCONFIG_KEY)?;
        let parsed = Talosconfig::parse(&String::from_utf8_lossy(&text.0));
        parsed
            .and_then(|config| config.context(None))
            .map_err(|defect| CredentialUnavailable::Talosconfig {
                secret: name.to_owned(),
                defect,
            })
    }

    async fn secret(&self, name: &str) -> Result<Secret, CredentialUnavailable> {
        let found = self
            .secrets
            .get_opt(name)
            .await
            .map_err(CredentialUnavailable::Kubernetes)?;
        found.ok_or_else(|| CredentialUnavailable::NoSecret(name.to_owned()))
    }
}

fn value(
    secret: &Secret,
    name: &str,
    key: &'static str,
) -> Result<ByteString, CredentialUnavailable> {
    let data = secret.data.as_ref().and_then(|data| data.get(key));
    data.cloned().ok_or_else(|| CredentialUnavailable::NoKey {
        secret: name.to_owned(),
        key,
    })
}
