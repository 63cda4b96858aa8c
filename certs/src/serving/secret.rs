//! The Secret that holds CA and leaf.

use crate::authority::{AuthorityError, CertificateAuthority};
use crate::keys;
use crate::x509;
use jiff::Timestamp;
use rcgen::PublicKeyData;
use rustls_pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use std::collections::BTreeMap;
use std::fmt;
use zeroize::{Zeroize, Zeroizing};

/// Key of the CA bundle: the CA that signs first, older ones after it.
pub const CA_CERTIFICATE: &str = "ca.crt";
/// Key of the private key of the first CA.
pub const CA_KEY: &str = "ca.key";
/// Key of the leaf.
pub const CERTIFICATE: &str = "tls.crt";
/// Key of the leaf's private key.
pub const KEY: &str = "tls.key";

/// What is wrong with the serving Secret, or with making one. No key is in the text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ServingError {
    /// A key is missing or empty.
    #[error("the serving Secret has no {0}")]
    Missing(&'static str),
    /// A value cannot be read.
    #[error("{0} of the serving Secret cannot be read as PEM")]
    Unreadable(&'static str),
    /// The CA cannot sign.
    #[error("the CA of the serving Secret is not usable: its {0}")]
    Authority(#[from] AuthorityError),
    /// A certificate could not be made.
    #[error("a serving certificate could not be made: {0}")]
    Make(String),
}

/// CA bundle, the key of its first certificate, leaf and the leaf's key.
pub struct ServingSecret {
    pub(super) authority: CertificateAuthority,
    /// Older CAs that clients may still need.
    pub(super) older: Vec<CertificateDer<'static>>,
    pub(super) leaf: CertificateDer<'static>,
    pub(super) key: Zeroizing<Vec<u8>>,
}

impl ServingSecret {
    /// Reads the data of a Secret.
    pub fn from_data(data: &BTreeMap<String, Vec<u8>>) -> Result<Self, ServingError> {
        let value = |key: &'static str| {
            data.get(key)
                .filter(|value| !value.is_empty())
                .ok_or(ServingError::Missing(key))
        };
        let bundle = value(CA_CERTIFICATE)?;
        let authority = CertificateAuthority::from_pem(bundle, value(CA_KEY)?)?;
        let older = keys::certificates(bundle)
            .into_iter()
            .skip(1)
            .filter(|der| x509::parse(der).is_some())
            .map(CertificateDer::from)
            .collect();
        let leaf = keys::certificates(value(CERTIFICATE)?)
            .into_iter()
            .next()
            .map(CertificateDer::from)
            .ok_or(ServingError::Unreadable(CERTIFICATE))?;
        let point = x509::parse(&leaf)
            .map(|leaf| leaf.public_key().subject_public_key.data.to_vec())
            .ok_or(ServingError::Unreadable(CERTIFICATE))?;
        let key =
            keys::private_key(value(KEY)?, &point).map_err(|_| ServingError::Unreadable(KEY))?;
        Ok(Self {
            authority,
            older,
            leaf,
            key,
        })
    }

    /// The data of a Secret.
    pub fn to_data(&self) -> BTreeMap<String, Vec<u8>> {
        let values = [
            (CA_CERTIFICATE, self.ca_bundle()),
            (CA_KEY, self.authority.key_pem().as_bytes().to_vec()),
            (CERTIFICATE, self.certificate_pem().into_bytes()),
            (KEY, self.key_pem().as_bytes().to_vec()),
        ];
        values
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value))
            .collect()
    }

    /// What belongs into `caBundle` of the webhook configurations, PEM.
    pub fn ca_bundle(&self) -> Vec<u8> {
        let mut text = self.authority.certificate_pem();
        for older in &self.older {
            text.push_str(&keys::certificate_pem(older));
        }
        text.into_bytes()
    }

    /// The leaf, PEM.
    pub fn certificate_pem(&self) -> String {
        keys::certificate_pem(&self.leaf)
    }

    /// The leaf's key, PEM.
    pub fn key_pem(&self) -> Zeroizing<String> {
        keys::key_pem(&self.key)
    }

    /// Whether leaf and key belong together: half a write leaves them apart.
    pub(super) fn is_pair(&self) -> bool {
        let pkcs8 = PrivatePkcs8KeyDer::from(self.key.as_slice());
        let Ok(mut key) = rcgen::KeyPair::try_from(&pkcs8) else {
            return false;
        };
        let same = x509::parse(&self.leaf)
            .is_some_and(|leaf| leaf.public_key().raw == key.subject_public_key_info());
        key.zeroize();
        same
    }

    /// End of the leaf's validity.
    pub fn leaf_not_after(&self) -> Option<Timestamp> {
        let leaf = x509::parse(&self.leaf)?;
        Some(x509::validity(&leaf)?.not_after)
    }

    /// The CA that signs.
    pub fn authority(&self) -> &CertificateAuthority {
        &self.authority
    }
}

impl fmt::Debug for ServingSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServingSecret")
            .field("authority", &self.authority)
            .field("older", &self.older.len())
            .finish_non_exhaustive()
    }
}
