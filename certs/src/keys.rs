//! Private keys out of PEM text, whatever label their maker chose.

use crate::der;
use zeroize::Zeroizing;

/// Why a text is not a private key that can sign.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// There is no PEM block in the text.
    #[error("is not PEM text")]
    NotPem,
    /// A certificate stands where the key belongs.
    #[error("is a certificate, not a private key")]
    Certificate,
    /// The PEM label names something else.
    #[error(
        "has the PEM label {0:?}; known are ED25519 PRIVATE KEY, EC PRIVATE KEY, RSA PRIVATE KEY and PRIVATE KEY"
    )]
    UnknownType(String),
    /// The label is a key's, the content is not.
    #[error("cannot be read as the private key that its PEM label {0:?} promises")]
    Malformed(String),
}

/// Reads the first block of a PEM text as a private key and gives it as PKCS#8.
///
/// Talos writes Ed25519 keys as PKCS#8 under the label `ED25519 PRIVATE KEY`, ECDSA keys as SEC1 and RSA keys as
/// PKCS#1. `public_key` is the raw public key of the certificate the key belongs to.
pub fn private_key(text: &[u8], public_key: &[u8]) -> Result<Zeroizing<Vec<u8>>, KeyError> {
    let block = pem::parse(text).map_err(|_| KeyError::NotPem)?;
    let label = block.tag().to_owned();
    let content = Zeroizing::new(block.into_contents());
    match label.as_str() {
        "ED25519 PRIVATE KEY" | "PRIVATE KEY" => Ok(content),
        "EC PRIVATE KEY" => {
            der::sec1_to_pkcs8(&content, public_key).ok_or(KeyError::Malformed(label))
        }
        "RSA PRIVATE KEY" => Ok(der::rsa_to_pkcs8(&content)),
        "CERTIFICATE" => Err(KeyError::Certificate),
        _ => Err(KeyError::UnknownType(label)),
    }
}

/// The certificates of a PEM text, in their order.
pub fn certificates(text: &[u8]) -> Vec<Vec<u8>> {
    pem::parse_many(text)
        .unwrap_or_default()
        .into_iter()
        .filter(|block| block.tag() == "CERTIFICATE")
        .map(pem::Pem::into_contents)
        .collect()
}

/// One certificate as PEM text.
pub fn certificate_pem(der: &[u8]) -> String {
    encode("CERTIFICATE", der)
}

/// A PKCS#8 key as PEM text.
pub fn key_pem(pkcs8: &[u8]) -> Zeroizing<String> {
    let block = pem::Pem::new("PRIVATE KEY", pkcs8);
    let text = Zeroizing::new(encode_block(&block));
    let _wiped = Zeroizing::new(block.into_contents());
    text
}

fn encode(label: &str, der: &[u8]) -> String {
    encode_block(&pem::Pem::new(label, der))
}

fn encode_block(block: &pem::Pem) -> String {
    let unix = pem::EncodeConfig::new().set_line_ending(pem::LineEnding::LF);
    pem::encode_config(block, unix)
}
