//! The pod network of a cluster, and moving to Cilium (DESIGN section 12).

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The pod network of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("!has(self.handover) || self.handover == 'disabled' || (has(self.provider) && self.provider == 'cilium')")
        .message("a handover moves a cluster to Cilium: set provider to cilium, or handover to disabled"),
    validation = Rule::new("!has(self.provider) || self.provider != 'cilium' || (has(self.cilium) && has(self.cilium.version))")
        .message("provider cilium needs cilium.version: the Cilium to install, such as v1.18.2"),
)]
pub struct CniSettings {
    /// Who provides the pod network: flannel (default, by Talos), cilium (installed by Ichor) or none (somebody else).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "CniProvider")]
    pub provider: Option<CniProvider>,
    /// How a running cluster moves from Talos's own network to Cilium, node by node: disabled (default), manual (each step waits for a person) or automatic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "CniHandover")]
    pub handover: Option<CniHandover>,
    /// Which Cilium, where the provider is cilium.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cilium: Option<CiliumSettings>,
}

/// Which Cilium is installed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct CiliumSettings {
    /// Cilium version that is installed, such as v1.18.2. Afterwards a ciliumUpgrade changes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    #[x_kube(validation = crate::rules::version("v1.18.2"))]
    pub version: Option<String>,
    /// Values of Cilium's Helm chart as YAML, beyond those that Ichor sets for Talos.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 65_536))]
    pub values: Option<String>,
}

/// Who provides the pod network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CniProvider {
    /// Flannel, by Talos.
    Flannel,
    /// Cilium, installed by Ichor.
    Cilium,
    /// Somebody else.
    None,
}

/// How a running cluster moves to Cilium.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CniHandover {
    /// Not at all.
    Disabled,
    /// Each step waits for a person.
    Manual,
    /// Step after step.
    Automatic,
}

/// How far the move to Cilium is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct CniHandoverStatus {
    /// InProgress, Reverting, Reverted or Completed. Until it is completed it can be reverted.
    #[serde(default)]
    pub phase: CniHandoverPhase,
    /// TalosMachine that is being moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub machine: Option<String>,
    /// Machines that are moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved_machines: Option<i32>,
    /// When it was begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Time>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Time>,
    /// What it waits for or what failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub message: Option<String>,
}

/// How far the move to Cilium is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum CniHandoverPhase {
    /// Machines are being moved.
    #[default]
    InProgress,
    /// Machines are being moved back.
    Reverting,
    /// Every machine is as it was.
    Reverted,
    /// The old network is gone: the last step, which cannot be reverted.
    Completed,
}
