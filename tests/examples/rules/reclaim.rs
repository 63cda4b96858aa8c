//! The rules of a MachineReclaim (record 0136). `tests/conformance.rs` asks for them by every way of writing.

use super::case::{Case, rule};
use serde_json::{Value, json};

pub fn cases() -> Vec<Case> {
    let stored = |case: Case| case.of_stored(json!({}), Value::Null);
    let force = || json!({"force": true, "confirmClusterName": "prod"});
    vec![
        rule(
            "old-worker-9",
            "exactly one of credentialSecretRef and clusterCredentials: true is needed",
            json!({"clusterCredentials": false}),
            json!({"clusterCredentials": null, "credentialSecretRef": {"name": "pasted"}}),
        ),
        rule(
            "old-worker-9",
            "clusterCredentials needs clusterRef: the cluster whose credentials are used",
            json!({"clusterRef": null}),
            json!({}),
        ),
        rule(
            "old-worker-9",
            "must be an IP address such as 10.5.0.7",
            json!({"address": "10.5.0.19:50000"}),
            json!({"address": "fd00:5::19"}),
        ),
        stored(rule(
            "old-worker-9",
            "address cannot change after creation; create another MachineReclaim",
            json!({"address": "10.5.0.20"}),
            force(),
        )),
        stored(rule(
            "lab-machine",
            "clusterRef cannot be set, cleared or changed after creation; create another MachineReclaim",
            json!({"clusterRef": {"name": "prod"}}),
            force(),
        )),
        stored(rule(
            "lab-machine",
            "clusterCredentials cannot be set, cleared or changed after creation; create another MachineReclaim",
            json!({"clusterCredentials": false}),
            force(),
        )),
        stored(rule(
            "lab-machine",
            "credentialSecretRef cannot be set, cleared or changed after creation; create another MachineReclaim",
            json!({"credentialSecretRef": {"name": "other"}}),
            force(),
        )),
    ]
}
