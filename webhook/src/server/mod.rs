//! The TLS server. `axum::serve` with a TLS listener shakes hands inside accept, so that one silent client
//! blocks everyone; here a handshake has its own task and its own time.
//!
//! On shutdown the listener goes on for a grace period (API servers learn late that an endpoint is gone), in which
//! answers over HTTP/1.1 say `Connection: close`; then it stops, every HTTP/2 connection is told to go (GOAWAY), all
//! finish what they have begun, and are cut off at the end of the drain time.

mod accept;
mod activity;
mod client_ca;
mod connection;
mod guests;
#[cfg(test)]
mod tests;
mod tls;

pub use client_ca::ClientAuthorities;
pub use tls::{TlsError, server_config};

use crate::Metrics;
use axum::Router;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// Times and limits of the server.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// Connections open at once, those that shake hands included. When one more comes, one that asks nothing has to go.
    pub max_connections: usize,
    /// How long a TLS handshake may take.
    pub handshake_timeout: Duration,
    /// How long the head of a request may take, and the first request after the handshake.
    pub header_timeout: Duration,
    /// How long the body of a request may be on its way, before its connection has to go when another one comes.
    pub body_patience: Duration,
    /// How long a connection may stay without a request before it is asked to close.
    pub idle_timeout: Duration,
    /// How long new connections are still accepted after the shutdown signal.
    pub shutdown_grace: Duration,
    /// How long connections may take to finish once they were told to go.
    pub drain_timeout: Duration,
}

impl Default for ServeOptions {
    fn default() -> Self {
        Self {
            max_connections: 256,
            handshake_timeout: Duration::from_secs(5),
            header_timeout: Duration::from_secs(10),
            body_patience: Duration::from_secs(1),
            idle_timeout: Duration::from_mins(5),
            shutdown_grace: Duration::ZERO,
            drain_timeout: Duration::from_secs(10),
        }
    }
}

/// Why the server ended before it was told to.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// A task of a connection panicked: a bug, and no reason to go on half alive (STYLE rule 11).
    #[error("the task of a connection panicked: {0}")]
    Connection(tokio::task::JoinError),
}

/// What every connection shares.
struct Shared {
    tls: tokio_rustls::TlsAcceptor,
    router: Router,
    options: ServeOptions,
    metrics: Metrics,
    /// Cancelled when the process is to end.
    leaving: CancellationToken,
    /// Cancelled when connections shall finish.
    draining: CancellationToken,
}

/// Serves `router` on `listener` until `shutdown` is cancelled and the connections are drained.
///
/// `tls` is a configuration of [`server_config`]; its certificate resolver may change what it serves at
/// any time, and open connections are not touched by it.
pub async fn serve(
    listener: TcpListener,
    tls: Arc<rustls::ServerConfig>,
    router: Router,
    options: ServeOptions,
    metrics: Metrics,
    shutdown: CancellationToken,
) -> Result<(), ServeError> {
    let guests = guests::Guests::new(options.max_connections, options.body_patience);
    let shared = Arc::new(Shared {
        tls: tokio_rustls::TlsAcceptor::from(tls),
        router,
        options,
        metrics,
        leaving: shutdown.clone(),
        draining: CancellationToken::new(),
    });
    let mut connections = JoinSet::new();
    let stop = async {
        shutdown.cancelled().await;
        tokio::time::sleep(shared.options.shutdown_grace).await;
    };
    let ended = accept::accept(&listener, &guests, &shared, &mut connections, stop).await;
    drop(listener);
    shared.draining.cancel();
    let drained = accept::drain(&mut connections, shared.options.drain_timeout).await;
    ended.and(drained)
}
