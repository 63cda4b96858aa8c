//! What an operation of each kind needs to know.

use crate::LocalReference;
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

/// An upgrade of Talos: control planes one at a time, then workers in batches.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct TalosUpgrade {
    /// Talos version to upgrade to, such as v1.14.3.
    #[schemars(length(max = 64))]
    #[x_kube(validation = crate::rules::version("v1.14.3"))]
    pub version: String,
    /// Installer image in place of the cluster's spec.installImage. One without a tag gets the version as its tag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512))]
    #[x_kube(validation = crate::rules::image())]
    pub image: Option<String>,
    /// Most workers that are upgraded at the same time (default 1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100))]
    pub max_unavailable: Option<i32>,
}

/// An upgrade of Kubernetes, component by component.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct KubernetesUpgrade {
    /// Kubernetes version to upgrade to, such as v1.36.1.
    #[schemars(length(max = 64))]
    #[x_kube(validation = crate::rules::version("v1.36.1"))]
    pub version: String,
}

/// An upgrade of Cilium, by a Job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct CiliumUpgrade {
    /// Cilium version to upgrade to, such as v1.18.2.
    #[schemars(length(max = 64))]
    #[x_kube(validation = crate::rules::version("v1.18.2"))]
    pub version: String,
}

/// A restore of the whole control plane from a snapshot of etcd. What happened since the snapshot is lost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct EtcdRestore {
    /// TalosEtcdBackup at whose destination the snapshot is.
    pub backup_ref: LocalReference,
    /// Name of the snapshot, as status.snapshots of the TalosEtcdBackup lists it.
    #[schemars(length(min = 1, max = 253))]
    pub snapshot: String,
    /// Secret of this namespace whose key "identity" holds the age identity that opens an encrypted snapshot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity_secret_ref: Option<LocalReference>,
    /// The name of the cluster, typed by a person: the consent to replace what is in etcd.
    #[schemars(length(min = 1, max = 63))]
    pub confirm: String,
}

/// Another machine takes the place of a control plane: the new one joins first, then the old one leaves and is wiped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("self.machine != self.replacement").message("replacement must be another machine than the one that goes"),
    validation = Rule::new("self.confirm == self.machine").message("confirm must be the name of the machine that goes, typed again: the consent to wipe it"),
)]
pub struct ReplaceControlPlane {
    /// Name of the TalosMachine that goes.
    #[schemars(length(max = 36))]
    #[x_kube(validation = crate::rules::machine_name())]
    pub machine: String,
    /// Name of the TalosMachine that takes its place: approved as a control plane of this cluster and beyond its number of control planes.
    #[schemars(length(max = 36))]
    #[x_kube(validation = crate::rules::machine_name())]
    pub replacement: String,
    /// The name of the machine that goes, typed by a person: the consent to wipe it.
    #[schemars(length(min = 1, max = 253))]
    pub confirm: String,
}

/// The one machine that is rebooted, reset, removed or powered off.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeOperation {
    /// The machine as a person calls it: name of its TalosMachine, its hostname, or name or address of its Kubernetes Node.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Name of the TalosMachine that name stands for. Admission fills it in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 36))]
    #[x_kube(validation = crate::rules::machine_name())]
    pub machine: Option<String>,
    /// For reset and remove: the name of the machine, typed again by a person: the consent to wipe it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub confirm: Option<String>,
    /// For reset and remove: go on even if etcd would lose quorum or the last control plane goes. Needs confirmClusterName.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub force: Option<bool>,
    /// The name of the cluster, typed by a person: the consent to what force allows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub confirm_cluster_name: Option<String>,
}
