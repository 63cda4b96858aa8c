//! Methods that change the machine.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use time::Duration;
use tonic::Status;

use super::{data, empty, only_control_plane};
use crate::node::{Node, ResetPlan};
use crate::pki::{ClientOptions, Usage};
use crate::proto::machine as pb;
use crate::proto::machine::reset_request::WipeMode;
use crate::resources::volume_labels;
use crate::serve::{Reply, Request};

pub async fn handle(node: &Arc<Node>, request: &Request) -> Result<Reply, Status> {
    match request.method() {
        "ApplyConfiguration" => {
            let message = node.apply(&request.message()?).await?;
            Ok(Reply::one(&pb::ApplyConfigurationResponse {
                messages: vec![message],
            }))
        }
        "Reset" => {
            let plan = plan(node, &request.message()?)?;
            let actor_id = node.reset(plan);
            Ok(Reply::one(&pb::ResetResponse {
                messages: vec![pb::Reset {
                    metadata: None,
                    actor_id,
                }],
            }))
        }
        "Reboot" => {
            let actor_id = node.reboot();
            Ok(Reply::one(&pb::RebootResponse {
                messages: vec![pb::Reboot {
                    metadata: None,
                    actor_id,
                }],
            }))
        }
        "Shutdown" => {
            let actor_id = node.shutdown();
            Ok(Reply::one(&pb::ShutdownResponse {
                messages: vec![pb::Shutdown {
                    metadata: None,
                    actor_id,
                }],
            }))
        }
        "Bootstrap" => bootstrap(node),
        "Kubeconfig" => {
            only_control_plane(node, "kubeconfig")?;
            // The archive is not modelled, only that there is one: a gzip header with nothing in it.
            Ok(data(vec![
                0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0,
            ]))
        }
        "GenerateClientConfiguration" => client_configuration(node, &request.message()?),
        _ => Err(unsupported(node)),
    }
}

/// Upgrade, rollback, install and META are not simulated; a container answers with its own text.
pub fn unsupported(node: &Node) -> Status {
    if node.machine.spec.container {
        Status::failed_precondition("method is not supported in container mode")
    } else {
        Status::unimplemented("not simulated yet")
    }
}

/// Validates as Talos does, in its order; every error is Unknown.
fn plan(node: &Node, request: &pb::ResetRequest) -> Result<ResetPlan, Status> {
    let mode = request.mode();
    if mode == WipeMode::UserDisks && !request.system_partitions_to_wipe.is_empty() {
        return Err(Status::unknown(
            "reset failed: invalid input, wipe mode USER_DISKS doesn't support SystemPartitionsToWipe parameter",
        ));
    }
    if mode == WipeMode::SystemDisk && !request.user_disks_to_wipe.is_empty() {
        return Err(Status::unknown(
            "reset failed: invalid input, wipe mode SYSTEM_DISK doesn't support UserDisksToWipe parameter",
        ));
    }
    for device in &request.user_disks_to_wipe {
        let disk = node
            .machine
            .disks
            .iter()
            .find(|disk| device.strip_prefix("/dev/") == Some(disk.name.as_str()));
        let reason = match disk {
            None => "wasn't found",
            Some(disk) if disk.readonly => "is readonly",
            Some(disk) if disk.system => "is the system disk",
            Some(_) => continue,
        };
        return Err(Status::unknown(format!(
            "reset user disk failed: device {device} {reason}"
        )));
    }
    let labels: Vec<String> = request
        .system_partitions_to_wipe
        .iter()
        .map(|partition| partition.label.clone())
        .collect();
    for label in &labels {
        if !volume_labels(node).contains(label) {
            return Err(Status::unknown(format!(
                "failed to get volume status with label \"{label}\": resource VolumeStatuses.block.talos.dev(runtime/{label}@undefined) doesn't exist"
            )));
        }
    }
    Ok(ResetPlan {
        graceful: request.graceful,
        reboot: request.reboot,
        labels,
        spare_system: mode == WipeMode::UserDisks,
    })
}

fn bootstrap(node: &Node) -> Result<Reply, Status> {
    only_control_plane(node, "bootstrap")?;
    node.change(|state| {
        if !state.runtime {
            return Err(Status::failed_precondition(
                "bootstrap is not available yet",
            ));
        }
        if state.member.is_some() {
            return Err(Status::already_exists("etcd data directory is not empty"));
        }
        state.bootstrap = true;
        Ok(empty())
    })
}

fn client_configuration(
    node: &Node,
    request: &pb::GenerateClientConfigurationRequest,
) -> Result<Reply, Status> {
    only_control_plane(node, "generate client configuration")?;
    let internal = |error: anyhow::Error| Status::internal(error.to_string());
    let (now, authority) = node.read(|state| {
        (
            state.now(),
            state.config.as_ref().and_then(|config| config.ca.clone()),
        )
    });
    let authority = authority.ok_or_else(|| Status::internal("no CA"))?;
    let ttl = request
        .crt_ttl
        .map_or(Duration::hours(24), |ttl| Duration::seconds(ttl.seconds));
    let options = ClientOptions {
        organizations: request.roles.clone(),
        usages: vec![Usage::Client],
        not_before: now,
        not_after: now + ttl,
    };
    let leaf = authority.client(&options).map_err(internal)?;
    let talosconfig = serde_json::json!({
        "context": "default",
        "contexts": { "default": {
            "endpoints": [],
            "ca": STANDARD.encode(&authority.certificate),
            "crt": STANDARD.encode(&leaf.certificate),
            "key": STANDARD.encode(&leaf.key),
        }},
    });
    let talosconfig =
        serde_saphyr::to_string(&talosconfig).map_err(|error| internal(error.into()))?;
    let message = pb::GenerateClientConfiguration {
        metadata: None,
        ca: authority.certificate.into_bytes(),
        crt: leaf.certificate.into_bytes(),
        key: leaf.key.into_bytes(),
        talosconfig: talosconfig.into_bytes(),
    };
    Ok(Reply::one(&pb::GenerateClientConfigurationResponse {
        messages: vec![message],
    }))
}
