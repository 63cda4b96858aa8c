//! The rules of a TalosStorage.

use super::case::{Case, rule};
use serde_json::{Value, json};

const FIXED: [&str; 2] = [
    "filesystem cannot be set, cleared or changed after creation; take the volume out, wipe it on its machines, then add it again",
    "encryption cannot be set, cleared or changed after creation; take the volume out, wipe it on its machines, then add it again",
];

/// The one volume of the example, with a change.
fn volume(change: &Value) -> Value {
    let mut volume = json!({
        "name": "data", "diskSelector": {"match": "!system_disk"}, "minSize": "100GiB", "maxSize": "80%",
        "filesystem": "xfs", "encryption": {"key": "tpm"},
    });
    for (field, value) in change.as_object().into_iter().flatten() {
        volume[field] = value.clone();
    }
    json!({"volumes": [volume]})
}

pub fn cases() -> Vec<Case> {
    let mut cases = super::patch::target("data");
    let sizes = json!({"minSize": null, "maxSize": null});
    cases.extend([
        rule(
            "data",
            "is not the name of an object: lower-case letters, digits, \"-\" and \".\", at most 253",
            json!({"clusterRef": {"name": "prod 1"}}),
            json!({}),
        ),
        rule(
            "data",
            "must be 1 to 34 letters, digits and dashes",
            volume(&json!({"name": "data_1"})),
            volume(&json!({"name": "Data-1"})),
        ),
        rule(
            "data",
            "a volume needs minSize, maxSize or both",
            volume(&sizes),
            volume(&json!({"minSize": null})),
        ),
        rule(
            "data",
            "must be a size such as 100GiB",
            volume(&json!({"minSize": "10%"})),
            volume(&json!({"minSize": "1.5TB"})),
        ),
        rule(
            "data",
            "must be a size such as 500GiB or 80%",
            volume(&json!({"maxSize": "half"})),
            volume(&json!({"maxSize": "500GiB"})),
        ),
        stored(FIXED[0], &json!({"filesystem": "ext4"})),
        stored(FIXED[0], &json!({"filesystem": null})),
        stored(FIXED[1], &json!({"encryption": {"key": "nodeID"}})),
        stored(FIXED[1], &json!({"encryption": null})),
        rule(
            "data",
            "clusterRef cannot change after creation; create another TalosStorage",
            json!({"clusterRef": {"name": "other"}}),
            json!({"target": {"role": "controlplane"}}),
        )
        .of_stored(json!({}), Value::Null),
    ]);
    cases
}

/// A volume keeps what it was made with; another one in its place is another volume.
fn stored(message: &'static str, change: &Value) -> Case {
    let other = volume(&json!({"name": "other", "filesystem": "ext4", "encryption": null}));
    rule("data", message, volume(change), other).of_stored(json!({}), Value::Null)
}
