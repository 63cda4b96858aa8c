//! A fleet of simulated nodes and a dialer for it. Each test has addresses of its own.
#![allow(dead_code, reason = "each test binary uses its part")]

use ichor_certs::{CertificateAuthority, Role as ClientRole, SecretsBundle, mint};
use ichor_simulator::pki::ClientOptions;
use ichor_simulator::{ClusterSpec, Fleet, FleetSpec, NodeSpec, Role};
use ichor_talos::{Clock, Credential, Dialer, DialerOptions};
use jiff::Timestamp;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

#[allow(
    clippy::disallowed_methods,
    reason = "the simulator judges by the system's clock"
)]
pub fn now() -> Timestamp {
    Timestamp::now()
}

pub fn clock() -> Clock {
    Arc::new(now)
}

pub fn options() -> DialerOptions {
    DialerOptions {
        allow_local_addresses: true,
        connect_timeout: Duration::from_secs(3),
        call_timeout: Duration::from_secs(3),
        ..DialerOptions::new(clock())
    }
}

pub fn dialer() -> Dialer {
    Dialer::new(options())
}

/// Three control planes at .1 to .3, a worker at .4 and a machine in maintenance mode at .5 of 127.`net`.0.0/16.
pub async fn fleet(net: &str) -> Fleet {
    let at = |host: u8| format!("{net}.{host}");
    let member =
        |name: &str, host, role| NodeSpec::member(name, &at(host), "prod", role).expect(name);
    Fleet::start(FleetSpec {
        clusters: vec![ClusterSpec {
            name: "prod".into(),
            ..ClusterSpec::default()
        }],
        nodes: vec![
            member("cp-1", 1, Role::ControlPlane),
            member("cp-2", 2, Role::ControlPlane),
            member("cp-3", 3, Role::ControlPlane),
            member("worker-1", 4, Role::Worker),
            NodeSpec::maintenance("new-1", &at(5)).expect("new-1"),
        ],
        ..FleetSpec::default()
    })
    .await
    .expect("a fleet")
}

pub fn bundle(fleet: &Fleet) -> SecretsBundle {
    let text = fleet.bundle("prod").expect("bundle");
    SecretsBundle::parse(text.as_bytes()).expect("parses")
}

/// A credential minted from the fleet's bundle.
pub fn minted(fleet: &Fleet, role: ClientRole) -> Credential {
    let bundle = bundle(fleet);
    let ca = bundle.os_ca(now()).expect("CA");
    let client = mint::mint_client(ca, role, now()).expect("minted");
    Credential::minted(ca, &client).expect("credential")
}

/// A credential of the fleet's CA with a certificate made to be wrong in some way.
pub fn odd(fleet: &Fleet, options: &ClientOptions) -> Credential {
    let secrets = fleet.secrets("prod").expect("secrets");
    let leaf = secrets.client(options).expect("leaf");
    let ca = secrets.os_ca().expect("CA").certificate;
    Credential::from_pem(
        ca.as_bytes(),
        leaf.certificate.as_bytes(),
        leaf.key.as_bytes(),
    )
    .expect("credential")
}

/// A CA that no node trusts, and a credential made from it.
pub fn stranger() -> (CertificateAuthority, SecretsBundle) {
    let text = ichor_simulator::Bundle::generate()
        .and_then(|b| b.yaml())
        .expect("bundle");
    let bundle = SecretsBundle::parse(text.as_bytes()).expect("parses");
    let again = ichor_simulator::Bundle::generate()
        .and_then(|b| b.os_ca())
        .expect("CA");
    let ca = CertificateAuthority::from_pem(again.certificate.as_bytes(), again.key.as_bytes())
        .expect("CA");
    (ca, bundle)
}

pub fn address(text: &str) -> IpAddr {
    text.parse().expect(text)
}

/// Waits until something is so, and fails loudly when it never is.
pub async fn eventually(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let deadline = tokio::time::Instant::now() + Duration::from_secs(20);
    while !is_so().await {
        assert!(tokio::time::Instant::now() < deadline, "never: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
