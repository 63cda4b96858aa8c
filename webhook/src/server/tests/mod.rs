//! The server over real sockets, with rustls as the client.

mod drain;
mod ground;
mod hostile;

use ground::{Ground, options};
use http::StatusCode;
use std::time::Duration;

#[tokio::test]
async fn http_1_and_http_2_are_served() {
    let ground = Ground::start(options()).await;
    for alpn in ["h2", "http/1.1"] {
        let stream = ground.connect(alpn).await.expect("a handshake");
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(alpn.as_bytes()));
        let mut client = ground::Client::over(stream).await;
        for _ in 0..3 {
            assert_eq!(
                client.post("/fast").await.expect("an answer"),
                StatusCode::OK
            );
        }
    }
    ground.stop().await.expect("a clean end");
}

#[tokio::test]
async fn tls_1_2_is_refused() {
    let ground = Ground::start(options()).await;
    let refused = ground
        .connect_with(&[&rustls::version::TLS12], "h2", None)
        .await;
    assert!(refused.is_err());
    ground
        .eventually(r#"connections_total{outcome="handshake_failed"} 1"#)
        .await;
    ground.stop().await.expect("a clean end");
}

#[tokio::test]
async fn with_a_client_ca_only_its_clients_are_let_in() {
    let ground = Ground::start_with_client_ca(options(), &[]).await;
    let versions = [&rustls::version::TLS13];
    assert!(!ground.is_served(&versions, None).await, "a stranger");
    let known = Some(ground.client());
    assert!(ground.is_served(&versions, known).await);

    // The CA is exchanged like any certificate; what is no CA changes nothing.
    assert!(ground.trust_clients(Vec::new()).is_err());
    assert!(ground.trust_clients(vec![b"nothing".to_vec()]).is_err());
    let known = Some(ground.client());
    assert!(ground.is_served(&versions, known).await);
    ground
        .trust_clients(vec![Ground::stranger()])
        .expect("a CA");
    let known = Some(ground.client());
    assert!(!ground.is_served(&versions, known).await);
    ground.stop().await.expect("a clean end");
}

/// The CA of a cluster signs for every kubelet and person as well.
#[tokio::test]
async fn with_names_only_the_clients_that_carry_one_are_let_in() {
    for (names, let_in) in [
        (&["kube-apiserver"][..], false),
        (&["kube-apiserver", "localhost"], true),
        (&["rcgen self signed cert"], true),
    ] {
        let ground = Ground::start_with_client_ca(options(), names).await;
        let client = Some(ground.client());
        let served = ground.is_served(&[&rustls::version::TLS13], client).await;
        assert_eq!(served, let_in, "{names:?}");
        ground.stop().await.expect("a clean end");
    }
}

/// FAULTS 2: a renewed certificate is served to new handshakes, and open connections are not touched.
#[tokio::test]
async fn a_new_certificate_is_served_without_a_restart() {
    let ground = Ground::start(options()).await;
    let before = ground.connect("h2").await.expect("a handshake");
    let leaf = ground::leaf(&before);
    let mut client = ground::Client::over(before).await;
    assert_eq!(
        client.post("/fast").await.expect("an answer"),
        StatusCode::OK
    );
    ground.renew();
    let after = ground.connect("h2").await.expect("a handshake");
    assert_ne!(ground::leaf(&after), leaf);
    assert_eq!(
        client.post("/fast").await.expect("an answer"),
        StatusCode::OK
    );
    ground.stop().await.expect("a clean end");
}

#[tokio::test]
async fn an_unused_connection_is_asked_to_close() {
    let mut options = options();
    options.idle_timeout = Duration::from_millis(100);
    options.header_timeout = Duration::from_secs(1);
    let ground = Ground::start(options).await;
    let mut client = ground::Client::over(ground.connect("h2").await.expect("a handshake")).await;
    assert_eq!(
        client.post("/fast").await.expect("an answer"),
        StatusCode::OK
    );
    client.ended().await;
    ground.eventually("ichor_webhook_connections_open 0").await;
    ground.stop().await.expect("a clean end");
}
