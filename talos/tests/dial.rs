//! Dialling: who is accepted, who is refused and why, and that nobody waits for ever.
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod common;

use common::{
    Net, address, bundle, clock, dialer, eventually, fleet, minted, now, odd, options, start,
    stranger,
};
use ichor_certs::{Role as ClientRole, mint};
use ichor_simulator::pki::{Algorithm, ClientOptions, Usage};
use ichor_simulator::{Action, Bundle, Fault, NodeSpec, Role};
use ichor_talos::{Class, Credential, Dialer, DialerOptions, Kind, Stage};
use std::net::IpAddr;
use std::time::{Duration, Instant};

async fn refused(address: IpAddr, credential: &Credential) -> (Class, Kind, String) {
    let fault = dialer()
        .connect(address, credential)
        .await
        .expect_err("refused");
    (fault.class(), fault.kind(), fault.to_string())
}

#[tokio::test]
async fn a_minted_certificate_is_accepted_whatever_the_kind_of_the_ca() {
    let net = Net::take();
    for (kind, host) in [
        (Algorithm::Ed25519, 1),
        (Algorithm::Ecdsa, 2),
        (Algorithm::Rsa, 3),
    ] {
        let at = net.at(host);
        let secrets = Bundle::with_os_ca(kind).expect("bundle");
        let node = NodeSpec::member("cp-1", &at.to_string(), "prod", Role::ControlPlane);
        let yaml = secrets.yaml().expect("yaml");
        let fleet = start(vec![node.expect("node")], Some(yaml))
            .await
            .expect("fleet");
        let connection = dialer()
            .connect(at, &minted(&fleet, ClientRole::Admin))
            .await
            .expect("connected");
        assert_eq!(connection.stage().await.expect("stage"), Stage::Running);
        let own = bundle(&fleet);
        assert!(connection.peer_verified_by(own.os_ca(now()).expect("CA")));
        assert!(!connection.peer_verified_by(&stranger().0));
    }
}

/// FAULTS 15: IPv6 works everywhere an address does.
#[tokio::test]
async fn a_node_on_ipv6_is_dialled() {
    // There is one ::1, and other suites have a node there for a moment, too.
    let mut six = None;
    eventually("::1 is free", async || {
        let node = NodeSpec::member("six", "::1", "prod", Role::ControlPlane).expect("node");
        six = start(vec![node], None).await.ok();
        six.is_some()
    })
    .await;
    let fleet = six.expect("a fleet");
    let connection = dialer()
        .connect(address("::1"), &minted(&fleet, ClientRole::Admin))
        .await
        .expect("connected");
    assert_eq!(
        connection.hostname().await.expect("hostname").as_deref(),
        Some("six")
    );
}

/// `talos-api.md` section 1: a plain client sees a broken pipe in half of the tries. Every one is classed right.
#[tokio::test]
async fn the_alert_after_the_handshake_is_always_seen() {
    let fleet = fleet().await;
    let at = fleet.net.at(1);
    let soon = time::OffsetDateTime::now_utc();
    let good = ClientOptions::with_roles(&["os:admin"]);
    let (_, foreign) = stranger();
    let foreign_ca = foreign.os_ca(now()).expect("CA");
    let client = mint::mint_client(foreign_ca, ClientRole::Admin, now()).expect("minted");
    // The node's CA to verify the node by, a client certificate of another.
    let foreign = Credential::from_pem(
        fleet
            .secrets("prod")
            .and_then(ichor_simulator::Bundle::os_ca)
            .expect("CA")
            .certificate
            .as_bytes(),
        client.certificate_pem().as_bytes(),
        client.key_pem().as_bytes(),
    )
    .expect("credential");
    let cases = [
        ("another CA", foreign, Kind::ClientCa),
        (
            "two usages",
            odd(
                &fleet,
                &ClientOptions {
                    usages: vec![Usage::Server, Usage::Client],
                    ..good.clone()
                },
            ),
            Kind::ClientCertificate,
        ),
        (
            "no usage",
            odd(
                &fleet,
                &ClientOptions {
                    usages: vec![],
                    ..good.clone()
                },
            ),
            Kind::ClientCertificate,
        ),
        (
            "expired",
            odd(
                &fleet,
                &ClientOptions {
                    not_after: soon - time::Duration::minutes(1),
                    ..good.clone()
                },
            ),
            Kind::ClientCertificateTime,
        ),
        (
            "not yet valid",
            odd(
                &fleet,
                &ClientOptions {
                    not_before: soon + time::Duration::hours(1),
                    not_after: soon + time::Duration::hours(2),
                    ..good.clone()
                },
            ),
            Kind::ClientCertificateTime,
        ),
    ];
    for (what, credential, want) in &cases {
        for _ in 0..50 {
            let (class, kind, text) = refused(at, credential).await;
            assert_eq!((class, kind), (Class::Refused, *want), "{what}: {text}");
        }
    }
    for _ in 0..50 {
        let fault = dialer()
            .connect_maintenance(at, None)
            .await
            .expect_err("configured");
        assert_eq!(
            (fault.class(), fault.kind()),
            (Class::Refused, Kind::CertificateRequired)
        );
    }
    assert!(
        fleet.node("cp-1").expect("node").calls().is_empty(),
        "nothing was asked"
    );
}

/// FAULTS 28: the certificate is backdated, and where that is not enough the error names the clocks.
#[tokio::test]
async fn a_node_whose_clock_is_off_is_told_by_the_clocks() {
    let fleet = fleet().await;
    let node = fleet.node("cp-1").expect("node");
    let credential = minted(&fleet, ClientRole::Admin);

    node.set_clock_offset(-24 * 3600).await.expect("clock");
    let (class, kind, text) = refused(node.address(), &credential).await;
    assert_eq!(class, Class::Refused, "{text}");
    assert!(
        matches!(
            kind,
            Kind::ClientCertificateTime | Kind::NodeCertificateTime
        ),
        "{kind:?}"
    );

    node.set_clock_offset(-3 * 3600).await.expect("clock");
    let (class, kind, text) = refused(node.address(), &credential).await;
    assert_eq!(
        (class, kind),
        (Class::Refused, Kind::ClientCertificateTime),
        "{text}"
    );
    for part in [
        "the clock here is at",
        "valid from",
        "the node dated its own certificate from",
        "compare the clocks",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }

    node.set_clock_offset(3 * 3600).await.expect("clock");
    let (class, kind, text) = refused(node.address(), &credential).await;
    assert_eq!(
        (class, kind),
        (Class::Refused, Kind::NodeCertificateTime),
        "{text}"
    );
    assert!(text.contains("the clock here is at"), "{text}");
}

#[tokio::test]
async fn whose_certificate_it_is_decides() {
    let fleet = fleet().await;
    let credential = minted(&fleet, ClientRole::Admin);
    let (_, other) = stranger();
    let ca = other.os_ca(now()).expect("CA");
    let client = mint::mint_client(ca, ClientRole::Admin, now()).expect("minted");
    let foreign = Credential::minted(ca, &client).expect("credential");
    let (class, kind, text) = refused(fleet.net.at(1), &foreign).await;
    assert_eq!((class, kind), (Class::Refused, Kind::WrongCa), "{text}");
    let (class, kind, text) = refused(fleet.net.at(5), &credential).await;
    assert_eq!((class, kind), (Class::Refused, Kind::Maintenance), "{text}");
}

#[tokio::test]
async fn a_machine_in_maintenance_mode_is_known_by_its_fingerprint() {
    let fleet = fleet().await;
    let at = fleet.net.at(5);
    let any = dialer().connect_maintenance(at, None).await.expect("any");
    assert_eq!(any.stage().await.expect("stage"), Stage::Maintenance);
    let pin = any.fingerprint();
    assert!(pin.is_some());
    let pinned = dialer().connect_maintenance(at, pin).await.expect("pinned");
    assert_eq!(pinned.fingerprint(), pin);
    let other = dialer()
        .connect_maintenance(fleet.net.at(1), pin)
        .await
        .expect_err("another machine");
    assert_eq!(
        (other.class(), other.kind()),
        (Class::Refused, Kind::PinMismatch)
    );
    drop(fleet);
}

#[tokio::test]
async fn what_does_not_answer_is_unreachable_or_not_ready_in_time() {
    let fleet = fleet().await;
    let credential = minted(&fleet, ClientRole::Admin);
    let (class, kind, _) = refused(fleet.net.at(99), &credential).await;
    assert_eq!((class, kind), (Class::Unreachable, Kind::Connect));

    let node = fleet.node("cp-1").expect("node");
    node.fault(Fault::always(Action::CloseConnections));
    let (class, kind, _) = refused(node.address(), &credential).await;
    assert_eq!((class, kind), (Class::Unreachable, Kind::Closed));

    let node = fleet.node("cp-2").expect("node");
    node.fault(Fault::always(Action::BlackHole));
    let quick = Dialer::new(DialerOptions {
        connect_timeout: Duration::from_millis(300),
        ..options()
    });
    let began = Instant::now();
    let fault = quick
        .connect(node.address(), &credential)
        .await
        .expect_err("hangs");
    assert_eq!(
        (fault.class(), fault.kind()),
        (Class::NotReady, Kind::Deadline)
    );
    assert!(began.elapsed() < Duration::from_secs(2));
}

#[tokio::test]
async fn local_addresses_need_permission() {
    let fleet = fleet().await;
    let credential = minted(&fleet, ClientRole::Admin);
    let strict = Dialer::new(DialerOptions::new(clock()));
    for at in [
        "127.200.1.1",
        "::1",
        "169.254.1.1",
        "fe80::1",
        "::ffff:127.200.1.1",
        "224.0.0.1",
        "ff02::1",
        "0.0.0.0",
        "::",
    ] {
        let fault = strict
            .connect(address(at), &credential)
            .await
            .expect_err(at);
        assert_eq!(
            (fault.class(), fault.kind()),
            (Class::Invalid, Kind::LocalAddress),
            "{at}"
        );
        let fault = strict
            .connect_maintenance(address(at), None)
            .await
            .expect_err(at);
        assert_eq!(fault.kind(), Kind::LocalAddress, "{at}");
    }
    let fault = dialer()
        .connect(address("224.0.0.1"), &credential)
        .await
        .expect_err("multicast");
    assert_eq!(fault.kind(), Kind::LocalAddress);
}
