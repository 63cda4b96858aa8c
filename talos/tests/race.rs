//! A node whose alert never comes through, or comes at the fourth try: nothing but resets before.
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod common;

use common::{Net, dialer, minted, start};
use ichor_certs::Role as ClientRole;
use ichor_simulator::Fleet;
use ichor_simulator::pki::{Algorithm, Authority, LeafOptions, Usage};
use ichor_talos::{Class, Kind};
use rustls::ServerConfig;
use rustls::crypto::ring::default_provider;
use rustls::server::WebPkiClientVerifier;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// A server with a certificate of the fleet's CA that resets the first `resets` connections after the handshake, and
/// then asks for certificates of a CA the client does not have.
async fn rude(fleet: &Fleet, at: IpAddr, resets: usize) -> Arc<AtomicUsize> {
    let now = time::OffsetDateTime::now_utc();
    let ca = fleet
        .secrets("prod")
        .and_then(ichor_simulator::Bundle::os_ca)
        .expect("CA");
    let leaf = ca
        .sign(&LeafOptions {
            common_name: Some("rude".into()),
            organizations: vec![],
            dns_names: vec![],
            addresses: vec![at],
            usages: vec![Usage::Server],
            not_before: now,
            not_after: now + time::Duration::hours(1),
        })
        .expect("leaf");
    let provider = Arc::new(default_provider());
    let chain: Vec<CertificateDer<'static>> =
        ichor_certs::keys::certificates(leaf.certificate.as_bytes())
            .into_iter()
            .map(CertificateDer::from)
            .collect();
    let pkcs8 = ichor_certs::keys::private_key(leaf.key.as_bytes(), &[]).expect("key");
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(pkcs8.to_vec()));
    let builder = || {
        ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[&rustls::version::TLS13])
            .expect("TLS 1.3")
    };
    let open = builder()
        .with_no_client_auth()
        .with_single_cert(chain.clone(), key.clone_key())
        .expect("open");
    let mut roots = rustls::RootCertStore::empty();
    // Another name too: for one of the same name rustls sends another alert than Talos's Go does.
    let other = Authority::new(Algorithm::Ed25519, Some("other")).expect("CA");
    for root in ichor_certs::keys::certificates(other.certificate.as_bytes()) {
        roots.add(CertificateDer::from(root)).expect("root");
    }
    let verifier =
        WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider))
            .build()
            .expect("verifier");
    let strict = builder()
        .with_client_cert_verifier(verifier)
        .with_single_cert(chain, key)
        .expect("strict");
    let (open, strict) = (
        TlsAcceptor::from(Arc::new(open)),
        TlsAcceptor::from(Arc::new(strict)),
    );
    let listener = TcpListener::bind((at, ichor_talos::PORT))
        .await
        .expect("bind");
    let count = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&count);
    tokio::spawn(async move {
        while let Ok((tcp, _)) = listener.accept().await {
            if counter.fetch_add(1, Ordering::SeqCst) < resets {
                // Lingering for no time turns the close into a reset.
                tcp.set_zero_linger().expect("linger");
                open.accept(tcp).await.ok();
            } else {
                strict.accept(tcp).await.ok();
            }
        }
    });
    count
}

#[tokio::test]
async fn a_reset_without_an_alert_is_asked_again_until_the_alert_is_seen() {
    let fleet = start(vec![], None).await.expect("fleet");
    let net = Net::take();
    let at = net.at(1);
    let count = rude(&fleet, at, 3).await;
    let fault = dialer()
        .connect(at, &minted(&fleet, ClientRole::Admin))
        .await
        .expect_err("refused");
    assert_eq!(
        (fault.class(), fault.kind()),
        (Class::Refused, Kind::ClientCa),
        "{fault:?}"
    );
    assert_eq!(count.load(Ordering::SeqCst), 4);
}

#[tokio::test]
async fn resets_without_end_are_unreachable_and_bounded() {
    let fleet = start(vec![], None).await.expect("fleet");
    let net = Net::take();
    let at = net.at(1);
    let count = rude(&fleet, at, usize::MAX).await;
    let fault = dialer()
        .connect(at, &minted(&fleet, ClientRole::Admin))
        .await
        .expect_err("unreachable");
    assert_eq!(
        (fault.class(), fault.kind()),
        (Class::Unreachable, Kind::Closed),
        "{fault:?}"
    );
    assert!(count.load(Ordering::SeqCst) <= 6);
}
