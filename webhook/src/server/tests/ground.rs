//! A server on loopback, a CA, and clients that trust it.

use crate::server::{ClientAuthorities, ServeError, ServeOptions, serve, server_config};
use crate::{Metrics, server};
use axum::Router;
use axum::routing::post;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use prometheus_client::registry::Registry;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_util::sync::CancellationToken;

/// How long a test waits for what has to happen.
const PATIENCE: Duration = Duration::from_secs(20);

/// Times long enough that a test which does not look at them never meets them.
pub(super) fn options() -> ServeOptions {
    ServeOptions {
        handshake_timeout: PATIENCE,
        header_timeout: PATIENCE,
        drain_timeout: PATIENCE,
        ..ServeOptions::default()
    }
}

struct Authority {
    der: CertificateDer<'static>,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Self {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(Vec::new()).expect("parameters");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let der = params.self_signed(&key).expect("a CA").der().clone();
        Self {
            der,
            issuer: Issuer::new(params, key),
        }
    }

    fn issue(&self) -> (CertificateDer<'static>, PrivateKeyDer<'static>) {
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new(vec!["localhost".to_owned()]).expect("parameters");
        let leaf = params.signed_by(&key, &self.issuer).expect("a leaf");
        let key = PrivateKeyDer::try_from(key.serialize_der()).expect("a key");
        (leaf.der().clone(), key)
    }

    fn roots(&self) -> RootCertStore {
        let mut roots = RootCertStore::empty();
        roots.add(self.der.clone()).expect("a CA");
        roots
    }
}

#[derive(Debug)]
struct Swappable(Mutex<Arc<CertifiedKey>>);

impl ResolvesServerCert for Swappable {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.lock().expect("a certificate").clone())
    }
}

fn certified(authority: &Authority) -> Arc<CertifiedKey> {
    let (leaf, key) = authority.issue();
    let provider = rustls::crypto::ring::default_provider();
    Arc::new(CertifiedKey::from_der(vec![leaf], key, &provider).expect("a certified key"))
}

pub(super) struct Ground {
    pub(super) address: SocketAddr,
    pub(super) shutdown: CancellationToken,
    authority: Authority,
    certificate: Arc<Swappable>,
    clients: Option<Arc<ClientAuthorities>>,
    registry: Registry,
    server: JoinHandle<Result<(), ServeError>>,
    /// Lets the requests to `/held` go on.
    pub(super) release: CancellationToken,
    /// Cancelled when a request to `/held` was begun.
    pub(super) begun: CancellationToken,
    /// Cancelled when a request to `/read` is reading its body.
    pub(super) reading: CancellationToken,
}

impl Ground {
    pub(super) async fn start(options: ServeOptions) -> Self {
        Self::launch(options, None).await
    }

    /// Lets in the clients of its own CA that have one of these names.
    pub(super) async fn start_with_client_ca(options: ServeOptions, names: &[&str]) -> Self {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        let clients = Arc::new(ClientAuthorities::named(names));
        let ground = Self::launch(options, Some(clients)).await;
        let own = vec![ground.authority.der.to_vec()];
        ground.trust_clients(own).expect("a CA");
        ground
    }

    async fn launch(options: ServeOptions, clients: Option<Arc<ClientAuthorities>>) -> Self {
        let authority = Authority::new();
        let certificate = Arc::new(Swappable(Mutex::new(certified(&authority))));
        let tls = server_config(certificate.clone(), clients.clone()).expect("a configuration");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let shutdown = CancellationToken::new();
        let release = CancellationToken::new();
        let begun = CancellationToken::new();
        let reading = CancellationToken::new();
        let (reached, held, reads) = (begun.clone(), release.clone(), reading.clone());
        let router = Router::new()
            .route("/fast", post(|| async { "done" }))
            .route(
                "/read",
                post(move |body: axum::body::Body| async move {
                    reads.cancel();
                    body.collect()
                        .await
                        .map_or(0, |body| body.to_bytes().len())
                        .to_string()
                }),
            )
            .route(
                "/held",
                post(move || async move {
                    reached.cancel();
                    held.cancelled().await;
                }),
            );
        let mut registry = Registry::default();
        let metrics = Metrics::register(&mut registry);
        let server = serve(listener, tls, router, options, metrics, shutdown.clone());
        let server = tokio::spawn(server);
        Self {
            address,
            shutdown,
            authority,
            certificate,
            clients,
            registry,
            server,
            release,
            begun,
            reading,
        }
    }

    /// Lets in the clients of these CAs (DER) from now on.
    pub(super) fn trust_clients(
        &self,
        authorities: Vec<Vec<u8>>,
    ) -> Result<bool, server::TlsError> {
        let clients = self.clients.as_ref().expect("a client CA");
        clients.replace(authorities)
    }

    /// A CA of somebody else, DER.
    pub(super) fn stranger() -> Vec<u8> {
        Authority::new().der.to_vec()
    }

    pub(super) fn renew(&self) {
        *self.certificate.0.lock().expect("a certificate") = certified(&self.authority);
    }

    /// A client's certificate of the same CA.
    pub(super) fn client(&self) -> (CertificateDer<'static>, PrivateKeyDer<'static>) {
        self.authority.issue()
    }

    pub(super) async fn connect(&self, alpn: &str) -> io::Result<TlsStream<TcpStream>> {
        self.connect_with(&[&rustls::version::TLS13], alpn, None)
            .await
    }

    pub(super) async fn connect_with(
        &self,
        versions: &[&'static SupportedProtocolVersion],
        alpn: &str,
        client: Option<(CertificateDer<'static>, PrivateKeyDer<'static>)>,
    ) -> io::Result<TlsStream<TcpStream>> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(versions)
            .expect("versions")
            .with_root_certificates(self.authority.roots());
        let mut config = match client {
            Some((leaf, key)) => builder
                .with_client_auth_cert(vec![leaf], key)
                .expect("a client"),
            None => builder.with_no_client_auth(),
        };
        config.alpn_protocols = vec![alpn.as_bytes().to_vec()];
        let stream = TcpStream::connect(self.address).await?;
        let name = ServerName::try_from("localhost").expect("a name");
        let shaken = TlsConnector::from(Arc::new(config)).connect(name, stream);
        tokio::time::timeout(PATIENCE, shaken)
            .await
            .expect("a handshake in time")
    }

    /// Whether a client gets an answer. In TLS 1.3 a refusal comes after the client's half of the handshake: only a
    /// request shows it.
    pub(super) async fn is_served(
        &self,
        versions: &[&'static SupportedProtocolVersion],
        client: Option<(CertificateDer<'static>, PrivateKeyDer<'static>)>,
    ) -> bool {
        let Ok(stream) = self.connect_with(versions, "h2", client).await else {
            return false;
        };
        match Client::try_over(stream).await {
            Ok(mut client) => client.post("/fast").await.is_ok(),
            Err(_) => false,
        }
    }

    /// Waits until the metrics contain `line`.
    pub(super) async fn eventually(&self, line: &str) {
        let seen = async {
            loop {
                let mut text = String::new();
                prometheus_client::encoding::text::encode(&mut text, &self.registry)
                    .expect("metrics");
                if text.contains(line) {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(PATIENCE, seen).await.expect(line);
    }

    /// Shuts the server down and waits for its end.
    pub(super) async fn stop(self) -> Result<(), server::ServeError> {
        self.shutdown.cancel();
        self.ended().await
    }

    pub(super) async fn ended(self) -> Result<(), server::ServeError> {
        let ended = tokio::time::timeout(PATIENCE, self.server).await;
        ended
            .expect("the server ends in time")
            .expect("the server does not panic")
    }
}

/// The certificate that the server showed.
pub(super) fn leaf(stream: &TlsStream<TcpStream>) -> Vec<u8> {
    let shown = stream
        .get_ref()
        .1
        .peer_certificates()
        .expect("certificates");
    shown.first().expect("a leaf").to_vec()
}

enum Sender {
    One(http1::SendRequest<Empty<bytes::Bytes>>),
    Two(http2::SendRequest<Empty<bytes::Bytes>>),
}

/// One connection of a client.
pub(super) struct Client {
    sender: Sender,
    connection: JoinHandle<hyper::Result<()>>,
}

impl Client {
    pub(super) async fn over(stream: TlsStream<TcpStream>) -> Self {
        Self::try_over(stream).await.expect("a connection")
    }

    pub(super) async fn try_over(stream: TlsStream<TcpStream>) -> hyper::Result<Self> {
        let two = stream.get_ref().1.alpn_protocol() == Some(b"h2");
        let io = TokioIo::new(stream);
        if two {
            let (sender, connection) = http2::handshake(TokioExecutor::new(), io).await?;
            let connection = tokio::spawn(connection);
            return Ok(Self {
                sender: Sender::Two(sender),
                connection,
            });
        }
        let (sender, connection) = http1::handshake(io).await?;
        let connection = tokio::spawn(connection);
        Ok(Self {
            sender: Sender::One(sender),
            connection,
        })
    }

    /// Posts nothing to `path` and reads the whole answer.
    pub(super) async fn post(&mut self, path: &str) -> hyper::Result<StatusCode> {
        let request = Request::post(path)
            .header("host", "localhost")
            .body(Empty::new())
            .expect("a request");
        let answer = match &mut self.sender {
            Sender::One(sender) => {
                sender.ready().await?;
                sender.send_request(request).await?
            }
            Sender::Two(sender) => {
                sender.ready().await?;
                sender.send_request(request).await?
            }
        };
        let status = answer.status();
        answer.into_body().collect().await?;
        Ok(status)
    }

    /// Waits until the server has closed the connection; `true` when it did so in an orderly way.
    pub(super) async fn ended(&mut self) -> bool {
        let ended = tokio::time::timeout(PATIENCE, &mut self.connection).await;
        ended
            .expect("the connection ends in time")
            .expect("no panic")
            .is_ok()
    }
}
