//! What Ichor knows of a machine.

use crate::Hardware;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

/// What Ichor knows of a machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct TalosMachineStatus {
    /// Generation of the spec that this status describes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Address where the machine was seen in place of spec.endpoint (record 0086).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub observed_endpoint: Option<String>,
    /// The spec.endpoint that observedEndpoint replaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub observed_endpoint_for: Option<String>,
    /// Name of its Kubernetes Node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub node_name: Option<String>,
    /// Stage that Talos reports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    pub stage: Option<String>,
    /// Boot ID seen last.
    #[serde(default, rename = "bootID", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub boot_id: Option<String>,
    /// Talos version seen last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub talos_version: Option<String>,
    /// Fingerprint of the maintenance certificate as seen now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub maintenance_fingerprint: Option<String>,
    /// Kubernetes version of its kubelet seen last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub kubernetes_version: Option<String>,
    /// Board, disks and links as discovery saw them, to choose from at approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hardware: Option<Hardware>,
    /// Hash of the configuration rendered for the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    pub config_hash: Option<String>,
    /// Hash of the configuration applied last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    pub applied_hash: Option<String>,
    /// When a configuration was applied last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applied_at: Option<Time>,
    /// The reboot that a change of the configuration needed, recorded before it was sent; a record that is found is never sent again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reboot: Option<RebootRecord>,
    /// Conditions: "Ready" and "Removal".
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
}

/// The record of a reboot, written before it is sent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct RebootRecord {
    /// When the record was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded_at: Option<Time>,
    /// Boot ID at the time of the record: another one is another boot.
    #[serde(default, rename = "bootID", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub boot_id: Option<String>,
    /// Hash of the configuration that needs the reboot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    pub config_hash: Option<String>,
    /// Whether Ichor cordoned its Kubernetes Node and will lift that cordon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cordoned: Option<bool>,
    /// When Talos answered the request; absent when the answer was not seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted_at: Option<Time>,
}
