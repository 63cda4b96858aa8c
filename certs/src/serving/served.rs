//! The certificate that is served now, exchanged without a restart.

use super::plan::verifies;
use super::{Injected, Wanted};
use crate::keys;
use crate::x509;
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

/// What became of a pair that was offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// It is served from the next handshake on.
    Served,
    /// It is what was served already.
    Known,
    /// It waits until its CA stood in the webhook configurations long enough; what is served is good until then.
    Waits,
}

/// The pair that is served, if there is one yet: without one, handshakes fail and readiness is false, while the
/// process stays up (FAULTS 1).
pub struct ServedCertificate {
    wanted: Wanted,
    current: ArcSwapOption<CertifiedKey>,
}

impl ServedCertificate {
    /// Nothing yet.
    pub fn new(wanted: Wanted) -> Self {
        Self {
            wanted,
            current: ArcSwapOption::empty(),
        }
    }

    /// Serves a pair from the next handshake on, if it is one and a client that trusts what is injected accepts it now;
    /// otherwise the one before stays.
    pub fn offer(
        &self,
        certificate: &[u8],
        key: &[u8],
        injected: Injected<'_>,
        now: Timestamp,
    ) -> Result<Offer, OfferError> {
        let chain: Vec<CertificateDer<'static>> = keys::certificates(certificate)
            .into_iter()
            .map(CertificateDer::from)
            .collect();
        let leaf = chain.first().ok_or(OfferError::NoCertificate)?.clone();
        let point = x509::parse(&leaf)
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
        let names = &self.wanted.names;
        if signer(&pair.cert, injected.bundle, now, names).is_none() {
            return Err(OfferError::NotAccepted(names.join(", ")));
        }
        if let Some(before) = self.current.load().as_ref() {
            if before.cert == pair.cert {
                return Ok(Offer::Known);
            }
            let settled = signer(&pair.cert, injected.settled, now, names).is_some();
            let by_another = signer(&before.cert, injected.bundle, now, names).is_some_and(|ca| {
                let ca = keys::certificate_pem(&ca);
                signer(&pair.cert, ca.as_bytes(), now, names).is_none()
            });
            if by_another && !settled {
                return Ok(Offer::Waits);
            }
        }
        self.current.store(Some(Arc::new(pair)));
        Ok(Offer::Served)
    }

    /// Whether clients that trust `ca_bundle` accept what is served now: the readiness of the webhook.
    pub fn is_accepted_by(&self, ca_bundle: &[u8], now: Timestamp) -> bool {
        self.current
            .load()
            .as_ref()
            .is_some_and(|pair| signer(&pair.cert, ca_bundle, now, &self.wanted.names).is_some())
    }

    /// The leaf that is served now.
    pub fn leaf(&self) -> Option<CertificateDer<'static>> {
        self.current.load().as_ref()?.cert.first().cloned()
    }

    /// When the leaf that is served now ends.
    pub fn not_after(&self) -> Option<Timestamp> {
        not_after(&self.leaf()?)
    }

    /// When the CA of `ca_bundle` ends by which clients accept what is served now.
    pub fn signer_not_after(&self, ca_bundle: &[u8], now: Timestamp) -> Option<Timestamp> {
        let current = self.current.load();
        let pair = current.as_ref()?;
        not_after(&signer(&pair.cert, ca_bundle, now, &self.wanted.names)?)
    }
}

fn not_after(certificate: &[u8]) -> Option<Timestamp> {
    let parsed = x509::parse(certificate)?;
    Some(x509::validity(&parsed)?.not_after)
}

/// The CA of `ca_bundle` by which a client accepts `chain` for every one of `names`.
fn signer(
    chain: &[CertificateDer<'_>],
    ca_bundle: &[u8],
    now: Timestamp,
    names: &[String],
) -> Option<CertificateDer<'static>> {
    let (leaf, intermediates) = chain.split_first()?;
    keys::certificates(ca_bundle)
        .into_iter()
        .map(CertificateDer::from)
        .find(|ca| verifies(leaf, intermediates, ca, now, names))
}

impl ResolvesServerCert for ServedCertificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.current.load_full()
    }
}

impl fmt::Debug for ServedCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServedCertificate")
            .field("names", &self.wanted.names)
            .field("served", &self.current.load().is_some())
            .finish_non_exhaustive()
    }
}
