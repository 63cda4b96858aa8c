//! Private keys with the PEM labels Talos uses.

use anyhow::{Context, Result, bail};
use rcgen::KeyPair;
use rustls_pki_types::PrivatePkcs8KeyDer;

use super::der;

/// Algorithm of an authority's key. Talos makes Ed25519 for its API, P-256 for etcd and Kubernetes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// The default of the Talos API.
    Ed25519,
    /// ECDSA on P-256.
    Ecdsa,
    /// RSA, a fixed test key.
    Rsa,
}

/// An Ed25519 key: label `ED25519 PRIVATE KEY` around PKCS#8.
pub fn ed25519() -> String {
    let seed: [u8; 32] = rand::random();
    pem("ED25519 PRIVATE KEY", der::pkcs8_of_ed25519(&seed))
}

/// A P-256 key: label `EC PRIVATE KEY` around SEC1.
pub fn p256() -> Result<String> {
    let pair = KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256)?;
    let pkcs8 = pair.serialize_der();
    // ring writes the private scalar right behind a fixed prefix of 36 bytes.
    let private = pkcs8
        .get(36..68)
        .context("unexpected layout of a generated P-256 key")?;
    Ok(pem(
        "EC PRIVATE KEY",
        der::sec1(private, pair.public_key_raw()),
    ))
}

/// A new key of an algorithm.
pub fn generate(algorithm: Algorithm) -> Result<String> {
    match algorithm {
        Algorithm::Ed25519 => Ok(ed25519()),
        Algorithm::Ecdsa => p256(),
        Algorithm::Rsa => Ok(include_str!("../../data/rsa-authority.key").to_owned()),
    }
}

/// Reads a private key in any form Talos accepts.
pub fn read(text: &str) -> Result<KeyPair> {
    let block = pem::parse(text).context("private key is not PEM")?;
    let der = match block.tag() {
        "ED25519 PRIVATE KEY" | "PRIVATE KEY" => block.into_contents(),
        "EC PRIVATE KEY" => der::pkcs8_of_sec1(block.contents()),
        "RSA PRIVATE KEY" => der::pkcs8_of_pkcs1(block.contents()),
        other => bail!("PEM label {other:?} is no private key"),
    };
    KeyPair::try_from(&PrivatePkcs8KeyDer::from(der)).context("private key cannot be used")
}

fn pem(label: &str, der: Vec<u8>) -> String {
    let config = pem::EncodeConfig::new().set_line_ending(pem::LineEnding::LF);
    pem::encode_config(&pem::Pem::new(label, der), config)
}
