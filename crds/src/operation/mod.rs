//! TalosOperation: something Ichor does once to a cluster or to a machine of it (DESIGN section 10, records 0067 and 0095).

mod blocks;
mod status;

pub use blocks::{
    CiliumUpgrade, EtcdRestore, KubernetesUpgrade, NodeOperation, ReplaceControlPlane, TalosUpgrade,
};
pub use status::{
    MachineOperationPhase, MachineOperationStatus, OperationPhase, TalosOperationStatus,
};

use crate::LocalReference;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Something Ichor does once to a cluster, or to a machine of it.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "ichor.maesh.dev",
    version = "v1alpha1",
    kind = "TalosOperation",
    namespaced,
    status = "TalosOperationStatus",
    shortname = "to",
    selectable = ".spec.clusterRef.name",
    category = "ichor",
    derive = "PartialEq",
    validation = Rule::new("size(self.metadata.name) <= 63").message("the name of an operation has at most 63 characters: Jobs and labels carry it"),
    validation = Rule::new("self.spec.kind != 'etcdRestore' || !has(self.status) || !has(self.status.startedAt) || !has(self.spec.paused) || !self.spec.paused || (has(oldSelf.spec.paused) && oldSelf.spec.paused)")
        .message("an etcd restore that has started cannot be paused: half a restore is no control plane")
        .field_path(".spec.paused"),
    doc = "Something Ichor does once to a cluster, or to a machine of it: an upgrade, a restore, a shutdown, a reboot, a reset. Operations of a cluster take turns. Deleting one stops what was not begun and takes back nothing that was sent.",
    printcolumn(name = "Cluster", type_ = "string", json_path = ".spec.clusterRef.name"),
    printcolumn(name = "Kind", type_ = "string", json_path = ".spec.kind"),
    printcolumn(name = "Machine", type_ = "string", json_path = ".spec.node.name"),
    printcolumn(name = "Version", type_ = "string", json_path = ".spec.*.version"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Paused", type_ = "boolean", json_path = ".spec.paused", priority = 1),
    printcolumn(name = "Failure", type_ = "string", json_path = ".status.failureReason", priority = 1),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = crate::rules::fixed_cluster("TalosOperation"),
    validation = Rule::new("self.kind == oldSelf.kind").message("kind cannot change after creation; create another TalosOperation").field_path(".kind"),
    validation = crate::rules::block_of("talosUpgrade"),
    validation = crate::rules::block_of("kubernetesUpgrade"),
    validation = crate::rules::block_of("ciliumUpgrade"),
    validation = crate::rules::block_of("etcdRestore"),
    validation = crate::rules::block_of("replaceControlPlane"),
    validation = Rule::new("(self.kind in ['reboot', 'reset', 'remove', 'powerOff']) == has(self.node)")
        .message("kinds reboot, reset, remove and powerOff need the block node, and no other kind may have it"),
    validation = crate::rules::fixed_block("talosUpgrade"),
    validation = crate::rules::fixed_block("kubernetesUpgrade"),
    validation = crate::rules::fixed_block("ciliumUpgrade"),
    validation = crate::rules::fixed_block("etcdRestore"),
    validation = crate::rules::fixed_block("replaceControlPlane"),
    validation = crate::rules::fixed_block("node"),
    validation = Rule::new("!has(self.etcdRestore) || self.etcdRestore.confirm == self.clusterRef.name")
        .message("etcdRestore.confirm must be the name of the cluster, typed again: the consent to replace what is in etcd"),
    validation = Rule::new("!has(self.node) || !(self.kind in ['reset', 'remove']) || (has(self.node.confirm) && (self.node.confirm == self.node.name || (has(self.node.machine) && self.node.confirm == self.node.machine)))")
        .message("reset and remove need node.confirm: the name of the machine, typed again as in node.name or node.machine"),
    validation = Rule::new("!has(self.node) || self.kind in ['reset', 'remove'] || !(has(self.node.confirm) || has(self.node.force) || has(self.node.confirmClusterName))")
        .message("confirm, force and confirmClusterName belong to reset and remove; take them out"),
    validation = Rule::new("!has(self.node) || !has(self.node.force) || !self.node.force || (has(self.node.confirmClusterName) && self.node.confirmClusterName == self.clusterRef.name)")
        .message("node.force needs node.confirmClusterName: the name of the cluster, typed again"),
)]
pub struct TalosOperationSpec {
    /// Cluster that the operation works on. Never changes.
    pub cluster_ref: LocalReference,
    /// What to do: talosUpgrade, kubernetesUpgrade, ciliumUpgrade, etcdRestore, replaceControlPlane or shutdown, and to one machine reboot, reset, remove or powerOff. Never changes.
    pub kind: OperationKind,
    /// Stop before the next machine and wait. Setting it to false again goes on; a step that failed runs again only with the annotation ichor.maesh.dev/retry=true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<bool>,
    /// For kind talosUpgrade. Never changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub talos_upgrade: Option<TalosUpgrade>,
    /// For kind kubernetesUpgrade. Never changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubernetes_upgrade: Option<KubernetesUpgrade>,
    /// For kind ciliumUpgrade. Never changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cilium_upgrade: Option<CiliumUpgrade>,
    /// For kind etcdRestore. Never changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etcd_restore: Option<EtcdRestore>,
    /// For kind replaceControlPlane. Never changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replace_control_plane: Option<ReplaceControlPlane>,
    /// The machine, for kinds reboot, reset, remove and powerOff. Never changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<NodeOperation>,
}

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum OperationKind {
    /// Upgrade Talos on every machine that has no hold.
    TalosUpgrade,
    /// Upgrade Kubernetes, component by component.
    KubernetesUpgrade,
    /// Upgrade Cilium.
    CiliumUpgrade,
    /// Restore the control plane from a snapshot of etcd.
    EtcdRestore,
    /// Put another machine in the place of a control plane.
    ReplaceControlPlane,
    /// Stop the whole cluster.
    Shutdown,
    /// Reboot one machine.
    Reboot,
    /// Wipe one machine; it comes back in maintenance mode and keeps its TalosMachine.
    Reset,
    /// Take one machine out of its cluster and wipe it.
    Remove,
    /// Power one machine off.
    PowerOff,
}

impl OperationKind {
    /// Whether it works on the one machine of the block `node`.
    pub fn is_of_one_machine(self) -> bool {
        matches!(
            self,
            Self::Reboot | Self::Reset | Self::Remove | Self::PowerOff
        )
    }
}
