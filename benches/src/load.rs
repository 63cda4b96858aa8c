//! The generator of load: HTTP/2 over TLS 1.3 as an API server speaks it.
//!
//! Without a rate it is a closed loop: every stream sends its next review when the last is answered, which finds the
//! peak. With a rate it is an open loop: reviews leave at equal distances whatever the server does, and a latency
//! begins when its review was due, so that a server that stalls is charged for all that waited behind it.

use crate::figures::{per_second, quantile};
use crate::review;
use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use http::{Request, StatusCode, Uri};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;

/// The name the API server calls the webhook by.
pub const HOST: &str = "ichor-webhook.ichor-system.svc";
/// Connections, and streams on each of them in the closed loop.
const CONNECTIONS: usize = 8;
const STREAMS: usize = 4;
/// Before anything is counted.
const WARM_UP: Duration = Duration::from_millis(300);

#[derive(clap::Args)]
pub struct Args {
    #[arg(long)]
    addr: SocketAddr,
    /// CA of the server, PEM.
    #[arg(long)]
    ca: PathBuf,
    /// Path of the webhook.
    #[arg(long)]
    path: String,
    /// Milliseconds to measure.
    #[arg(long)]
    millis: u64,
    /// Reviews a second; as many as are answered without it.
    #[arg(long)]
    rate: Option<f64>,
}

/// How reviews were answered.
#[derive(Debug, Deserialize, Serialize)]
pub struct Answered {
    /// Answers in all, those of the warm-up included.
    pub total: usize,
    /// Answers a second, without the warm-up.
    pub rate: f64,
    /// Half of them were faster.
    pub p50: Duration,
    /// All but one of a hundred were faster.
    pub p99: Duration,
}

/// A connection and what is sent on it.
#[derive(Clone)]
struct Client {
    sender: SendRequest<Full<Bytes>>,
    uri: Uri,
    body: Bytes,
}

/// Sends, and prints an [`Answered`].
pub async fn load(args: Args) -> Result<()> {
    let tls = connector(&args.ca)?;
    let uri: Uri = format!("https://{HOST}{}", args.path).parse()?;
    let body = Bytes::from(review::body(&args.path));
    let mut clients = Vec::new();
    for _ in 0..CONNECTIONS {
        let sender = connect(args.addr, &tls).await?;
        clients.push(Client {
            sender,
            uri: uri.clone(),
            body: body.clone(),
        });
    }
    let begin = Instant::now() + WARM_UP;
    let end = begin + Duration::from_millis(args.millis);
    let answers = match args.rate {
        None => closed(&clients, end).await?,
        Some(rate) => open(&clients, Duration::from_secs_f64(1.0 / rate), end).await?,
    };
    let mut counted: Vec<Duration> = answers
        .iter()
        .filter(|answer| answer.due >= begin && answer.due < end)
        .map(|answer| answer.took)
        .collect();
    counted.sort_unstable();
    let answered = Answered {
        total: answers.len(),
        rate: per_second(counted.len(), end - begin),
        p50: quantile(&counted, 500),
        p99: quantile(&counted, 990),
    };
    println!("{}", serde_json::to_string(&answered)?);
    Ok(())
}

/// One answer: when the review was due, and how long after that it was answered.
struct Answer {
    due: Instant,
    took: Duration,
}

async fn closed(clients: &[Client], end: Instant) -> Result<Vec<Answer>> {
    let mut streams = JoinSet::new();
    for client in clients.iter().flat_map(|client| [client; STREAMS]) {
        let mut client = client.clone();
        streams.spawn(async move {
            let mut answers = Vec::new();
            while Instant::now() < end {
                answers.push(client.ask(Instant::now()).await?);
            }
            anyhow::Ok(answers)
        });
    }
    let mut all = Vec::new();
    while let Some(answers) = streams.join_next().await {
        all.append(&mut answers??);
    }
    Ok(all)
}

async fn open(clients: &[Client], distance: Duration, end: Instant) -> Result<Vec<Answer>> {
    let mut reviews = JoinSet::new();
    let mut all = Vec::new();
    let mut due = Instant::now();
    for client in clients.iter().cycle() {
        // A timer of the runtime is a millisecond coarse, which is more than an answer takes: look at the clock
        // instead. Each turn also serves the sockets.
        while Instant::now() < due {
            tokio::task::yield_now().await;
        }
        if due >= end {
            break;
        }
        let mut client = client.clone();
        reviews.spawn(async move { client.ask(due).await });
        due += distance;
        while let Some(answer) = reviews.try_join_next() {
            all.push(answer??);
        }
    }
    while let Some(answer) = reviews.join_next().await {
        all.push(answer??);
    }
    Ok(all)
}

impl Client {
    /// Sends one review and makes sure that it is allowed.
    async fn ask(&mut self, due: Instant) -> Result<Answer> {
        let request = Request::post(self.uri.clone())
            .header(http::header::CONTENT_TYPE, "application/json")
            .body(Full::new(self.body.clone()))?;
        let answer = self.sender.send_request(request).await?;
        let status = answer.status();
        let body = answer.into_body().collect().await?.to_bytes();
        let took = due.elapsed();
        let yes = br#""allowed":true"#;
        ensure!(
            status == StatusCode::OK && body.windows(yes.len()).any(|part| part == yes),
            "a review was answered with {status} {}",
            String::from_utf8_lossy(&body)
        );
        Ok(Answer { due, took })
    }
}

fn connector(ca: &Path) -> Result<TlsConnector> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(ca).context("read the CA")?)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}

async fn connect(addr: SocketAddr, tls: &TlsConnector) -> Result<SendRequest<Full<Bytes>>> {
    let stream = TcpStream::connect(addr).await?;
    stream.set_nodelay(true)?;
    let stream = tls.connect(ServerName::try_from(HOST)?, stream).await?;
    let (sender, connection) = handshake(TokioExecutor::new(), TokioIo::new(stream)).await?;
    // It ends with its sender; what goes wrong on it, every request of it reports.
    tokio::spawn(connection);
    Ok(sender)
}
