//! TalosConfigPatch: what the typed spec cannot say, added to the configuration of machines (DESIGN section 7).

use crate::{LocalReference, MachineTarget};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

/// A patch of the rendered configuration of machines.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "ichor.maesh.dev",
    version = "v1alpha1",
    kind = "TalosConfigPatch",
    namespaced,
    status = "TalosConfigPatchStatus",
    shortname = "tcp",
    category = "ichor",
    derive = "PartialEq",
    doc = "A patch of the machine configuration that Ichor renders, for the machines of a cluster that it targets. Patches are applied in order of priority, then of name. Writing one is root on those machines.",
    printcolumn(
        name = "Cluster",
        type_ = "string",
        json_path = ".spec.clusterRef.name"
    ),
    printcolumn(name = "Priority", type_ = "integer", json_path = ".spec.priority"),
    printcolumn(name = "Role", type_ = "string", json_path = ".spec.target.role"),
    printcolumn(name = "Machines", type_ = "integer", json_path = ".status.machines"),
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
#[x_kube(validation = crate::rules::fixed_cluster("TalosConfigPatch"))]
pub struct TalosConfigPatchSpec {
    /// Cluster whose machines are patched. Never changes.
    pub cluster_ref: LocalReference,
    /// Which machines of the cluster; absent for all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<MachineTarget>,
    /// Order among the patches of a machine: lower ones first, so that a higher one has the last word. Equal ones go by name.
    #[serde(default)]
    #[schemars(range(min = -1000, max = 1000))]
    pub priority: i32,
    /// The patch as text: a strategic merge patch of Talos (several YAML documents are allowed), or an RFC 6902 JSON patch. Over 200 kB it has to be applied with "kubectl apply --server-side".
    #[schemars(length(min = 1, max = 524_288))]
    pub patch: String,
}

/// What Ichor knows of a patch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct TalosConfigPatchStatus {
    /// Generation of the spec that this status describes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Approved machines that the patch targets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machines: Option<i32>,
    /// Machines of these whose applied configuration has the patch as it is now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applied_machines: Option<i32>,
    /// Conditions; "Ready" tells whether the patch applies to the configuration of every machine it targets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
}
