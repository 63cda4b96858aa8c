//! Metadata `node` and `nodes` (talos-api.md section 4): where a call is answered.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use bytes::Bytes;
use futures::{StreamExt, TryStreamExt};
use http::HeaderMap;
use prost::Message;
use prost::bytes::BufMut;
use prost::encoding::{WireType, encode_key, encode_varint};
use tonic::Status;

use super::request::{Reply, Request};
use crate::methods;
use crate::node::{Node, State};
use crate::proto::common;

const FAN_OUT: [&str; 5] = [
    "machine.MachineService",
    "cluster.ClusterService",
    "inspect.InspectService",
    "storage.StorageService",
    "time.TimeService",
];

/// Answers here, at one other node, or at several.
pub async fn route(node: &Arc<Node>, request: &Request) -> Result<Reply, Status> {
    // In maintenance routing is off: every request is answered by the machine dialled.
    let maintenance = node.read(|state| state.config.is_none());
    let several = values(&request.metadata, "nodes");
    let one = values(&request.metadata, "node");
    if maintenance
        || (several.is_empty() && one.is_empty())
        || request.metadata.contains_key("proxyfrom")
    {
        return methods::handle(node, request).await;
    }
    if !several.is_empty() {
        if !FAN_OUT.contains(&request.service()) {
            return Err(Status::invalid_argument(format!(
                "one-2-many proxying is not supported for method {}",
                request.path
            )));
        }
        return fan_out(node, request, &several).await;
    }
    match one.as_slice() {
        [target] => methods::handle(&find(node, target).await?, request).await,
        _ => Err(Status::invalid_argument(
            "node metadata must be single-valued",
        )),
    }
}

fn values(metadata: &HeaderMap, key: &str) -> Vec<String> {
    metadata
        .get_all(key)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .map(str::to_owned)
        .collect()
}

/// Whether a target names the machine itself; a control plane also dials itself through its loopback.
fn is_own(node: &Node, target: &str) -> bool {
    node.read(|state| {
        let loopback = state.is_control_plane() && target == "127.0.0.1";
        loopback || state.address.to_string() == target || state.hostname(&node.machine) == target
    })
}

async fn find(node: &Arc<Node>, target: &str) -> Result<Arc<Node>, Status> {
    if is_own(node, target) {
        return Ok(Arc::clone(node));
    }
    if !node.read(State::is_control_plane) {
        return Err(no_forwarding());
    }
    check(target)?;
    let Ok(address) = target.parse::<IpAddr>() else {
        if target.contains([' ', ',']) {
            return Err(Status::unavailable(
                "name resolver error: produced zero addresses",
            ));
        }
        // Hostnames of other nodes are in no DNS.
        return Err(Status::unavailable(format!(
            "dns: A record lookup error: lookup {target}: no such host"
        )));
    };
    match node.shared.at(address) {
        Some(other) if other.read(|state| state.serving) => Ok(other),
        // A machine that is off swallows what is sent to it.
        Some(_) => std::future::pending().await,
        None => Err(Status::unavailable(format!(
            "connection error: desc = \"transport: Error while dialing: dial tcp {address}:{}: connect: no route to host\"",
            node.machine.port
        ))),
    }
}

fn no_forwarding() -> Status {
    Status::permission_denied("no request forwarding")
}

fn check(target: &str) -> Result<(), Status> {
    if target.is_empty() || target.parse::<SocketAddr>().is_ok() {
        return Err(Status::internal(format!("invalid target {target:?}")));
    }
    Ok(())
}

/// Asks each target; every message of every answer is marked with its target, failures are messages themselves.
async fn fan_out(node: &Arc<Node>, request: &Request, targets: &[String]) -> Result<Reply, Status> {
    if !node.read(State::is_control_plane) {
        // Forwarding is off: only a worker's own address is answered, without a mark.
        return match targets {
            [own] if is_own(node, own) => methods::handle(node, request).await,
            _ => Err(no_forwarding()),
        };
    }
    let mut messages = Vec::new();
    for target in targets {
        check(target)?;
        match ask(node, request, target).await {
            Ok(answers) => messages.extend(answers.iter().map(|message| mark(message, target))),
            Err(status) => messages.push(failure(target, &status)),
        }
    }
    let streaming =
        crate::proto::method(&request.path).is_some_and(|method| method.is_server_streaming());
    if streaming {
        let messages: Vec<Result<Bytes, Status>> = messages
            .into_iter()
            .map(|message| Ok(message.into()))
            .collect();
        return Ok(Reply::Many(Box::pin(futures::stream::iter(messages))));
    }
    let mut out = Vec::new();
    for message in messages {
        put(&mut out, 1, &message);
    }
    Ok(Reply::One(out.into()))
}

/// One target's messages, undecoded: those inside a unary answer, or those of a stream.
async fn ask(node: &Arc<Node>, request: &Request, target: &str) -> Result<Vec<Vec<u8>>, Status> {
    match methods::handle(&find(node, target).await?, request).await? {
        Reply::One(answer) => Ok(Repeated::decode(answer).unwrap_or_default().messages),
        Reply::Many(stream) => {
            stream
                .map(|message| message.map(|bytes| bytes.to_vec()))
                .try_collect()
                .await
        }
    }
}

/// A message with `metadata.hostname` put in front.
fn mark(message: &[u8], target: &str) -> Vec<u8> {
    let metadata = common::Metadata {
        hostname: target.to_owned(),
        error: String::new(),
        status: None,
    };
    let mut out = Vec::new();
    put(&mut out, 1, &metadata.encode_to_vec());
    out.extend_from_slice(message);
    out
}

fn failure(target: &str, status: &Status) -> Vec<u8> {
    let code = status.code();
    let metadata = common::Metadata {
        hostname: target.to_owned(),
        error: format!("rpc error: code = {code:?} desc = {}", status.message()),
        status: Some(common::Status {
            code: code as i32,
            message: status.message().to_owned(),
        }),
    };
    let mut out = Vec::new();
    put(&mut out, 1, &metadata.encode_to_vec());
    out
}

fn put(out: &mut Vec<u8>, field: u32, value: &[u8]) {
    encode_key(field, WireType::LengthDelimited, out);
    encode_varint(value.len() as u64, out);
    out.put_slice(value);
}

/// Any `XResponse{repeated X messages = 1}`, undecoded.
#[derive(Clone, PartialEq, prost::Message)]
struct Repeated {
    #[prost(bytes = "vec", repeated, tag = "1")]
    messages: Vec<Vec<u8>>,
}
