//! API servers keep connections to a webhook that terminates, so they are told to go.

use super::ground::{Client, Ground, options};
use http::StatusCode;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Type of a GOAWAY frame (RFC 9113 section 6.8).
const GOAWAY: u8 = 7;

#[tokio::test]
async fn an_open_connection_gets_goaway() {
    let ground = Ground::start(options()).await;
    let mut stream = ground.connect("h2").await.expect("a handshake");
    // The preface and empty SETTINGS.
    stream
        .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        .await
        .expect("the preface");
    stream
        .write_all(&[0, 0, 0, 4, 0, 0, 0, 0, 0])
        .await
        .expect("settings");
    ground.eventually("ichor_webhook_connections_open 1").await;
    ground.shutdown.cancel();
    let goaway = async {
        loop {
            let mut head = [0_u8; 9];
            stream.read_exact(&mut head).await.expect("a frame");
            let [a, b, c, kind, ..] = head;
            let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
            stream.read_exact(&mut payload).await.expect("a payload");
            if kind == GOAWAY {
                return;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(20), goaway)
        .await
        .expect("GOAWAY in time");
    drop(stream);
    ground.ended().await.expect("a clean end");
}

#[tokio::test]
async fn what_was_begun_is_answered() {
    for alpn in ["h2", "http/1.1"] {
        let ground = Ground::start(options()).await;
        let mut client = Client::over(ground.connect(alpn).await.expect("a handshake")).await;
        let (release, shutdown) = (ground.release.clone(), ground.shutdown.clone());
        let begun = ground.begun.clone();
        let address = ground.address;
        let ended = tokio::spawn(ground.ended());
        let (status, ()) = tokio::join!(client.post("/held"), async {
            begun.cancelled().await;
            shutdown.cancel();
            refused(address).await;
            release.cancel();
        });
        assert_eq!(status.expect("an answer"), StatusCode::OK, "{alpn}");
        assert!(
            client.post("/fast").await.is_err(),
            "{alpn}: no new request"
        );
        assert!(client.ended().await, "{alpn}: closed in order");
        ended.await.expect("no panic").expect("a clean end");
    }
}

/// Waits until nobody listens at `address`.
async fn refused(address: std::net::SocketAddr) {
    let gone = async {
        while TcpStream::connect(address).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), gone)
        .await
        .expect("nobody listens in time");
}

#[tokio::test]
async fn what_does_not_end_is_cut_off_after_the_drain_time() {
    let mut options = options();
    options.drain_timeout = Duration::from_millis(150);
    let ground = Ground::start(options).await;
    let mut client = Client::over(ground.connect("h2").await.expect("a handshake")).await;
    let shutdown = ground.shutdown.clone();
    let (status, ended) = tokio::join!(client.post("/held"), async {
        ground.begun.cancelled().await;
        shutdown.cancel();
        ground.ended().await
    });
    assert!(status.is_err());
    ended.expect("a clean end");
}

#[tokio::test]
async fn new_connections_are_served_during_the_grace_period() {
    let mut options = options();
    options.shutdown_grace = Duration::from_secs(10);
    let ground = Ground::start(options).await;
    ground.shutdown.cancel();
    let mut client = Client::over(ground.connect("h2").await.expect("a handshake")).await;
    assert_eq!(
        client.post("/fast").await.expect("an answer"),
        StatusCode::OK
    );
}

/// HTTP/1.1 has no GOAWAY: in the grace period each answer tells its connection to close, so that none is cut while
/// the next request is on its way.
#[tokio::test]
async fn http_1_is_told_to_close_during_the_grace_period() {
    let mut options = options();
    options.shutdown_grace = Duration::from_secs(10);
    let ground = Ground::start(options).await;
    let mut stream = ground.connect("http/1.1").await.expect("a handshake");
    let request = b"POST /fast HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n";
    stream.write_all(request).await.expect("a request");
    let mut answer = [0_u8; 12];
    stream.read_exact(&mut answer).await.expect("an answer");
    assert_eq!(&answer, b"HTTP/1.1 200");
    ground.shutdown.cancel();
    stream.write_all(request).await.expect("a request");
    let mut rest = Vec::new();
    let closed = tokio::time::timeout(Duration::from_secs(20), stream.read_to_end(&mut rest));
    closed.await.expect("closed in time").expect("in order");
    let rest = String::from_utf8(rest).expect("text");
    assert!(rest.contains("HTTP/1.1 200"), "{rest}");
    assert!(rest.contains("connection: close"), "{rest}");
}
