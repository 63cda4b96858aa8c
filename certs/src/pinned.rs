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

#[cfg(test)]
mod tests {
    use super::*;

    /// Leaf and value from the recordings of a real machine in maintenance mode.
    const LEAF: &str = "-----BEGIN CERTIFICATE-----\nMIIBXzCCARGgAwIBAgIQUpK6HxFzJmdyntXhvn2HlzAFBgMrZXAwADAeFw0yNjEx\nMjkyMjU4MjBaFw0yNjExMzAyMjU4MjBaMCgxJjAkBgNVBAMTHW1haW50ZW5hbmNl\nLXNlcnZpY2UudGFsb3MuZGV2MCowBQYDK2VwAyEA/66baLN5baWeiysJfM8Iizya\nWWrSF6j2mdk/5Vl9skejeTB3MA4GA1UdDwEB/wQEAwIHgDATBgNVHSUEDDAKBggr\nBgEFBQcDATAfBgNVHSMEGDAWgBQUFIveh1BDPxA+mTBovS7+POaJNzAvBgNVHREE\nKDAmggZ0YWxvczGHBAoFAAKHBH8AAAGHEAAAAAAAAAAAAAAAAAAAAAEwBQYDK2Vw\nA0EAOfER9d/JjpgoBLD1FXGUOI8dyhqkC0lB1lpb8E2OzfSuFpiZF7q9h6DbqBd3\n4S4X0HJY5J8TVykFzqmgobSzAA==\n-----END CERTIFICATE-----\n";
    const SHOWN: &str = "6a71aMg8rs2dDPiuLecyL9e18nJPVoxry2MST0uIR7I=";

    #[test]
    fn the_fingerprint_is_what_talos_shows() {
        let leaf = crate::keys::certificates(LEAF.as_bytes()).remove(0);
        let fingerprint = Fingerprint::of_certificate(&leaf).expect("a certificate");
        assert_eq!(fingerprint.to_string(), SHOWN);
        assert_eq!(SHOWN.parse(), Ok(fingerprint));
        assert_eq!(Fingerprint::of_certificate(b"none"), None);
        assert!("6a71".parse::<Fingerprint>().is_err());
    }
}
