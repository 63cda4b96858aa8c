//! Clients that say nothing, too little or nonsense block nobody and are cut off.

use super::ground::{Client, Ground, options};
use http::StatusCode;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const SHORT: Duration = Duration::from_millis(150);

/// Reads until the server closes.
async fn closed(stream: &mut (impl AsyncReadExt + Unpin)) {
    let mut sink = Vec::new();
    let end = tokio::time::timeout(Duration::from_secs(20), stream.read_to_end(&mut sink));
    // A reset or a missing close_notify is an end, too.
    drop(end.await.expect("the server closes in time"));
}

/// Waits until a request is answered. Tried again, because the short times hold for this client as well, and
/// a busy machine may be slower than them.
async fn serves(ground: &Ground) {
    let answered = async {
        while !answers(ground).await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let answered = tokio::time::timeout(Duration::from_secs(20), answered);
    answered.await.expect("an answer in time");
}

async fn answers(ground: &Ground) -> bool {
    let Ok(stream) = ground.connect("h2").await else {
        return false;
    };
    match Client::try_over(stream).await {
        Ok(mut client) => client
            .post("/fast")
            .await
            .is_ok_and(|code| code == StatusCode::OK),
        Err(_) => false,
    }
}

#[tokio::test]
async fn silent_clients_block_nobody() {
    let ground = Ground::start(options()).await;
    let mut silent = Vec::new();
    for _ in 0..50 {
        silent.push(
            TcpStream::connect(ground.address)
                .await
                .expect("a connection"),
        );
    }
    serves(&ground).await;
    // They hold nothing up at the end, either.
    ground.stop().await.expect("a clean end");
}

#[tokio::test]
async fn a_handshake_has_its_time() {
    let mut options = options();
    options.handshake_timeout = SHORT;
    let ground = Ground::start(options).await;
    let mut silent = TcpStream::connect(ground.address)
        .await
        .expect("a connection");
    closed(&mut silent).await;
    ground
        .eventually(r#"connections_total{outcome="handshake_timeout"} 1"#)
        .await;
    ground.stop().await.expect("a clean end");
}

/// A full house of peers that hold connections and ask nothing keeps nobody out.
#[tokio::test]
async fn a_thousand_silent_clients_block_nobody() {
    let ground = Ground::start(options()).await;
    let mut silent = Vec::new();
    for number in 0..1000 {
        let stream = TcpStream::connect(ground.address);
        silent.push(stream.await.expect("a connection"));
        if number % 100 == 99 {
            serves(&ground).await;
        }
    }
    serves(&ground).await;
    ground.stop().await.expect("a clean end");
}

#[tokio::test]
async fn at_the_limit_the_oldest_that_asks_nothing_makes_room() {
    let mut options = options();
    options.max_connections = 3;
    let ground = Ground::start(options).await;
    let mut held = Client::over(ground.connect("h2").await.expect("a handshake")).await;
    let held = tokio::spawn(async move { held.post("/held").await });
    ground.begun.cancelled().await;
    let mut used = Client::over(ground.connect("h2").await.expect("a handshake")).await;
    assert_eq!(used.post("/fast").await.ok(), Some(StatusCode::OK));
    let mut silent = TcpStream::connect(ground.address)
        .await
        .expect("a connection");
    ground.eventually("ichor_webhook_connections_open 3").await;
    // The one that never asked anything goes first, then the one that has its answer; never the one that waits for one.
    let mut next = Client::over(ground.connect("h2").await.expect("a handshake")).await;
    assert_eq!(next.post("/fast").await.ok(), Some(StatusCode::OK));
    closed(&mut silent).await;
    assert_eq!(used.post("/fast").await.ok(), Some(StatusCode::OK));
    let mut last = Client::over(ground.connect("http/1.1").await.expect("a handshake")).await;
    assert_eq!(last.post("/fast").await.ok(), Some(StatusCode::OK));
    assert_eq!(used.post("/fast").await.ok(), Some(StatusCode::OK));
    assert!(next.post("/fast").await.is_err(), "told to go");
    ground.release.cancel();
    assert_eq!(held.await.expect("a task").ok(), Some(StatusCode::OK));
    ground
        .eventually(r#"connections_total{outcome="made_room"} 1"#)
        .await;
    ground.stop().await.expect("a clean end");
}

/// A body that does not come is no reason to keep its connection before one that has had answers.
#[tokio::test]
async fn at_the_limit_half_sent_bodies_make_room_before_idle_connections() {
    let mut options = options();
    options.max_connections = 2;
    options.body_patience = Duration::ZERO;
    let ground = Ground::start(options).await;
    let mut used = Client::over(ground.connect("h2").await.expect("a handshake")).await;
    assert_eq!(used.post("/fast").await.ok(), Some(StatusCode::OK));
    let mut half = ground.connect("http/1.1").await.expect("a handshake");
    let head = b"POST /read HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nhalf";
    half.write_all(head).await.expect("a part of a body");
    ground.reading.cancelled().await;
    let mut next = Client::over(ground.connect("h2").await.expect("a handshake")).await;
    assert_eq!(next.post("/fast").await.ok(), Some(StatusCode::OK));
    closed(&mut half).await;
    assert_eq!(used.post("/fast").await.ok(), Some(StatusCode::OK));
    ground
        .eventually(r#"connections_total{outcome="made_room"} 1"#)
        .await;
    ground.stop().await.expect("a clean end");
}

/// A peer that was answered, is told to go and takes no notice (it acknowledges no ping) is cut off.
#[tokio::test]
async fn who_does_not_go_when_told_to_is_cut_off() {
    const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];
    // HEADERS of stream 1, which also ends it: POST, https, /fast, localhost.
    const REQUEST: &[u8] = b"\0\0\x14\x01\x05\0\0\0\x01\x83\x87\x04\x05/fast\x41\x09localhost";
    let mut options = options();
    options.max_connections = 1;
    let ground = Ground::start(options).await;
    let mut deaf = ground.connect("h2").await.expect("a handshake");
    for part in [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", SETTINGS, REQUEST] {
        deaf.write_all(part).await.expect("a part");
    }
    let mut answer = Vec::new();
    while !answer.ends_with(b"done") {
        let mut part = [0; 256];
        let read = deaf.read(&mut part).await.expect("an answer");
        assert_ne!(read, 0, "closed before the answer");
        answer.extend_from_slice(&part[..read]);
    }
    let mut next = Client::over(ground.connect("h2").await.expect("a handshake")).await;
    assert_eq!(next.post("/fast").await.ok(), Some(StatusCode::OK));
    closed(&mut deaf).await;
    ground
        .eventually(r#"connections_total{outcome="cut_off"} 1"#)
        .await;
    ground.stop().await.expect("a clean end");
}

/// Who waits for an answer is never sent away: the next one waits for a slot.
#[tokio::test]
async fn while_all_are_being_answered_the_next_connection_waits() {
    let mut options = options();
    options.max_connections = 1;
    let ground = Ground::start(options).await;
    let mut held = Client::over(ground.connect("h2").await.expect("a handshake")).await;
    let held = tokio::spawn(async move { held.post("/held").await });
    ground.begun.cancelled().await;
    let mut next = Box::pin(ground.connect("h2"));
    let early = tokio::time::timeout(SHORT, next.as_mut()).await;
    assert!(early.is_err(), "a second connection beside one of one");
    ground.release.cancel();
    let mut client = Client::over(next.await.expect("a handshake")).await;
    assert_eq!(client.post("/fast").await.ok(), Some(StatusCode::OK));
    assert_eq!(held.await.expect("a task").ok(), Some(StatusCode::OK));
    ground.stop().await.expect("a clean end");
}

#[tokio::test]
async fn a_slow_head_is_cut_off() {
    let mut options = options();
    options.header_timeout = SHORT;
    let ground = Ground::start(options).await;
    let mut slow = ground.connect("http/1.1").await.expect("a handshake");
    slow.write_all(b"POST /fast HTTP/1.1\r\nHost: loc")
        .await
        .expect("a part of a head");
    serves(&ground).await;
    closed(&mut slow).await;
    ground.stop().await.expect("a clean end");
}

#[tokio::test]
async fn a_client_that_shakes_hands_and_says_nothing_is_cut_off() {
    let mut options = options();
    options.header_timeout = SHORT;
    let ground = Ground::start(options).await;
    for alpn in ["h2", "http/1.1"] {
        let mut silent = ground.connect(alpn).await.expect("a handshake");
        closed(&mut silent).await;
    }
    ground.eventually("ichor_webhook_connections_open 0").await;
    ground.stop().await.expect("a clean end");
}

#[tokio::test]
async fn nonsense_is_a_failed_handshake() {
    let ground = Ground::start(options()).await;
    let mut plain = TcpStream::connect(ground.address)
        .await
        .expect("a connection");
    plain
        .write_all(b"GET / HTTP/1.1\r\n\r\n")
        .await
        .expect("plain text");
    closed(&mut plain).await;
    ground
        .eventually(r#"connections_total{outcome="handshake_failed"} 1"#)
        .await;
    serves(&ground).await;
    ground.stop().await.expect("a clean end");
}
