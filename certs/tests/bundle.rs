//! Reading secrets bundles: layouts, and every defect by its name (DESIGN section 5, FAULTS 29).
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod common;

use common::{base64, base64_of_pem, bundle_with, encode, golden, golden_os, now};
use ichor_certs::bundle::Part;
use ichor_certs::keys::KeyError;
use ichor_certs::{AuthorityError, BundleError, SecretsBundle};
use jiff::Timestamp;

fn refused(text: &str) -> BundleError {
    SecretsBundle::parse(text.as_bytes()).expect_err(text)
}

fn defect(text: &str) -> AuthorityError {
    match refused(text) {
        BundleError::Authority {
            part: Part::TalosApi,
            defect,
        } => defect,
        other => panic!("{other:?}"),
    }
}

#[test]
fn bundles_of_old_and_new_generators_are_read() {
    for (name, id) in [
        ("v1.9.yaml", "L2eCgn1gK2Q1W0Ph5A8FCH5X2abl3pRm5gGxLubuK3I="),
        ("v1.14.yaml", "R59LxzvB1go+qenA5oxGZUHE3SYNo9mrLbaHfND3EkI="),
    ] {
        let bundle = SecretsBundle::parse(golden(name).as_bytes()).expect(name);
        assert_eq!(bundle.cluster_id(), id);
        bundle.os_ca(now()).expect("Talos API CA");
        bundle.kubernetes_ca(now()).expect("Kubernetes CA");
    }
}

#[test]
fn other_spellings_of_the_same_bundle_are_read() {
    let (crt, key) = golden_os("v1.14.yaml");
    let (crt, key) = (base64(&crt), base64(&key));
    for text in [
        format!(
            r#"{{"Cluster":{{"Id":"dGVzdA=="}},"Certs":{{"OS":{{"crt":"{crt}","key":"{key}"}}}}}}"#
        ),
        format!(
            "cluster: {{id: dGVzdA==}}\ncerts:\n  admin: {{crt: x, key: y}}\n  os: {{cert: {crt}, key: {key}}}\n"
        ),
        format!(
            "cluster:\n  id: dGVzdA==\n  ca: null\nextra: [1, true, 2.5, null]\ncerts:\n  os:\n    crt: |\n      {}\n      {}\n    key: {key}\n",
            &crt[..64],
            &crt[64..]
        ),
    ] {
        let bundle = SecretsBundle::parse(text.as_bytes()).expect(&text);
        assert_eq!(bundle.cluster_id(), "dGVzdA==");
    }
}

#[test]
fn authorities_of_every_kind_are_read() {
    for kind in ["rsa", "ecdsa-p256", "ecdsa-p384"] {
        let crt = golden(&format!("{kind}.crt"));
        let key = golden(&format!("{kind}.key"));
        let bundle = SecretsBundle::parse(bundle_with(&crt, &key).as_bytes()).expect(kind);
        bundle.os_ca(now()).expect(kind);
    }
}

/// SEC1 leaves the public key optional; the certificate's stands in for it, and must be its.
#[test]
fn an_ecdsa_key_without_its_public_half_is_read() {
    let mut sec1 = base64_of_pem(&golden("ecdsa-p256.key"));
    sec1.truncate(51);
    sec1[1] = 49;
    let key = format!(
        "-----BEGIN EC PRIVATE KEY-----\n{}\n-----END EC PRIVATE KEY-----\n",
        encode(&sec1)
    );
    let own = bundle_with(&golden("ecdsa-p256.crt"), &key);
    SecretsBundle::parse(own.as_bytes()).expect("its own certificate");
    let other = bundle_with(&golden("rsa.crt"), &key);
    assert!(matches!(
        defect(&other),
        AuthorityError::KeyUnusable | AuthorityError::KeyMismatch
    ));
}

#[test]
fn what_is_missing_is_named() {
    let (crt, key) = golden_os("v1.14.yaml");
    for (text, want) in [
        (
            "cluster: {id: x}\ncerts: {}\n".to_owned(),
            BundleError::NoAuthority(Part::TalosApi),
        ),
        (
            "cluster: {id: x}\n".to_owned(),
            BundleError::NoAuthority(Part::TalosApi),
        ),
        (
            "cluster: {id: x}\ncerts: {os: {crt: '', key: ''}}\n".to_owned(),
            BundleError::NoAuthority(Part::TalosApi),
        ),
        (bundle_with(&crt, ""), BundleError::NoKey(Part::TalosApi)),
        (
            bundle_with("", &key),
            BundleError::NoCertificate(Part::TalosApi),
        ),
        (
            bundle_with(&crt, &key).replace("dGVzdA==", "''"),
            BundleError::NoClusterId,
        ),
        (
            "machine:\n  type: controlplane\ncluster: {id: x}\n".to_owned(),
            BundleError::MachineConfiguration,
        ),
        (
            "just words".to_owned(),
            BundleError::NotABundle { line: None },
        ),
        (String::new(), BundleError::NotABundle { line: None }),
    ] {
        assert_eq!(refused(&text), want, "{text}");
    }
    assert!(matches!(refused("a: [\n"), BundleError::NotABundle { .. }));
}

#[test]
fn what_is_wrong_with_certificate_and_key_is_named() {
    let (crt, key) = golden_os("v1.14.yaml");
    let (_, other_key) = golden_os("v1.9.yaml");
    let leaf = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    let unknown = key.replace("ED25519", "DSA");
    for (what, crt, key, want) in [
        (
            "certificate as key",
            &crt,
            &crt,
            AuthorityError::Key(KeyError::Certificate),
        ),
        (
            "key as certificate",
            &key,
            &key,
            AuthorityError::NotACertificate("ED25519 PRIVATE KEY".to_owned()),
        ),
        (
            "key of another bundle",
            &crt,
            &other_key,
            AuthorityError::KeyMismatch,
        ),
        (
            "RSA key for Ed25519 certificate",
            &crt,
            &golden("rsa.key"),
            AuthorityError::KeyMismatch,
        ),
        (
            "unknown key type",
            &crt,
            &unknown,
            AuthorityError::Key(KeyError::UnknownType("DSA PRIVATE KEY".to_owned())),
        ),
        (
            "key is no PEM",
            &crt,
            &"words".to_owned(),
            AuthorityError::Key(KeyError::NotPem),
        ),
        (
            "certificate is no PEM",
            &"words".to_owned(),
            &key,
            AuthorityError::CertificateNotPem,
        ),
        (
            "certificate is no X.509",
            &leaf.to_owned(),
            &key,
            AuthorityError::CertificateMalformed,
        ),
        (
            "key is garbage",
            &crt,
            &leaf.replace("CERTIFICATE", "PRIVATE KEY"),
            AuthorityError::KeyUnusable,
        ),
        (
            "key is no SEC1",
            &crt,
            &leaf.replace("CERTIFICATE", "EC PRIVATE KEY"),
            AuthorityError::Key(KeyError::Malformed("EC PRIVATE KEY".to_owned())),
        ),
    ] {
        assert_eq!(defect(&bundle_with(crt, key)), want, "{what}");
    }
    let plain =
        bundle_with(&crt, &key).replace(&base64(&key), "'-----BEGIN ED25519 PRIVATE KEY-----'");
    assert_eq!(
        refused(&plain),
        BundleError::NotBase64 {
            part: Part::TalosApi,
            field: "key"
        }
    );
}

#[test]
fn an_expired_authority_and_a_clock_behind_it_are_different_errors() {
    let bundle = SecretsBundle::parse(golden("v1.14.yaml").as_bytes()).expect("bundle");
    let at = |text: &str| {
        bundle
            .os_ca(text.parse::<Timestamp>().expect("time"))
            .map(|_| ())
    };
    assert_eq!(at("2026-01-01T00:00:00Z"), Ok(()));
    assert_eq!(at("2035-12-30T00:00:00Z"), Ok(()));
    assert!(matches!(
        at("2025-12-31T23:59:59Z"),
        Err(BundleError::NotYetValid {
            part: Part::TalosApi,
            ..
        })
    ));
    let expired = at("2035-12-30T00:00:01Z").expect_err("expired");
    assert!(matches!(expired, BundleError::Expired { .. }));
    assert!(
        expired.to_string().contains("2035-12-30T00:00:00Z"),
        "{expired}"
    );
}

#[test]
fn a_broken_kubernetes_ca_only_matters_where_it_is_used() {
    let (crt, key) = golden_os("v1.14.yaml");
    let bundle = SecretsBundle::parse(bundle_with(&crt, &key).as_bytes()).expect("bundle");
    assert_eq!(
        bundle.kubernetes_ca(now()).map(|_| ()),
        Err(BundleError::NoAuthority(Part::Kubernetes))
    );
}

#[test]
fn another_content_is_another_fingerprint() {
    let parse = |name| SecretsBundle::parse(golden(name).as_bytes()).expect("bundle");
    assert_eq!(
        parse("v1.9.yaml").fingerprint(),
        parse("v1.9.yaml").fingerprint()
    );
    assert_ne!(
        parse("v1.9.yaml").fingerprint(),
        parse("v1.14.yaml").fingerprint()
    );
}

/// FAULTS 30: nothing secret in errors or debug output.
#[test]
fn no_secret_is_shown() {
    let text = golden("v1.14.yaml");
    let bundle = SecretsBundle::parse(text.as_bytes()).expect("bundle");
    let mut shown = format!("{bundle:?} {:?}", bundle.os_ca(now()));
    let key_base64 = base64(&golden_os("v1.14.yaml").1);
    for broken in [
        text.replace("cluster:", "cluster: ["),
        text.replace(&key_base64[..40], "!!!!"),
        text.replace("    os:\n        crt", "    os:\n        cert"),
        text.replace("  id: ", "  id: ''\n    was: "),
    ] {
        if let Err(fault) = SecretsBundle::parse(broken.as_bytes()) {
            shown = format!("{shown} {fault} {fault:?}");
        }
    }
    for line in text.lines() {
        if let Some((name, value)) = line.trim().split_once(": ")
            && name != "id"
        {
            for part in [value, &value[value.len() / 2..]] {
                assert!(!shown.contains(part), "{name} is shown: {shown}");
            }
        }
    }
}
