//! The rules of a TalosMachine.

use super::case::{Case, rule};
use serde_json::{Value, json};

const CONTROL_PLANE: &str = "4c4c4544-0042-3510-8052-b4c04f463131";
const WORKER: &str = "4c4c4544-0042-3510-8052-b4c04f463137";
const PENDING: &str = "4c4c4544-0042-3510-8052-b4c04f463138";

const NEEDS_FINGERPRINT: &str = "an approved machine needs maintenanceFingerprint: what status.maintenanceFingerprint shows and the machine's console confirms; \"ichor machine approve\" asks for it";
const NEEDS_INSTALL: &str =
    "an approved machine needs install: the disk to install Talos to, one of status.hardware.disks";
const NEEDS_ROLE: &str = "an approved machine needs role and clusterRef";
const FIXED_CLUSTER: &str = "clusterRef of an approved machine cannot change; remove it with \"ichor node remove\" and approve it in the other cluster";
const FIXED_ROLE: &str = "the role of a configured machine cannot change; remove it with \"ichor node remove\" and approve it again";
const STATIC: &str = "addressing: static needs addresses, and only static addressing has them";

pub fn cases() -> Vec<Case> {
    [shape(), network(), approval(), configured()]
        .into_iter()
        .flatten()
        .collect()
}

fn shape() -> Vec<Case> {
    vec![
        rule(
            WORKER,
            "is not the name of an object: lower-case letters, digits, \"-\" and \".\", at most 253",
            json!({"clusterRef": {"name": ".prod"}}),
            json!({}),
        ),
        rule(
            PENDING,
            "a TalosMachine is named by its lower-case SMBIOS UUID: metadata.name and spec.identity.uuid must be equal",
            json!({"identity": {"uuid": CONTROL_PLANE}}),
            json!({}),
        ),
        rule(
            PENDING,
            "must be a lower-case UUID such as 4c4c4544-0042-3510-8052-b4c04f463133",
            json!({"identity": {"uuid": "worker-8"}}),
            json!({}),
        )
        .named("worker-8"),
        rule(
            PENDING,
            "must be MAC addresses in lower case with colons, such as 02:00:0a:05:00:07",
            json!({"identity": {"macs": ["02-00-0A-05-00-07"]}}),
            json!({"identity": {"macs": ["02:00:0a:05:00:07"]}}),
        ),
        rule(
            PENDING,
            "the identity of a machine cannot change: another identity is another machine",
            json!({"identity": {"serial": "OTHER"}}),
            json!({"endpoint": "10.5.1.19"}),
        )
        .of_stored(json!({}), Value::Null),
        rule(
            WORKER,
            "must be a name of lower-case letters, digits, dashes and dots, such as worker-7",
            json!({"hostname": "Worker_7"}),
            json!({"hostname": "worker-7.prod.example.com"}),
        ),
        rule(
            WORKER,
            "must be an IP address such as 10.5.0.7",
            json!({"endpoint": "worker-7"}),
            json!({"endpoint": "fd00:5::17"}),
        ),
        rule(
            WORKER,
            "exactly one of disk and diskSelector is needed",
            json!({"install": {"disk": "/dev/sda"}}),
            json!({"install": {"disk": "/dev/sda", "diskSelector": null}}),
        ),
        rule(
            WORKER,
            "must be the path of a disk such as /dev/nvme0n1",
            json!({"install": {"disk": "sda", "diskSelector": null}}),
            json!({"install": {"disk": "/dev/disk/by-id/wwn-0x5000", "diskSelector": null}}),
        ),
        rule(
            WORKER,
            "a disk selector knows size, name, model, serial, modalias, uuid, wwid, type and busPath",
            json!({"install": {"diskSelector": {"vendor": "Dell"}}}),
            json!({"install": {"diskSelector": {"busPath": "/pci0000:00/*"}}}),
        ),
        rule(
            WORKER,
            "the key of a label has at most 317 characters",
            json!({"labels": {"l".repeat(318): ""}}),
            json!({"labels": {"l".repeat(317): ""}}),
        ),
        rule(
            WORKER,
            "must be NoSchedule, PreferNoSchedule or NoExecute",
            json!({"taints": [{"key": "dedicated", "effect": "Never"}]}),
            // One key with two effects is two taints.
            json!({"taints": [{"key": "dedicated", "effect": "NoSchedule"}, {"key": "dedicated", "effect": "NoExecute"}]}),
        ),
    ]
}

fn network() -> Vec<Case> {
    vec![
        rule(
            WORKER,
            STATIC,
            json!({"network": {"addresses": null}}),
            json!({"network": {"addresses": ["10.5.0.18/24"]}}),
        ),
        rule(
            WORKER,
            STATIC,
            json!({"network": {"addressing": "dhcp4"}}),
            json!({"network": {"addressing": "dhcp4", "addresses": null}}),
        ),
        rule(
            WORKER,
            "must be addresses with their prefix length, such as 10.5.0.7/24",
            json!({"network": {"addresses": ["10.5.0.17"]}}),
            json!({"network": {"addresses": ["10.5.0.17/24"]}}),
        ),
        rule(
            WORKER,
            "must be a MAC address such as 02:00:0a:05:00:07, one of spec.identity.macs",
            json!({"network": {"interface": "eth0"}}),
            json!({"network": {"interface": "02:00:0A:05:01:17"}}),
        ),
        rule(
            WORKER,
            "network.interface must be one of spec.identity.macs: the link is found by its permanent MAC address",
            json!({"network": {"interface": "02:00:0a:05:01:99"}}),
            json!({"network": {"interface": "02:00:0a:05:01:99"}, "identity": {"macs": null}}),
        ),
        rule(
            WORKER,
            "must be an IP address such as 10.5.0.1",
            json!({"network": {"routes": [{"gateway": "router"}]}}),
            json!({"network": {"routes": [{"gateway": "fd00:5::1"}]}}),
        ),
        rule(
            WORKER,
            "must be a network such as 10.6.0.0/16",
            json!({"network": {"routes": [{"network": "default", "gateway": "10.5.0.1"}]}}),
            json!({"network": {"routes": [{"network": "0.0.0.0/0", "gateway": "10.5.0.1"}]}}),
        ),
    ]
}

fn approval() -> Vec<Case> {
    let approved = json!({
        "approval": "Approved", "clusterRef": {"name": "prod"}, "role": "worker", "install": {"disk": "/dev/sda"},
        "maintenanceFingerprint": "q1Xg8mM0bXq6h3m1m0c2r5t8u1w4x7z0A3C6E9H2K5M=",
    });
    let without = |field: &str| {
        let mut change = approved.clone();
        change[field] = Value::Null;
        change
    };
    vec![
        rule(WORKER, NEEDS_ROLE, json!({"role": null}), json!({})),
        rule(
            WORKER,
            NEEDS_ROLE,
            json!({"clusterRef": null}),
            json!({"approval": "Rejected", "clusterRef": null}),
        ),
        rule(PENDING, NEEDS_INSTALL, without("install"), approved.clone())
            .of_stored(json!({}), Value::Null),
        // It cannot be taken away again either.
        rule(WORKER, NEEDS_INSTALL, json!({"install": null}), json!({}))
            .of_stored(json!({}), Value::Null),
        rule(
            PENDING,
            NEEDS_FINGERPRINT,
            without("maintenanceFingerprint"),
            approved.clone(),
        )
        .of_stored(json!({}), Value::Null),
        rule(
            WORKER,
            NEEDS_FINGERPRINT,
            json!({"maintenanceFingerprint": null}),
            json!({"maintenanceFingerprint": "2w5Zc0q0Vn8yQJ1mJm2yqv3bYcXc1mZkq8sQ0lXo7uE="}),
        )
        .of_stored(json!({}), Value::Null),
        // A machine that was adopted has an applied configuration in place of a fingerprint.
        rule(
            PENDING,
            NEEDS_INSTALL,
            without("install"),
            without("maintenanceFingerprint"),
        )
        .of_stored(json!({}), json!({"appliedHash": "b1946ac9"})),
        rule(
            WORKER,
            "must be a fingerprint as the machine's console and status.maintenanceFingerprint show it: 44 characters of base64",
            json!({"maintenanceFingerprint": "5e:4f"}),
            json!({}),
        ),
        rule(
            WORKER,
            FIXED_CLUSTER,
            json!({"clusterRef": {"name": "other"}}),
            json!({"upgradeHold": null}),
        )
        .of_stored(json!({}), Value::Null),
        rule(
            WORKER,
            FIXED_CLUSTER,
            json!({"approval": "Pending", "clusterRef": null}),
            json!({"approval": "Rejected"}),
        )
        .of_stored(json!({}), Value::Null),
    ]
}

/// What holds from the first configuration on.
fn configured() -> Vec<Case> {
    let configured = json!({"appliedHash": "b1946ac9"});
    vec![
        rule(
            WORKER,
            FIXED_ROLE,
            json!({"role": "controlplane"}),
            json!({"hostname": "worker-70"}),
        )
        .of_stored(json!({}), configured.clone()),
        rule(
            CONTROL_PLANE,
            "the approval of a configured machine cannot be taken back; remove it with \"ichor node remove\"",
            json!({"approval": "Pending"}),
            json!({"hostname": "cp-10"}),
        )
        .of_stored(json!({}), configured),
    ]
}
