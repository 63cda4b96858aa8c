//! The secrets bundle of a cluster, in the format of `talosctl gen secrets`, of which only the parts that
//! Ichor signs with are read.

mod layout;

use crate::authority::{AuthorityError, CertificateAuthority};
use base64::Engine;
use jiff::Timestamp;
use layout::{Layout, Pair};
use sha2::{Digest, Sha256};
use std::fmt;
use zeroize::Zeroizing;

/// A part of the bundle that errors are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The Talos API CA, `certs.os`.
    TalosApi,
    /// The Kubernetes CA, `certs.k8s`.
    Kubernetes,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TalosApi => "Talos API CA (certs.os)",
            Self::Kubernetes => "Kubernetes CA (certs.k8s)",
        })
    }
}

/// What is wrong with a bundle: each defect by its own name, none with a secret in it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BundleError {
    /// The text cannot be read as YAML of the bundle's shape.
    #[error(
        "the secrets bundle is not YAML as talosctl gen secrets writes it{}; store that file unchanged",
        .line.map(|line| format!(" (line {line})")).unwrap_or_default()
    )]
    NotABundle {
        /// Line of the first fault, where it is known.
        line: Option<u64>,
    },
    /// A whole machine configuration was stored.
    #[error(
        "the secrets bundle is a machine configuration; make a bundle of it with talosctl gen secrets --from-controlplane-config FILE"
    )]
    MachineConfiguration,
    /// `cluster.id` is missing or empty.
    #[error(
        "the secrets bundle has no cluster id (cluster.id), which old generators left out; take it from a running control plane: talosctl get info -n ADDRESS"
    )]
    NoClusterId,
    /// A CA is missing.
    #[error(
        "the secrets bundle has no {0}; Ichor cannot make certificates without its crt and key"
    )]
    NoAuthority(Part),
    /// A CA has a certificate and no key.
    #[error(
        "the {0} of the secrets bundle has no key: a worker's secrets lack it, take those of a control plane"
    )]
    NoKey(Part),
    /// A CA has a key and no certificate.
    #[error("the {0} of the secrets bundle has no certificate (crt)")]
    NoCertificate(Part),
    /// A value is not base64.
    #[error(
        "the {field} of the {part} is not base64: the value is the base64 of PEM text, as talosctl gen secrets writes it"
    )]
    NotBase64 {
        /// The CA.
        part: Part,
        /// `crt` or `key`.
        field: &'static str,
    },
    /// Certificate and key are not usable together.
    #[error("the {part} of the secrets bundle is not usable: its {defect}")]
    Authority {
        /// The CA.
        part: Part,
        /// What is wrong.
        defect: AuthorityError,
    },
    /// The CA has expired.
    #[error(
        "the {part} of the secrets bundle expired at {not_after}; by this clock it is {now}. Rotate the CA with talosctl rotate-ca and store the new bundle"
    )]
    Expired {
        /// The CA.
        part: Part,
        /// End of its validity.
        not_after: Timestamp,
        /// The time that was asked about.
        now: Timestamp,
    },
    /// The CA's validity has not begun: the clock is behind.
    #[error(
        "the {part} of the secrets bundle is valid only from {not_before}, and by this clock it is {now}: set the clock"
    )]
    NotYetValid {
        /// The CA.
        part: Part,
        /// Start of its validity.
        not_before: Timestamp,
        /// The time that was asked about.
        now: Timestamp,
    },
}

/// Tells one content of a bundle from another without showing it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BundleFingerprint([u8; 32]);

/// A bundle whose Talos API CA is usable. `Debug` shows no secret.
pub struct SecretsBundle {
    cluster_id: String,
    fingerprint: BundleFingerprint,
    os: CertificateAuthority,
    kubernetes: Result<CertificateAuthority, BundleError>,
}

impl SecretsBundle {
    /// Reads a bundle. Defects of the Talos API CA are errors here, those of the Kubernetes CA only where it is asked for.
    pub fn parse(text: &[u8]) -> Result<Self, BundleError> {
        let layout = Layout::read(text)?;
        let os = authority(Part::TalosApi, layout.os.as_ref())?;
        let kubernetes = authority(Part::Kubernetes, layout.kubernetes.as_ref());
        let cluster_id = layout.cluster_id.ok_or(BundleError::NoClusterId)?;
        Ok(Self {
            cluster_id,
            fingerprint: BundleFingerprint(Sha256::digest(text).into()),
            os,
            kubernetes,
        })
    }

    /// The cluster's ID, as a node reports it.
    pub fn cluster_id(&self) -> &str {
        &self.cluster_id
    }

    /// Which content this is: another text is another fingerprint.
    pub fn fingerprint(&self) -> BundleFingerprint {
        self.fingerprint
    }

    /// The Talos API CA, if it is valid at `now`.
    pub fn os_ca(&self, now: Timestamp) -> Result<&CertificateAuthority, BundleError> {
        valid_at(Part::TalosApi, &self.os, now)
    }

    /// The Kubernetes CA, if it is there and valid at `now`.
    pub fn kubernetes_ca(&self, now: Timestamp) -> Result<&CertificateAuthority, BundleError> {
        let ca = self.kubernetes.as_ref().map_err(Clone::clone)?;
        valid_at(Part::Kubernetes, ca, now)
    }
}

impl fmt::Debug for SecretsBundle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretsBundle")
            .field("cluster_id", &self.cluster_id)
            .field("os", &self.os)
            .field("kubernetes", &self.kubernetes)
            .finish_non_exhaustive()
    }
}

fn authority(part: Part, pair: Option<&Pair>) -> Result<CertificateAuthority, BundleError> {
    let (crt, key) = match pair.map(Pair::values) {
        None | Some((None, None)) => return Err(BundleError::NoAuthority(part)),
        Some((Some(_), None)) => return Err(BundleError::NoKey(part)),
        Some((None, Some(_))) => return Err(BundleError::NoCertificate(part)),
        Some((Some(crt), Some(key))) => (crt, key),
    };
    let crt = decode(part, "crt", crt)?;
    let key = decode(part, "key", key)?;
    CertificateAuthority::from_pem(&crt, &key)
        .map_err(|defect| BundleError::Authority { part, defect })
}

fn decode(part: Part, field: &'static str, value: &str) -> Result<Zeroizing<Vec<u8>>, BundleError> {
    // Block scalars and folded values carry line breaks.
    let compact: Zeroizing<String> =
        Zeroizing::new(value.split_ascii_whitespace().collect::<String>());
    base64::engine::general_purpose::STANDARD
        .decode(compact.as_bytes())
        .map(Zeroizing::new)
        .map_err(|_| BundleError::NotBase64 { part, field })
}

fn valid_at(
    part: Part,
    ca: &CertificateAuthority,
    now: Timestamp,
) -> Result<&CertificateAuthority, BundleError> {
    if now < ca.not_before() {
        return Err(BundleError::NotYetValid {
            part,
            not_before: ca.not_before(),
            now,
        });
    }
    if now > ca.not_after() {
        return Err(BundleError::Expired {
            part,
            not_after: ca.not_after(),
            now,
        });
    }
    Ok(ca)
}
