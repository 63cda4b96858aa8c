//! The declarative description of a fleet: what a YAML file or a test says.

use std::net::IpAddr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A fleet of simulated machines.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct FleetSpec {
    /// Clusters whose bundles and configurations the simulator makes.
    pub clusters: Vec<ClusterSpec>,
    /// Machines.
    pub nodes: Vec<NodeSpec>,
    /// How long things take.
    pub timings: Timings,
    /// Talos port. Only tests of other ports change it.
    pub port: Option<u16>,
}

impl FleetSpec {
    /// Reads a fleet file.
    pub fn parse(yaml: &str) -> anyhow::Result<Self> {
        Ok(serde_saphyr::from_str(yaml)?)
    }
}

/// A cluster.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ClusterSpec {
    /// Name, also `clusterName` on the nodes.
    pub name: String,
    /// The bundle's YAML; generated when neither this nor `bundleFile` is given.
    pub bundle: Option<String>,
    /// File with the bundle.
    pub bundle_file: Option<String>,
    /// URL of the Kubernetes API in the nodes' configuration.
    pub endpoint: Option<String>,
    /// Kubeconfig file of the cluster's Kubernetes: its Nodes are then kept as kubelets would.
    pub kubeconfig: Option<String>,
    /// Whether nodes that start configured find etcd bootstrapped.
    pub bootstrapped: Option<bool>,
}

/// Role in the machine configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// `controlplane`
    #[default]
    ControlPlane,
    /// `worker`
    Worker,
}

/// Where a machine begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StartMode {
    /// No configuration.
    #[default]
    Maintenance,
    /// Runs with a configuration of its cluster.
    Configured,
    /// Powered off.
    Off,
}

/// A machine.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct NodeSpec {
    /// Name in the fleet; also the hostname unless that is given.
    pub name: String,
    /// Address the API listens on (127.0.0.0/8 or ::1).
    pub address: IpAddr,
    /// Hostname.
    pub hostname: Option<String>,
    /// SMBIOS UUID; derived from the name when absent.
    pub uuid: Option<String>,
    /// SMBIOS serial; `SN-NAME` when absent.
    pub serial: Option<String>,
    /// Permanent MACs of physical links; one derived from the name when absent.
    pub macs: Option<Vec<String>>,
    /// SMBIOS manufacturer.
    pub manufacturer: String,
    /// SMBIOS product.
    pub product: String,
    /// Where it begins.
    pub mode: StartMode,
    /// Role when it begins configured.
    pub role: Role,
    /// Cluster when it begins configured.
    pub cluster: Option<String>,
    /// Disks; one system disk `sda` when empty.
    pub disks: Vec<DiskSpec>,
    /// Names of user volumes (shown as `u-NAME`).
    pub user_volumes: Vec<String>,
    /// Version of Talos it reports.
    pub talos_version: String,
    /// Container mode as in the recordings: no SMBIOS-backed disks, links without permanent address.
    pub container: bool,
    /// What it registers in Kubernetes when that differs from its identity.
    pub kubernetes_node: KubernetesNode,
}

impl Default for NodeSpec {
    fn default() -> Self {
        Self {
            name: String::new(),
            address: IpAddr::from([127, 0, 0, 1]),
            hostname: None,
            uuid: None,
            serial: None,
            macs: None,
            manufacturer: "QEMU".to_owned(),
            product: "Standard PC (Q35 + ICH9, 2009)".to_owned(),
            mode: StartMode::default(),
            role: Role::default(),
            cluster: None,
            disks: Vec::new(),
            user_volumes: Vec::new(),
            talos_version: "v1.14.0-beta.1".to_owned(),
            container: false,
            kubernetes_node: KubernetesNode::default(),
        }
    }
}

impl NodeSpec {
    /// A machine in maintenance mode.
    pub fn maintenance(name: &str, address: &str) -> anyhow::Result<Self> {
        Ok(Self {
            name: name.to_owned(),
            address: address.parse()?,
            ..Self::default()
        })
    }

    /// A running member of a cluster.
    pub fn member(name: &str, address: &str, cluster: &str, role: Role) -> anyhow::Result<Self> {
        Ok(Self {
            mode: StartMode::Configured,
            role,
            cluster: Some(cluster.to_owned()),
            ..Self::maintenance(name, address)?
        })
    }
}

/// The Kubernetes Node a machine keeps.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct KubernetesNode {
    /// Never register.
    pub skip: bool,
    /// Another name than the hostname.
    pub name: Option<String>,
    /// Another system UUID (empty: none at all).
    pub system_uuid: Option<String>,
    /// Another internal address.
    pub internal_ip: Option<String>,
}

/// A disk.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct DiskSpec {
    /// Kernel name, as `sda`.
    pub name: String,
    /// Bytes.
    pub size: u64,
    /// Model.
    pub model: String,
    /// Serial.
    pub serial: String,
    /// Whether Talos is installed here.
    pub system: bool,
    /// Read-only.
    pub readonly: bool,
}

/// How long things take, in milliseconds.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Timings {
    /// From ApplyConfiguration's answer in maintenance to the drop of the API.
    pub apply: u64,
    /// From power or restart to the API.
    pub boot: u64,
    /// From the configured API to a healthy container runtime (Bootstrap is accepted then).
    pub runtime: u64,
    /// From ready to stage `running`.
    pub ready: u64,
    /// How long the API still answers, with an error, while the daemon behind it is gone.
    pub socket_gone: u64,
    /// From Bootstrap or join to a running etcd.
    pub etcd: u64,
    /// As a learner.
    pub learner: u64,
    /// From Reset's answer to stage `resetting`.
    pub reset_begin: u64,
    /// How long `rebooting` or `shutting down` is served.
    pub reboot_serve: u64,
    /// How long `resetting` is served after the member left.
    pub reset_serve: u64,
    /// From the drop of the API to power off or restart.
    pub stop: u64,
    /// From power off to power on within a reboot.
    pub down: u64,
    /// Between the failure of a sequence and the restart.
    pub failure: u64,
    /// Pause between tries to leave an unhealthy etcd.
    pub leave_retry: u64,
    /// How long leaving etcd is tried.
    pub leave_timeout: u64,
    /// After the loss of quorum, how long calls hang before they fail.
    pub quorum_hang: u64,
    /// How long EtcdMemberList waits before `no leader`.
    pub no_leader: u64,
    /// After the loss of quorum, when the member resource disappears.
    pub member_gone: u64,
    /// Kubelet heartbeat.
    pub heartbeat: u64,
    /// TRY timeouts last this many times what the request says, for tests on slow computers.
    pub trial_factor: u32,
}

impl Default for Timings {
    fn default() -> Self {
        Self {
            apply: 60,
            boot: 150,
            runtime: 100,
            ready: 50,
            socket_gone: 30,
            etcd: 150,
            learner: 100,
            reset_begin: 20,
            reboot_serve: 30,
            reset_serve: 150,
            stop: 50,
            down: 200,
            failure: 400,
            leave_retry: 100,
            leave_timeout: 30_000,
            quorum_hang: 300,
            no_leader: 100,
            member_gone: 400,
            heartbeat: 1000,
            trial_factor: 1,
        }
    }
}

impl Timings {
    /// The times seen on real nodes (talos-api.md sections 5, 7 and 8).
    pub fn real() -> Self {
        Self {
            apply: 250,
            boot: 1600,
            runtime: 1000,
            ready: 3000,
            socket_gone: 100,
            etcd: 4000,
            learner: 2500,
            reset_begin: 30,
            reboot_serve: 100,
            reset_serve: 2000,
            stop: 3000,
            down: 5000,
            failure: 55_000,
            leave_retry: 1000,
            leave_timeout: 300_000,
            quorum_hang: 10_000,
            no_leader: 2600,
            member_gone: 20_000,
            heartbeat: 10_000,
            trial_factor: 1,
        }
    }
}

/// Milliseconds as a duration.
pub(crate) fn ms(value: u64) -> Duration {
    Duration::from_millis(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_is_a_fleet() {
        let fleet = FleetSpec::parse(include_str!("../fleet.example.yaml")).unwrap();
        assert_eq!(fleet.nodes.len(), 5);
        assert_eq!(fleet.nodes[3].role, Role::Worker);
        assert_eq!(fleet.timings.boot, 1000);
        assert_eq!(fleet.timings.stop, Timings::default().stop);
        assert!(FleetSpec::parse("nodes: [{nmae: x}]").is_err());
    }
}
