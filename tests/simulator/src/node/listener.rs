//! Port 50000: accepts, shakes hands with what the machine serves at that moment, hands connections to gRPC.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::{Context, Result};
use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use super::{Node, tls};
use crate::calls::Action;
use crate::lock;
use crate::serve::{Connection, serve};

impl Node {
    /// Begins to listen with the TLS face that fits the state. Ends what listened before.
    pub(crate) async fn api_up(self: &Arc<Self>) -> Result<()> {
        self.api_down();
        self.renew_tls()?;
        let address = SocketAddr::new(self.read(|state| state.address), self.machine.port);
        let listener = bind(address).await?;
        let token = self.shared.root.child_token();
        *lock(&self.api) = token.clone();
        self.change(|state| state.serving = true);
        let node = Arc::clone(self);
        tokio::spawn(async move {
            let accepting = accept(&node, listener, &token);
            tokio::select! {
                () = token.cancelled() => {}
                () = accepting => {}
            }
        });
        Ok(())
    }

    /// Stops listening and drops every connection.
    pub(crate) fn api_down(&self) {
        lock(&self.api).cancel();
        self.change(|state| state.serving = false);
    }

    /// Makes a new key and leaf; connections that exist go on with the old one.
    pub(crate) fn renew_tls(&self) -> Result<()> {
        let config = Arc::new(self.tls_config()?);
        *lock(&self.tls) = Some(config);
        Ok(())
    }

    fn tls_config(&self) -> Result<ServerConfig> {
        let (names, now, offset, config, maintenance_ca) = self.read(|state| {
            let extra = state
                .config
                .as_ref()
                .map(|config| config.cert_sans.clone())
                .unwrap_or_default();
            let names = tls::Names {
                hostname: state.hostname(&self.machine),
                address: state.address,
                extra,
            };
            (
                names,
                state.now(),
                state.clock_offset,
                state.config.clone(),
                state.maintenance_ca.clone(),
            )
        });
        let Some(config) = config else {
            let authority = maintenance_ca.context("no maintenance CA was made at boot")?;
            return tls::maintenance(&tls::maintenance_leaf(&authority, &names, now)?);
        };
        let authority = self
            .shared
            .signer_for(&config)
            .context("no control plane signs this worker's certificate yet")?;
        tls::configured(
            &tls::configured_leaf(&authority, &names, now)?,
            &config.accepted_cas,
            offset,
        )
    }
}

/// Binds, waiting a moment for a port that is just being closed.
async fn bind(address: SocketAddr) -> Result<TcpListener> {
    let mut last = None;
    for _ in 0..50 {
        match TcpListener::bind(address).await {
            Ok(listener) => return Ok(listener),
            Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => last = Some(error),
            Err(error) => return Err(error).with_context(|| format!("listening on {address}")),
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Err(anyhow::anyhow!(
        "listening on {address}: {}",
        last.map(|error| error.to_string()).unwrap_or_default()
    ))
}

async fn accept(node: &Arc<Node>, listener: TcpListener, api: &CancellationToken) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            continue;
        };
        let Some(config) = lock(&node.tls).clone() else {
            continue;
        };
        let token = api.child_token();
        let connection = handshake(Arc::clone(node), stream, config, token.clone());
        tokio::spawn(async move {
            tokio::select! {
                () = token.cancelled() => {}
                () = connection => {}
            }
        });
    }
}

async fn handshake(
    node: Arc<Node>,
    stream: TcpStream,
    config: Arc<ServerConfig>,
    token: CancellationToken,
) {
    match node.ledger.connection() {
        Some(Action::BlackHole) => return token.cancelled().await,
        Some(_) => return,
        None => {}
    }
    if stream.set_nodelay(true).is_err() {
        return;
    }
    let Ok(stream) = TlsAcceptor::from(config).accept(stream).await else {
        return;
    };
    let certificate = stream
        .get_ref()
        .1
        .peer_certificates()
        .and_then(<[_]>::first);
    let subject = certificate
        .map(|der| tls::organizations(der))
        .unwrap_or_default();
    let mutual = certificate.is_some();
    let number = node.connections.fetch_add(1, Ordering::Relaxed) + 1;
    serve(
        stream,
        Connection {
            node,
            subject,
            mutual,
            number,
            token,
        },
    )
    .await;
}
