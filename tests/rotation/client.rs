//! A client of the webhook that trusts what an API server would: the stored `caBundle`, and the Service's name.

use crate::fleet::NAME;
use anyhow::{Context, Result, bail};
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::time_provider::TimeProvider;
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

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

/// Shakes hands; gives the connection and the leaf that was shown.
pub async fn shake(
    webhook: SocketAddr,
    trusts: &Trusts,
    alpn: &str,
) -> Result<(TlsStream<TcpStream>, Vec<u8>)> {
    let mut roots = RootCertStore::empty();
    for ca in ichor_certs::keys::certificates(&trusts.bundle) {
        roots.add(CertificateDer::from(ca))?;
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
    let name = ServerName::try_from(NAME)?;
    let stream = TlsConnector::from(Arc::new(config))
        .connect(name, stream)
        .await?;
    let shown = stream.get_ref().1.peer_certificates();
    let leaf = shown.and_then(|chain| chain.first()).context("no leaf")?;
    let leaf = leaf.to_vec();
    Ok((stream, leaf))
}

enum Sender {
    One(http1::SendRequest<Full<Bytes>>),
    Two(http2::SendRequest<Full<Bytes>>),
}

/// One connection to the webhook.
pub struct Connection {
    sender: Sender,
    /// The leaf that was shown, DER.
    pub leaf: Vec<u8>,
}

impl Connection {
    pub async fn open(webhook: SocketAddr, trusts: &Trusts, alpn: &str) -> Result<Self> {
        let (stream, leaf) = shake(webhook, trusts, alpn).await?;
        let io = TokioIo::new(stream);
        let sender = if alpn == "h2" {
            let (sender, connection) = http2::handshake(TokioExecutor::new(), io).await?;
            tokio::spawn(connection);
            Sender::Two(sender)
        } else {
            let (sender, connection) = http1::handshake(io).await?;
            tokio::spawn(connection);
            Sender::One(sender)
        };
        Ok(Self { sender, leaf })
    }

    /// Sends a review; fails unless it is admitted. False when the server had told this connection to go before the
    /// review was sent: it belongs on another one.
    pub async fn review(&mut self, path: &str, body: &Bytes) -> Result<bool> {
        let request = Request::post(format!("https://{NAME}{path}"))
            .header("host", NAME)
            .header("content-type", "application/json")
            .body(Full::new(body.clone()))?;
        let sent = match &mut self.sender {
            Sender::One(sender) => match sender.ready().await {
                Ok(()) => sender.try_send_request(request).await,
                Err(_) => return Ok(false),
            },
            Sender::Two(sender) => match sender.ready().await {
                Ok(()) => sender.try_send_request(request).await,
                Err(_) => return Ok(false),
            },
        };
        let answer = match sent {
            Ok(answer) => answer,
            Err(mut failed) => match failed.take_message() {
                Some(_) => return Ok(false),
                None => return Err(failed.into_error().into()),
            },
        };
        let status = answer.status();
        let answer = answer.into_body().collect().await?.to_bytes();
        let review: serde_json::Value = serde_json::from_slice(&answer)?;
        if status != StatusCode::OK || review["response"]["allowed"] != true {
            bail!("{status}: {review}");
        }
        Ok(true)
    }
}
