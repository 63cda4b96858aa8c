//! A handshake with the webhook as an API server has it: by the `caBundle`, and by the name of the Service.

use anyhow::{Context, Result};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::time_provider::TimeProvider;
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// Name by which API servers call the webhook.
pub const NAME: &str = "ichor-webhook.ichor-system.svc";

/// What a client trusts and shows.
#[derive(Clone, Debug, Default)]
pub struct Trusts {
    /// CAs, PEM.
    pub bundle: Vec<u8>,
    /// How many seconds its wall clock is ahead.
    pub ahead: i64,
    /// TLS 1.2 instead of 1.3.
    pub old: bool,
}

#[derive(Debug)]
struct Ahead(i64);

impl TimeProvider for Ahead {
    fn current_time(&self) -> Option<UnixTime> {
        let now = UnixTime::now().as_secs().checked_add_signed(self.0)?;
        Some(UnixTime::since_unix_epoch(Duration::from_secs(now)))
    }
}

/// Shakes hands; gives the connection and the leaf that was shown (DER).
pub async fn shake(
    webhook: SocketAddr,
    trusts: &Trusts,
    alpn: &str,
) -> Result<(TlsStream<TcpStream>, Vec<u8>)> {
    let mut roots = RootCertStore::empty();
    for ca in CertificateDer::pem_slice_iter(&trusts.bundle) {
        roots.add(ca?)?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let versions: &[&'static SupportedProtocolVersion] = if trusts.old {
        &[&rustls::version::TLS12]
    } else {
        &[&rustls::version::TLS13]
    };
    let clock = Arc::new(Ahead(trusts.ahead));
    let mut config = ClientConfig::builder_with_details(provider, clock)
        .with_protocol_versions(versions)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![alpn.as_bytes().to_vec()];
    let stream = TcpStream::connect(webhook).await?;
    stream.set_nodelay(true)?;
    let stream = TlsConnector::from(Arc::new(config))
        .connect(ServerName::try_from(NAME)?, stream)
        .await?;
    let shown = stream.get_ref().1.peer_certificates();
    let leaf = shown.and_then(|chain| chain.first()).context("no leaf")?;
    let leaf = leaf.to_vec();
    Ok((stream, leaf))
}
