//! The rules of a MachineReclaim (record 0136). `tests/conformance` asks for them by every way of writing.

use super::case::{Case, rule};
use serde_json::{Value, json};

/// What stands once the UUID was confirmed.
macro_rules! stands {
    ($field:literal) => {
        concat!(
            $field,
            " cannot change any more: the machine's UUID was confirmed, and that is what is carried out. To ask for something else, delete this request and create another"
        )
    };
}

pub fn cases() -> Vec<Case> {
    let mut cases = request();
    cases.extend(consent());
    cases
}

fn request() -> Vec<Case> {
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
        rule(
            "old-worker-9",
            "is not the name of an object: lower-case letters, digits, \"-\" and \".\", at most 253",
            json!({"clusterRef": {"name": "-prod"}}),
            json!({}),
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

/// What consent fixes. A wrong UUID consents to nothing; letters count in either case.
fn consent() -> Vec<Case> {
    let uuid = "4c4c4544-0042-3510-8052-b4c04f463133";
    let confirmed = |spec: Value, case: Case| {
        let inspection = json!({"identity": {"uuid": uuid}, "clusterNameNeeded": "prod"});
        case.of_stored(
            spec,
            json!({"phase": "AwaitingConfirmation", "inspection": inspection}),
        )
    };
    let typed = || json!({"confirmUUID": uuid.to_uppercase()});
    vec![
        confirmed(
            typed(),
            rule(
                "old-worker-9",
                stands!("confirmUUID"),
                json!({"confirmUUID": null}),
                json!({"confirmClusterName": "prod"}),
            ),
        ),
        confirmed(
            typed(),
            rule(
                "old-worker-9",
                stands!("force"),
                json!({"force": true}),
                json!({"confirmClusterName": "prod"}),
            ),
        ),
        confirmed(
            json!({"confirmUUID": uuid, "confirmClusterName": "prod"}),
            rule(
                "old-worker-9",
                stands!("confirmClusterName"),
                json!({"confirmClusterName": "lab"}),
                json!({}),
            ),
        ),
        confirmed(
            typed(),
            rule(
                "old-worker-9",
                stands!("forceUngraceful"),
                json!({"forceUngraceful": true}),
                json!({"confirmClusterName": "prod"}),
            ),
        ),
        confirmed(
            json!({"confirmUUID": uuid.replace('3', "4")}),
            rule(
                "old-worker-9",
                "address cannot change after creation; create another MachineReclaim",
                json!({"address": "10.5.0.20"}),
                json!({"confirmUUID": uuid, "force": true, "confirmClusterName": "prod"}),
            ),
        ),
    ]
}
