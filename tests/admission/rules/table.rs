//! The rules of reclaims and machines, and all of them together.

use super::things::{CP, NEW, OTHER_PRINT, WIPED, WORKER};
use super::{Ask, Row, clusters, others, row, spec};
use serde_json::{Value, json};

/// May write every object of Ichor, and holds no verb of it.
const EDITOR: &[&str] = &["--as=editor"];

/// Every rule.
pub fn all() -> Vec<Row> {
    [
        reclaims(),
        machines(),
        parts_of_machines(),
        clusters::operations(),
        clusters::upgrades(),
        clusters::clusters(),
        others::all(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

pub fn create(change: Value) -> Ask {
    Ask::Create(spec(change))
}

pub fn by_editor(what: Ask) -> Ask {
    Ask::As(EDITOR, Box::new(what))
}

pub fn as_is() -> Ask {
    Ask::Create(json!({}))
}

fn reclaims() -> Vec<Row> {
    let kind = "MachineReclaim";
    vec![
        row(
            kind,
            "creation, and every change of spec, needs verb reclaim",
            as_is(),
            by_editor(as_is()),
            "user \"editor\" may not reclaim machines in namespace ichor-system: needs verb \"reclaim\" on machinereclaims.ichor.maesh.dev (role ichor-operator has it)",
        )
        .first("the verb \"reclaim\" on machinereclaims.ichor.maesh.dev is missing. The role ichor-operator has it: kubectl create rolebinding NAME -n ichor-system --clusterrole=ichor-operator --user=editor"),
        row(
            kind,
            "exactly one credential",
            as_is(),
            create(json!({"clusterCredentials": null})),
            "spec.credentialSecretRef: Required value: exactly one of credentialSecretRef and clusterCredentials: true (with clusterRef) says how the machine is dialled",
        )
        .first("exactly one of credentialSecretRef and clusterCredentials: true is needed"),
        row(
            kind,
            "the cluster exists",
            as_is(),
            create(json!({"clusterRef": {"name": "prd"}})),
            "spec.clusterRef.name: Not found: \"prd\": no TalosCluster of that name in namespace ichor-system; there are",
        ),
        row(
            kind,
            "the Secret with a talosconfig is there, of its type, and the caller may get it",
            as_is(),
            create(json!({"clusterCredentials": null, "credentialSecretRef": {"name": "junk"}})),
            "spec.credentialSecretRef.name: Invalid value: \"junk\": the Secret has type \"Opaque\", and only type ichor.maesh.dev/talosconfig is used as a talosconfig",
        ),
        row(
            kind,
            "consent follows inspection",
            as_is(),
            create(json!({"confirmUUID": CP})),
            "spec.confirmUUID: Forbidden: is not accepted at creation: consent follows inspection. Create the request without it, read status.inspection, then type the machine's UUID",
        )
        .first("spec.confirmUUID cannot be set when the request is created: consent follows inspection"),
        row(
            kind,
            "what is asked for never changes",
            Ask::Patch("running", spec(json!({"force": true}))),
            Ask::Patch("running", spec(json!({"address": "10.50.0.67"}))),
            "spec.address: Invalid value: \"10.50.0.67\": cannot change from \"10.50.0.66\" after creation; create another MachineReclaim",
        )
        .first("address cannot change after creation; create another MachineReclaim"),
        row(
            kind,
            "one request at a time for an address or a UUID",
            as_is(),
            create(json!({"address": "10.50.0.66"})),
            "spec.address: Duplicate value: \"10.50.0.66\": MachineReclaim \"running\" has not ended; wait for it, or end it with kubectl delete machinereclaim running -n ichor-system",
        ),
        row(
            kind,
            "the address is one of a machine (loopback and link-local only with --allow-local-addresses)",
            as_is(),
            create(json!({"address": "worker-7"})),
            "spec.address: Invalid value: \"worker-7\": \"worker-7\" is not an IP address: give the IPv4 or IPv6 address of the node, such as 10.5.0.7",
        )
        .first("must be an IP address such as 10.5.0.7"),
        row(
            kind,
            "objects live in Ichor's namespace",
            as_is(),
            Ask::Create(json!({"metadata": {"namespace": "default"}})),
            "metadata.namespace: Invalid value: \"default\": Ichor reads MachineReclaims in namespace ichor-system only: create it there, with -n ichor-system",
        ),
    ]
}

fn machines() -> Vec<Row> {
    let kind = "TalosMachine";
    let approve = || spec(json!({"approval": "Approved"}));
    vec![
        row(
            kind,
            "approval needs verb approve, at creation too",
            Ask::Patch(NEW, approve()),
            by_editor(Ask::Patch(NEW, approve())),
            "user \"editor\" may not approve machines in namespace ichor-system: needs verb \"approve\" on talosmachines.ichor.maesh.dev (role ichor-approver has it)",
        ),
        row(
            kind,
            "so does a change of what was approved, until the machine is configured and after a reset",
            by_editor(Ask::Patch(CP, spec(json!({"endpoint": "10.50.0.8"})))),
            by_editor(Ask::Patch(WORKER, spec(json!({"endpoint": "10.50.0.8"})))),
            "user \"editor\" may not change role, endpoint or install of an approved machine that is not configured in namespace ichor-system: needs verb \"approve\"",
        ),
        row(
            kind,
            "and another fingerprint is a new approval, always",
            by_editor(Ask::Patch(CP, spec(json!({"upgradeHold": "disk"})))),
            by_editor(Ask::Patch(CP, spec(json!({"maintenanceFingerprint": OTHER_PRINT})))),
            "user \"editor\" may not change maintenanceFingerprint of an approved machine: what the approver saw in namespace ichor-system: needs verb \"approve\"",
        ),
        row(
            kind,
            "an approved machine has cluster, role, install disk and fingerprint",
            as_is(),
            create(json!({"install": null})),
            "spec.install: Required value: an approved machine has a disk to install Talos to: one of status.hardware.disks",
        )
        .first("an approved machine needs install: the disk to install Talos to, one of status.hardware.disks"),
        row(
            kind,
            "a fingerprint is what the approver saw",
            as_is(),
            create(json!({"maintenanceFingerprint": null})),
            "spec.maintenanceFingerprint: Required value: an approved machine has the fingerprint that the approver saw: what status.maintenanceFingerprint shows and the machine's console confirms; ichor machine approve asks for it",
        )
        .first("an approved machine needs maintenanceFingerprint: what status.maintenanceFingerprint shows and the machine's console confirms; \"ichor machine approve\" asks for it"),
        row(
            kind,
            "the cluster exists",
            as_is(),
            create(json!({"clusterRef": {"name": "prd"}})),
            "spec.clusterRef.name: Not found: \"prd\": no TalosCluster of that name",
        ),
        row(
            kind,
            "the cluster of an approved machine stays",
            Ask::Patch(WORKER, spec(json!({"upgradeHold": "disk"}))),
            Ask::Patch(WORKER, spec(json!({"clusterRef": {"name": "other"}}))),
            "spec.clusterRef: Forbidden: cannot change once the machine is approved: take it out with ichor node remove worker-1, then approve it in the other cluster",
        )
        .first("clusterRef of an approved machine cannot change; remove it with \"ichor node remove\" and approve it in the other cluster"),
        row(
            kind,
            "the role of a configured machine stays",
            Ask::Patch(WORKER, spec(json!({"role": "controlplane"}))),
            Ask::Patch(CP, spec(json!({"role": "worker"}))),
            "spec.role: Forbidden: cannot change once the machine is configured: take it out with ichor node remove cp-1, then approve it in the other role",
        )
        .first("the role of a configured machine cannot change; remove it with \"ichor node remove\" and approve it again"),
        row(
            kind,
            "the identity stays",
            Ask::Patch(NEW, spec(json!({"hostname": "new-2"}))),
            Ask::Patch(NEW, spec(json!({"identity": {"serial": "other"}}))),
            "spec.identity: Forbidden: the identity of a machine cannot change: another identity is another machine",
        )
        .first("spec.identity: Invalid value: the identity of a machine cannot change: another identity is another machine"),
        row(
            kind,
            "nobody approves while a reclaim or an operation acts on the machine",
            Ask::Patch(NEW, approve()),
            Ask::Patch(WIPED, approve()),
            "spec.approval: Forbidden: MachineReclaim \"running\" acts on this machine and is not finished: wait for it, or end it with kubectl delete machinereclaim running -n ichor-system, then approve",
        ),
        row(
            kind,
            "an approved machine is not deleted by mistake",
            Ask::Delete(NEW),
            Ask::Delete(WORKER),
            "(worker-1) is an approved machine of cluster prod and is not deleted: use ichor node remove worker-1, which drains it, lets it leave etcd and wipes it. To forget it and leave it running as it is: kubectl annotate talosmachine 9f0c0000-0042-3510-8052-b4c04f463135 -n ichor-system ichor.maesh.dev/abandon=true, then delete it",
        ),
        row(
            kind,
            "to abandon one needs verb approve",
            Ask::Patch(WORKER, abandon()),
            by_editor(Ask::Patch(WORKER, abandon())),
            "user \"editor\" may not abandon machines in namespace ichor-system: needs verb \"approve\" on talosmachines.ichor.maesh.dev",
        ),
    ]
}

/// What two approved machines never have, and what a Node can.
fn parts_of_machines() -> Vec<Row> {
    let kind = "TalosMachine";
    vec![
        row(
            kind,
            "no two approved machines share a hostname",
            as_is(),
            create(json!({"hostname": "cp-1"})),
            "spec.hostname: Duplicate value: \"cp-1\": the approved machine 4c4c4544-0042-3510-8052-b4c04f463133 (cp-1) of prod has it; take that one out with ichor node remove cp-1, or give this one another",
        ),
        row(
            kind,
            "nor an address",
            as_is(),
            create(json!({"endpoint": "10.50.0.2"})),
            "spec.endpoint: Duplicate value: \"10.50.0.2\": the approved machine 4c4c4544-0042-3510-8052-b4c04f463133 (cp-1) of prod has it",
        ),
        row(
            kind,
            "nor one that the other's link has",
            as_is(),
            create(json!({"endpoint": "10.50.0.44"})),
            "spec.endpoint: Duplicate value: \"10.50.0.44\": the approved machine 9f0c0000-0042-3510-8052-b4c04f463135 (worker-1) of prod has it",
        ),
        row(
            kind,
            "nor two links one",
            create(json!({"network": fixed(&["10.50.0.45/24"])})),
            create(json!({"network": fixed(&["10.50.0.44/16"])})),
            "spec.network.addresses: Duplicate value: \"10.50.0.44\": the approved machine 9f0c0000-0042-3510-8052-b4c04f463135 (worker-1) of prod has it",
        ),
        row(
            kind,
            "nor a UUID, in either byte order",
            as_is(),
            Ask::Create(
                json!({"metadata": {"name": "44454c4c-4200-1035-8052-b4c04f463133"}, "spec": {"identity": {"uuid": "44454c4c-4200-1035-8052-b4c04f463133"}}}),
            ),
            "spec.identity.uuid: Duplicate value: \"44454c4c-4200-1035-8052-b4c04f463133\": the approved machine 4c4c4544-0042-3510-8052-b4c04f463133 (cp-1) of prod has it",
        ),
        row(
            kind,
            "an address is once in a list, whatever its text",
            create(json!({"network": fixed(&["fd00::1/64", "fd00::2/64"])})),
            create(json!({"network": fixed(&["fd00::1/64", "FD00:0::1/64"])})),
            "spec.network.addresses: Duplicate value: \"fd00::1/64\": is the address of FD00:0::1/64, which is in the list: take one of the two out",
        ),
        row(
            kind,
            "labels are ones that a Node can have",
            create(json!({"labels": {"example.com/rack": "b1"}})),
            create(json!({"labels": {"rack": "b 1"}})),
            "spec.labels[rack]: Invalid value: \"b 1\": is not the value of a label",
        ),
        row(
            kind,
            "and so are taints",
            create(json!({"taints": [{"key": "example.com/gpu", "effect": "NoSchedule"}]})),
            create(json!({"taints": [{"key": "gpu!", "effect": "NoSchedule"}]})),
            "spec.taints[0].key: Invalid value: \"gpu!\": is not the key of a label",
        ),
    ]
}

/// A link with these addresses.
fn fixed(addresses: &[&str]) -> Value {
    json!({"addressing": "static", "addresses": addresses})
}

fn abandon() -> Value {
    json!({"metadata": {"annotations": {"ichor.maesh.dev/abandon": "true"}}})
}
