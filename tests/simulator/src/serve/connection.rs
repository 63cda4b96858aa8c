//! One connection and its calls.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use http::Response;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;
use tonic::{Code, Status};

use super::body::{self, Body};
use super::proxy;
use super::request::{Reply, Request};
use crate::calls::{Action, Call};
use crate::methods;
use crate::node::Node;
use crate::proto;
use crate::roles::Roles;

/// An accepted connection.
#[derive(Clone)]
pub struct Connection {
    /// The machine.
    pub node: Arc<Node>,
    /// Organizations of the client's certificate.
    pub subject: Vec<String>,
    /// Whether a client certificate was checked.
    pub mutual: bool,
    /// Number on this node.
    pub number: u64,
    /// Cancelling it closes the connection.
    pub token: CancellationToken,
}

/// Largest message, as Talos has it.
const MAX_MESSAGE: u32 = 32 << 20;

/// Serves a connection until it ends.
pub async fn serve(stream: TlsStream<TcpStream>, connection: Connection) {
    let token = connection.token.clone();
    let service = service_fn(move |request| {
        let connection = connection.clone();
        async move { Ok::<_, Infallible>(connection.call(request).await) }
    });
    let mut builder = http2::Builder::new(Executor(token.clone()));
    builder
        .max_header_list_size(64 << 10)
        .max_send_buf_size(MAX_MESSAGE as usize);
    // The end of a connection is no error of the simulator, whoever ended it.
    let _ended = builder
        .serve_connection(TokioIo::new(stream), service)
        .await;
    token.cancel();
}

/// Runs a connection's tasks no longer than the connection.
#[derive(Clone)]
struct Executor(CancellationToken);

impl<F> hyper::rt::Executor<F> for Executor
where
    F: Future + Send + 'static,
    F::Output: Send,
{
    fn execute(&self, task: F) {
        let token = self.0.clone();
        tokio::spawn(async move {
            tokio::select! {
                () = token.cancelled() => {}
                _ = task => {}
            }
        });
    }
}

impl Connection {
    async fn call(&self, request: http::Request<Incoming>) -> Response<Body> {
        let (head, body) = request.into_parts();
        let path = head.uri.path().to_owned();
        let body = match body.collect().await {
            Ok(body) => body.to_bytes(),
            Err(_) => return body::refusal(&Status::cancelled("request was not sent whole")),
        };
        let body = match body::unframe(&body) {
            Ok(body) => body,
            Err(status) => return body::refusal(&status),
        };
        let method = proto::method(&path);
        let json = method
            .as_ref()
            .and_then(|method| proto::request_json(method, &body))
            .unwrap_or(Value::Null);
        let request = Request {
            body,
            json,
            metadata: head.headers,
            roles: if self.mutual {
                Roles::of(&self.subject)
            } else {
                Roles::anonymous()
            },
            path,
        };
        let index = self.node.ledger.arrived(self.record(&request));
        let ledger_node = Arc::clone(&self.node);
        let ended = move |code| ledger_node.ledger.ended(index, code);

        let action = self
            .node
            .ledger
            .strike(request.method(), request.resource());
        if let Some(action) = &action
            && let Err(status) = self.before(action, &request).await
        {
            ended(status.code());
            return body::refusal(&status);
        }
        let outcome = match &action {
            Some(Action::Ignore) => methods::without_effect(&self.node, &request).await,
            _ => proxy::route(&self.node, &request).await,
        };
        match &action {
            Some(Action::DropAfter) => self.drop_connection().await,
            Some(Action::LoseAnswer) => std::future::pending().await,
            _ => {}
        }
        match outcome {
            Err(status) => {
                ended(status.code());
                body::refusal(&status)
            }
            Ok(Reply::One(message)) => body::messages(futures::stream::iter([Ok(message)]), ended),
            Ok(Reply::Many(stream)) => match action {
                Some(Action::DropMidStream { messages }) => {
                    let token = self.token.clone();
                    let cut = futures::stream::once(async move {
                        // What was sent must reach the client before the connection goes.
                        tokio::time::sleep(Duration::from_millis(20)).await;
                        token.cancel();
                        Err(Status::unavailable("dropped"))
                    });
                    body::messages(stream.take(messages).chain(cut), ended)
                }
                _ => body::messages(stream, ended),
            },
        }
    }

    fn record(&self, request: &Request) -> Call {
        let mut json = request.json.clone();
        if request.method() == "ApplyConfiguration"
            && let Some(fields) = json.as_object_mut()
        {
            fields.remove("data");
        }
        Call {
            method: request.path.trim_start_matches('/').to_owned(),
            request: json,
            subject: self.subject.clone(),
            time: crate::clock::now(),
            code: None,
            connection: self.number,
        }
    }

    /// The part of a fault before the effect.
    async fn before(&self, action: &Action, request: &Request) -> Result<(), Status> {
        match action {
            Action::Refuse { code, message } => Err(Status::new(Code::from_i32(*code), message)),
            Action::Hang => std::future::pending().await,
            Action::DropBefore => self.drop_connection().await,
            Action::Slow { ms } => {
                tokio::time::sleep(Duration::from_millis(*ms)).await;
                Ok(())
            }
            Action::Hold => {
                let held = |node: &Node| {
                    let faults = node.ledger.faults();
                    faults.iter().any(|fault| {
                        fault.action == Action::Hold
                            && fault
                                .method
                                .as_deref()
                                .is_none_or(|name| name == request.method())
                    })
                };
                while held(&self.node) {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    async fn drop_connection<T>(&self) -> T {
        self.token.cancel();
        std::future::pending().await
    }
}
