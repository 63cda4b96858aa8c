//! One connection: handshake, requests, end.

use super::Shared;
use super::activity::Use;
use super::guests::Guest;
use http::header::CONNECTION;
use http::{HeaderValue, Request};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::Instant;
use tokio_rustls::server::TlsStream;

/// Requests of one connection at once; the API server opens another connection where it needs more.
const MAX_STREAMS: u32 = 256;
/// Bytes of one request in flight before it is read.
const STREAM_WINDOW: u32 = 256 << 10;
/// Bytes of all requests of a connection in flight before they are read.
const CONNECTION_WINDOW: u32 = 1 << 20;
/// Bytes of the head of a request.
const MAX_HEAD: u32 = 32 << 10;
/// How often a quiet HTTP/2 peer is asked whether it is still there.
const KEEP_ALIVE: Duration = Duration::from_secs(30);
/// How long a peer may take to go once it was told to and has its answers. One that never asked anything goes in this time,
/// too: HTTP/2 has no GOAWAY before the peer's preface.
const LEAVES: Duration = Duration::from_secs(1);

/// Serves the connection until it ends, and counts how.
pub(super) async fn run(stream: TcpStream, shared: &Shared, guest: Guest) {
    let _open = shared.metrics.connected();
    // Answers are small and waited for.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "TCP_NODELAY cannot be set");
    }
    let handshake =
        tokio::time::timeout(shared.options.handshake_timeout, shared.tls.accept(stream));
    let outcome = tokio::select! {
        () = shared.draining.cancelled() => "drained",
        () = guest.leave.cancelled() => "made_room",
        shaken = handshake => match shaken {
            Err(_elapsed) => "handshake_timeout",
            Ok(Err(error)) => {
                tracing::debug!(%error, "TLS handshake failed");
                "handshake_failed"
            }
            Ok(Ok(stream)) => requests(stream, shared, &guest).await,
        },
    };
    shared.metrics.disconnected(outcome);
}

/// Answers the requests of an established connection.
async fn requests(stream: TlsStream<TcpStream>, shared: &Shared, guest: &Guest) -> &'static str {
    let h2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
    let activity = &guest.activity;
    let router = TowerToHyperService::new(shared.router.clone());
    let service = service_fn(|request: Request<Incoming>| {
        let open = activity.begin();
        // The router drops the body, and this with it, as soon as it has read it.
        let arriving = activity.arriving();
        let answer = router.call(request.map(|body| {
            body.map_err(move |error| {
                let _ = &arriving;
                error
            })
        }));
        let leaving = shared.leaving.clone();
        async move {
            let mut answer = answer.await;
            if answer
                .as_ref()
                .is_ok_and(|answer| answer.status().is_success())
            {
                open.answered();
            }
            // An idle HTTP/1.1 connection cannot be told to go, so each is told with its last answer.
            if let Ok(answer) = &mut answer
                && !h2
                && leaving.is_cancelled()
            {
                let close = HeaderValue::from_static("close");
                answer.headers_mut().insert(CONNECTION, close);
            }
            answer
        }
    });
    let builder = builder(h2, shared.options.header_timeout);
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let quiet = activity.quiet(shared.options.header_timeout, shared.options.idle_timeout);
    tokio::pin!(quiet);
    let mut going = false;
    // A peer that was told to go and does not is cut off, once all that it asked is answered.
    let cut_off = tokio::time::sleep(Duration::MAX);
    tokio::pin!(cut_off);
    loop {
        tokio::select! {
            ended = connection.as_mut() => return match ended {
                Ok(()) if going => "drained",
                Ok(()) => "closed",
                Err(error) => {
                    tracing::debug!(%error, "connection broke off");
                    "broken"
                }
            },
            () = cut_off.as_mut(), if going => {
                if activity.use_now(Duration::MAX) != Use::Waiting {
                    return "cut_off";
                }
                cut_off.as_mut().reset(Instant::now() + LEAVES);
                continue;
            }
            () = shared.draining.cancelled(), if !going => {}
            () = guest.leave.cancelled(), if !going => {
                // Whoever has asked something since gets its answer.
                if activity.use_now(shared.options.body_patience) <= Use::Dawdling {
                    return "made_room";
                }
            }
            () = quiet.as_mut(), if !going => {
                // A peer that never asked anything has no request to lose, and need not hear of GOAWAY.
                if !activity.ever() {
                    return "silent";
                }
            }
        }
        going = true;
        connection.as_mut().graceful_shutdown();
        cut_off.as_mut().reset(Instant::now() + LEAVES);
    }
}

/// The protocol is what the handshake agreed on: sniffing it again would be one more wait on the peer.
fn builder(h2: bool, header_timeout: Duration) -> auto::Builder<TokioExecutor> {
    let builder = auto::Builder::new(TokioExecutor::new());
    let mut builder = if h2 {
        builder.http2_only()
    } else {
        builder.http1_only()
    };
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(header_timeout)
        .max_buf_size(MAX_HEAD as usize);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(KEEP_ALIVE)
        .keep_alive_timeout(header_timeout)
        .max_concurrent_streams(MAX_STREAMS)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_header_list_size(MAX_HEAD);
    builder
}
