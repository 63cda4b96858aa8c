//! What nodes say about themselves, in types of this crate.

use ichor_crds::MachineIdentity;
use std::fmt;

/// What a machine says it is (DESIGN principle 5).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// SMBIOS system UUID, lower case; empty where the machine has none.
    pub uuid: String,
    /// Serial number; empty where the vendor left it so.
    pub serial: String,
    /// Permanent MAC addresses of the physical links, lower case with colons, sorted.
    pub macs: Vec<String>,
    /// Manufacturer of the board.
    pub manufacturer: String,
    /// Product name of the board.
    pub product: String,
}

impl Identity {
    /// The parts that identify the machine, to be compared.
    pub fn machine(&self) -> MachineIdentity {
        MachineIdentity {
            uuid: self.uuid.clone(),
            serial: self.serial.clone(),
            macs: self.macs.clone(),
        }
    }
}

/// The cluster whose configuration a node carries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterInfo {
    /// ID of the cluster, as in its secrets bundle.
    pub id: String,
    /// Name of the cluster.
    pub name: String,
}

/// What a node is configured as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MachineType {
    /// Not configured.
    #[default]
    Unknown,
    /// A control plane node; `init` of old configurations is one.
    ControlPlane,
    /// A worker.
    Worker,
}

/// Stage of a machine as Talos reports it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stage {
    /// None that this version of Ichor knows.
    #[default]
    Unknown,
    /// Starting.
    Booting,
    /// Installing itself to disk.
    Installing,
    /// Waiting for a configuration.
    Maintenance,
    /// Running: the only stage at which a reset is sent (DESIGN section 18, decision 3).
    Running,
    /// Rebooting.
    Rebooting,
    /// Shutting down.
    ShuttingDown,
    /// Resetting.
    Resetting,
    /// Upgrading.
    Upgrading,
}

impl Stage {
    const NAMES: [(Self, &'static str); 9] = [
        (Self::Unknown, "unknown"),
        (Self::Booting, "booting"),
        (Self::Installing, "installing"),
        (Self::Maintenance, "maintenance"),
        (Self::Running, "running"),
        (Self::Rebooting, "rebooting"),
        (Self::ShuttingDown, "shutting down"),
        (Self::Resetting, "resetting"),
        (Self::Upgrading, "upgrading"),
    ];

    /// The stage of a number on the wire.
    pub(crate) fn from_number(number: i32) -> Self {
        usize::try_from(number)
            .ok()
            .and_then(|at| Self::NAMES.get(at))
            .map_or(Self::Unknown, |(stage, _)| *stage)
    }

    /// The number on the wire of a name in YAML.
    pub(crate) fn number_of(name: &str) -> i32 {
        Self::NAMES
            .iter()
            .position(|(_, known)| *known == name)
            .and_then(|at| i32::try_from(at).ok())
            .unwrap_or_default()
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::NAMES.iter().find(|(stage, _)| stage == self);
        f.write_str(name.map_or("unknown", |(_, name)| name))
    }
}

/// Stage and readiness of a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MachineStatus {
    /// Stage.
    pub stage: Stage,
    /// Whether Talos counts itself ready; also true while resetting (`talos-api.md` section 8).
    pub ready: bool,
    /// Names of the conditions that are not met.
    pub unmet: Vec<String>,
}

/// Version of Talos on a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Version {
    /// Tag, such as `v1.14.0`.
    pub tag: String,
    /// Architecture, such as `amd64`.
    pub arch: String,
    /// Platform, such as `metal`.
    pub platform: String,
}

/// A volume that Talos manages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Volume {
    /// Name, such as `EPHEMERAL` or `u-data`.
    pub name: String,
    /// Phase, such as `ready`.
    pub phase: &'static str,
    /// Device it is on; empty for directories and what is not located.
    pub location: String,
    /// Device that holds it.
    pub parent: String,
    /// Size in bytes; 0 where it is not known.
    pub size: u64,
}

/// A disk or partition that Talos sees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiscoveredVolume {
    /// Name of the device, such as `sda1`.
    pub device: String,
    /// `disk` or `partition`.
    pub kind: String,
    /// What is on it, such as `xfs` or `gpt`.
    pub content: String,
    /// Label of the filesystem.
    pub label: String,
    /// Label of the partition.
    pub partition_label: String,
    /// The disk a partition is on.
    pub parent: String,
    /// Size in bytes.
    pub size: u64,
}

/// A disk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Disk {
    /// Path of the device, such as `/dev/sda`.
    pub device: String,
    /// Model.
    pub model: String,
    /// Serial number.
    pub serial: String,
    /// Size in bytes.
    pub size: u64,
    /// Whether Talos is installed on it.
    pub system: bool,
    /// Whether nothing can be written to it.
    pub readonly: bool,
}

/// A member of etcd.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EtcdMember {
    /// Member ID.
    pub id: u64,
    /// Host name; empty for a moment while it joins.
    pub hostname: String,
    /// URLs for its peers.
    pub peer_urls: Vec<String>,
    /// Whether it only learns and does not vote.
    pub learner: bool,
}

/// The state of the etcd member of one node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EtcdStatus {
    /// The member of the node that answered.
    pub member_id: u64,
    /// The leader it sees; 0 without one.
    pub leader: u64,
    /// How many errors it reports: without quorum the call is answered with OK and an error in here.
    pub errors: usize,
    /// Whether it only learns and does not vote.
    pub learner: bool,
}

impl EtcdStatus {
    /// Whether the member takes part in a quorum as it sees it.
    pub fn is_healthy(&self) -> bool {
        self.errors == 0 && self.leader != 0
    }
}

/// A service of Talos.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Service {
    /// Name, such as `etcd`.
    pub id: String,
    /// State, such as `Running`.
    pub state: String,
    /// Whether its health check passes; `None` where it has none or has not run yet.
    pub healthy: Option<bool>,
}
