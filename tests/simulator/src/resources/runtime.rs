//! Stage, boot, security, platform, version, services.

use std::fmt::Write;

use super::Draft;
use crate::node::{Node, Stage};
use crate::proto::specs;

pub fn drafts(node: &Node, kind: &str) -> Vec<Draft> {
    match kind {
        "MachineStatuses.runtime.talos.dev" => vec![machine_status(node)],
        "BootIDs.runtime.talos.dev" => vec![boot_id(node)],
        "SecurityStates.talos.dev" => {
            let spec = specs::SecurityState::default();
            let owner = "runtime.SecurityStateController";
            vec![Draft::new(
                "runtime",
                "SecurityStates.talos.dev",
                "securitystate",
                owner,
                &spec,
                "secureBoot: false\n".to_owned(),
            )]
        }
        "PlatformMetadatas.talos.dev" => vec![platform(node)],
        "Versions.runtime.talos.dev" => {
            let version = node.machine.spec.talos_version.clone();
            let yaml = format!("name: Talos\nversion: {version}\n");
            let spec = specs::Version {
                name: "Talos".to_owned(),
                version,
            };
            vec![Draft::new(
                "runtime",
                "Versions.runtime.talos.dev",
                "version",
                "runtime.VersionController",
                &spec,
                yaml,
            )]
        }
        "Services.v1alpha1.talos.dev" => services(node)
            .into_iter()
            .filter(|service| service.state == "Running")
            .map(Service::draft)
            .collect(),
        _ => Vec::new(),
    }
}

fn machine_status(node: &Node) -> Draft {
    let (stage, mut unmet) = node.read(|state| (state.stage, state.unmet.clone()));
    if stage == Stage::Running && etcd_unhealthy(node) {
        unmet.push(("services".to_owned(), "etcd not healthy".to_owned()));
    }
    let ready = unmet.is_empty();
    let mut yaml = format!("stage: {}\nstatus:\n    ready: {ready}\n", stage.text());
    if ready {
        yaml.push_str("    unmetConditions: []\n");
    } else {
        yaml.push_str("    unmetConditions:\n");
        for (name, reason) in &unmet {
            // Writing into a String cannot fail.
            let _ok = write!(yaml, "        - name: {name}\n          reason: {reason}\n");
        }
    }
    let unmet_conditions = unmet
        .into_iter()
        .map(|(name, reason)| specs::UnmetCondition { name, reason })
        .collect();
    let spec = specs::MachineStatus {
        stage: stage as i32,
        status: Some(specs::MachineStatusStatus {
            ready,
            unmet_conditions,
        }),
    };
    let owner = "runtime.MachineStatusController";
    Draft::new(
        "runtime",
        "MachineStatuses.runtime.talos.dev",
        "machine",
        owner,
        &spec,
        yaml,
    )
}

fn boot_id(node: &Node) -> Draft {
    let boot_id = node.read(|state| state.boot_id.clone());
    let yaml = format!("bootID: {boot_id}\n");
    let spec = specs::BootId { boot_id };
    Draft::new(
        "runtime",
        "BootIDs.runtime.talos.dev",
        "boot-id",
        "runtime.BootIDController",
        &spec,
        yaml,
    )
}

fn platform(node: &Node) -> Draft {
    let platform = if node.machine.spec.container {
        "container"
    } else {
        "metal"
    }
    .to_owned();
    let hostname = node.machine.hostname.clone();
    let yaml = format!("platform: {platform}\nhostname: {hostname}\ninstanceType: 2CPU-2048RAM\n");
    let spec = specs::PlatformMetadata {
        platform,
        hostname,
        instance_type: "2CPU-2048RAM".to_owned(),
        ..Default::default()
    };
    let owner = "network.PlatformConfigApplyController";
    Draft::new(
        "runtime",
        "PlatformMetadatas.talos.dev",
        "platformmetadata",
        owner,
        &spec,
        yaml,
    )
}

/// A Talos service.
pub struct Service {
    /// Its ID.
    pub id: &'static str,
    /// `Running` or `Preparing` or `Waiting`.
    pub state: &'static str,
    /// Last event.
    pub message: &'static str,
    /// Health is known to be good.
    pub healthy: bool,
    /// Health is unknown.
    pub unknown: bool,
    /// What the last health check said.
    pub last_message: &'static str,
}

impl Service {
    fn running(id: &'static str) -> Self {
        Self {
            id,
            state: "Running",
            message: "Health check successful",
            healthy: true,
            unknown: false,
            last_message: "",
        }
    }

    fn preparing(id: &'static str) -> Self {
        Self {
            state: "Preparing",
            message: "Running pre state",
            healthy: false,
            unknown: true,
            ..Self::running(id)
        }
    }

    fn waiting(id: &'static str) -> Self {
        Self {
            state: "Waiting",
            message: "Waiting for volumes to be mounted",
            ..Self::preparing(id)
        }
    }

    fn crashing(id: &'static str) -> Self {
        let message = "Error running Containerd(etcd), going to restart until it succeeds";
        Self {
            state: "Waiting",
            message,
            healthy: false,
            last_message: "service not running",
            ..Self::running(id)
        }
    }

    fn unhealthy(id: &'static str) -> Self {
        Self {
            healthy: false,
            last_message: "context deadline exceeded",
            ..Self::running(id)
        }
    }

    fn draft(self) -> Draft {
        let running = self.state == "Running";
        let (healthy, unknown) = (self.healthy, self.unknown);
        let yaml = format!("running: {running}\nhealthy: {healthy}\nunknown: {unknown}\n");
        let spec = specs::Service {
            running,
            healthy,
            unknown,
        };
        Draft::new(
            "runtime",
            "Services.v1alpha1.talos.dev",
            self.id,
            "v1alpha1.ServiceController",
            &spec,
            yaml,
        )
    }
}

/// The services a machine runs now, ordered by ID.
pub fn services(node: &Node) -> Vec<Service> {
    let (configured, control_plane, etcd, runtime) = node.read(|state| {
        (
            state.config.is_some(),
            state.is_control_plane(),
            state.etcd_running,
            state.runtime,
        )
    });
    let mut services = vec![Service::running("apid"), Service::running("containerd")];
    services.push(match (configured, runtime) {
        (true, true) => Service::running("cri"),
        (true, false) => Service::preparing("cri"),
        (false, _) => Service::waiting("cri"),
    });
    if control_plane {
        services.push(match (etcd, etcd_unhealthy(node)) {
            (true, false) => Service::running("etcd"),
            (true, true) => Service::unhealthy("etcd"),
            (false, _) if etcd_crashes(node) => Service::crashing("etcd"),
            (false, _) => Service::preparing("etcd"),
        });
    }
    if configured {
        services.push(if runtime {
            Service::running("kubelet")
        } else {
            Service::preparing("kubelet")
        });
    }
    services.push(Service::running("machined"));
    if control_plane {
        services.push(Service::running("trustd"));
    }
    services
}

/// Its data belongs to a member that was removed.
fn etcd_crashes(node: &Node) -> bool {
    node.read(|state| state.member)
        .is_some_and(|id| node.with_etcd(|etcd| etcd.member(id).is_none()))
}

/// Quorum has been lost for so long that the health check of a running etcd fails.
fn etcd_unhealthy(node: &Node) -> bool {
    let running = node.read(|state| state.etcd_running);
    let patience = crate::spec::ms(node.shared.timings.member_gone);
    running
        && node
            .with_etcd(|etcd| etcd.lost_for())
            .is_some_and(|lost| lost > patience)
}
