//! Secrets bundles, PEM texts and talosconfigs.

use ichor_certs::mint::{Role, mint_client};
use ichor_certs::serving::ServingSecret;
use ichor_certs::{CertificateAuthority, SecretsBundle, keys};
use ichor_talos::{Credential, Talosconfig};
use jiff::Timestamp;
use std::collections::BTreeMap;
use std::fmt::Display;

/// What a message may repeat of its input at most, in characters. A key is longer.
const REPEATED: usize = 40;

/// A secrets bundle: read, and if it is sound, signed with.
pub fn bundle(data: &[u8]) {
    match SecretsBundle::parse(data) {
        Ok(bundle) => {
            // What a careless log line would print. The cluster ID is no secret: status shows it.
            let shown = format!("{bundle:?}").replace(bundle.cluster_id(), "");
            keeps_secrets(&shown, data);
            match bundle.os_ca(now()) {
                Ok(ca) => match mint_client(ca, Role::Reader, now()) {
                    Ok(minted) => assert!(minted.not_before() <= minted.not_after()),
                    Err(error) => keeps_secrets(&error, data),
                },
                Err(error) => keeps_secrets(&error, data),
            }
        }
        Err(error) => keeps_secrets(&error, data),
    }
}

/// Certificates and keys as PEM, in every place that takes them. The bytes are cut in three at zero bytes.
pub fn pem(data: &[u8]) {
    let mut parts = data.splitn(3, |byte| *byte == 0);
    let (first, second, third) = (
        parts.next().unwrap_or_default(),
        parts.next().unwrap_or_default(),
        parts.next().unwrap_or_default(),
    );
    for certificate in keys::certificates(data) {
        let again = keys::certificates(keys::certificate_pem(&certificate).as_bytes());
        assert_eq!(
            again,
            [certificate],
            "a certificate changes when it is written"
        );
    }
    if let Err(error) = CertificateAuthority::from_pem(first, second) {
        keeps_secrets(&error, second);
    }
    if let Err(error) = Credential::from_pem(first, second, third) {
        keeps_secrets(&error, third);
    }
    let secret: BTreeMap<String, Vec<u8>> = [
        ("ca.crt", first),
        ("ca.key", second),
        ("tls.crt", first),
        ("tls.key", third),
    ]
    .map(|(key, value)| (key.to_owned(), value.to_vec()))
    .into();
    match ServingSecret::from_data(&secret) {
        Ok(read) => assert!(
            ServingSecret::from_data(&read.to_data()).is_ok(),
            "a serving Secret cannot be read back"
        ),
        Err(error) => keeps_secrets(&error, third),
    }
    if let Ok(text) = std::str::from_utf8(data) {
        match Talosconfig::parse(text) {
            Ok(config) => {
                if let Err(error) = config.context(None) {
                    keeps_secrets(&error, data);
                }
            }
            Err(error) => keeps_secrets(&error, data),
        }
    }
}

/// A time at which the CAs of the seeds are valid.
fn now() -> Timestamp {
    "2027-03-01T12:00:00Z".parse().expect("a time")
}

/// No message repeats a long piece of what was read: it may be a key. A key has no blanks; a piece that has some is of
/// our own words, which the engine finds in the program and puts into its inputs.
fn keeps_secrets(message: &impl Display, input: &[u8]) {
    let message = message.to_string();
    let input = String::from_utf8_lossy(input);
    let letters: Vec<char> = message.chars().collect();
    let pieces = letters.windows(REPEATED);
    for piece in pieces.filter(|piece| !piece.iter().any(|letter| letter.is_whitespace())) {
        let piece: String = piece.iter().collect();
        assert!(!input.contains(&piece), "a message repeats {piece:?}");
    }
}
