//! TalosStorage: user volumes on the disks of machines (DESIGN section 12).

use crate::{LocalReference, MachineTarget};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// User volumes on the disks of machines.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "ichor.maesh.dev",
    version = "v1alpha1",
    kind = "TalosStorage",
    namespaced,
    status = "TalosStorageStatus",
    shortname = "ts",
    category = "ichor",
    derive = "PartialEq",
    doc = "User volumes on the disks of a cluster's machines, mounted at /var/mnt/NAME. Taking a volume out of the list does not wipe it.",
    printcolumn(
        name = "Cluster",
        type_ = "string",
        json_path = ".spec.clusterRef.name"
    ),
    printcolumn(
        name = "Provisioned",
        type_ = "integer",
        json_path = ".status.provisioned"
    ),
    printcolumn(name = "Waiting", type_ = "integer", json_path = ".status.waiting"),
    printcolumn(name = "Failed", type_ = "integer", json_path = ".status.failed"),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].status"
    ),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].reason",
        priority = 1
    ),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp"
    )
)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = crate::rules::fixed_cluster("TalosStorage"))]
pub struct TalosStorageSpec {
    /// Cluster of the machines. Never changes.
    pub cluster_ref: LocalReference,
    /// Which machines of the cluster; absent for all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<MachineTarget>,
    /// The volumes that each of these machines gets.
    #[schemars(length(min = 1, max = 32))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub volumes: Vec<UserVolume>,
}

/// A user volume of Talos.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = crate::rules::fixed("filesystem", "take the volume out, wipe it on its machines, then add it again"),
    validation = crate::rules::fixed("encryption", "take the volume out, wipe it on its machines, then add it again"),
    validation = Rule::new("has(self.minSize) || has(self.maxSize)").message("a volume needs minSize, maxSize or both"),
)]
pub struct UserVolume {
    /// Name of the volume, which is mounted at /var/mnt/NAME: letters, digits and dashes.
    #[schemars(length(max = 34))]
    #[x_kube(validation = Rule::new("self.matches('^[A-Za-z0-9-]+$')").message("must be 1 to 34 letters, digits and dashes"))]
    pub name: String,
    /// The disk that the volume is put on.
    pub disk_selector: VolumeDiskSelector,
    /// Least size, such as 100GiB: a disk with less room is not taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    #[x_kube(validation = crate::rules::size("", "100GiB"))]
    pub min_size: Option<String>,
    /// Greatest size, such as 500GiB or 80% of the disk; absent for all the room there is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    #[x_kube(validation = crate::rules::size("|%", "500GiB or 80%"))]
    pub max_size: Option<String>,
    /// Let the volume grow into room that appears later, up to maxSize.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grow: Option<bool>,
    /// Filesystem: xfs (default) or ext4. Never changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "VolumeFilesystem")]
    pub filesystem: Option<VolumeFilesystem>,
    /// Encrypt the volume. Never changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encryption: Option<VolumeEncryption>,
}

/// The disk that a volume is put on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
pub struct VolumeDiskSelector {
    /// Expression of Talos over a disk, such as disk.transport == "nvme" && !system_disk.
    #[serde(rename = "match")]
    #[schemars(length(min = 1, max = 1024))]
    pub expression: String,
}

/// Filesystem of a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum VolumeFilesystem {
    /// XFS.
    Xfs,
    /// ext4.
    Ext4,
}

/// How a volume is encrypted, by LUKS2.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct VolumeEncryption {
    /// What the key is made from: nodeID (protects a disk that leaves its machine) or tpm (sealed by the machine's TPM).
    pub key: VolumeKey,
}

/// What the key of a volume is made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum VolumeKey {
    /// The UUID of the machine.
    #[serde(rename = "nodeID")]
    NodeId,
    /// Sealed by the TPM.
    #[serde(rename = "tpm")]
    Tpm,
}

/// What Ichor knows of the volumes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct TalosStorageStatus {
    /// Generation of the spec that this status describes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Volumes that are provisioned, over all machines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provisioned: Option<i32>,
    /// Volumes that wait for a disk, over all machines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<i32>,
    /// Volumes that failed, over all machines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<i32>,
    /// The machines and how far their volumes are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 2048))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub machines: Vec<MachineVolumes>,
    /// Conditions; "Ready" tells whether every volume is provisioned on every machine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
}

/// How far the volumes of one machine are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineVolumes {
    /// Name of the TalosMachine.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Its hostname, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub hostname: Option<String>,
    /// Its volumes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub volumes: Vec<MachineVolume>,
}

/// How far one volume of one machine is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineVolume {
    /// Name of the volume.
    #[schemars(length(min = 1, max = 34))]
    pub name: String,
    /// Provisioned, Waiting or Failed.
    #[serde(default)]
    pub phase: VolumePhase,
    /// Path of the disk or partition, such as /dev/nvme1n1p1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub device: Option<String>,
    /// Size in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub size: Option<i64>,
    /// What it waits for or why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub message: Option<String>,
}

/// How far a volume is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum VolumePhase {
    /// No disk matches yet, or the machine has not answered.
    #[default]
    Waiting,
    /// It is there and mounted.
    Provisioned,
    /// Talos reports an error.
    Failed,
}
