//! What a machine is made of, for the person who approves it (DESIGN section 8).

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

/// Board, disks and links of a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Hardware {
    /// Manufacturer of the board.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub manufacturer: Option<String>,
    /// Product name of the board.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub product: Option<String>,
    /// Disks: one of them is spec.install.disk.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 128))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["path".into()]))]
    pub disks: Vec<HardwareDisk>,
    /// Physical links: the MAC of one of them is spec.network.interface.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub links: Vec<HardwareLink>,
}

/// A disk of a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct HardwareDisk {
    /// Path, such as /dev/nvme0n1.
    #[schemars(length(min = 1, max = 256))]
    pub path: String,
    /// Size in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub size: Option<i64>,
    /// Model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub model: Option<String>,
    /// Serial number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub serial: Option<String>,
    /// World wide identifier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub wwid: Option<String>,
    /// Transport, such as nvme or sata.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    pub transport: Option<String>,
    /// Whether it has spinning platters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rotational: Option<bool>,
    /// Whether it can only be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub readonly: Option<bool>,
}

/// A physical link of a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct HardwareLink {
    /// Name, such as eth0. It may change from boot to boot.
    #[schemars(length(min = 1, max = 64))]
    pub name: String,
    /// Permanent MAC address, lower case with colons.
    #[schemars(length(max = 64))]
    pub mac: String,
    /// Whether it has a carrier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up: Option<bool>,
}
