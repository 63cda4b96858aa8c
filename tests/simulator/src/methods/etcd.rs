//! Etcd methods: refusals off control planes, hangs before bootstrap, and what a lost quorum does to each.

use std::sync::Arc;

use tonic::Status;

use super::{data, empty, only_control_plane};
use crate::etcd::RemoveError;
use crate::node::Node;
use crate::proto::{common, machine as pb};
use crate::serve::{Reply, Request};
use crate::spec::ms;

pub async fn handle(node: &Arc<Node>, request: &Request) -> Result<Reply, Status> {
    let method = request.method();
    only_control_plane(node, api(method))?;
    if !node.read(|state| state.etcd_running) {
        return not_running(node, request).await;
    }
    if let Some(lost) = node.with_etcd(|etcd| etcd.lost_for()) {
        return quorum_lost(node, request, lost).await;
    }
    match method {
        "EtcdMemberList" => Ok(member_list(node)),
        "EtcdStatus" => Ok(status(node, &[])),
        "EtcdAlarmList" | "EtcdAlarmDisarm" => Ok(alarms()),
        "EtcdRemoveMemberByID" => remove(node, request),
        "EtcdLeaveCluster" => leave(node).await,
        "EtcdForfeitLeadership" => {
            let id = node.read(|state| state.member).unwrap_or_default();
            let member = node.with_etcd(|etcd| etcd.forfeit(id)).unwrap_or_default();
            let message = pb::EtcdForfeitLeadership {
                metadata: None,
                member,
            };
            Ok(Reply::one(&pb::EtcdForfeitLeadershipResponse {
                messages: vec![message],
            }))
        }
        "EtcdSnapshot" => Ok(snapshot(node)),
        _ => Ok(empty()),
    }
}

/// Talos's name of a method in "... is only available on control plane nodes".
fn api(method: &str) -> &'static str {
    match method {
        "EtcdMemberList" => "member list",
        "EtcdStatus" => "etcd status",
        "EtcdAlarmList" => "etcd alarm list",
        "EtcdAlarmDisarm" => "etcd alarm disarm",
        "EtcdRemoveMemberByID" => "etcd remove member",
        "EtcdLeaveCluster" => "etcd leave cluster",
        "EtcdForfeitLeadership" => "etcd forfeit leadership",
        "EtcdSnapshot" => "etcd snapshot",
        _ => "etcd defragment",
    }
}

/// Configured, but its own etcd does not run: calls hang until the client's deadline. A member that crash-loops after
/// its removal still reaches the others through the cluster's endpoints for what is asked of all of them.
async fn not_running(node: &Arc<Node>, request: &Request) -> Result<Reply, Status> {
    let removed = node
        .read(|state| state.member)
        .is_some_and(|id| node.with_etcd(|etcd| etcd.member(id).is_none()));
    let quorum = node.with_etcd(|etcd| etcd.leader().is_some());
    match request.method() {
        "EtcdMemberList" if removed && quorum && request.json["query_local"] != true => {
            Ok(member_list(node))
        }
        "EtcdRemoveMemberByID" if removed && quorum => remove(node, request),
        _ => std::future::pending().await,
    }
}

async fn quorum_lost(
    node: &Arc<Node>,
    request: &Request,
    lost: std::time::Duration,
) -> Result<Reply, Status> {
    let timings = &node.shared.timings;
    let fresh = ms(timings.quorum_hang).checked_sub(lost);
    match request.method() {
        "EtcdStatus" if fresh.is_some() => Ok(status(node, &[])),
        "EtcdStatus" => Ok(status(node, &[RemoveError::NoLeader.to_string()])),
        "EtcdSnapshot" => Ok(snapshot(node)),
        "EtcdDefragment" => Ok(empty()),
        "EtcdMemberList" => {
            tokio::time::sleep(fresh.unwrap_or_default() + ms(timings.no_leader)).await;
            match node.with_etcd(|etcd| etcd.leader()) {
                Some(_) => Ok(member_list(node)),
                None => Err(Status::unknown(RemoveError::NoLeader.to_string())),
            }
        }
        "EtcdRemoveMemberByID" => {
            tokio::time::sleep(fresh.unwrap_or_default()).await;
            remove(node, request)
        }
        _ => std::future::pending().await,
    }
}

fn member_list(node: &Node) -> Reply {
    let mut members = node.with_etcd(|etcd| etcd.members().to_vec());
    members.sort_by_key(|member| member.id);
    let list = pb::EtcdMembers {
        metadata: None,
        legacy_members: members
            .iter()
            .map(|member| member.hostname.clone())
            .collect(),
        members: members
            .iter()
            .map(|member| {
                let url = |port: u16| {
                    format!(
                        "https://{}",
                        std::net::SocketAddr::new(member.address, port)
                    )
                };
                pb::EtcdMember {
                    id: member.id,
                    hostname: member.hostname.clone(),
                    peer_urls: vec![url(2380)],
                    client_urls: if member.hostname.is_empty() {
                        Vec::new()
                    } else {
                        vec![url(2379)]
                    },
                    is_learner: member.learner,
                }
            })
            .collect(),
    };
    Reply::one(&pb::EtcdMemberListResponse {
        messages: vec![list],
    })
}

fn status(node: &Node, errors: &[String]) -> Reply {
    let id = node.read(|state| state.member).unwrap_or_default();
    let status = node.with_etcd(|etcd| {
        let (raft_term, raft_index) = etcd.raft();
        pb::EtcdMemberStatus {
            protocol_version: "3.7.1".to_owned(),
            db_size: 24_576,
            db_size_in_use: 16_384,
            leader: if errors.is_empty() {
                etcd.last_leader().unwrap_or_default()
            } else {
                0
            },
            raft_index,
            raft_term,
            raft_applied_index: raft_index,
            errors: errors.to_vec(),
            is_learner: etcd.member(id).is_some_and(|member| member.learner),
            member_id: id,
            storage_version: "3.7.0".to_owned(),
        }
    });
    let message = pb::EtcdStatus {
        metadata: None,
        member_status: Some(status),
    };
    Reply::one(&pb::EtcdStatusResponse {
        messages: vec![message],
    })
}

fn alarms() -> Reply {
    Reply::one(&pb::EtcdAlarmResponse {
        messages: vec![common::Empty::default()],
    })
}

fn remove(node: &Arc<Node>, request: &Request) -> Result<Reply, Status> {
    let id = request
        .message::<pb::EtcdRemoveMemberByIdRequest>()?
        .member_id;
    match node.with_etcd(|etcd| etcd.remove(id)) {
        Ok(()) => {
            // The removed member's process ends; its data stays until its machine is wiped.
            for other in node.shared.nodes() {
                other.change(|state| {
                    if state.member == Some(id) {
                        state.etcd_running = false;
                    }
                });
            }
            Ok(empty())
        }
        Err(RemoveError::NotFound) => Err(Status::not_found(format!(
            "failed to remove member {id}: {}",
            RemoveError::NotFound
        ))),
        Err(error) => Err(Status::unknown(format!(
            "failed to remove member: failed to remove member {id}: {error}"
        ))),
    }
}

async fn leave(node: &Arc<Node>) -> Result<Reply, Status> {
    let id = node.read(|state| state.member).unwrap_or_default();
    loop {
        match node.leave_etcd() {
            Ok(_) => {
                node.change(|state| state.member = None);
                return Ok(empty());
            }
            Err(RemoveError::Unhealthy) => {
                tokio::time::sleep(ms(node.shared.timings.leave_retry)).await;
            }
            Err(error) => {
                return Err(Status::unknown(format!(
                    "failed to leave cluster: 1 error(s) occurred:\n\tfailed to remove member {id}: {error}"
                )));
            }
        }
    }
}

/// Not a real database: a page-sized file that begins as one does, for whoever only streams and stores it.
fn snapshot(node: &Node) -> Reply {
    let mut bytes = vec![0_u8; 24_576];
    bytes[16..24].copy_from_slice(&[0xed, 0xda, 0x0c, 0xed, 2, 0, 0, 0]);
    let (term, index) = node.with_etcd(|etcd| etcd.raft());
    bytes[64..72].copy_from_slice(&term.to_le_bytes());
    bytes[72..80].copy_from_slice(&index.to_le_bytes());
    data(bytes)
}
