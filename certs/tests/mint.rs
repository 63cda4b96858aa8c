//! The client certificates, judged by the parsers and verifiers that nodes and API servers stand for.
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod common;

use common::{bundle_with, golden, golden_os, now};
use ichor_certs::mint::{BACKDATE, LIFE, kubernetes_admin, mint_client};
use ichor_certs::{CertificateAuthority, CertificateCache, ClientCertificate, Role, SecretsBundle};
use jiff::{SignedDuration, Timestamp};
use rustls_pki_types::{CertificateDer, UnixTime};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use x509_parser::extensions::ParsedExtension;
use x509_parser::prelude::{FromDer, X509Certificate};

fn authorities() -> Vec<(&'static str, CertificateAuthority)> {
    let (crt, key) = golden_os("v1.14.yaml");
    let ed25519 = CertificateAuthority::from_pem(crt.as_bytes(), key.as_bytes()).expect("Ed25519");
    let mut all = vec![("ed25519", ed25519)];
    for kind in ["rsa", "ecdsa-p256", "ecdsa-p384"] {
        let crt = golden(&format!("{kind}.crt"));
        let key = golden(&format!("{kind}.key"));
        all.push((
            kind,
            CertificateAuthority::from_pem(crt.as_bytes(), key.as_bytes()).expect(kind),
        ));
    }
    all
}

fn parse(der: &[u8]) -> X509Certificate<'_> {
    X509Certificate::from_der(der).expect("a certificate").1
}

fn verify(
    certificate: &CertificateDer<'_>,
    ca: &CertificateAuthority,
    at: Timestamp,
) -> Result<(), webpki::Error> {
    let anchor = webpki::anchor_from_trusted_cert(ca.certificate_der()).expect("anchor");
    let seconds = u64::try_from(at.as_second()).expect("after 1970");
    webpki::EndEntityCert::try_from(certificate)?
        .verify_for_usage(
            webpki::ALL_VERIFICATION_ALGS,
            &[anchor],
            &[],
            UnixTime::since_unix_epoch(Duration::from_secs(seconds)),
            webpki::KeyUsage::client_auth(),
            None,
            None,
        )
        .map(|_| ())
}

#[test]
fn the_certificate_is_what_talos_wants() {
    for (kind, ca) in authorities() {
        for role in [Role::Admin, Role::Reader] {
            let client = mint_client(&ca, role, now()).expect(kind);
            verify(client.certificate_der(), &ca, now()).expect(kind);
            let parsed = parse(client.certificate_der());
            let authority = parse(ca.certificate_der());

            // O and nothing else.
            let subject: Vec<_> = parsed.subject().iter_attributes().collect();
            assert_eq!(subject.len(), 1, "{kind}");
            assert_eq!(
                parsed.subject().to_string(),
                format!("O={}", role.organization())
            );
            assert_eq!(
                parsed.issuer().as_raw(),
                authority.subject().as_raw(),
                "{kind}"
            );
            assert_eq!(
                parsed.public_key().algorithm.algorithm.to_id_string(),
                "1.3.101.112",
                "Ed25519"
            );

            let usage = parsed.key_usage().expect("usage").expect("present");
            assert!(usage.critical && usage.value.digital_signature());
            assert_eq!(usage.value.flags, 1, "{kind}: digitalSignature only");
            let extended = parsed
                .extended_key_usage()
                .expect("extended")
                .expect("present")
                .value;
            assert!(
                extended.client_auth
                    && !extended.server_auth
                    && !extended.any
                    && extended.other.is_empty()
            );
            assert!(!parsed.is_ca());

            // The authority key identifier is the CA's subject key identifier as it stands there.
            let ski = authority
                .extensions()
                .iter()
                .find_map(|e| match e.parsed_extension() {
                    ParsedExtension::SubjectKeyIdentifier(id) => Some(id.0.to_vec()),
                    _ => None,
                });
            let aki = parsed
                .extensions()
                .iter()
                .find_map(|e| match e.parsed_extension() {
                    ParsedExtension::AuthorityKeyIdentifier(id) => {
                        id.key_identifier.as_ref().map(|id| id.0.to_vec())
                    }
                    _ => None,
                });
            assert!(ski.is_some(), "{kind}: the CA has an identifier");
            assert_eq!(aki, ski, "{kind}");
        }
    }
}

#[test]
fn it_lives_an_hour_from_ten_minutes_ago_and_never_outlives_the_ca() {
    let (crt, key) = golden_os("v1.14.yaml");
    let ca = CertificateAuthority::from_pem(crt.as_bytes(), key.as_bytes()).expect("CA");
    let time = |text: &str| text.parse::<Timestamp>().expect("time");
    for (at, from, to) in [
        (
            "2027-03-01T12:00:00Z",
            "2027-03-01T11:50:00Z",
            "2027-03-01T13:00:00Z",
        ),
        (
            "2026-01-01T00:05:00Z",
            "2026-01-01T00:00:00Z",
            "2026-01-01T01:05:00Z",
        ),
        (
            "2035-12-29T23:30:00Z",
            "2035-12-29T23:20:00Z",
            "2035-12-30T00:00:00Z",
        ),
    ] {
        let client = mint_client(&ca, Role::Admin, time(at)).expect(at);
        assert_eq!(
            (client.not_before(), client.not_after()),
            (time(from), time(to)),
            "{at}"
        );
        let parsed = parse(client.certificate_der());
        assert_eq!(
            parsed.validity().not_before.timestamp(),
            time(from).as_second()
        );
        assert_eq!(
            parsed.validity().not_after.timestamp(),
            time(to).as_second()
        );
    }
    assert_eq!(
        (LIFE, BACKDATE),
        (SignedDuration::from_hours(1), SignedDuration::from_mins(10))
    );
}

#[test]
fn every_certificate_has_its_own_key_and_serial_and_shows_neither() {
    let (_, ca) = authorities().remove(0);
    let one = mint_client(&ca, Role::Admin, now()).expect("one");
    let two = mint_client(&ca, Role::Admin, now()).expect("two");
    assert_ne!(one.key_pem().as_str(), two.key_pem().as_str());
    assert_ne!(
        parse(one.certificate_der()).raw_serial(),
        parse(two.certificate_der()).raw_serial()
    );
    let secret = one
        .key_pem()
        .lines()
        .nth(1)
        .expect("a line of key")
        .to_owned();
    assert!(!format!("{one:?}").contains(&secret));
}

#[test]
fn the_kubernetes_administrator_is_in_system_masters() {
    let bundle = SecretsBundle::parse(golden("v1.14.yaml").as_bytes()).expect("bundle");
    let ca = bundle.kubernetes_ca(now()).expect("CA");
    let admin = kubernetes_admin(ca, now()).expect("admin");
    verify(admin.certificate_der(), ca, now()).expect("verifies");
    let parsed = parse(admin.certificate_der());
    assert_eq!(parsed.subject().to_string(), "O=system:masters, CN=ichor");
}

fn address(last: u8) -> IpAddr {
    IpAddr::from([10, 5, 0, last])
}

#[test]
fn certificates_are_kept_to_half_their_life() {
    let bundle = SecretsBundle::parse(golden("v1.14.yaml").as_bytes()).expect("bundle");
    let cache = CertificateCache::new(8);
    let at = |minutes: i64| now() + SignedDuration::from_mins(minutes);
    let get = |role, at| {
        cache
            .client(&bundle, address(2), role, at)
            .expect("certificate")
    };
    let same = |a: &Arc<ClientCertificate>, b: &Arc<ClientCertificate>| Arc::ptr_eq(a, b);

    let first = get(Role::Admin, at(0));
    // From -10 to 60 minutes: half is over at 25.
    assert!(same(&first, &get(Role::Admin, at(24))));
    assert!(!same(&first, &get(Role::Admin, at(25))));
    // A clock that went back must not get a certificate of its future.
    assert!(!same(&first, &get(Role::Admin, at(-30))));
    let admin = get(Role::Admin, at(0));
    assert!(!same(&admin, &get(Role::Reader, at(0))));
    let elsewhere = cache
        .client(&bundle, address(3), Role::Admin, at(0))
        .expect("other node");
    assert!(!same(&admin, &elsewhere));
}

#[test]
fn a_changed_bundle_is_another_certificate_and_an_expired_ca_is_none() {
    let old = SecretsBundle::parse(golden("v1.9.yaml").as_bytes()).expect("bundle");
    let (crt, key) = golden_os("v1.14.yaml");
    let new = SecretsBundle::parse(bundle_with(&crt, &key).as_bytes()).expect("bundle");
    let cache = CertificateCache::new(8);
    let get = |bundle| {
        cache
            .client(bundle, address(2), Role::Admin, now())
            .expect("certificate")
    };
    let before = get(&old);
    let after = get(&new);
    verify(
        before.certificate_der(),
        old.os_ca(now()).expect("CA"),
        now(),
    )
    .expect("old");
    verify(
        after.certificate_der(),
        new.os_ca(now()).expect("CA"),
        now(),
    )
    .expect("new");
    let late = "2036-01-01T00:00:00Z".parse().expect("time");
    assert!(cache.client(&old, address(2), Role::Admin, late).is_err());
}

#[test]
fn the_cache_is_bounded() {
    let bundle = SecretsBundle::parse(golden("v1.14.yaml").as_bytes()).expect("bundle");
    let cache = CertificateCache::new(4);
    for last in 1..=20 {
        cache
            .client(&bundle, address(last), Role::Admin, now())
            .expect("certificate");
        assert!(cache.len() <= 4);
    }
}
