//! Connections to a server under load, as an API server makes them.

use anyhow::{Context, Result};
use bytes::Bytes;
use http::{Request, Uri, header};
use hyper::body::Body;
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use std::error::Error;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// The name the API server calls the webhook by.
pub const HOST: &str = "ichor-webhook.ichor-system.svc";

/// Which server, and how it is known.
#[derive(Clone, Debug, clap::Args)]
pub struct Target {
    /// Where it listens.
    #[arg(long)]
    pub addr: SocketAddr,
    /// CA of the server, PEM.
    #[arg(long)]
    ca: PathBuf,
}

/// Makes connections.
#[derive(Clone)]
pub struct Dialler {
    addr: SocketAddr,
    roots: Arc<rustls::RootCertStore>,
}

impl Dialler {
    /// For the server `target`.
    pub fn new(target: &Target) -> Result<Self> {
        Ok(Self {
            addr: target.addr,
            roots: Arc::new(roots(&target.ca)?),
        })
    }

    /// A connection without TLS.
    pub async fn tcp(&self) -> Result<TcpStream> {
        let stream = TcpStream::connect(self.addr).await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    /// A connection that agreed on `protocol`.
    pub async fn tls(&self, protocol: &[u8]) -> Result<TlsStream<TcpStream>> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = rustls::ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .with_root_certificates(self.roots.clone())
            .with_no_client_auth();
        config.alpn_protocols = vec![protocol.to_vec()];
        // Each is a client of its own, which has nothing to resume.
        config.resumption = rustls::client::Resumption::disabled();
        let connector = TlsConnector::from(Arc::new(config));
        let stream = self.tcp().await?;
        Ok(connector
            .connect(ServerName::try_from(HOST)?, stream)
            .await?)
    }

    /// An HTTP/2 connection, and the task that ends with it.
    pub async fn http2<B>(&self) -> Result<(SendRequest<B>, JoinHandle<()>)>
    where
        B: Body<Data = Bytes> + Send + Unpin + 'static,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        let stream = self.tls(b"h2").await?;
        let (sender, connection) = handshake(TokioExecutor::new(), TokioIo::new(stream)).await?;
        // What goes wrong on it, every request of it reports.
        Ok((
            sender,
            tokio::spawn(async { connection.await.unwrap_or(()) }),
        ))
    }
}

/// A POST of a review to `uri`.
pub fn post<B>(uri: Uri, body: B) -> Result<Request<B>> {
    let post = Request::post(uri).header(header::CONTENT_TYPE, "application/json");
    Ok(post.body(body)?)
}

/// The address of the webhook at `path`.
pub fn uri(path: &str) -> Result<Uri> {
    Ok(format!("https://{HOST}{path}").parse()?)
}

fn roots(ca: &Path) -> Result<rustls::RootCertStore> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(ca).context("read the CA")?)?;
    Ok(roots)
}
