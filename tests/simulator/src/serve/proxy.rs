//! Metadata `node` and `nodes` (talos-api.md section 4): where a call is answered.

use std::sync::Arc;

use http::HeaderMap;
use prost::bytes::BufMut;
use prost::encoding::{WireType, encode_key, encode_varint};
use prost::Message;
use tonic::{Code, Status};

use super::request::{Reply, Request};
use crate::methods;
use crate::node::Node;
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
    if maintenance || (several.is_empty() && one.is_empty()) || request.metadata.contains_key("proxyfrom") {
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
        [target] => methods::handle(&find(node, target)?, request).await,
        _ => Err(Status::invalid_argument("node metadata must be single-valued")),
    }
}

fn values(metadata: &HeaderMap, key: &str) -> Vec<String> {
    metadata.get_all(key).iter().filter_map(|value| value.to_str().ok()).map(str::to_owned).collect()
}

fn find(node: &Arc<Node>, target: &str) -> Result<Arc<Node>, Status> {
    let own = node.read(|state| state.address.to_string() == target || state.hostname(&node.machine) == target);
    if own {
        return Ok(Arc::clone(node));
    }
    if !node.read(super::super::node::State::is_control_plane) {
        return Err(Status::permission_denied("no request forwarding"));
    }
    let Ok(address) = target.parse() else {
        if target.parse::<std::net::SocketAddr>().is_ok() || target.is_empty() {
            return Err(Status::internal(format!("invalid target {target:?}")));
        }
        let by_name = node.shared.nodes().into_iter().find(|other| other.read(|state| state.hostname(&other.machine) == target));
        return by_name.ok_or_else(|| Status::unavailable(format!("dns: A record lookup error: lookup {target}: no such host")));
    };
    let found = node.shared.at(address).filter(|other| other.read(|state| state.serving));
    found.ok_or_else(|| {
        Status::unavailable(format!(
            "connection error: desc = \"transport: Error while dialing: dial tcp {address}:{}: connect: no route to host\"",
            node.machine.port
        ))
    })
}

/// Asks each target; the answers' `messages` are concatenated, each marked with its target, failures inside.
async fn fan_out(node: &Arc<Node>, request: &Request, targets: &[String]) -> Result<Reply, Status> {
    let mut messages = Vec::new();
    for target in targets {
        if target.is_empty() || target.parse::<std::net::SocketAddr>().is_ok() {
            return Err(Status::internal(format!("invalid target {target:?}")));
        }
        let outcome = match find(node, target) {
            Ok(other) => methods::handle(&other, request).await,
            Err(status) => Err(status),
        };
        match outcome {
            Ok(Reply::One(answer)) => messages.extend(mark(&answer, target)),
            Ok(Reply::Many(_)) => return Err(Status::unimplemented("streams are not fanned out by the simulator")),
            Err(status) => messages.push(failure(target, &status)),
        }
    }
    let mut out = Vec::new();
    for message in messages {
        put(&mut out, 1, &message);
    }
    Ok(Reply::One(out.into()))
}

/// The messages of an encoded answer, each with `metadata.hostname` put in front.
fn mark(answer: &[u8], target: &str) -> Vec<Vec<u8>> {
    let metadata = common::Metadata { hostname: target.to_owned(), error: String::new(), status: None };
    let split = Repeated::decode(answer).unwrap_or_default();
    let marked = split.messages.into_iter().map(|message| {
        let mut out = Vec::new();
        put(&mut out, 1, &metadata.encode_to_vec());
        out.extend_from_slice(&message);
        out
    });
    marked.collect()
}

fn failure(target: &str, status: &Status) -> Vec<u8> {
    let code = status.code();
    let metadata = common::Metadata {
        hostname: target.to_owned(),
        error: format!("rpc error: code = {code:?} desc = {}", status.message()),
        status: Some(common::Status { code: code as i32, message: status.message().to_owned() }),
    };
    debug_assert!(code != Code::Ok);
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
