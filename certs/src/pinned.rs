//! Certificates of machines in maintenance mode, which no CA vouches for: a person compares their fingerprint.

use base64::Engine;
use sha2::{Digest, Sha256};
use std::fmt;
use std::str::FromStr;

/// Fingerprint of a maintenance certificate as Talos prints it on the console and
/// `talosctl --cert-fingerprint` takes it: base64 of the SHA-256 of the leaf's public key info.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; 32]);

/// Why a text is no fingerprint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a certificate fingerprint: it is 44 characters of base64, as Talos shows it on the machine's console"
)]
pub struct FingerprintError(String);

impl Fingerprint {
    /// The fingerprint of a leaf given as DER, if it is a certificate.
    pub fn of_certificate(leaf: &[u8]) -> Option<Self> {
        let certificate = crate::x509::parse(leaf)?;
        Some(Self(Sha256::digest(certificate.public_key().raw).into()))
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&base64::engine::general_purpose::STANDARD.encode(self.0))
    }
}

impl FromStr for Fingerprint {
    type Err = FingerprintError;

    fn from_str(text: &str) -> Result<Self, FingerprintError> {
        base64::engine::general_purpose::STANDARD
            .decode(text.trim())
            .ok()
            .and_then(|bytes| bytes.try_into().ok())
            .map(Self)
            .ok_or_else(|| FingerprintError(text.to_owned()))
    }
}
