//! Methods that tell about the machine.

use std::sync::Arc;

use tonic::Status;

use super::data;
use crate::node::Node;
use crate::proto::machine as pb;
use crate::resources::services;
use crate::serve::{Reply, Request};

pub fn handle(node: &Arc<Node>, request: &Request) -> Result<Reply, Status> {
    Ok(match request.method() {
        "Version" => version(node),
        "Hostname" => {
            // A container cannot set the kernel's hostname, which is what this tells.
            let kernel = node
                .machine
                .spec
                .container
                .then(|| node.machine.hostname.clone());
            let hostname =
                kernel.unwrap_or_else(|| node.read(|state| state.hostname(&node.machine)));
            Reply::one(&pb::HostnameResponse {
                messages: vec![pb::Hostname {
                    metadata: None,
                    hostname,
                }],
            })
        }
        "SystemStat" => {
            let boot_time = node.read(|state| u64::try_from(state.boot_time).unwrap_or_default());
            Reply::one(&pb::SystemStatResponse {
                messages: vec![pb::SystemStat {
                    metadata: None,
                    boot_time,
                }],
            })
        }
        "ServiceList" => service_list(node),
        "Mounts" => {
            let stat = |filesystem: &str, mounted_on: &str| pb::MountStat {
                filesystem: filesystem.to_owned(),
                size: 20 << 30,
                available: 16 << 30,
                mounted_on: mounted_on.to_owned(),
            };
            let stats = vec![
                stat("overlay", "/"),
                stat("/dev/sda5", "/system/state"),
                stat("/dev/sda6", "/var"),
            ];
            Reply::one(&pb::MountsResponse {
                messages: vec![pb::Mounts {
                    metadata: None,
                    stats,
                }],
            })
        }
        "DiskUsage" => disk_usage(&request.message()?),
        "Read" => return read(node, &request.message()?),
        action => return service_action(action, &request.message()?),
    })
}

fn version(node: &Node) -> Reply {
    let spec = &node.machine.spec;
    let configured = node.read(|state| state.config.is_some() || state.leaving_maintenance);
    let mode = if spec.container { "container" } else { "metal" };
    Reply::one(&pb::VersionResponse {
        messages: vec![pb::Version {
            metadata: None,
            version: Some(pb::VersionInfo {
                tag: spec.talos_version.clone(),
                sha: "undefined".to_owned(),
                built: String::new(),
                go_version: "go1.26.8".to_owned(),
                os: "linux".to_owned(),
                arch: "amd64".to_owned(),
            }),
            platform: Some(pb::PlatformInfo {
                name: mode.to_owned(),
                mode: mode.to_owned(),
            }),
            features: configured.then_some(pb::FeaturesInfo { rbac: true }),
        }],
    })
}

const ZERO_TIME: prost_types::Timestamp = prost_types::Timestamp {
    seconds: -62_135_596_800,
    nanos: 0,
};

fn service_list(node: &Node) -> Reply {
    let boot = node.read(|state| state.boot_time);
    let when = prost_types::Timestamp {
        seconds: boot,
        nanos: 0,
    };
    let services = services(node)
        .into_iter()
        .map(|service| pb::ServiceInfo {
            id: service.id.to_owned(),
            state: service.state.to_owned(),
            events: Some(pb::ServiceEvents {
                events: vec![pb::ServiceEvent {
                    msg: service.message.to_owned(),
                    state: service.state.to_owned(),
                    ts: Some(when),
                }],
            }),
            health: Some(pb::ServiceHealth {
                unknown: service.unknown,
                healthy: service.healthy,
                last_message: service.last_message.to_owned(),
                // Go's zero time until a health check has run.
                last_change: Some(if service.unknown { ZERO_TIME } else { when }),
            }),
        })
        .collect();
    Reply::one(&pb::ServiceListResponse {
        messages: vec![pb::ServiceList {
            metadata: None,
            services,
        }],
    })
}

fn disk_usage(request: &pb::DiskUsageRequest) -> Reply {
    let messages: Vec<_> = request
        .paths
        .iter()
        .map(|path| {
            let exists = ["/var", "/system", "/etc"].contains(&path.as_str());
            pb::DiskUsageInfo {
                metadata: None,
                name: path.clone(),
                size: if exists { 180_010_499 } else { 0 },
                error: if exists {
                    String::new()
                } else {
                    format!("lstat {path}: no such file or directory")
                },
                relative_name: if exists { ".".to_owned() } else { path.clone() },
            }
        })
        .collect();
    Reply::many(&messages)
}

fn read(node: &Node, request: &pb::ReadRequest) -> Result<Reply, Status> {
    match request.path.as_str() {
        "/proc/sys/kernel/random/boot_id" => Ok(data(
            format!("{}\n", node.read(|state| state.boot_id.clone())).into_bytes(),
        )),
        "/etc/hostname" => Ok(data(
            format!("{}\n", node.read(|state| state.hostname(&node.machine))).into_bytes(),
        )),
        "/" | "/etc" | "/var" | "/system" | "/proc" => {
            Err(Status::unknown("path must be a regular file"))
        }
        path => Err(Status::not_found(format!(
            "stat {path}: no such file or directory"
        ))),
    }
}

fn service_action(action: &str, request: &pb::ServiceRequest) -> Result<Reply, Status> {
    const CONTROLLABLE: [&str; 4] = ["kubelet", "etcd", "trustd", "cri"];
    const KNOWN: [&str; 7] = [
        "apid",
        "containerd",
        "machined",
        "kubelet",
        "etcd",
        "trustd",
        "cri",
    ];
    let id = request.id.as_str();
    if !KNOWN.contains(&id) {
        return Err(Status::unknown(format!("service \"{id}\" not defined")));
    }
    let verb = match action {
        "ServiceStop" => "stop",
        "ServiceRestart" => "restart",
        _ => "start",
    };
    if verb != "start" && !CONTROLLABLE.contains(&id) {
        return Err(Status::unknown(format!(
            "service \"{id}\" doesn't support {verb} operation via API"
        )));
    }
    let resp = format!("Service \"{id}\" {verb}ed");
    Ok(Reply::one(&pb::ServiceActionResponse {
        messages: vec![pb::ServiceAction {
            metadata: None,
            resp,
        }],
    }))
}
