//! Client certificates made from the CAs of a bundle: for one node at a time, short-lived, in memory only.

mod cache;

pub use cache::CertificateCache;

use crate::authority::CertificateAuthority;
use crate::bundle::BundleError;
use crate::keys;
use jiff::{SignedDuration, Timestamp};
use rcgen::{
    CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose, SerialNumber,
};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use std::fmt;
use time::OffsetDateTime;
use zeroize::{Zeroize, Zeroizing};

/// Life of a client certificate (DESIGN section 5).
pub const LIFE: SignedDuration = SignedDuration::from_hours(1);
/// How far the start lies back, for nodes whose clock is behind (DESIGN section 5, FAULTS 28).
pub const BACKDATE: SignedDuration = SignedDuration::from_mins(10);

/// What the holder of a client certificate may do at a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Everything.
    Admin,
    /// Reading what is not sensitive.
    Reader,
}

impl Role {
    /// The role as Talos reads it from the subject's organization.
    pub fn organization(self) -> &'static str {
        match self {
            Self::Admin => "os:admin",
            Self::Reader => "os:reader",
        }
    }
}

/// Why no certificate could be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MintError {
    /// The bundle does not allow it.
    #[error(transparent)]
    Bundle(#[from] BundleError),
    /// The certificate could not be signed.
    #[error("a client certificate could not be made from this CA: {0}")]
    Sign(String),
}

/// A client certificate with its key, which is zeroed when dropped and shown nowhere.
pub struct ClientCertificate {
    certificate: CertificateDer<'static>,
    key: Zeroizing<Vec<u8>>,
    not_before: Timestamp,
    not_after: Timestamp,
}

impl ClientCertificate {
    /// The certificate, DER.
    pub fn certificate_der(&self) -> &CertificateDer<'static> {
        &self.certificate
    }

    /// The certificate, PEM.
    pub fn certificate_pem(&self) -> String {
        keys::certificate_pem(&self.certificate)
    }

    /// The private key for a TLS stack, which holds a copy of its own.
    pub fn key_der(&self) -> PrivateKeyDer<'static> {
        PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(self.key.to_vec()))
    }

    /// The private key, PEM.
    pub fn key_pem(&self) -> Zeroizing<String> {
        keys::key_pem(&self.key)
    }

    /// Start of the validity.
    pub fn not_before(&self) -> Timestamp {
        self.not_before
    }

    /// End of the validity.
    pub fn not_after(&self) -> Timestamp {
        self.not_after
    }

    /// Whether more than half of the certificate's life is over: time for another.
    pub fn is_half_spent(&self, now: Timestamp) -> bool {
        let left = now.duration_until(self.not_after);
        let life = self.not_before.duration_until(self.not_after);
        left <= life / 2
    }
}

impl fmt::Debug for ClientCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientCertificate")
            .field("not_before", &self.not_before)
            .field("not_after", &self.not_after)
            .finish_non_exhaustive()
    }
}

/// Makes the certificate of one node: subject `O=os:admin` (or `os:reader`) and nothing else, key usage
/// digitalSignature, extended key usage exactly clientAuth, an own Ed25519 key. Talos refuses any other list of
/// extended key usages (`talos-api.md` section 1).
pub fn mint_client(
    ca: &CertificateAuthority,
    role: Role,
    now: Timestamp,
) -> Result<ClientCertificate, MintError> {
    let mut subject = DistinguishedName::new();
    subject.push(DnType::OrganizationName, role.organization());
    mint(ca, subject, &rcgen::PKCS_ED25519, now)
}

/// Makes an administrator of the Kubernetes API of the cluster whose Kubernetes CA this is: `O=system:masters`,
/// `CN=ichor` (DESIGN section 3, `kubernetesAccess: bundle`).
pub fn kubernetes_admin(
    ca: &CertificateAuthority,
    now: Timestamp,
) -> Result<ClientCertificate, MintError> {
    let mut subject = DistinguishedName::new();
    subject.push(DnType::OrganizationName, "system:masters");
    subject.push(DnType::CommonName, "ichor");
    mint(ca, subject, &rcgen::PKCS_ECDSA_P256_SHA256, now)
}

fn mint(
    ca: &CertificateAuthority,
    subject: DistinguishedName,
    algorithm: &'static rcgen::SignatureAlgorithm,
    now: Timestamp,
) -> Result<ClientCertificate, MintError> {
    let sign = |fault: rcgen::Error| MintError::Sign(fault.to_string());
    let mut pair = KeyPair::generate_for(algorithm).map_err(sign)?;
    let (not_before, not_after) = validity(ca, now);
    let mut params = CertificateParams::default();
    params.distinguished_name = subject;
    params.is_ca = IsCa::NoCa;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    params.not_before = datetime(not_before);
    params.not_after = datetime(not_after);
    params.serial_number = Some(serial());
    let signed = ca.sign(params, &pair).map_err(sign);
    let key = Zeroizing::new(pair.serialize_der());
    pair.zeroize();
    Ok(ClientCertificate {
        certificate: signed?,
        key,
        not_before,
        not_after,
    })
}

/// From ten minutes ago, but not before the CA; for an hour, but not longer than the CA. Certificates have
/// whole seconds.
fn validity(ca: &CertificateAuthority, now: Timestamp) -> (Timestamp, Timestamp) {
    let second = |time: Timestamp| Timestamp::from_second(time.as_second()).unwrap_or(time);
    let start = now.checked_sub(BACKDATE).unwrap_or(Timestamp::MIN);
    let end = now.checked_add(LIFE).unwrap_or(Timestamp::MAX);
    (
        second(start.max(ca.not_before())),
        second(end.min(ca.not_after())),
    )
}

pub(crate) fn datetime(time: Timestamp) -> OffsetDateTime {
    OffsetDateTime::from_unix_timestamp(time.as_second()).unwrap_or(OffsetDateTime::UNIX_EPOCH)
}

/// A random serial of 128 bits, positive as X.509 wants it.
pub(crate) fn serial() -> SerialNumber {
    let mut bytes = [0_u8; 16];
    // Without randomness no key could be made either; a fixed serial is then the lesser fault.
    let filled = ring::rand::SecureRandom::fill(&ring::rand::SystemRandom::new(), &mut bytes);
    if filled.is_err() {
        bytes = [1; 16];
    }
    bytes[0] &= 0x7f;
    SerialNumber::from_slice(&bytes)
}
