//! MachineReclaim: the request to wipe one machine (record 0136).

use crate::{LocalReference, MachineIdentity, MachineRole};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::core::Rule;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// CEL: consent was given. The UUID that stood in the request is the inspected one, or a reset is recorded.
const CONFIRMED: &str = "has(oldSelf.status) && (has(oldSelf.status.reset) || (has(oldSelf.status.inspection) && has(oldSelf.spec.confirmUUID) && oldSelf.spec.confirmUUID.lowerAscii() == oldSelf.status.inspection.identity.uuid))";

/// CEL: the cluster's name still has to be typed, because the UUID of a forced request was typed first.
const NAME_IS_ASKED_FOR: &str = " || (!has(oldSelf.status.reset) && has(oldSelf.status.inspection) && has(oldSelf.status.inspection.clusterNameNeeded) && !(has(oldSelf.spec.confirmClusterName) && oldSelf.spec.confirmClusterName == oldSelf.status.inspection.clusterNameNeeded))";

/// "`confirmUUID` and the force flags are immutable once they matched" (DESIGN section 4), also while no webhook says so.
fn stands(field: &str, or: &str) -> Rule {
    let same = crate::rules::same_of_spec(field);
    Rule::new(format!("!({CONFIRMED}) || ({same}){or}"))
        .message(&*format!("{field} cannot change any more: the machine's UUID was confirmed, and that is what is carried out. To ask for something else, delete this request and create another"))
        .field_path(format!(".spec.{field}"))
}

/// A request to wipe one machine, so that it comes back in maintenance mode.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "ichor.maesh.dev",
    version = "v1alpha1",
    kind = "MachineReclaim",
    namespaced,
    status = "MachineReclaimStatus",
    shortname = "mr",
    category = "ichor",
    derive = "PartialEq",
    selectable = ".spec.address",
    selectable = ".spec.confirmUUID",
    validation = stands("confirmUUID", ""),
    validation = stands("force", ""),
    validation = stands("confirmClusterName", NAME_IS_ASKED_FOR),
    validation = stands("forceUngraceful", ""),
    doc = "A request to wipe one machine. Ichor inspects it, a person types its UUID into spec.confirmUUID, and it comes back in maintenance mode. Needs verb \"reclaim\".",
    printcolumn(name = "Address", type_ = "string", json_path = ".spec.address"),
    printcolumn(
        name = "Cluster",
        type_ = "string",
        json_path = ".spec.clusterRef.name"
    ),
    printcolumn(
        name = "Machine",
        type_ = "string",
        json_path = ".status.inspection.identity.uuid"
    ),
    printcolumn(
        name = "Hostname",
        type_ = "string",
        json_path = ".status.inspection.hostname",
        priority = 1
    ),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(
        name = "Result",
        type_ = "string",
        json_path = ".status.result",
        priority = 1
    ),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp"
    )
)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("has(self.credentialSecretRef) != (has(self.clusterCredentials) && self.clusterCredentials)").message("exactly one of credentialSecretRef and clusterCredentials: true is needed"))]
#[x_kube(validation = Rule::new("!(has(self.clusterCredentials) && self.clusterCredentials) || has(self.clusterRef)").message("clusterCredentials needs clusterRef: the cluster whose credentials are used"))]
#[x_kube(validation = Rule::new("self.address == oldSelf.address").message("address cannot change after creation; create another MachineReclaim"))]
#[x_kube(validation = crate::rules::fixed("clusterRef", "create another MachineReclaim"))]
#[x_kube(validation = crate::rules::fixed("clusterCredentials", "create another MachineReclaim"))]
#[x_kube(validation = crate::rules::fixed("credentialSecretRef", "create another MachineReclaim"))]
pub struct MachineReclaimSpec {
    /// IP address of the machine's Talos API (port 50000). Never changes.
    #[schemars(length(min = 1, max = 64))]
    #[x_kube(validation = Rule::new("isIP(self)").message("must be an IP address such as 10.5.0.7"))]
    pub address: String,
    /// The managed cluster whose configuration the machine carries. Needed with clusterCredentials. Never changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_ref: Option<LocalReference>,
    /// Dial the machine with a certificate made from the cluster's own secrets bundle. Never changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_credentials: Option<bool>,
    /// Dial the machine with the talosconfig in this Secret of type ichor.maesh.dev/talosconfig, key "talosconfig". Never changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential_secret_ref: Option<LocalReference>,
    /// The machine's UUID, typed by a person after the inspection: the consent to wipe it.
    #[serde(
        default,
        rename = "confirmUUID",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(length(max = 64))]
    pub confirm_uuid: Option<String>,
    /// Wipe even if etcd would lose quorum or the last control plane goes. Needs confirmClusterName.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub force: Option<bool>,
    /// The name of the cluster, typed by a person: the consent to what force allows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub confirm_cluster_name: Option<String>,
    /// Do not drain the machine or let it leave etcd first; for a control plane whose cluster does not answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub force_ungraceful: Option<bool>,
}

/// How far a reclaim has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ReclaimPhase {
    /// Not looked at yet.
    #[default]
    Pending,
    /// The machine is being dialled and read.
    Inspecting,
    /// A person has to type the machine's UUID.
    AwaitingConfirmation,
    /// The reset is recorded and sent, once.
    Resetting,
    /// The machine has to come back in maintenance mode.
    AwaitingMaintenance,
    /// Wiped and in maintenance mode.
    Done,
    /// Not carried out: the assessment refuses it.
    Refused,
    /// Recorded or sent, and not known to have worked.
    Failed,
}

impl ReclaimPhase {
    /// Whether nothing more will happen.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Done | Self::Refused | Self::Failed)
    }
}

/// What Ichor saw and did for a reclaim.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineReclaimStatus {
    /// Generation of the spec that this status describes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// How far the reclaim has come.
    #[serde(default)]
    pub phase: ReclaimPhase,
    /// What the machine said it is, and what a reset would do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inspection: Option<ReclaimInspection>,
    /// The reset, recorded before it was sent; a record that is found is never sent again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reset: Option<ResetRecord>,
    /// What was seen of the machine after the record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<ReclaimProgress>,
    /// How it ended, in one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2048))]
    pub result: Option<String>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Time>,
    /// Conditions: "Waiting", "UUIDMismatch", "Overdue", "Complete".
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
}

/// What the machine said it is, and what a reset would do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReclaimInspection {
    /// When the machine was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inspected_at: Option<Time>,
    /// SMBIOS UUID, serial and MACs.
    pub identity: MachineIdentity,
    /// Manufacturer of the board.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub manufacturer: Option<String>,
    /// Product name of the board.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub product: Option<String>,
    /// Host name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub hostname: Option<String>,
    /// controlplane or worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "MachineRole")]
    pub role: Option<MachineRole>,
    /// Talos version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub talos_version: Option<String>,
    /// Cluster ID the machine carries.
    #[serde(default, rename = "clusterID", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    pub cluster_id: Option<String>,
    /// Cluster name the machine carries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub cluster_name: Option<String>,
    /// The TalosCluster the machine belongs to: its certificate verified with that cluster's CA.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub managed_cluster: Option<String>,
    /// Stage that Talos reports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    pub stage: Option<String>,
    /// Boot ID.
    #[serde(default, rename = "bootID", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub boot_id: Option<String>,
    /// The etcd member of this machine, as lower-case hex.
    #[serde(
        default,
        rename = "etcdMemberID",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(length(max = 32))]
    pub etcd_member_id: Option<String>,
    /// Members of etcd, with their health.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub etcd_members: Vec<EtcdMemberView>,
    /// Volumes that the reset wipes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32), inner(length(max = 256)))]
    pub wiped: Vec<String>,
    /// Volumes and disks that the reset leaves as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 256))]
    pub kept: Vec<VolumeView>,
    /// The Kubernetes Node of the machine's host name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<NodeView>,
    /// The cluster name that a person has to type as well into confirmClusterName, because only force allows this wipe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub cluster_name_needed: Option<String>,
    /// What is legal and probably not meant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32), inner(length(max = 1024)))]
    pub warnings: Vec<String>,
    /// Why it may not be wiped as asked; empty when it may.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32), inner(length(max = 1024)))]
    pub refusals: Vec<String>,
}

/// A member of etcd.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct EtcdMemberView {
    /// Member ID as lower-case hex.
    #[schemars(length(max = 32))]
    pub id: String,
    /// Host name of the member; empty while it joins.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 253))]
    pub hostname: String,
    /// Whether it only learns: it does not vote.
    #[serde(default)]
    pub learner: bool,
    /// Whether it answered and had no error; unknown counts as false.
    #[serde(default)]
    pub healthy: bool,
}

/// A volume or disk of a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct VolumeView {
    /// Name of the volume or path of the disk.
    #[schemars(length(max = 256))]
    pub name: String,
    /// Size in bytes, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<i64>,
    /// What it is, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub description: Option<String>,
}

/// The Kubernetes Node of a machine's host name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeView {
    /// Name of the Node.
    #[schemars(length(max = 253))]
    pub name: String,
    /// Whether its system UUID is the machine's; only then it will be deleted.
    pub matches: bool,
}

/// The record of a reset, written before it is sent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResetRecord {
    /// When the record was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded_at: Option<Time>,
    /// The machine that the reset is for.
    pub identity: MachineIdentity,
    /// Boot ID at the time of the record.
    #[serde(default, rename = "bootID", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub boot_id: Option<String>,
    /// Whether the machine drains and leaves etcd first.
    pub graceful: bool,
    /// When Talos answered the request; absent when the answer was not seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted_at: Option<Time>,
}

/// What was seen of the machine after the record.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReclaimProgress {
    /// When the machine was first seen resetting or not answering.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped_at: Option<Time>,
    /// When its etcd member was seen gone from the list of the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member_gone_at: Option<Time>,
    /// When it was seen in maintenance mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub returned_at: Option<Time>,
    /// Address where it came back, when that is not spec.address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub returned_address: Option<String>,
}
