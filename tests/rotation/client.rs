//! A client of the webhook that trusts what an API server would: the stored `caBundle`, and the Service's name.

use anyhow::{Result, bail};
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use ichor_ground::handshake::{NAME, Trusts, shake};
use std::net::SocketAddr;

enum Sender {
    One(http1::SendRequest<Full<Bytes>>),
    Two(http2::SendRequest<Full<Bytes>>),
}

/// One connection to the webhook.
pub struct Connection {
    sender: Sender,
    /// The leaf that was shown, DER.
    pub leaf: Vec<u8>,
}

impl Connection {
    pub async fn open(webhook: SocketAddr, trusts: &Trusts, alpn: &str) -> Result<Self> {
        let (stream, leaf) = shake(webhook, trusts, alpn).await?;
        let io = TokioIo::new(stream);
        let sender = if alpn == "h2" {
            let (sender, connection) = http2::handshake(TokioExecutor::new(), io).await?;
            tokio::spawn(connection);
            Sender::Two(sender)
        } else {
            let (sender, connection) = http1::handshake(io).await?;
            tokio::spawn(connection);
            Sender::One(sender)
        };
        Ok(Self { sender, leaf })
    }

    /// Sends a review; fails unless it is admitted. False when the server had told this connection to go before the
    /// review was sent: it belongs on another one.
    pub async fn review(&mut self, path: &str, body: &Bytes) -> Result<bool> {
        let request = Request::post(format!("https://{NAME}{path}"))
            .header("host", NAME)
            .header("content-type", "application/json")
            .body(Full::new(body.clone()))?;
        let sent = match &mut self.sender {
            Sender::One(sender) => match sender.ready().await {
                Ok(()) => sender.try_send_request(request).await,
                Err(_) => return Ok(false),
            },
            Sender::Two(sender) => match sender.ready().await {
                Ok(()) => sender.try_send_request(request).await,
                Err(_) => return Ok(false),
            },
        };
        let answer = match sent {
            Ok(answer) => answer,
            Err(mut failed) => match failed.take_message() {
                Some(_) => return Ok(false),
                None => return Err(failed.into_error().into()),
            },
        };
        let status = answer.status();
        let answer = answer.into_body().collect().await?.to_bytes();
        let review: serde_json::Value = serde_json::from_slice(&answer)?;
        if status != StatusCode::OK || review["response"]["allowed"] != true {
            bail!("{status}: {review}");
        }
        Ok(true)
    }
}
