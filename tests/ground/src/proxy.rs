//! A proxy between the controller and its API server, at which a test can count, delay or cut what the
//! controller writes: the crash matrix of DESIGN section 16 kills the controller before and after each.

use crate::ControlPlane;
use anyhow::{Context, Result};
use futures::future::BoxFuture;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, combinators::UnsyncBoxBody};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use kube::client::Body;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

/// When a request is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// The API server does not have it yet.
    Before,
    /// The API server has answered; the controller does not know.
    After,
}

/// A request on its way.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Before or after the API server.
    pub when: When,
    /// Method.
    pub method: Method,
    /// Path with query.
    pub path: String,
}

impl Seen {
    /// Whether the request changes something of the cluster that outlives the process: leases and events
    /// come by the clock and reviews store nothing, so killing at them says nothing new.
    pub fn is_step(&self) -> bool {
        let writes =
            [Method::POST, Method::PUT, Method::PATCH, Method::DELETE].contains(&self.method);
        let noise = ["/leases", "/events", "reviews"];
        writes && !noise.iter().any(|part| self.path.contains(part))
    }
}

/// What a test does at each request; the request waits until it is done.
pub type Gate = Arc<dyn Fn(Seen) -> BoxFuture<'static, ()> + Send + Sync>;

/// A running proxy.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Proxy {
    /// Starts a proxy in front of `plane` that shows every request to `gate`.
    pub async fn start(plane: &ControlPlane, gate: Gate) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let acceptor = acceptor(plane, address)?;
        let client = upstream(plane)?;
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, client, gate) = (acceptor.clone(), client.clone(), gate.clone());
                tokio::spawn(async move {
                    let Ok(stream) = acceptor.accept(stream).await else {
                        return;
                    };
                    let service =
                        service_fn(move |request| forward(client.clone(), gate.clone(), request));
                    // A connection that breaks is the controller's end or the test's: nothing to report.
                    auto::Builder::new(TokioExecutor::new())
                        .serve_connection(TokioIo::new(stream), service)
                        .await
                        .ok();
                });
            }
        });
        Ok(Self { address, task })
    }

    /// Its URL, for `ControllerOptions::server`.
    pub fn url(&self) -> String {
        format!("https://{}", self.address)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

type Failure = Box<dyn std::error::Error + Send + Sync>;
type Answer = Response<UnsyncBoxBody<Bytes, Failure>>;

async fn forward(
    client: kube::Client,
    gate: Gate,
    request: Request<Incoming>,
) -> Result<Answer, Infallible> {
    let path = request
        .uri()
        .path_and_query()
        .map_or_else(|| "/".to_owned(), ToString::to_string);
    let seen = |when| Seen {
        when,
        method: request.method().clone(),
        path: path.clone(),
    };
    let (before, after) = (seen(When::Before), seen(When::After));
    gate(before).await;
    let (mut parts, body) = request.into_parts();
    // Requests are small and whole; only answers (watches) have to be streamed.
    let Ok(body) = body.collect().await else {
        return Ok(bad_gateway("the request broke off"));
    };
    parts.uri = path.parse().unwrap_or_default();
    parts.version = http::Version::default();
    parts.headers.remove(http::header::HOST);
    let request = Request::from_parts(parts, Body::from(body.to_bytes().to_vec()));
    let answer = client.send(request).await;
    gate(after).await;
    Ok(match answer {
        Ok(answer) => answer.map(|body| body.map_err(Failure::from).boxed_unsync()),
        Err(error) => bad_gateway(&error.to_string()),
    })
}

fn bad_gateway(why: &str) -> Answer {
    let text = http_body_util::Full::new(Bytes::from(why.to_owned()));
    let mut answer = Response::new(text.map_err(|never| match never {}).boxed_unsync());
    *answer.status_mut() = StatusCode::BAD_GATEWAY;
    answer
}

fn acceptor(plane: &ControlPlane, address: SocketAddr) -> Result<TlsAcceptor> {
    let pair = plane.ca.server(address.ip(), "localhost")?;
    let certificate = CertificateDer::from_pem_slice(pair.certificate.as_bytes())
        .context("read the proxy's certificate")?;
    let key = PrivateKeyDer::from_pem_slice(pair.key.as_bytes()).context("read the proxy's key")?;
    rustls::crypto::ring::default_provider()
        .install_default()
        .ok();
    let mut config = rustls::ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// A client without credentials of its own: each request carries the controller's.
fn upstream(plane: &ControlPlane) -> Result<kube::Client> {
    let certificate =
        CertificateDer::from_pem_slice(plane.ca.certificate.as_bytes()).context("read the CA")?;
    let mut config = kube::Config::new(plane.url().parse()?);
    config.root_cert = Some(vec![certificate.to_vec()]);
    Ok(kube::Client::try_from(config)?)
}
