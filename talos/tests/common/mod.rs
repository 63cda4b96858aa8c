//! A fleet of simulated nodes and a dialer for it. Each test has addresses of its own.
#![allow(dead_code, reason = "each test binary uses its part")]

use ichor_certs::{CertificateAuthority, Role as ClientRole, SecretsBundle, mint};
use ichor_simulator::pki::ClientOptions;
use ichor_simulator::{ClusterSpec, Fleet, FleetSpec, NodeSpec, Role};
use ichor_talos::{Clock, Credential, Dialer, DialerOptions, PORT};
use jiff::Timestamp;
use std::net::{IpAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
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

/// Addresses that only this test has: other suites run beside it on the one port of Talos. The last one of the /24 is
/// held as long as this lives.
pub struct Net {
    prefix: [u8; 2],
    _held: TcpListener,
}

impl Net {
    pub fn take() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        loop {
            let next = std::process::id()
                .wrapping_mul(31)
                .wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
            let [.., high, low] = next.to_be_bytes();
            let prefix = [200 + high % 50, low];
            let last = IpAddr::from([127, prefix[0], prefix[1], 254]);
            if let Ok(held) = TcpListener::bind((last, PORT)) {
                return Self {
                    prefix,
                    _held: held,
                };
            }
        }
    }

    pub fn at(&self, host: u8) -> IpAddr {
        IpAddr::from([127, self.prefix[0], self.prefix[1], host])
    }
}

/// A fleet and its addresses.
pub struct Ground {
    pub fleet: Fleet,
    pub net: Net,
}

impl std::ops::Deref for Ground {
    type Target = Fleet;

    fn deref(&self) -> &Fleet {
        &self.fleet
    }
}

/// Three control planes at .1 to .3, a worker at .4 and a machine in maintenance mode at .5.
pub async fn fleet() -> Ground {
    let net = Net::take();
    let at = |host: u8| net.at(host).to_string();
    let member =
        |name: &str, host, role| NodeSpec::member(name, &at(host), "prod", role).expect(name);
    let nodes = vec![
        member("cp-1", 1, Role::ControlPlane),
        member("cp-2", 2, Role::ControlPlane),
        member("cp-3", 3, Role::ControlPlane),
        member("worker-1", 4, Role::Worker),
        NodeSpec::maintenance("new-1", &at(5)).expect("new-1"),
    ];
    let fleet = start(nodes, None).await.expect("a fleet");
    Ground { fleet, net }
}

/// A fleet of one cluster, `prod`.
pub async fn start(nodes: Vec<NodeSpec>, bundle: Option<String>) -> Result<Fleet, String> {
    let clusters = vec![ClusterSpec {
        name: "prod".into(),
        bundle,
        ..ClusterSpec::default()
    }];
    Fleet::start(FleetSpec {
        clusters,
        nodes,
        ..FleetSpec::default()
    })
    .await
    .map_err(|fault| format!("{fault:#}"))
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
    let deadline = tokio::time::Instant::now() + Duration::from_mins(1);
    while !is_so().await {
        assert!(tokio::time::Instant::now() < deadline, "never: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
