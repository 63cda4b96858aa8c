//! One TCP connection, one TLS handshake, and the certainty that the node accepted us.
//!
//! In TLS 1.3 a node judges the client certificate after the client believes the handshake is done. Its alert then
//! races with whatever the client writes: about half the time a plain client sees a broken pipe instead
//! (`talos-api.md` section 1). An HTTP/2 server sends its preface first and by itself, so nothing is written here
//! until the node's first byte is there: either that byte, or the alert. Where the connection ends with neither, it
//! is dialled again a few times; nothing has been asked of the node yet, so that is safe for every later call.

mod judge;

use crate::class;
use crate::connection::{Connection, Stream};
use crate::credential::Credential;
use crate::dialer::{DialerOptions, PORT};
use crate::error::{Class, Kind, TalosError};
use crate::guard::{self, Cut};
use crate::tls::{self, SeenLeaf};
use ichor_certs::pinned::Fingerprint;
use judge::Dialled;
use rustls::ClientConfig;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::TcpStream;
use tokio::time::Instant;
use tokio_rustls::TlsConnector;

/// How often a connection that ended without a word is dialled again.
const ATTEMPTS: usize = 6;
/// Between such attempts.
const PAUSE: Duration = Duration::from_millis(20);
/// Bytes of the node that are read before HTTP/2 takes over.
const READ_BUFFER: usize = 16 * 1024;

/// Connects to a configured node.
pub(crate) async fn configured(
    options: &Arc<DialerOptions>,
    address: IpAddr,
    credential: &Credential,
) -> Result<Connection, TalosError> {
    let dialled = Dialled {
        address,
        now: (options.clock)(),
        credential: Some(credential),
    };
    connect(options, &dialled, |seen| {
        tls::configured(credential, &options.clock, seen)
    })
    .await
}

/// Connects to a machine in maintenance mode.
pub(crate) async fn maintenance(
    options: &Arc<DialerOptions>,
    address: IpAddr,
    pin: Option<Fingerprint>,
) -> Result<Connection, TalosError> {
    let dialled = Dialled {
        address,
        now: (options.clock)(),
        credential: None,
    };
    connect(options, &dialled, |seen| {
        tls::maintenance(pin, &options.clock, seen)
    })
    .await
}

async fn connect<F>(
    options: &Arc<DialerOptions>,
    dialled: &Dialled<'_>,
    config: F,
) -> Result<Connection, TalosError>
where
    F: Fn(&SeenLeaf) -> Result<ClientConfig, rustls::Error>,
{
    let address = dialled.address;
    let deadline = Instant::now() + options.connect_timeout;
    // The attempts end by their own deadline; this one only cuts them off where the lease ends first.
    // On the heap: TLS state is large, and every caller's future would carry it.
    let attempts = Box::pin(attempts(options, dialled, config, deadline));
    match guard::within(options.guard.as_ref(), deadline + PAUSE, attempts).await {
        Ok(connected) => connected,
        Err(Cut::Lease) => Err(class::lease_lost(address)),
        Err(Cut::Own) => Err(dialled.deadline(true, options.connect_timeout)),
    }
}

async fn attempts<F>(
    options: &Arc<DialerOptions>,
    dialled: &Dialled<'_>,
    config: F,
    deadline: Instant,
) -> Result<Connection, TalosError>
where
    F: Fn(&SeenLeaf) -> Result<ClientConfig, rustls::Error>,
{
    let address = dialled.address;
    let mut last = None;
    for attempt in 0..ATTEMPTS {
        if attempt > 0 {
            tokio::time::sleep_until(deadline.min(Instant::now() + PAUSE)).await;
        }
        let seen = SeenLeaf::default();
        let config = config(&seen).map_err(|fault| dialled.handshake(&fault, &seen))?;
        match open(dialled, config, &seen, deadline).await {
            Ok(stream) => {
                let leaf = seen.get().cloned().ok_or_else(|| dialled.no_leaf())?;
                return Connection::start(options, address, stream, leaf, deadline).await;
            }
            Err(Ended::Explained(fault)) => return Err(fault),
            Err(Ended::Silently(fault)) => last = Some(fault),
            Err(Ended::Deadline { accepted }) => {
                return Err(dialled.deadline(accepted, options.connect_timeout));
            }
        }
    }
    Err(dialled.silent(last.as_ref()))
}

/// How an attempt ended that gave no connection.
enum Ended {
    /// With a reason.
    Explained(TalosError),
    /// The connection broke after the node's certificate was accepted here, and nobody said why.
    Silently(io::Error),
    /// The deadline passed, before or after TCP was connected.
    Deadline { accepted: bool },
}

async fn open(
    dialled: &Dialled<'_>,
    config: ClientConfig,
    seen: &SeenLeaf,
    deadline: Instant,
) -> Result<Stream, Ended> {
    let address = dialled.address;
    let target = SocketAddr::new(address, PORT);
    let late = |accepted| move |_| Ended::Deadline { accepted };
    let tcp = tokio::time::timeout_at(deadline, TcpStream::connect(target))
        .await
        .map_err(late(false))?
        .map_err(|fault| Ended::Explained(dialled.tcp(&fault)))?;
    // Small frames that wait for an answer each: Nagle's algorithm only adds time. Failing is harmless.
    tcp.set_nodelay(true).ok();
    let connector = TlsConnector::from(Arc::new(config));
    let stream =
        tokio::time::timeout_at(deadline, connector.connect(tls::server_name(address), tcp))
            .await
            .map_err(late(true))?
            .map_err(|fault| dialled.ended(fault, seen))?;
    let mut stream = BufReader::with_capacity(READ_BUFFER, stream);
    let first = tokio::time::timeout_at(deadline, stream.fill_buf())
        .await
        .map_err(late(true))?
        .map_err(|fault| dialled.ended(fault, seen))?;
    if first.is_empty() {
        return Err(Ended::Silently(io::ErrorKind::UnexpectedEof.into()));
    }
    Ok(stream)
}

impl Dialled<'_> {
    fn ended(&self, fault: io::Error, seen: &SeenLeaf) -> Ended {
        let tls = fault
            .get_ref()
            .and_then(|inner| inner.downcast_ref::<rustls::Error>());
        match tls {
            Some(reason) => Ended::Explained(self.handshake(reason, seen)),
            // Before the node showed its certificate nothing of ours was judged: it just went away.
            None if seen.get().is_none() => Ended::Explained(
                TalosError::new(
                    self.address,
                    Class::Unreachable,
                    Kind::Closed,
                    format!(
                        "{} closed the connection during the TLS handshake",
                        self.address
                    ),
                )
                .with_remote(fault.to_string()),
            ),
            None => Ended::Silently(fault),
        }
    }
}
