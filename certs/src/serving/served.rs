//! The certificate that is served now, exchanged without a restart.

use super::plan::verifies;
use crate::keys;
use arc_swap::ArcSwapOption;
use jiff::Timestamp;
use rustls::crypto::ring::default_provider;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use std::fmt;
use std::sync::Arc;

/// Why a pair is not served. The one before it stays.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OfferError {
    /// There is no certificate in the text.
    #[error("the serving certificate is no PEM text with a certificate in it")]
    NoCertificate,
    /// The key cannot be used.
    #[error("the key of the serving certificate {0}")]
    Key(#[from] keys::KeyError),
    /// The key is of a kind that cannot sign.
    #[error("the key of the serving certificate is of a kind that cannot sign")]
    KeyKind,
    /// Certificate and key are not a pair: half of a renewal was read.
    #[error("the serving certificate and its key are not one pair")]
    Mismatch,
    /// A client would not accept it.
    #[error(
        "the serving certificate does not verify for {0} with the CA bundle of the clients at this time"
    )]
    NotAccepted(String),
}

/// The pair that is served, if there is one yet: without one, handshakes fail and readiness is false, while the
/// process stays up (FAULTS 1).
pub struct ServedCertificate {
    names: Vec<String>,
    current: ArcSwapOption<CertifiedKey>,
}

impl ServedCertificate {
    /// Nothing yet, for clients that use `names`.
    pub fn new(names: Vec<String>) -> Self {
        Self {
            names,
            current: ArcSwapOption::empty(),
        }
    }

    /// Serves a pair from the next handshake on, if it is one and a client that trusts `ca_bundle` accepts it now;
    /// otherwise the one before stays. Gives whether something changed.
    pub fn offer(
        &self,
        certificate: &[u8],
        key: &[u8],
        ca_bundle: &[u8],
        now: Timestamp,
    ) -> Result<bool, OfferError> {
        let chain: Vec<CertificateDer<'static>> = keys::certificates(certificate)
            .into_iter()
            .map(CertificateDer::from)
            .collect();
        let leaf = chain.first().ok_or(OfferError::NoCertificate)?.clone();
        let point = crate::x509::parse(&leaf)
            .map(|leaf| leaf.public_key().subject_public_key.data.to_vec())
            .ok_or(OfferError::NoCertificate)?;
        let pkcs8 = keys::private_key(key, &point)?;
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(pkcs8.to_vec()));
        let key = default_provider()
            .key_provider
            .load_private_key(key)
            .map_err(|_| OfferError::KeyKind)?;
        let pair = CertifiedKey::new(chain, key);
        pair.keys_match().map_err(|_| OfferError::Mismatch)?;
        if !accepted(&pair.cert, ca_bundle, now, &self.names) {
            return Err(OfferError::NotAccepted(self.names.join(", ")));
        }
        let before = self.current.load();
        let changed = before.as_ref().is_none_or(|known| known.cert != pair.cert);
        if changed {
            self.current.store(Some(Arc::new(pair)));
        }
        Ok(changed)
    }

    /// Whether clients that trust `ca_bundle` accept what is served now: the readiness of the webhook.
    pub fn is_accepted_by(&self, ca_bundle: &[u8], now: Timestamp) -> bool {
        self.current
            .load()
            .as_ref()
            .is_some_and(|pair| accepted(&pair.cert, ca_bundle, now, &self.names))
    }

    /// The leaf that is served now.
    pub fn leaf(&self) -> Option<CertificateDer<'static>> {
        self.current.load().as_ref()?.cert.first().cloned()
    }
}

fn accepted(
    chain: &[CertificateDer<'_>],
    ca_bundle: &[u8],
    now: Timestamp,
    names: &[String],
) -> bool {
    let Some((leaf, intermediates)) = chain.split_first() else {
        return false;
    };
    keys::certificates(ca_bundle)
        .into_iter()
        .map(CertificateDer::from)
        .any(|ca| verifies(leaf, intermediates, &ca, now, names))
}

impl ResolvesServerCert for ServedCertificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.current.load_full()
    }
}

impl fmt::Debug for ServedCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServedCertificate")
            .field("names", &self.names)
            .field("served", &self.current.load().is_some())
            .finish_non_exhaustive()
    }
}
