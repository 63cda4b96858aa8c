//! A bare gRPC client over TLS, so that the tests see what goes over the wire and nothing a client library adds.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, dead_code)]

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper_util::rt::{TokioExecutor, TokioIo};
use prost::Message;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring::default_provider;
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use ichor_simulator::pki::Leaf;

/// How a call ended.
#[derive(Debug, Clone)]
pub struct Outcome {
    pub code: i32,
    pub message: String,
    pub messages: Vec<Bytes>,
    /// The deadline came first.
    pub deadline: bool,
}

pub struct Client {
    sender: SendRequest<Full<Bytes>>,
    pub peer: Vec<u8>,
}

/// What a caller shows and trusts.
#[derive(Clone, Default)]
pub struct Caller {
    pub certificate: Option<(String, String)>,
    /// PEM of the CA the server must have; none means nothing is verified.
    pub ca: Option<String>,
}

impl Caller {
    pub fn anonymous() -> Self {
        Self::default()
    }

    pub fn with(leaf: &Leaf, ca: Option<String>) -> Self {
        Self {
            certificate: Some((leaf.certificate.clone(), signing_pkcs8(&leaf.key))),
            ca,
        }
    }
}

/// Rustls reads the standard label only.
fn signing_pkcs8(key: &str) -> String {
    let pair = ichor_simulator::pki::signing_key(key).unwrap();
    pair.serialize_pem()
}

pub fn der(pem: &str) -> CertificateDer<'static> {
    pem::parse(pem).unwrap().into_contents().into()
}

pub fn config(caller: &Caller) -> ClientConfig {
    config_of(caller, &rustls::version::TLS13)
}

/// A client that only speaks TLS 1.2.
pub fn config_tls12(caller: &Caller) -> ClientConfig {
    config_of(caller, &rustls::version::TLS12)
}

fn config_of(caller: &Caller, version: &'static rustls::SupportedProtocolVersion) -> ClientConfig {
    let provider = Arc::new(default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&[version])
        .unwrap();
    let builder = match &caller.ca {
        Some(ca) => {
            let mut roots = RootCertStore::empty();
            roots.add(der(ca)).unwrap();
            builder.with_root_certificates(roots)
        }
        None => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Blind(provider))),
    };
    let mut config = match &caller.certificate {
        Some((certificate, key)) => {
            let key = PrivateKeyDer::Pkcs8(pem::parse(key).unwrap().into_contents().into());
            builder
                .with_client_auth_cert(vec![der(certificate)], key)
                .unwrap()
        }
        None => builder.with_no_client_auth(),
    };
    config.alpn_protocols = vec![b"h2".to_vec()];
    config
}

impl Client {
    pub async fn connect(address: SocketAddr, caller: &Caller) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        let name = ServerName::from(address.ip());
        let stream = TlsConnector::from(Arc::new(config(caller)))
            .connect(name, stream)
            .await?;
        let peer = stream.get_ref().1.peer_certificates().unwrap()[0].to_vec();
        let (sender, connection) = handshake(TokioExecutor::new(), TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        Ok(Self { sender, peer })
    }

    pub async fn call(
        &mut self,
        path: &str,
        message: &impl Message,
        deadline: Duration,
    ) -> anyhow::Result<Outcome> {
        self.raw(path, message.encode_to_vec(), &[], deadline).await
    }

    pub async fn raw(
        &mut self,
        path: &str,
        message: Vec<u8>,
        metadata: &[(String, String)],
        deadline: Duration,
    ) -> anyhow::Result<Outcome> {
        self.stream(path, message, metadata, deadline, None).await
    }

    /// As `raw`; once `enough` messages came, only a moment more is waited for.
    pub async fn stream(
        &mut self,
        path: &str,
        message: Vec<u8>,
        metadata: &[(String, String)],
        deadline: Duration,
        enough: Option<usize>,
    ) -> anyhow::Result<Outcome> {
        let mut frame = BytesMut::new();
        frame.put_u8(0);
        frame.put_u32(u32::try_from(message.len())?);
        frame.extend_from_slice(&message);
        let mut request = Request::post(format!("http://node{path}"))
            .header("content-type", "application/grpc")
            .header("te", "trailers");
        for (key, value) in metadata {
            request = request.header(key, value);
        }
        let request = request.body(Full::new(frame.freeze()))?;
        let ends = tokio::time::Instant::now() + deadline;
        self.sender.ready().await?;
        let response = match tokio::time::timeout_at(ends, self.sender.send_request(request)).await
        {
            Ok(response) => response?,
            Err(_) => {
                return Ok(Outcome {
                    code: 4,
                    message: String::new(),
                    messages: Vec::new(),
                    deadline: true,
                });
            }
        };
        read(response, ends, enough).await
    }
}

async fn read(
    response: Response<Incoming>,
    mut ends: tokio::time::Instant,
    enough: Option<usize>,
) -> anyhow::Result<Outcome> {
    let (head, mut body) = response.into_parts();
    let mut buffer = BytesMut::new();
    let mut trailers = head.headers;
    let mut deadline = false;
    let mut messages = Vec::new();
    loop {
        match tokio::time::timeout_at(ends, body.frame()).await {
            Err(_) => {
                deadline = true;
                break;
            }
            Ok(None) => break,
            Ok(Some(frame)) => {
                let frame = frame?;
                if let Some(data) = frame.data_ref() {
                    buffer.extend_from_slice(data);
                    unframe(&mut buffer, &mut messages);
                    if enough == Some(messages.len()) {
                        ends = ends.min(tokio::time::Instant::now() + Duration::from_millis(100));
                    }
                } else if let Ok(found) = frame.into_trailers() {
                    trailers = found;
                }
            }
        }
    }
    if deadline {
        return Ok(Outcome {
            code: 4,
            message: String::new(),
            messages,
            deadline,
        });
    }
    let text = |key: &str| {
        trailers
            .get(key)
            .map(|value| value.to_str().unwrap().to_owned())
            .unwrap_or_default()
    };
    let code = text("grpc-status").parse()?;
    Ok(Outcome {
        code,
        message: percent_decode(&text("grpc-message")),
        messages,
        deadline,
    })
}

fn unframe(buffer: &mut BytesMut, messages: &mut Vec<Bytes>) {
    while buffer.len() >= 5 {
        let length = u32::from_be_bytes([buffer[1], buffer[2], buffer[3], buffer[4]]) as usize;
        if buffer.len() < 5 + length {
            return;
        }
        let mut frame = buffer.split_to(5 + length);
        messages.push(frame.split_off(5).freeze());
    }
}

fn percent_decode(text: &str) -> String {
    let mut out = Vec::new();
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let hex = [bytes.next().unwrap(), bytes.next().unwrap()];
            out.push(u8::from_str_radix(std::str::from_utf8(&hex).unwrap(), 16).unwrap());
        } else {
            out.push(byte);
        }
    }
    String::from_utf8(out).unwrap()
}

/// The leaf a server shows; what it thinks of the client does not matter.
pub async fn peer(address: SocketAddr) -> anyhow::Result<Vec<u8>> {
    let stream = TcpStream::connect(address).await?;
    let name = ServerName::from(address.ip());
    let stream = TlsConnector::from(Arc::new(config(&Caller::anonymous())))
        .connect(name, stream)
        .await?;
    Ok(stream.get_ref().1.peer_certificates().unwrap()[0].to_vec())
}

/// Polls until the condition holds.
pub async fn eventually(what: &str, mut condition: impl AsyncFnMut() -> bool) {
    let ends = tokio::time::Instant::now() + Duration::from_mins(1);
    while !condition().await {
        assert!(
            tokio::time::Instant::now() < ends,
            "{what}: did not come within a minute"
        );
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[derive(Debug)]
struct Blind(Arc<rustls::crypto::CryptoProvider>);

impl ServerCertVerifier for Blind {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Err(rustls::Error::General("TLS 1.2".to_owned()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls13_signature(
            message,
            certificate,
            signature,
            &self.0.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
