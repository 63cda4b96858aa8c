//! One HTTP/2 connection to one node.

use crate::class;
use crate::dialer::DialerOptions;
use crate::error::{Class, Kind, TalosError};
use crate::guard::{self, Cut};
use crate::observer;
use crate::tls;
use http::{Request, Response, Uri};
use hyper::body::Incoming;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use ichor_certs::CertificateAuthority;
use ichor_certs::pinned::Fingerprint;
use rustls::RootCertStore;
use rustls_pki_types::CertificateDer;
use std::error::Error as StdError;
use std::fmt;
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::BufReader;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_rustls::client::TlsStream;
use tonic::body::Body;
use tonic::{Code, Status};
use tracing::Instrument as _;
use tracing::field::Empty;

/// Largest message Talos sends (`talos-api.md` section 1).
pub(crate) const MESSAGE_LIMIT: usize = 32 * 1024 * 1024;

/// TLS with the first bytes of the node already read.
pub(crate) type Stream = BufReader<TlsStream<TcpStream>>;

/// One connection to one node: the same machine from the first call to the last. It never reconnects and never
/// repeats a call (DESIGN section 6); when it breaks, every further call fails with [`Class::Unreachable`].
#[derive(Clone)]
pub struct Connection(Arc<Inner>);

struct Inner {
    address: IpAddr,
    origin: Uri,
    leaf: CertificateDer<'static>,
    options: Arc<DialerOptions>,
    wire: Wire,
    driver: Driver,
    failed: AtomicBool,
}

/// The task that moves the connection's bytes; it ends with the connection.
struct Driver(JoinHandle<()>);

impl Drop for Driver {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Connection {
    /// Begins HTTP/2 on a stream that the node has accepted.
    pub(crate) async fn start(
        options: &Arc<DialerOptions>,
        address: IpAddr,
        stream: Stream,
        leaf: CertificateDer<'static>,
        deadline: Instant,
    ) -> Result<Self, TalosError> {
        let closed = |text: String| {
            TalosError::new(
                address,
                Class::Unreachable,
                Kind::Closed,
                format!("{address} closed the connection before HTTP/2 began"),
            )
            .with_remote(text)
        };
        let handshake = http2::handshake(TokioExecutor::new(), TokioIo::new(stream));
        let (send, connection) = tokio::time::timeout_at(deadline, handshake)
            .await
            .map_err(|_| closed("deadline".to_owned()))?
            .map_err(|fault| closed(fault.to_string()))?;
        let driver = Driver(tokio::spawn(async move {
            // Its end is seen by the calls; the reason alone is worth a line.
            if let Err(fault) = connection.await {
                tracing::debug!(%address, %fault, "connection ended");
            }
        }));
        let origin = format!("https://{}", SocketAddr::new(address, crate::dialer::PORT))
            .parse()
            .map_err(|fault: http::uri::InvalidUri| closed(fault.to_string()))?;
        Ok(Self(Arc::new(Inner {
            address,
            origin,
            leaf,
            options: Arc::clone(options),
            wire: Wire(send),
            driver,
            failed: AtomicBool::new(false),
        })))
    }

    /// The address that was dialled.
    pub fn address(&self) -> IpAddr {
        self.0.address
    }

    /// The certificate the node showed.
    pub fn peer_certificate(&self) -> &CertificateDer<'static> {
        &self.0.leaf
    }

    /// Fingerprint of the certificate the node showed.
    pub fn fingerprint(&self) -> Option<Fingerprint> {
        Fingerprint::of_certificate(&self.0.leaf)
    }

    /// Whether the certificate this node proved to hold comes from `ca` and is for the address that was dialled:
    /// only then the node counts as that cluster's, whatever it claims (DESIGN section 5).
    pub fn peer_verified_by(&self, ca: &CertificateAuthority) -> bool {
        let mut roots = RootCertStore::empty();
        let now = (self.0.options.clock)();
        roots.add(ca.certificate_der().clone()).is_ok()
            && tls::verifies(&self.0.leaf, roots, self.0.address, now)
    }

    /// Whether further calls can succeed: the connection stands and no call died on it.
    pub fn is_usable(&self) -> bool {
        !self.0.failed.load(Ordering::Relaxed)
            && !self.0.wire.0.is_closed()
            && !self.0.driver.0.is_finished()
    }

    /// The time a call of usual length may take.
    pub(crate) fn usual(&self) -> Duration {
        self.0.options.call_timeout
    }

    pub(crate) fn wire(&self) -> Wire {
        self.0.wire.clone()
    }

    pub(crate) fn origin(&self) -> Uri {
        self.0.origin.clone()
    }

    /// Runs one call under its deadline and the guard's, in a span of its own. Nothing is sent once the lease is over,
    /// and what is under way then is broken off.
    pub(crate) async fn call<T, F>(
        &self,
        method: &'static str,
        limit: Duration,
        call: F,
    ) -> Result<T, TalosError>
    where
        F: Future<Output = Result<T, Status>>,
    {
        let address = self.0.address;
        let span = tracing::info_span!("talos call", %address, method, class = Empty, otel.status_code = Empty);
        let begun = Instant::now();
        // On the heap: many callers make several calls, and their futures would carry all of it.
        let work = Box::pin(self.bounded(method, limit, call));
        let outcome = work.instrument(span.clone()).await;
        let class = observer::tell(&span, outcome.as_ref().err());
        self.0.options.observer.call(method, class, begun.elapsed());
        outcome
    }

    async fn bounded<T, F>(
        &self,
        method: &'static str,
        limit: Duration,
        call: F,
    ) -> Result<T, TalosError>
    where
        F: Future<Output = Result<T, Status>>,
    {
        let address = self.0.address;
        let guard = self.0.options.guard.as_ref();
        let now = Instant::now();
        let lease = guard.deadline().map_err(|_| class::lease_lost(address))?;
        if Instant::from_std(lease) <= now {
            return Err(class::lease_lost(address));
        }
        let error = match guard::within(guard, now + limit, call).await {
            Ok(Ok(answer)) => {
                tracing::debug!(%address, method, "call answered");
                return Ok(answer);
            }
            Ok(Err(status)) => class::status(address, method, &status),
            Err(Cut::Lease) => class::lease_lost(address).outcome_unknown(),
            Err(Cut::Own) => {
                class::status(address, method, &Status::new(Code::DeadlineExceeded, ""))
            }
        };
        if matches!(
            error.kind(),
            Kind::Closed | Kind::Deadline | Kind::LeaseLost
        ) {
            self.0.failed.store(true, Ordering::Relaxed);
        }
        tracing::debug!(%address, method, class = ?error.class(), remote = error.remote_text(), "call failed");
        Err(error)
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("address", &self.0.address)
            .finish_non_exhaustive()
    }
}

/// Sends requests over the one connection.
#[derive(Clone)]
pub(crate) struct Wire(http2::SendRequest<Body>);

/// A request that got no answer.
#[derive(Debug)]
pub(crate) enum WireError {
    /// The connection had ended before the request was put on it.
    NotSent(hyper::Error),
    /// The connection ended after.
    Sent(hyper::Error),
}

impl WireError {
    pub(crate) fn was_sent(&self) -> bool {
        matches!(self, Self::Sent(_))
    }
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::NotSent(fault) | Self::Sent(fault)) = self;
        fault.fmt(f)
    }
}

impl StdError for WireError {}

impl tower::Service<Request<Body>> for Wire {
    type Response = Response<Incoming>;
    type Error = WireError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, WireError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), WireError>> {
        // A closed connection is told by the call itself, with the certainty that nothing was sent.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let sending = self.0.try_send_request(request);
        Box::pin(async move {
            sending.await.map_err(|mut fault| {
                if fault.take_message().is_some() {
                    WireError::NotSent(fault.into_error())
                } else {
                    WireError::Sent(fault.into_error())
                }
            })
        })
    }
}
