//! Where connections come from.

use crate::connection::Connection;
use crate::credential::Credential;
use crate::error::{Class, Kind, TalosError};
use crate::guard::{Guard, Unguarded};
use crate::handshake;
use crate::observer::{self, Observer, Unobserved};
use ichor_certs::pinned::Fingerprint;
use ichor_crds::NodeAddress;
use jiff::Timestamp;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use tracing::Instrument as _;
use tracing::field::Empty;

/// The port of the Talos API; no other is dialled (DESIGN section 5).
pub const PORT: u16 = 50000;

/// The wall clock, which certificates are checked by.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// How to dial.
#[derive(Clone)]
pub struct DialerOptions {
    /// The wall clock.
    pub clock: Clock,
    /// Until when calls may run.
    pub guard: Arc<dyn Guard>,
    /// Who is told how connections and calls end.
    pub observer: Arc<dyn Observer>,
    /// For a connection until the node has accepted it.
    pub connect_timeout: Duration,
    /// For a call.
    pub call_timeout: Duration,
    /// Whether loopback and link-local addresses are dialled (`--allow-local-addresses`, tests).
    pub allow_local_addresses: bool,
}

impl DialerOptions {
    /// The defaults: 5 s to connect, 10 s for a call, no guard, nobody who counts, no local addresses.
    pub fn new(clock: Clock) -> Self {
        Self {
            clock,
            guard: Arc::new(Unguarded),
            observer: Arc::new(Unobserved),
            connect_timeout: Duration::from_secs(5),
            call_timeout: Duration::from_secs(10),
            allow_local_addresses: false,
        }
    }
}

impl fmt::Debug for DialerOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DialerOptions")
            .field("connect_timeout", &self.connect_timeout)
            .field("call_timeout", &self.call_timeout)
            .field("allow_local_addresses", &self.allow_local_addresses)
            .finish_non_exhaustive()
    }
}

/// Dials nodes.
#[derive(Clone, Debug)]
pub struct Dialer {
    options: Arc<DialerOptions>,
}

impl Dialer {
    /// A dialer with these options.
    pub fn new(options: DialerOptions) -> Self {
        Self {
            options: Arc::new(options),
        }
    }

    /// Connects to a configured node over mutual TLS. When it returns, the node has accepted the client
    /// certificate, and its own certificate verified with the credential's CA for this address.
    pub async fn connect(
        &self,
        address: IpAddr,
        credential: &Credential,
    ) -> Result<Connection, TalosError> {
        self.allowed(address)?;
        let dial = handshake::configured(&self.options, address, credential);
        self.observed(address, "mutual TLS", dial).await
    }

    /// Connects to a machine in maintenance mode, which shows a certificate that no CA vouches for: any, or only
    /// the pinned one. [`Connection::fingerprint`] says which it was.
    pub async fn connect_maintenance(
        &self,
        address: IpAddr,
        pin: Option<Fingerprint>,
    ) -> Result<Connection, TalosError> {
        self.allowed(address)?;
        let dial = handshake::maintenance(&self.options, address, pin);
        self.observed(address, "maintenance", dial).await
    }

    /// A span around the handshake, and how it ended.
    async fn observed<T>(
        &self,
        address: IpAddr,
        mode: &'static str,
        dial: impl Future<Output = Result<T, TalosError>>,
    ) -> Result<T, TalosError> {
        let span = tracing::info_span!("talos dial", %address, mode, class = Empty, otel.status_code = Empty);
        let begun = Instant::now();
        let outcome = dial.instrument(span.clone()).await;
        let class = observer::tell(&span, outcome.as_ref().err());
        self.options.observer.dial(class, begun.elapsed());
        outcome
    }

    fn allowed(&self, address: IpAddr) -> Result<(), TalosError> {
        let refuse = |why: &str| {
            Err(TalosError::new(
                address,
                Class::Invalid,
                Kind::LocalAddress,
                format!("{address} is not dialled: {why}"),
            ))
        };
        let ip = address.to_canonical();
        if ip.is_multicast() || ip.is_unspecified() {
            return refuse("it is not the address of one machine");
        }
        if NodeAddress::from(ip).is_local() && !self.options.allow_local_addresses {
            return refuse(
                "it is a loopback or link-local address; --allow-local-addresses permits them",
            );
        }
        Ok(())
    }
}
