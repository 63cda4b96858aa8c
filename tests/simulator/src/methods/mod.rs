//! What each method does, once it is known at which machine.

mod cosi;
mod etcd;
mod info;
mod lifecycle;
mod storage;

use std::sync::Arc;

use prost::Message;
use tonic::Status;

use crate::node::{Node, Sequence};
use crate::proto::{common, machine};
use crate::roles;
use crate::serve::{Reply, Request};

/// Judges the caller's roles, then carries the call out.
pub async fn handle(node: &Arc<Node>, request: &Request) -> Result<Reply, Status> {
    let (maintenance, gone) = node.read(|state| (state.config.is_none(), state.daemon_gone));
    if gone {
        return Err(Status::unavailable(DAEMON_GONE));
    }
    let service = request.service();
    if !roles::allowed(service, request.method(), maintenance).meets(request.roles) {
        return Err(not_authorized());
    }
    match service {
        "machine.MachineService" => machine_service(node, request).await,
        "machine.LifecycleService" => Err(lifecycle::unsupported(node)),
        "machine.StorageService" | "storage.StorageService" => storage::handle(node, request),
        "cosi.resource.State" => cosi::handle(node, request),
        _ => Err(unknown(request)),
    }
}

/// As `handle`, but a sequence that would start finds the lock taken.
pub async fn without_effect(node: &Arc<Node>, request: &Request) -> Result<Reply, Status> {
    if !["Reset", "Reboot"].contains(&request.method()) {
        return handle(node, request).await;
    }
    let other = node.change(|state| state.sequence.replace(Sequence::Shutdown));
    let outcome = handle(node, request).await;
    node.change(|state| state.sequence = other);
    outcome
}

const DAEMON_GONE: &str = "connection error: desc = \"transport: Error while dialing: dial unix /system/run/machined/machine.sock: connect: no such file or directory\"";

async fn machine_service(node: &Arc<Node>, request: &Request) -> Result<Reply, Status> {
    match request.method() {
        "Version" | "Hostname" | "SystemStat" | "ServiceList" | "Mounts" | "DiskUsage" | "Read"
        | "ServiceStart" | "ServiceStop" | "ServiceRestart" => info::handle(node, request),
        "EtcdMemberList"
        | "EtcdStatus"
        | "EtcdAlarmList"
        | "EtcdAlarmDisarm"
        | "EtcdRemoveMemberByID"
        | "EtcdLeaveCluster"
        | "EtcdForfeitLeadership"
        | "EtcdSnapshot"
        | "EtcdDefragment" => etcd::handle(node, request).await,
        "ApplyConfiguration"
        | "Reset"
        | "Reboot"
        | "Shutdown"
        | "Bootstrap"
        | "Upgrade"
        | "Rollback"
        | "MetaWrite"
        | "MetaDelete"
        | "Kubeconfig"
        | "GenerateClientConfiguration" => lifecycle::handle(node, request).await,
        _ => Err(unknown(request)),
    }
}

fn unknown(request: &Request) -> Status {
    Status::unimplemented(format!(
        "unknown method {} for service {}",
        request.method(),
        request.service()
    ))
}

/// The denial of every role check.
pub(crate) fn not_authorized() -> Status {
    Status::permission_denied("not authorized")
}

/// Refuses what only control planes have; `api` is Talos's name for it.
fn only_control_plane(node: &Node, api: &str) -> Result<(), Status> {
    if node.read(crate::node::State::is_control_plane) {
        return Ok(());
    }
    Err(Status::unimplemented(format!(
        "{api} is only available on control plane nodes"
    )))
}

/// The usual answer of methods that return nothing: one message without fields.
fn empty() -> Reply {
    Reply::one(&machine::EmptyResponse {
        messages: vec![common::Empty::default()],
    })
}

/// A stream of one `common.Data`.
fn data(bytes: Vec<u8>) -> Reply {
    let message = common::Data {
        metadata: None,
        bytes,
    };
    Reply::Many(Box::pin(futures::stream::iter([Ok(message
        .encode_to_vec()
        .into())])))
}
