//! Whatever a person stores or a disk breaks: an error, never a panic, and never a key in it.
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod common;

use common::{base64_of_pem, bundle_with, encode, golden, now};
use ichor_certs::mint::{Role, mint_client};
use ichor_certs::pinned::Fingerprint;
use ichor_certs::serving::ServingSecret;
use ichor_certs::{CertificateAuthority, SecretsBundle};
use proptest::prelude::*;
use std::collections::BTreeMap;

fn pem(label: &str, bytes: &[u8]) -> String {
    format!(
        "-----BEGIN {label}-----\n{}\n-----END {label}-----\n",
        encode(bytes)
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        prop_assert!(SecretsBundle::parse(&bytes).is_err());
        prop_assert!(CertificateAuthority::from_pem(&bytes, &bytes).is_err());
        let data: BTreeMap<String, Vec<u8>> = ["ca.crt", "ca.key", "tls.crt", "tls.key"]
            .map(|key| (key.to_owned(), bytes.clone()))
            .into();
        prop_assert!(ServingSecret::from_data(&data).is_err());
        Fingerprint::of_certificate(&bytes);
        String::from_utf8_lossy(&bytes).parse::<Fingerprint>().ok();
    }

    /// One byte of the certificate or of the key is another: the pair is refused, or signs as before.
    #[test]
    fn one_broken_byte_is_no_panic(
        kind in prop::sample::select(vec!["rsa", "ecdsa-p256", "ecdsa-p384"]),
        of_key in any::<bool>(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let crt = golden(&format!("{kind}.crt"));
        let key = golden(&format!("{kind}.key"));
        let label = if kind == "rsa" { "RSA PRIVATE KEY" } else { "EC PRIVATE KEY" };
        let (mut crt, mut key) = (base64_of_pem(&crt), base64_of_pem(&key));
        let broken = if of_key { &mut key } else { &mut crt };
        let at = at.index(broken.len());
        broken[at] = byte;
        let text = bundle_with(&pem("CERTIFICATE", &crt), &pem(label, &key));
        match SecretsBundle::parse(text.as_bytes()) {
            Ok(bundle) => {
                if let Ok(ca) = bundle.os_ca(now()) {
                    mint_client(ca, Role::Admin, now()).ok();
                }
            }
            Err(fault) => prop_assert!(!fault.to_string().contains(&encode(&key)[..20])),
        }
    }
}
