//! The serving certificates over years of a moved clock, and their exchange under real handshakes.
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod common;

use common::now;
use ichor_certs::serving::{
    Injected, Lifetimes, Offer, OfferError, ServedCertificate, ServingError, ServingSecret, Step,
    Wanted, carry_out, plan,
};
use jiff::{SignedDuration, Timestamp};
use rustls::crypto::ring::default_provider;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use rustls_pki_types::{CertificateDer, ServerName};
use std::sync::Arc;
use tokio::net::{TcpListener, TcpStream};

const NAME: &str = "ichor-webhook.ichor-system.svc";

fn wanted() -> Wanted {
    Wanted {
        names: vec![NAME.to_owned()],
        lifetimes: Lifetimes::default(),
    }
}

/// What stands in the webhook configurations long since.
fn settled(bundle: &[u8]) -> Injected<'_> {
    let settled = bundle;
    Injected { bundle, settled }
}

/// What was written there a moment ago.
fn fresh(bundle: &[u8]) -> Injected<'_> {
    let settled = b"";
    Injected { bundle, settled }
}

fn after(days: i64) -> Timestamp {
    now() + SignedDuration::from_hours(24 * days)
}

fn made(at: Timestamp) -> ServingSecret {
    carry_out(Step::MakeAll, None, settled(b""), at, &wanted()).expect("made")
}

#[test]
fn the_steps_follow_from_what_is_stored_and_injected() {
    let stored = made(now());
    let bundle = stored.ca_bundle();
    let with = |injected, at| plan(Some(&stored), injected, at, &wanted());
    let rows = [
        (settled(&bundle), after(0), Step::Keep, "fresh"),
        (
            settled(b""),
            after(0),
            Step::Keep,
            "a good leaf waits for the injection",
        ),
        (settled(&bundle), after(59), Step::Keep, "not yet due"),
        (
            settled(&bundle),
            after(61),
            Step::IssueLeaf,
            "the leaf ends soon",
        ),
        (
            fresh(&bundle),
            after(61),
            Step::Keep,
            "the CA is not known everywhere yet",
        ),
        (
            settled(b""),
            after(61),
            Step::Keep,
            "the CA is not injected",
        ),
        (settled(&bundle), after(91), Step::IssueLeaf, "expired leaf"),
        (
            settled(b""),
            after(91),
            Step::IssueLeaf,
            "an expired leaf helps nobody",
        ),
        (settled(&bundle), after(366), Step::MakeAll, "expired CA"),
        (
            settled(&bundle),
            after(-2),
            Step::MakeAll,
            "clock before the CA",
        ),
    ];
    assert_eq!(plan(None, settled(b""), now(), &wanted()), Step::MakeAll);
    for (injected, at, step, why) in rows {
        assert_eq!(with(injected, at), step, "{why}");
    }
    let mut other = wanted();
    other.names.push("other.example".to_owned());
    assert_eq!(
        plan(Some(&stored), settled(&bundle), now(), &other),
        Step::IssueLeaf,
        "a name is missing"
    );
}

/// A CA gets a successor, which signs only after it was known everywhere for the time of propagation, and goes itself
/// after it expired.
#[test]
fn a_new_authority_is_trusted_before_it_signs() {
    let step = |stored: ServingSecret, injected: Injected<'_>, at, expected| {
        let next = plan(Some(&stored), injected, at, &wanted());
        assert_eq!(next, expected, "at {at}");
        carry_out(next, Some(stored), injected, at, &wanted()).expect("carried out")
    };
    let first = made(now());
    let old = first.ca_bundle();
    let due = after(246);
    // The leaf of the first CA was renewed in time.
    let first = carry_out(
        Step::IssueLeaf,
        Some(first),
        settled(&old),
        after(240),
        &wanted(),
    );
    let added = step(first.expect("leaf"), settled(&old), due, Step::AddAuthority);
    let both = added.ca_bundle();
    assert!(both.ends_with(&old) && both.len() > old.len());
    let leaf = added.certificate_pem();
    let waits = step(added, settled(&old), due, Step::Keep);
    let waits = step(waits, fresh(&both), due, Step::Keep);
    let waits = step(waits, settled(&old), after(300), Step::Keep);
    assert_eq!(waits.certificate_pem(), leaf);
    let signed = step(waits, settled(&both), due, Step::IssueLeaf);
    assert_ne!(signed.certificate_pem(), leaf);
    let served = ServedCertificate::new(wanted());
    let offered = served.offer(
        signed.certificate_pem().as_bytes(),
        signed.key_pem().as_bytes(),
        settled(signed.authority().certificate_pem().as_bytes()),
        due,
    );
    assert_eq!(offered, Ok(Offer::Served), "the leaf is the new CA's");
    let kept = step(signed, settled(&both), after(300), Step::Keep);
    let renewed = carry_out(
        Step::IssueLeaf,
        Some(kept),
        settled(&both),
        after(366),
        &wanted(),
    );
    let dropped = step(
        renewed.expect("leaf"),
        settled(&both),
        after(366),
        Step::DropExpired,
    );
    assert_eq!(
        ichor_certs::keys::certificates(&dropped.ca_bundle()).len(),
        1
    );
}

/// FAULTS 3: bundle first, then leaf, the old CA goes after it expired. At every moment what is served verifies with
/// what was injected before.
#[test]
fn rotations_over_five_years_never_serve_what_is_not_yet_trusted() {
    let mut stored = made(now());
    let mut injected = stored.ca_bundle();
    let served = ServedCertificate::new(wanted());
    let mut authorities = std::collections::BTreeSet::new();
    let mut largest = 0;
    for day in 0..(365 * 5) {
        let at = now() + SignedDuration::from_hours(24 * day);
        let step = plan(Some(&stored), settled(&injected), at, &wanted());
        assert_ne!(step, Step::MakeAll, "day {day}");
        stored = carry_out(step, Some(stored), settled(&injected), at, &wanted()).expect("step");
        // API servers still have the bundle of the last round when the leaf of this round is served.
        served
            .offer(
                stored.certificate_pem().as_bytes(),
                stored.key_pem().as_bytes(),
                settled(&injected),
                at,
            )
            .unwrap_or_else(|fault| panic!("day {day}: {step:?}: {fault}"));
        injected = stored.ca_bundle();
        assert!(served.is_accepted_by(&injected, at));
        assert!(served.not_after() <= served.signer_not_after(&injected, at));
        authorities.insert(stored.authority().certificate_pem());
        largest = largest.max(ichor_certs::keys::certificates(&injected).len());
    }
    assert!(authorities.len() >= 7, "{} authorities", authorities.len());
    assert!(largest <= 3, "{largest} certificates in the bundle");
}

/// FAULTS 1: the Secret is lost while its leaf is served. Clients go on trusting that leaf until the new CA is known
/// everywhere; only then the new leaf is served.
#[test]
fn a_lost_secret_breaks_no_handshake() {
    let lost = made(now());
    let before = lost.ca_bundle();
    let served = ServedCertificate::new(wanted());
    let offer = |secret: &ServingSecret, injected| {
        served.offer(
            secret.certificate_pem().as_bytes(),
            secret.key_pem().as_bytes(),
            injected,
            after(1),
        )
    };
    assert_eq!(offer(&lost, settled(&before)), Ok(Offer::Served));
    let new = carry_out(Step::MakeAll, None, settled(&before), after(1), &wanted()).expect("new");
    let both = new.ca_bundle();
    assert!(offer(&new, settled(&before)).is_err(), "not injected yet");
    assert_eq!(offer(&new, fresh(&both)), Ok(Offer::Waits));
    assert!(served.is_accepted_by(&both, after(1)));
    assert_eq!(offer(&new, settled(&both)), Ok(Offer::Served));
    assert_eq!(offer(&new, settled(&both)), Ok(Offer::Known));
    // What expired is not taken over.
    let much_later = carry_out(Step::MakeAll, None, settled(&both), after(400), &wanted());
    let bundle = much_later.expect("made").ca_bundle();
    assert_eq!(ichor_certs::keys::certificates(&bundle).len(), 1);
}

#[test]
fn a_secret_survives_the_way_through_its_data() {
    let secret = made(now());
    let data = secret.to_data();
    let read = ServingSecret::from_data(&data).expect("reads");
    assert_eq!(read.to_data(), data);
    assert_eq!(
        plan(Some(&read), settled(b""), now(), &wanted()),
        Step::Keep
    );
    for key in ["ca.crt", "ca.key", "tls.crt", "tls.key"] {
        let mut without = data.clone();
        without.remove(key);
        assert_eq!(
            ServingSecret::from_data(&without).err(),
            Some(ServingError::Missing(key)),
            "{key}"
        );
        let mut broken = data.clone();
        broken.insert(key.to_owned(), b"half written".to_vec());
        assert!(ServingSecret::from_data(&broken).is_err(), "{key}");
    }
    let shown = format!("{secret:?} {read:?}");
    assert!(!shown.contains("PRIVATE"), "{shown}");
}

#[test]
fn a_leaf_without_its_key_is_made_anew() {
    let mut data = made(now()).to_data();
    let other = made(now()).to_data();
    data.insert("tls.key".to_owned(), other["tls.key"].clone());
    let torn = ServingSecret::from_data(&data).expect("each part reads");
    assert_eq!(
        plan(Some(&torn), settled(b""), now(), &wanted()),
        Step::IssueLeaf
    );
}

#[test]
fn what_clients_would_refuse_is_not_served_and_the_pair_before_stays() {
    let good = made(now());
    let other = made(now());
    let served = ServedCertificate::new(wanted());
    let bundle = good.ca_bundle();
    let offer = |crt: &[u8], key: &[u8], at| served.offer(crt, key, settled(&bundle), at);
    let (crt, key) = (good.certificate_pem(), good.key_pem());
    assert_eq!(
        offer(crt.as_bytes(), key.as_bytes(), now()),
        Ok(Offer::Served)
    );
    assert_eq!(
        offer(crt.as_bytes(), key.as_bytes(), now()),
        Ok(Offer::Known),
        "the same again"
    );
    let leaf = served.leaf();

    assert_eq!(
        offer(crt.as_bytes(), other.key_pem().as_bytes(), now()),
        Err(OfferError::Mismatch)
    );
    assert_eq!(
        offer(b"", key.as_bytes(), now()),
        Err(OfferError::NoCertificate)
    );
    let stranger = offer(
        other.certificate_pem().as_bytes(),
        other.key_pem().as_bytes(),
        now(),
    );
    assert!(
        matches!(stranger, Err(OfferError::NotAccepted(_))),
        "{stranger:?}"
    );
    let expired = offer(crt.as_bytes(), key.as_bytes(), after(200));
    assert!(
        matches!(expired, Err(OfferError::NotAccepted(_))),
        "{expired:?}"
    );
    let mut elsewhere = wanted();
    elsewhere.names = vec!["other.example".to_owned()];
    let nameless = carry_out(
        Step::IssueLeaf,
        Some(good),
        settled(&bundle),
        now(),
        &elsewhere,
    )
    .expect("leaf");
    let misnamed = offer(
        nameless.certificate_pem().as_bytes(),
        nameless.key_pem().as_bytes(),
        now(),
    );
    assert!(
        matches!(misnamed, Err(OfferError::NotAccepted(_))),
        "{misnamed:?}"
    );

    assert_eq!(served.leaf(), leaf);
    assert!(!served.is_accepted_by(&other.ca_bundle(), now()));
}

/// FAULTS 2: new handshakes show the new leaf at once; connections that stand are not touched; without a pair the
/// server stays up.
#[tokio::test]
async fn the_leaf_is_exchanged_between_handshakes() {
    // rustls asks the system's clock here, so the pair is made for it.
    let start = system_now();
    let secret = made(start);
    let roots = secret.ca_bundle();
    let served = Arc::new(ServedCertificate::new(wanted()));
    let port = serve(Arc::clone(&served)).await;

    assert!(
        handshake(port, &roots).await.is_err(),
        "nothing is served yet"
    );
    served
        .offer(
            secret.certificate_pem().as_bytes(),
            secret.key_pem().as_bytes(),
            settled(&roots),
            start,
        )
        .expect("first");
    let (first, mut standing) = handshake(port, &roots).await.expect("first handshake");

    let renewed = carry_out(
        Step::IssueLeaf,
        Some(secret),
        fresh(&roots),
        start,
        &wanted(),
    )
    .expect("renewed");
    served
        .offer(
            renewed.certificate_pem().as_bytes(),
            renewed.key_pem().as_bytes(),
            fresh(&roots),
            start,
        )
        .expect("second");
    let (second, _) = handshake(port, &roots).await.expect("second handshake");
    assert_ne!(first, second);
    assert_eq!(Some(second), served.leaf());
    echo(&mut standing).await;
}

#[allow(clippy::disallowed_methods, reason = "rustls reads the system's clock")]
fn system_now() -> Timestamp {
    Timestamp::now()
}

async fn serve(served: Arc<ServedCertificate>) -> u16 {
    let mut config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("TLS 1.3")
        .with_no_client_auth()
        .with_cert_resolver(served);
    config.send_tls13_tickets = 0;
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("bind");
    let port = listener.local_addr().expect("address").port();
    tokio::spawn(async move {
        while let Ok((tcp, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                if let Ok(stream) = acceptor.accept(tcp).await {
                    let (mut read, mut write) = tokio::io::split(stream);
                    tokio::io::copy(&mut read, &mut write).await.ok();
                }
            });
        }
    });
    port
}

type Client = tokio_rustls::client::TlsStream<TcpStream>;

async fn handshake(port: u16, roots: &[u8]) -> std::io::Result<(CertificateDer<'static>, Client)> {
    let mut store = RootCertStore::empty();
    for root in ichor_certs::keys::certificates(roots) {
        store.add(CertificateDer::from(root)).expect("root");
    }
    let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("TLS 1.3")
        .with_root_certificates(store)
        .with_no_client_auth();
    let name = ServerName::try_from(NAME).expect("name");
    let tcp = TcpStream::connect(("127.0.0.1", port)).await?;
    let mut stream = tokio_rustls::TlsConnector::from(Arc::new(config))
        .connect(name, tcp)
        .await?;
    echo(&mut stream).await;
    let leaf = stream.get_ref().1.peer_certificates().expect("chain")[0]
        .clone()
        .into_owned();
    Ok((leaf, stream))
}

async fn echo(stream: &mut Client) {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    stream.write_all(b"ping").await.expect("write");
    let mut answer = [0; 4];
    stream.read_exact(&mut answer).await.expect("read");
    assert_eq!(&answer, b"ping");
}
