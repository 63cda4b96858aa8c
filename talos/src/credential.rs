//! What a client shows to a node, and what it accepts of it.

use ichor_certs::{CertificateAuthority, ClientCertificate, keys};
use jiff::Timestamp;
use rustls::RootCertStore;
use rustls::crypto::ring::default_provider;
use rustls::sign::CertifiedKey;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use sha2::{Digest, Sha256};
use std::fmt;
use std::sync::Arc;

/// Why a credential cannot be used. Nothing of it is in the text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CredentialError {
    /// There is no CA certificate.
    #[error("the credential has no CA certificate")]
    NoCa,
    /// The CA certificate cannot be read.
    #[error("the CA certificate of the credential cannot be read as X.509")]
    Ca,
    /// There is no client certificate.
    #[error("the credential has no client certificate")]
    NoCertificate,
    /// The client certificate cannot be read.
    #[error("the client certificate of the credential cannot be read as X.509")]
    Certificate,
    /// The private key cannot be read.
    #[error("the private key of the credential {0}")]
    Key(#[from] keys::KeyError),
    /// The private key is of a kind that cannot be used.
    #[error("the private key of the credential is of a kind that cannot sign")]
    KeyKind,
    /// Key and certificate are not a pair.
    #[error("the private key of the credential does not match its client certificate")]
    KeyMismatch,
}

/// A client certificate with its key, and the CA that the node's certificate must come from.
#[derive(Clone)]
pub struct Credential {
    pub(crate) roots: Arc<RootCertStore>,
    pub(crate) client: Arc<CertifiedKey>,
    pub(crate) id: [u8; 32],
    ca: Arc<Vec<CertificateDer<'static>>>,
    not_before: Timestamp,
    not_after: Timestamp,
}

impl Credential {
    /// The credential of a cluster that Ichor manages: its Talos API CA and a certificate made from it.
    pub fn minted(
        ca: &CertificateAuthority,
        client: &ClientCertificate,
    ) -> Result<Self, CredentialError> {
        Self::build(
            vec![ca.certificate_der().clone()],
            vec![client.certificate_der().clone()],
            client.key_der(),
        )
    }

    /// A credential of PEM texts, as a talosconfig carries it.
    pub fn from_pem(ca: &[u8], certificate: &[u8], key: &[u8]) -> Result<Self, CredentialError> {
        let into = |ders: Vec<Vec<u8>>| ders.into_iter().map(CertificateDer::from).collect();
        let ca: Vec<CertificateDer<'static>> = into(keys::certificates(ca));
        let chain: Vec<CertificateDer<'static>> = into(keys::certificates(certificate));
        let point = chain
            .first()
            .ok_or(CredentialError::NoCertificate)
            .and_then(|leaf| public_key(leaf).ok_or(CredentialError::Certificate))?;
        let pkcs8 = keys::private_key(key, &point)?;
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(pkcs8.to_vec()));
        Self::build(ca, chain, key)
    }

    fn build(
        ca: Vec<CertificateDer<'static>>,
        chain: Vec<CertificateDer<'static>>,
        key: PrivateKeyDer<'static>,
    ) -> Result<Self, CredentialError> {
        if ca.is_empty() {
            return Err(CredentialError::NoCa);
        }
        let mut roots = RootCertStore::empty();
        for certificate in &ca {
            roots
                .add(certificate.clone())
                .map_err(|_| CredentialError::Ca)?;
        }
        let leaf = chain.first().ok_or(CredentialError::NoCertificate)?;
        let (not_before, not_after) =
            crate::tls::validity(leaf).ok_or(CredentialError::Certificate)?;
        let mut hash = Sha256::new();
        for part in ca.iter().chain(&chain) {
            hash.update(part);
        }
        let key = default_provider()
            .key_provider
            .load_private_key(key)
            .map_err(|_| CredentialError::KeyKind)?;
        let client = CertifiedKey::new(chain, key);
        client
            .keys_match()
            .map_err(|_| CredentialError::KeyMismatch)?;
        Ok(Self {
            roots: Arc::new(roots),
            client: Arc::new(client),
            id: hash.finalize().into(),
            ca: Arc::new(ca),
            not_before,
            not_after,
        })
    }

    /// The certificates of the CA that nodes must show a certificate of.
    pub fn ca(&self) -> &[CertificateDer<'static>] {
        &self.ca
    }

    /// Start of the client certificate's validity.
    pub fn not_before(&self) -> Timestamp {
        self.not_before
    }

    /// End of the client certificate's validity.
    pub fn not_after(&self) -> Timestamp {
        self.not_after
    }
}

fn public_key(leaf: &[u8]) -> Option<Vec<u8>> {
    let (_, certificate) = x509_parser::parse_x509_certificate(leaf).ok()?;
    Some(certificate.public_key().subject_public_key.data.to_vec())
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credential")
            .field("not_before", &self.not_before)
            .field("not_after", &self.not_after)
            .finish_non_exhaustive()
    }
}
