//! What a machine is and what it is doing.

use std::net::IpAddr;

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};
use time::{Duration, OffsetDateTime};

use crate::config::{MachineConfig, Partial};
use crate::pki::{Algorithm, Authority};
use crate::spec::{DiskSpec, NodeSpec, Role};

/// The hardware.
pub struct Machine {
    /// Name in the fleet.
    pub name: String,
    /// Hostname the platform gives; a configuration may set another.
    pub hostname: String,
    /// SMBIOS UUID.
    pub uuid: String,
    /// SMBIOS serial.
    pub serial: String,
    /// MACs of the links.
    pub macs: Vec<[u8; 6]>,
    /// Disks.
    pub disks: Vec<DiskSpec>,
    /// The rest of the description.
    pub spec: NodeSpec,
    /// Port of the API.
    pub port: u16,
}

/// `MachineStatus` stages with their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Stage {
    /// `booting`
    Booting = 1,
    /// `installing`
    Installing = 2,
    /// `maintenance`
    Maintenance = 3,
    /// `running`
    Running = 4,
    /// `rebooting`
    Rebooting = 5,
    /// `shutting down`
    ShuttingDown = 6,
    /// `resetting`
    Resetting = 7,
    /// `upgrading`
    Upgrading = 8,
}

impl Stage {
    /// As YAML has it.
    pub fn text(self) -> &'static str {
        match self {
            Self::Booting => "booting",
            Self::Installing => "installing",
            Self::Maintenance => "maintenance",
            Self::Running => "running",
            Self::Rebooting => "rebooting",
            Self::ShuttingDown => "shutting down",
            Self::Resetting => "resetting",
            Self::Upgrading => "upgrading",
        }
    }
}

/// A sequence that holds the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sequence {
    /// Starting up.
    Boot,
    /// Resetting.
    Reset,
    /// Rebooting.
    Reboot,
    /// Shutting down.
    Shutdown,
}

/// Everything that changes.
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own about a machine"
)]
pub struct State {
    /// Address of the API.
    pub address: IpAddr,
    /// Power.
    pub on: bool,
    /// The API listens.
    pub serving: bool,
    /// Active configuration; none means maintenance mode.
    pub config: Option<MachineConfig>,
    /// Configuration on disk.
    pub persistent: Option<MachineConfig>,
    /// The API still serves as in maintenance although a configuration was taken.
    pub leaving_maintenance: bool,
    /// An apply is in progress.
    pub applying: bool,
    /// Partial documents applied in maintenance.
    pub partial: Option<Partial>,
    /// The daemon behind the API has stopped; what is asked fails.
    pub daemon_gone: bool,
    /// Stage.
    pub stage: Stage,
    /// Reasons why it is not ready: (name, reason).
    pub unmet: Vec<(String, String)>,
    /// Boot ID.
    pub boot_id: String,
    /// Boot time, unix seconds.
    pub boot_time: i64,
    /// Node identity, kept in STATE.
    pub identity: String,
    /// Signs the maintenance certificate, new with every boot.
    pub maintenance_ca: Option<Authority>,
    /// Sequence that holds the lock.
    pub sequence: Option<Sequence>,
    /// Etcd member on disk (EPHEMERAL).
    pub member: Option<u64>,
    /// Its process runs.
    pub etcd_running: bool,
    /// Bootstrap was accepted and waits for etcd.
    pub bootstrap: bool,
    /// The container runtime is healthy.
    pub runtime: bool,
    /// Seconds the clock is off.
    pub clock_offset: i64,
    /// Errors of dropped sequence requests, as the Events stream would show them.
    pub sequence_errors: Vec<String>,
    /// META and other volumes named in resets so far, for tests.
    pub wiped: Vec<String>,
    /// What it registers in Kubernetes.
    pub kubernetes_node: crate::spec::KubernetesNode,
}

impl State {
    pub(super) fn new(machine: &Machine) -> Self {
        Self {
            address: machine.spec.address,
            on: false,
            serving: false,
            config: None,
            persistent: None,
            leaving_maintenance: false,
            applying: false,
            partial: None,
            daemon_gone: false,
            stage: Stage::Booting,
            unmet: Vec::new(),
            boot_id: uuid(),
            boot_time: crate::clock::now().as_second(),
            identity: node_identity(),
            maintenance_ca: None,
            sequence: None,
            member: None,
            etcd_running: false,
            bootstrap: false,
            runtime: false,
            clock_offset: 0,
            sequence_errors: Vec::new(),
            wiped: Vec::new(),
            kubernetes_node: machine.spec.kubernetes_node.clone(),
        }
    }

    /// The machine's own clock.
    pub fn now(&self) -> OffsetDateTime {
        OffsetDateTime::now_utc() + Duration::seconds(self.clock_offset)
    }

    /// The hostname in force.
    pub fn hostname(&self, machine: &Machine) -> String {
        let configured = self
            .config
            .as_ref()
            .and_then(|config| config.hostname.clone());
        configured
            .or_else(|| self.partial.as_ref()?.hostname.clone())
            .unwrap_or_else(|| machine.hostname.clone())
    }

    /// Whether it is a configured control plane.
    pub fn is_control_plane(&self) -> bool {
        self.config
            .as_ref()
            .is_some_and(|config| config.role == Role::ControlPlane)
    }

    /// A new boot: new ID, time and maintenance CA.
    pub(super) fn renew_boot(&mut self) -> Result<()> {
        self.boot_id = uuid();
        self.boot_time = crate::clock::now().as_second() + self.clock_offset;
        self.partial = None;
        self.maintenance_ca = Some(Authority::new(Algorithm::Ed25519, None)?);
        Ok(())
    }
}

impl Machine {
    pub(crate) fn new(spec: NodeSpec, port: u16) -> Result<Self> {
        let digest = Sha256::digest(spec.name.as_bytes());
        let uuid = spec.uuid.clone().unwrap_or_else(|| uuid_from(&digest));
        let macs = match &spec.macs {
            Some(texts) => texts.iter().map(|text| mac(text)).collect::<Result<_>>()?,
            None => vec![[0x02, 0x00, digest[16], digest[17], digest[18], digest[19]]],
        };
        let disks = if spec.disks.is_empty() && !spec.container {
            vec![system_disk(&spec.name)]
        } else {
            spec.disks.clone()
        };
        Ok(Self {
            hostname: spec.hostname.clone().unwrap_or_else(|| spec.name.clone()),
            serial: spec
                .serial
                .clone()
                .unwrap_or_else(|| format!("SN-{}", spec.name)),
            name: spec.name.clone(),
            uuid,
            macs,
            disks,
            spec,
            port,
        })
    }
}

fn system_disk(name: &str) -> DiskSpec {
    DiskSpec {
        name: "sda".to_owned(),
        size: 20 << 30,
        model: "QEMU HARDDISK".to_owned(),
        serial: format!("DISK-{name}"),
        system: true,
        readonly: false,
    }
}

pub(crate) fn mac(text: &str) -> Result<[u8; 6]> {
    let bytes: Vec<u8> = text
        .split(':')
        .map(|part| u8::from_str_radix(part, 16))
        .collect::<Result<_, _>>()
        .with_context(|| format!("{text:?} is no MAC address"))?;
    bytes
        .try_into()
        .map_err(|_| anyhow::anyhow!("{text:?} is no MAC address"))
}

fn uuid_from(bytes: &[u8]) -> String {
    let hex = hex::encode(&bytes[..16]);
    format!(
        "{}-{}-4{}-8{}-{}",
        &hex[..8],
        &hex[8..12],
        &hex[13..16],
        &hex[17..20],
        &hex[20..32]
    )
}

/// A random UUID.
pub(crate) fn uuid() -> String {
    uuid_from(&rand::random::<[u8; 16]>())
}

/// A random node identity: 32 bytes in base 62.
pub(super) fn node_identity() -> String {
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    (0..43)
        .map(|_| char::from(DIGITS[usize::from(rand::random::<u8>()) % 62]))
        .collect()
}
