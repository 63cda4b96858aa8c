//! The rules of a TalosConfigPatch.

use super::case::{Case, rule};
use serde_json::{Value, json};

pub fn cases() -> Vec<Case> {
    let mut cases = target("worker-kubelet");
    cases.push(rule(
        "worker-kubelet",
        "is not the name of an object: lower-case letters, digits, \"-\" and \".\", at most 253",
        json!({"clusterRef": {"name": "prod_1"}}),
        json!({}),
    ));
    cases.push(
        rule(
            "worker-kubelet",
            "clusterRef cannot change after creation; create another TalosConfigPatch",
            json!({"clusterRef": {"name": "other"}}),
            json!({"priority": -5, "patch": "machine: {}"}),
        )
        .of_stored(json!({}), Value::Null),
    );
    cases
}

/// The rules of a target, which several kinds have.
pub fn target(example: &'static str) -> Vec<Case> {
    let expression = |operator: &str, values: Value| json!({"target": {"selector": {"matchExpressions": [{"key": "rack", "operator": operator, "values": values}]}}});
    vec![
        rule(
            example,
            "must be names of TalosMachines: lower-case UUIDs, as \"kubectl get talosmachines\" shows them",
            json!({"target": {"machines": ["worker-7"]}}),
            json!({"target": {"machines": ["4c4c4544-0042-3510-8052-b4c04f463137"]}}),
        ),
        rule(
            example,
            "In and NotIn need values; Exists and DoesNotExist take none",
            expression("NotIn", json!([])),
            expression("NotIn", json!(["r7"])),
        ),
        rule(
            example,
            "In and NotIn need values; Exists and DoesNotExist take none",
            expression("Exists", json!(["r7"])),
            expression("Exists", json!([])),
        ),
        rule(
            example,
            "the key of a label has at most 317 characters",
            json!({"target": {"selector": {"matchLabels": {"l".repeat(318): ""}}}}),
            json!({"target": {"selector": {"matchLabels": {"l".repeat(317): ""}}}}),
        ),
    ]
}
