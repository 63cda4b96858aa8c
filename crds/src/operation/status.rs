//! How far an operation has come. All that a restarted controller needs is here (DESIGN principle 2).

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How far an operation has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum OperationPhase {
    /// Not begun.
    #[default]
    Pending,
    /// A machine is being worked on.
    InProgress,
    /// Waiting: for a person when there is a failure reason or spec.paused, otherwise for another operation.
    Paused,
    /// Every machine of the cluster was asked to stop; it completes when they are powered on again (record 0067).
    ShutDown,
    /// Done.
    Completed,
}

/// What Ichor saw and did for an operation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct TalosOperationStatus {
    /// Generation of the spec that this status describes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// How far it has come: Pending, InProgress, Paused, ShutDown or Completed.
    #[serde(default)]
    pub phase: OperationPhase,
    /// Why a step failed. While it is here, the annotation ichor.maesh.dev/retry=true runs the step again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2048))]
    pub failure_reason: Option<String>,
    /// When a failed step was last run again because a person asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_retry: Option<Time>,
    /// For an upgrade: the version that it began with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub from_version: Option<String>,
    /// When it began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Time>,
    /// When it completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Time>,
    /// Every machine that the operation is for, in the order in which they are worked on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 2048))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub machines: Vec<MachineOperationStatus>,
    /// Conditions: "Complete", "Waiting" and, for kind shutdown, "Shutdown".
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
}

/// How far an operation has come with one machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum MachineOperationPhase {
    /// Its turn has not come.
    #[default]
    Pending,
    /// It is being worked on. A machine whose step failed stays here, so that a retry takes it up again (record 0095).
    InProgress,
    /// It has stopped and has to be powered on (record 0067).
    Stopped,
    /// Left alone, because of its upgradeHold.
    Held,
    /// Done.
    Completed,
}

/// How far an operation has come with one machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineOperationStatus {
    /// Name of the TalosMachine.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Its hostname, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub hostname: Option<String>,
    /// How far it has come: Pending, InProgress, Stopped, Held or Completed.
    #[serde(default)]
    pub phase: MachineOperationPhase,
    /// What is being done to it, in a word, such as draining or rebooting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub step: Option<String>,
    /// Boot ID at the time of the record: another one is another boot. Absent for a machine that did not answer.
    #[serde(default, rename = "bootID", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub boot_id: Option<String>,
    /// The member of etcd that leaves with it, as lower-case hex.
    #[serde(
        default,
        rename = "etcdMemberID",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(length(max = 32))]
    pub etcd_member_id: Option<String>,
    /// Which attempt this is, from 1; only a person's retry or resume begins another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub attempt: Option<i32>,
    /// Whether Ichor cordoned its Kubernetes Node and will lift that cordon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cordoned: Option<bool>,
    /// When its turn came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Time>,
    /// The request that is recorded, as the method of the Talos API, such as Reset or Reboot: a step of several requests goes on after the one that is here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub recorded_request: Option<String>,
    /// When the request of this attempt was recorded; a record that is found is never sent again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded_at: Option<Time>,
    /// When Talos answered the request; absent when the answer was not seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted_at: Option<Time>,
    /// When it stopped answering.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped_at: Option<Time>,
    /// When it was done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Time>,
    /// What it waits for, why it is held or what failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub message: Option<String>,
}
