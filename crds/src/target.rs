//! Which machines of a cluster something is for.

use crate::MachineRole;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Machines of a cluster: those that match everything that is given. Nothing given is every machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineTarget {
    /// Only machines of this role: controlplane or worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "MachineRole")]
    pub role: Option<MachineRole>,
    /// Only these machines, by the names of their TalosMachines (lower-case UUIDs).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 256), inner(length(max = 36)))]
    #[x_kube(merge_strategy = ListMerge::Set, validation = crate::rules::machine_names())]
    pub machines: Vec<String>,
    /// Only machines whose TalosMachine carries these labels (metadata.labels, not spec.labels).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<MachineSelector>,
}

/// A label selector: all of matchLabels and of matchExpressions have to hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineSelector {
    /// Labels with these values.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 32, "additionalProperties" = {"type": "string", "maxLength": 63}))]
    #[x_kube(validation = Rule::new("self.all(key, size(key) <= 317)").message("the key of a label has at most 317 characters"))]
    pub match_labels: BTreeMap<String, String>,
    /// Requirements on labels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub match_expressions: Vec<LabelRequirement>,
}

/// A requirement on one label.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("(self.operator in ['In', 'NotIn']) == (has(self.values) && size(self.values) > 0)").message("In and NotIn need values; Exists and DoesNotExist take none"))]
pub struct LabelRequirement {
    /// Key of the label.
    #[schemars(length(min = 1, max = 317))]
    pub key: String,
    /// In, NotIn, Exists or DoesNotExist.
    pub operator: LabelOperator,
    /// Values for In and NotIn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(max = 63)))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub values: Vec<String>,
}

/// How a label is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum LabelOperator {
    /// The label has one of the values.
    In,
    /// The label has none of the values, or is not there.
    NotIn,
    /// The label is there.
    Exists,
    /// The label is not there.
    DoesNotExist,
}
