//! Secrets bundles in the format of `talosctl gen secrets`.

use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rand::Rng;
use serde::{Deserialize, Serialize};

use super::authority::{Authority, ClientOptions, Leaf};
use super::keys::Algorithm;

/// All secrets of one cluster.
#[derive(Clone, Serialize, Deserialize)]
pub struct Bundle {
    cluster: Cluster,
    secrets: Secrets,
    trustdinfo: Trustd,
    certs: Certs,
}

#[derive(Clone, Serialize, Deserialize)]
struct Cluster {
    id: String,
    secret: String,
}

#[derive(Clone, Serialize, Deserialize)]
struct Secrets {
    bootstraptoken: String,
    secretboxencryptionsecret: String,
}

#[derive(Clone, Serialize, Deserialize)]
struct Trustd {
    token: String,
}

#[derive(Clone, Serialize, Deserialize)]
struct Certs {
    etcd: Pair,
    k8s: Pair,
    k8saggregator: Pair,
    k8sserviceaccount: Key,
    os: Pair,
}

/// Base64 of PEM, as the YAML has it.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Pair {
    pub(super) crt: String,
    pub(super) key: String,
}

#[derive(Clone, Serialize, Deserialize)]
struct Key {
    key: String,
}

impl Bundle {
    /// New secrets with an Ed25519 Talos CA, as Talos itself makes them.
    pub fn generate() -> Result<Self> {
        Self::with_os_ca(Algorithm::Ed25519)
    }

    /// New secrets with a Talos CA of the given algorithm.
    pub fn with_os_ca(algorithm: Algorithm) -> Result<Self> {
        Self::around(
            &Authority::new(algorithm, Some("talos"))?,
            &Authority::new(Algorithm::Ecdsa, Some("kubernetes"))?,
        )
    }

    /// New secrets around a given Talos CA and Kubernetes CA.
    pub fn around(os: &Authority, kubernetes: &Authority) -> Result<Self> {
        Ok(Self {
            cluster: Cluster {
                id: random_base64(),
                secret: random_base64(),
            },
            secrets: Secrets {
                bootstraptoken: token(),
                secretboxencryptionsecret: random_base64(),
            },
            trustdinfo: Trustd { token: token() },
            certs: Certs {
                etcd: Pair::of(&Authority::new(Algorithm::Ecdsa, Some("etcd"))?),
                k8s: Pair::of(kubernetes),
                k8saggregator: Pair::of(&Authority::new(Algorithm::Ecdsa, None)?),
                k8sserviceaccount: Key {
                    key: STANDARD.encode(include_str!("../../data/service-account.key")),
                },
                os: Pair::of(os),
            },
        })
    }

    /// Reads a bundle.
    pub fn parse(yaml: &str) -> Result<Self> {
        serde_saphyr::from_str(yaml).context("reading a secrets bundle")
    }

    /// The bundle as `talosctl gen secrets` would have written it.
    pub fn yaml(&self) -> Result<String> {
        serde_saphyr::to_string(self).context("writing a secrets bundle")
    }

    /// The cluster's ID.
    pub fn cluster_id(&self) -> &str {
        &self.cluster.id
    }

    /// The cluster's discovery secret.
    pub fn cluster_secret(&self) -> &str {
        &self.cluster.secret
    }

    /// Token a machine shows to trustd.
    pub fn machine_token(&self) -> &str {
        &self.trustdinfo.token
    }

    /// Token a kubelet joins with.
    pub fn bootstrap_token(&self) -> &str {
        &self.secrets.bootstraptoken
    }

    /// CA of the Talos API.
    pub fn os_ca(&self) -> Result<Authority> {
        self.certs.os.authority()
    }

    /// CA of Kubernetes: give it to a control plane that shall play this cluster's.
    pub fn kubernetes_ca(&self) -> Result<Authority> {
        self.certs.k8s.authority()
    }

    /// CA of etcd.
    pub fn etcd_ca(&self) -> Result<Authority> {
        self.certs.etcd.authority()
    }

    /// Signs a client certificate with the Talos CA.
    pub fn client(&self, options: &ClientOptions) -> Result<Leaf> {
        self.os_ca()?.client(options)
    }

    /// A talosconfig with an `os:admin` certificate valid for a year.
    pub fn admin_talosconfig(&self, context: &str, endpoints: &[String]) -> Result<String> {
        let mut options = ClientOptions::with_roles(&["os:admin"]);
        options.not_after = options.not_before + time::Duration::hours(8760);
        self.talosconfig(context, endpoints, &options)
    }

    /// A talosconfig with a certificate of any kind.
    pub fn talosconfig(
        &self,
        context: &str,
        endpoints: &[String],
        options: &ClientOptions,
    ) -> Result<String> {
        let leaf = self.client(options)?;
        let value = serde_json::json!({
            "context": context,
            "contexts": { context: {
                "endpoints": endpoints,
                "nodes": [],
                "ca": STANDARD.encode(&self.os_ca()?.certificate),
                "crt": STANDARD.encode(&leaf.certificate),
                "key": STANDARD.encode(&leaf.key),
            }},
        });
        serde_saphyr::to_string(&value).context("writing a talosconfig")
    }
}

impl Pair {
    pub(super) fn of(authority: &Authority) -> Self {
        Self {
            crt: STANDARD.encode(&authority.certificate),
            key: STANDARD.encode(&authority.key),
        }
    }

    fn authority(&self) -> Result<Authority> {
        Ok(Authority {
            certificate: decode(&self.crt)?,
            key: decode(&self.key)?,
        })
    }
}

/// Base64 of PEM back to PEM.
pub(crate) fn decode(value: &str) -> Result<String> {
    let bytes = STANDARD
        .decode(value.trim())
        .context("value is not base64")?;
    String::from_utf8(bytes).context("value is not text")
}

fn random_base64() -> String {
    STANDARD.encode(rand::random::<[u8; 32]>())
}

fn token() -> String {
    let mut rng = rand::rng();
    let mut draw = |count: usize| -> String {
        (0..count)
            .map(|_| char::from(b"0123456789abcdefghijklmnopqrstuvwxyz"[rng.random_range(0..36)]))
            .collect()
    };
    format!("{}.{}", draw(6), draw(16))
}
