//! One call on its way to a method.

use bytes::Bytes;
use futures::stream::BoxStream;
use http::HeaderMap;
use prost::Message;
use serde_json::Value;
use tonic::Status;

use crate::roles::Roles;

/// A call.
#[derive(Clone)]
pub struct Request {
    /// `/package.Service/Method`.
    pub path: String,
    /// The encoded message.
    pub body: Bytes,
    /// The message as JSON, `Null` for methods outside the subset.
    pub json: Value,
    /// HTTP headers: the metadata.
    pub metadata: HeaderMap,
    /// What the caller may do.
    pub roles: Roles,
}

impl Request {
    /// `package.Service`.
    pub fn service(&self) -> &str {
        self.path
            .trim_start_matches('/')
            .split('/')
            .next()
            .unwrap_or_default()
    }

    /// The method's own name.
    pub fn method(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    /// COSI type named by the request.
    pub fn resource(&self) -> Option<&str> {
        self.json["type"].as_str()
    }

    /// Decodes the message.
    pub fn message<M: Message + Default>(&self) -> Result<M, Status> {
        M::decode(&self.body[..]).map_err(|error| {
            Status::internal(format!("grpc: error unmarshalling request: {error}"))
        })
    }
}

/// An answer: one message, or a stream of them.
pub enum Reply {
    /// Unary.
    One(Bytes),
    /// Streaming.
    Many(BoxStream<'static, Result<Bytes, Status>>),
}

impl Reply {
    /// A unary answer.
    pub fn one(message: &impl Message) -> Self {
        Self::One(message.encode_to_vec().into())
    }

    /// A stream of ready messages.
    pub fn many<M: Message>(messages: &[M]) -> Self {
        let encoded: Vec<_> = messages
            .iter()
            .map(|message| Ok(message.encode_to_vec().into()))
            .collect();
        Self::Many(Box::pin(futures::stream::iter(encoded)))
    }
}
