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
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::watch;
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
    /// What is sent.
    pub body: Bytes,
}

impl Seen {
    /// Whether the request changes something of the cluster that outlives the process. Renewals of leases and events
    /// come by the clock and reviews store nothing, so killing at them says nothing new; taking a disruption lock and
    /// letting go of it does.
    pub fn is_step(&self) -> bool {
        let writes =
            [Method::POST, Method::PUT, Method::PATCH, Method::DELETE].contains(&self.method);
        let noise = ["/events", "reviews"];
        writes
            && !noise.iter().any(|part| self.path.contains(part))
            && (!self.path.contains("/leases") || self.takes_or_leaves_a_lock())
    }

    /// Whether the request only renews or takes the leader's lease.
    pub fn is_leader_lease(&self) -> bool {
        self.method != Method::GET && self.path.contains("/leases") && self.lease_name() == LEADER
    }

    fn takes_or_leaves_a_lock(&self) -> bool {
        let lease = self.json();
        let spec = &lease["spec"];
        let holder = spec["holderIdentity"].as_str().unwrap_or_default();
        self.lease_name() != LEADER
            && (holder.is_empty() || spec["acquireTime"] == spec["renewTime"])
    }

    fn lease_name(&self) -> String {
        let lease = self.json();
        let name = lease["metadata"]["name"].as_str();
        name.unwrap_or_default().to_owned()
    }

    /// What is sent, as JSON; `null` where it is none.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// What the request does, for people: without the names, which change from run to run.
    pub fn label(&self) -> String {
        let path = self.path.split('?').next().unwrap_or_default();
        let mut segments = path
            .split('/')
            .filter(|segment| !segment.is_empty())
            .peekable();
        let skip = if segments.next() == Some("api") { 1 } else { 2 };
        let mut rest: Vec<&str> = segments.skip(skip).collect();
        if rest.first() == Some(&"namespaces") && rest.len() > 2 {
            rest.drain(..2);
        }
        let resource = rest.first().copied().unwrap_or_default();
        let sub = rest.get(2).map(|sub| format!("/{sub}")).unwrap_or_default();
        let phase = self.json()["status"]["phase"]
            .as_str()
            .map(|phase| format!(" ({phase})"));
        format!(
            "{} {resource}{sub}{}",
            self.method,
            phase.unwrap_or_default()
        )
    }
}

/// Name of the leader's Lease.
const LEADER: &str = "ichor-controller";

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It goes on.
    Pass,
    /// It is answered with this status code instead, as a Kubernetes Status.
    Answer(u16),
    /// Every part of the answer comes so much later, as to a cache that lags.
    Lag(Duration),
    /// No part of the answer's body ever comes, nor its end: a dead connection.
    Swallow,
}

/// What a test does at each request; the request waits until it is done. The verdict before the API server counts.
pub type Gate = Arc<dyn Fn(Seen) -> BoxFuture<'static, Verdict> + Send + Sync>;

/// A running proxy.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    cuts: watch::Sender<()>,
    task: JoinHandle<()>,
}

impl Proxy {
    /// Starts a proxy in front of `plane` that shows every request to `gate`.
    pub async fn start(plane: &ControlPlane, gate: Gate) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let acceptor = acceptor(plane, address)?;
        let client = upstream(plane)?;
        let (cuts, cut) = watch::channel(());
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, client, gate) = (acceptor.clone(), client.clone(), gate.clone());
                let mut cut = cut.clone();
                cut.mark_unchanged();
                tokio::spawn(async move {
                    let Ok(stream) = acceptor.accept(stream).await else {
                        return;
                    };
                    let service =
                        service_fn(move |request| forward(client.clone(), gate.clone(), request));
                    // A connection that breaks is the controller's end or the test's: nothing to report.
                    let builder = auto::Builder::new(TokioExecutor::new());
                    tokio::select! {
                        _ = builder.serve_connection(TokioIo::new(stream), service) => {}
                        _ = cut.changed() => {}
                    }
                });
            }
        });
        Ok(Self {
            address,
            cuts,
            task,
        })
    }

    /// Cuts every connection, watches among them; new ones are taken.
    pub fn cut(&self) {
        self.cuts.send_replace(());
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
    let (mut parts, body) = request.into_parts();
    // Requests are small and whole; only answers (watches) have to be streamed.
    let Ok(body) = body.collect().await else {
        return Ok(bad_gateway("the request broke off"));
    };
    let body = body.to_bytes();
    let seen = |when| Seen {
        when,
        method: parts.method.clone(),
        path: path.clone(),
        body: body.clone(),
    };
    let (before, after) = (seen(When::Before), seen(When::After));
    let verdict = gate(before).await;
    if let Verdict::Answer(code) = verdict {
        return Ok(status(code));
    }
    parts.uri = path.parse().unwrap_or_default();
    parts.version = http::Version::default();
    parts.headers.remove(http::header::HOST);
    let request = Request::from_parts(parts, Body::from(body.to_vec()));
    let answer = client.send(request).await;
    gate(after).await;
    Ok(match answer {
        Ok(answer) => answer.map(|body| {
            let body = body.map_err(Failure::from).boxed_unsync();
            match verdict {
                Verdict::Lag(lag) => late(body, lag),
                Verdict::Swallow => silent(),
                Verdict::Pass | Verdict::Answer(_) => body,
            }
        }),
        Err(error) => bad_gateway(&error.to_string()),
    })
}

/// The same body, each frame `lag` after it came.
fn late(mut body: UnsyncBoxBody<Bytes, Failure>, lag: Duration) -> UnsyncBoxBody<Bytes, Failure> {
    let (sender, receiver) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        loop {
            let frame = tokio::select! {
                frame = body.frame() => frame,
                () = sender.closed() => return,
            };
            let Some(frame) = frame else { return };
            if sender
                .send((tokio::time::Instant::now() + lag, frame))
                .is_err()
            {
                return;
            }
        }
    });
    let frames = futures::stream::unfold(receiver, |mut receiver| async move {
        let (due, frame) = receiver.recv().await?;
        tokio::time::sleep_until(due).await;
        Some((frame, receiver))
    });
    http_body_util::StreamBody::new(frames).boxed_unsync()
}

fn silent() -> UnsyncBoxBody<Bytes, Failure> {
    http_body_util::StreamBody::new(futures::stream::pending()).boxed_unsync()
}

fn bad_gateway(why: &str) -> Answer {
    respond(StatusCode::BAD_GATEWAY, why.to_owned())
}

/// An answer such as the API server gives when it refuses.
fn status(code: u16) -> Answer {
    let reason = if code == 410 {
        "Expired"
    } else {
        "InternalError"
    };
    let text = serde_json::json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "answered by the test", "reason": reason, "code": code,
    });
    let code = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    respond(code, text.to_string())
}

fn respond(code: StatusCode, text: String) -> Answer {
    let text = http_body_util::Full::new(Bytes::from(text));
    let mut answer = Response::new(text.map_err(|never| match never {}).boxed_unsync());
    *answer.status_mut() = code;
    let json = http::HeaderValue::from_static("application/json");
    answer
        .headers_mut()
        .insert(http::header::CONTENT_TYPE, json);
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn seen(method: Method, path: &str, body: &serde_json::Value) -> Seen {
        Seen {
            when: When::Before,
            method,
            path: path.to_owned(),
            body: body.to_string().into(),
        }
    }

    #[test]
    fn steps_are_what_outlives_the_process() {
        let leases = "/apis/coordination.k8s.io/v1/namespaces/ichor-system/leases";
        let lease = |name: &str, holder: Option<&str>, renewed: &str| {
            json!({"metadata": {"name": name},
                "spec": {"holderIdentity": holder, "acquireTime": "a", "renewTime": renewed}})
        };
        let lock = "ichor-disruption-prod";
        for (what, request, want) in [
            (
                "a read",
                seen(Method::GET, "/api/v1/nodes/a", &json!(null)),
                false,
            ),
            (
                "a delete",
                seen(Method::DELETE, "/api/v1/nodes/a", &json!({})),
                true,
            ),
            (
                "an Event",
                seen(
                    Method::POST,
                    "/apis/events.k8s.io/v1/namespaces/a/events",
                    &json!({}),
                ),
                false,
            ),
            (
                "taking a lock",
                seen(Method::POST, leases, &lease(lock, Some("me"), "a")),
                true,
            ),
            (
                "renewing it",
                seen(Method::PUT, leases, &lease(lock, Some("me"), "b")),
                false,
            ),
            (
                "letting go of it",
                seen(Method::PUT, leases, &lease(lock, None, "b")),
                true,
            ),
            (
                "leading",
                seen(Method::PUT, leases, &lease(LEADER, Some("me"), "a")),
                false,
            ),
        ] {
            assert_eq!(request.is_step(), want, "{what}");
        }
    }

    #[test]
    fn labels_have_no_names() {
        let path =
            "/apis/ichor.maesh.dev/v1alpha1/namespaces/ichor-system/machinereclaims/x7/status?a=b";
        let status = json!({"status": {"phase": "Resetting"}});
        let label = seen(Method::PUT, path, &status).label();
        assert_eq!(label, "PUT machinereclaims/status (Resetting)");
        let label = seen(Method::DELETE, "/api/v1/nodes/a", &json!({})).label();
        assert_eq!(label, "DELETE nodes");
    }
}
