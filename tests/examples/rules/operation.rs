//! The rules of a TalosOperation.

use super::case::{Case, rule};
use serde_json::{Value, json};

const CP_1: &str = "4c4c4544-0042-3510-8052-b4c04f463131";
const WORKER_7: &str = "4c4c4544-0042-3510-8052-b4c04f463137";
const MACHINE_NAME: &str = "must be the name of a TalosMachine: its lower-case UUID, as \"kubectl get talosmachines\" shows it";
const NEEDS_CONFIRM: &str = "reset and remove need node.confirm: the name of the machine, typed again as in node.name or node.machine";
const CONFIRM_ONLY: &str =
    "confirm, force and confirmClusterName belong to reset and remove; take them out";
const FORCE: &str =
    "node.force needs node.confirmClusterName: the name of the cluster, typed again";

pub fn cases() -> Vec<Case> {
    [shape(), blocks(), consent(), fixed()]
        .into_iter()
        .flatten()
        .collect()
}

fn shape() -> Vec<Case> {
    vec![
        rule(
            "shutdown-prod",
            "the name of an operation has at most 63 characters: Jobs and labels carry it",
            json!({}),
            json!({}),
        )
        .named("n".repeat(64)),
        rule(
            "talos-v1-14-3",
            "must be a version such as v1.14.3",
            json!({"talosUpgrade": {"version": "1.14"}}),
            json!({"talosUpgrade": {"version": "v1.14.4", "maxUnavailable": 1}}),
        ),
        rule(
            "talos-v1-14-3",
            "must be the reference of an image, such as ghcr.io/siderolabs/installer:v1.14.3",
            json!({"talosUpgrade": {"image": "installer\nlatest"}}),
            json!({"talosUpgrade": {"image": "ghcr.io/siderolabs/installer"}}),
        ),
        rule(
            "talos-v1-14-3",
            "is not the name of an object: lower-case letters, digits, \"-\" and \".\", at most 253",
            json!({"clusterRef": {"name": "Prod"}}),
            json!({}),
        ),
        rule(
            "kubernetes-v1-36-1",
            "must be a version such as v1.36.1",
            json!({"kubernetesUpgrade": {"version": "latest"}}),
            json!({"kubernetesUpgrade": {"version": "v1.36.2"}}),
        ),
        rule(
            "cilium-v1-18-4",
            "must be a version such as v1.18.2",
            json!({"ciliumUpgrade": {"version": "1.18.4"}}),
            json!({"ciliumUpgrade": {"version": "v1.18.5"}}),
        ),
        rule(
            "reboot-worker-7",
            MACHINE_NAME,
            json!({"node": {"machine": "worker-7"}}),
            json!({"node": {"machine": WORKER_7}}),
        ),
        rule(
            "replace-cp-1",
            MACHINE_NAME,
            json!({"replaceControlPlane": {"machine": "cp-1", "confirm": "cp-1"}}),
            json!({}),
        ),
        rule(
            "replace-cp-1",
            MACHINE_NAME,
            json!({"replaceControlPlane": {"replacement": "cp-4"}}),
            json!({}),
        ),
        rule(
            "replace-cp-1",
            "replacement must be another machine than the one that goes",
            json!({"replaceControlPlane": {"replacement": CP_1}}),
            json!({}),
        ),
    ]
}

/// The block is that of the kind: it is there, and no other is.
fn blocks() -> Vec<Case> {
    vec![
        rule(
            "shutdown-prod",
            "kind talosUpgrade needs the block talosUpgrade, and no other kind may have it",
            json!({"kind": "talosUpgrade"}),
            json!({"kind": "talosUpgrade", "talosUpgrade": {"version": "v1.14.3"}}),
        ),
        rule(
            "shutdown-prod",
            "kind kubernetesUpgrade needs the block kubernetesUpgrade, and no other kind may have it",
            json!({"kubernetesUpgrade": {"version": "v1.36.1"}}),
            json!({"kind": "kubernetesUpgrade", "kubernetesUpgrade": {"version": "v1.36.1"}}),
        ),
        rule(
            "shutdown-prod",
            "kind ciliumUpgrade needs the block ciliumUpgrade, and no other kind may have it",
            json!({"kind": "ciliumUpgrade"}),
            json!({"kind": "ciliumUpgrade", "ciliumUpgrade": {"version": "v1.18.4"}}),
        ),
        rule(
            "restore-etcd",
            "kind etcdRestore needs the block etcdRestore, and no other kind may have it",
            json!({"kind": "shutdown"}),
            json!({"kind": "shutdown", "etcdRestore": null}),
        ),
        rule(
            "replace-cp-1",
            "kind replaceControlPlane needs the block replaceControlPlane, and no other kind may have it",
            json!({"replaceControlPlane": null}),
            json!({"kind": "shutdown", "replaceControlPlane": null}),
        ),
        rule(
            "reboot-worker-7",
            "kinds reboot, reset, remove and powerOff need the block node, and no other kind may have it",
            json!({"node": null}),
            json!({"kind": "powerOff"}),
        ),
        rule(
            "shutdown-prod",
            "kinds reboot, reset, remove and powerOff need the block node, and no other kind may have it",
            json!({"node": {"name": "worker-7"}}),
            json!({}),
        ),
    ]
}

/// Record 0095 and DESIGN section 3: what a person types.
fn consent() -> Vec<Case> {
    vec![
        rule(
            "restore-etcd",
            "etcdRestore.confirm must be the name of the cluster, typed again: the consent to replace what is in etcd",
            json!({"etcdRestore": {"confirm": "yes"}}),
            json!({"etcdRestore": {"confirm": "prod"}}),
        ),
        rule(
            "replace-cp-1",
            "confirm must be the name of the machine that goes, typed again: the consent to wipe it",
            json!({"replaceControlPlane": {"confirm": "yes"}}),
            json!({}),
        ),
        rule(
            "reset-worker-7",
            NEEDS_CONFIRM,
            json!({"node": {"confirm": null}}),
            json!({}),
        ),
        // The machine's own name or the name typed.
        rule(
            "reset-worker-7",
            NEEDS_CONFIRM,
            json!({"node": {"confirm": "worker-8", "machine": WORKER_7}}),
            json!({"node": {"confirm": WORKER_7, "machine": WORKER_7}}),
        ),
        rule(
            "remove-cp-1",
            NEEDS_CONFIRM,
            json!({"node": {"confirm": WORKER_7, "machine": CP_1}}),
            json!({"node": {"confirm": "cp-1", "machine": CP_1}}),
        ),
        rule(
            "reboot-worker-7",
            CONFIRM_ONLY,
            json!({"node": {"confirm": "worker-7"}}),
            json!({}),
        ),
        rule(
            "power-off-worker-7",
            CONFIRM_ONLY,
            json!({"node": {"force": true, "confirmClusterName": "prod"}}),
            json!({}),
        ),
        rule(
            "remove-cp-1",
            FORCE,
            json!({"node": {"confirmClusterName": null}}),
            json!({"node": {"force": false, "confirmClusterName": null}}),
        ),
        rule(
            "remove-cp-1",
            FORCE,
            json!({"node": {"confirmClusterName": "other"}}),
            json!({"node": {"confirmClusterName": "prod"}}),
        ),
    ]
}

/// Kind, cluster and block never change; `paused` does.
fn fixed() -> Vec<Case> {
    let paused = || json!({"paused": true});
    let stored = |case: Case| case.of_stored(json!({}), Value::Null);
    vec![
        stored(rule(
            "talos-v1-14-3",
            "clusterRef cannot change after creation; create another TalosOperation",
            json!({"clusterRef": {"name": "other"}}),
            paused(),
        )),
        stored(rule(
            "reboot-worker-7",
            "kind cannot change after creation; create another TalosOperation",
            json!({"kind": "powerOff"}),
            paused(),
        )),
        stored(rule(
            "talos-v1-14-3",
            "talosUpgrade cannot be set, cleared or changed after creation; create another TalosOperation",
            json!({"talosUpgrade": {"maxUnavailable": null}}),
            paused(),
        )),
        stored(rule(
            "kubernetes-v1-36-1",
            "kubernetesUpgrade cannot be set, cleared or changed after creation; create another TalosOperation",
            json!({"kubernetesUpgrade": null}),
            paused(),
        )),
        stored(rule(
            "shutdown-prod",
            "ciliumUpgrade cannot be set, cleared or changed after creation; create another TalosOperation",
            json!({"ciliumUpgrade": {"version": "v1.18.4"}}),
            paused(),
        )),
        stored(rule(
            "restore-etcd",
            "etcdRestore cannot be set, cleared or changed after creation; create another TalosOperation",
            json!({"etcdRestore": {"snapshot": "other"}}),
            paused(),
        )),
        stored(rule(
            "replace-cp-1",
            "replaceControlPlane cannot be set, cleared or changed after creation; create another TalosOperation",
            json!({"replaceControlPlane": {"replacement": WORKER_7}}),
            paused(),
        )),
        stored(rule(
            "reboot-worker-7",
            "node cannot be set, cleared or changed after creation; create another TalosOperation",
            json!({"node": {"machine": WORKER_7}}),
            paused(),
        )),
        rule(
            "restore-etcd",
            "an etcd restore that has started cannot be paused: half a restore is no control plane",
            paused(),
            json!({"paused": false}),
        )
        .of_stored(
            json!({}),
            json!({"phase": "InProgress", "startedAt": "2026-11-30T03:00:00Z"}),
        ),
    ]
}
