//! The rules of operations and clusters.

use super::table::{as_is, by_editor, create};
use super::things::CP;
use super::{Ask, Row, row, spec};
use serde_json::{Value, json};

pub fn operations() -> Vec<Row> {
    let kind = "TalosOperation";
    let reset = |confirm: Value| create(json!({"kind": "reset", "node": {"confirm": confirm}}));
    let restore = || json!({"backupRef": {"name": "nightly"}, "snapshot": "s1", "confirm": "prod"});
    let opened_by = |secret: &str| json!({"backupRef": {"name": "nightly"}, "snapshot": "s1", "confirm": "prod", "identitySecretRef": {"name": secret}});
    let pause = || spec(json!({"paused": true}));
    vec![
        row(
            kind,
            "a name stands for one machine of the cluster",
            as_is(),
            create(json!({"node": {"name": "cp-7"}})),
            "spec.node.name: Not found: \"cp-7\": no machine of cluster prod has that name, hostname, Node name or address; it has",
        ),
        row(
            kind,
            "an address is one of its link, too",
            create(json!({"node": {"name": "10.50.0.44"}})),
            create(json!({"node": {"name": "10.50.0.45"}})),
            "spec.node.name: Not found: \"10.50.0.45\": no machine of cluster prod has that name, hostname, Node name or address; it has",
        ),
        row(
            kind,
            "a name that more than one machine has names all of them",
            create(json!({"node": {"name": "9f0c0000-0042-3510-8052-b4c04f463135"}})),
            create(json!({"node": {"name": "worker-1"}})),
            "spec.node.name: Invalid value: \"worker-1\": may be any of 9f0c0000-0042-3510-8052-b4c04f463135 (worker-1), 9f0c0000-0042-3510-8052-b4c04f463137 (worker-1); give the name of the one that is meant",
        ),
        row(
            kind,
            "only approved machines are worked on",
            as_is(),
            create(json!({"node": {"name": "new-1"}})),
            "spec.node.name: Invalid value: \"new-1\": is 9f0c0000-0042-3510-8052-b4c04f463134, which is not an approved machine",
        ),
        row(
            kind,
            "what wipes needs verb wipe on talosmachines",
            reset(json!("cp-1")),
            by_editor(reset(json!("cp-1"))),
            "user \"editor\" may not reset machines in namespace ichor-system: needs verb \"wipe\" on talosmachines.ichor.maesh.dev (role ichor-admin has it)",
        ),
        row(
            kind,
            "and the machine's name, typed again",
            reset(json!(CP)),
            reset(json!("cp-2")),
            "spec.node.confirm: Invalid value: \"cp-2\": type the name of the machine, \"cp-1\": the consent to wipe it",
        )
        .first("reset and remove need node.confirm: the name of the machine, typed again as in node.name or node.machine"),
        row(
            kind,
            "a restore needs the cluster's name, typed",
            create(json!({"kind": "etcdRestore", "node": null, "etcdRestore": restore()})),
            create(
                json!({"kind": "etcdRestore", "node": null, "etcdRestore": {"backupRef": {"name": "nightly"}, "snapshot": "s1", "confirm": "other"}}),
            ),
            "spec.etcdRestore.confirm: Invalid value: \"other\": type the name of the cluster, \"prod\": the consent to replace what is in etcd",
        )
        .first("etcdRestore.confirm must be the name of the cluster, typed again: the consent to replace what is in etcd"),
        row(
            kind,
            "and a backup that is there",
            create(json!({"kind": "etcdRestore", "node": null, "etcdRestore": restore()})),
            create(
                json!({"kind": "etcdRestore", "node": null, "etcdRestore": {"backupRef": {"name": "daily"}, "snapshot": "s1", "confirm": "prod"}}),
            ),
            "spec.etcdRestore.backupRef.name: Not found: \"daily\": no TalosEtcdBackup of that name; kubectl get talosetcdbackups -n ichor-system lists them",
        ),
        row(
            kind,
            "and the Secret that opens the snapshot, which is there",
            create(json!({"kind": "etcdRestore", "node": null, "etcdRestore": opened_by("junk")})),
            create(json!({"kind": "etcdRestore", "node": null, "etcdRestore": opened_by("gone")})),
            "spec.etcdRestore.identitySecretRef.name: Not found: \"gone\": no Secret of that name in namespace ichor-system; create it with the key identity",
        ),
        row(
            kind,
            "the block matches the kind",
            create(json!({"kind": "shutdown", "node": null})),
            create(json!({"kind": "shutdown"})),
            "spec.node: Forbidden: does not belong to kind shutdown; take it out",
        )
        .first("kinds reboot, reset, remove and powerOff need the block node, and no other kind may have it"),
        row(
            kind,
            "only paused changes",
            Ask::Patch("reboot-1", pause()),
            Ask::Patch("reboot-1", spec(json!({"node": {"name": "worker-1"}}))),
            "spec.node: Forbidden: cannot be set, cleared or changed after creation; create another TalosOperation",
        )
        .first("node cannot be set, cleared or changed after creation; create another TalosOperation"),
        row(
            kind,
            "a restore that has started is not paused",
            Ask::Patch("reboot-1", pause()),
            Ask::Patch("restore-1", pause()),
            "spec.paused: Forbidden: an etcd restore that has started cannot be paused: half a restore is no control plane. It pauses by itself when a step fails",
        )
        .first("spec.paused: Invalid value: an etcd restore that has started cannot be paused: half a restore is no control plane"),
    ]
}

pub fn upgrades() -> Vec<Row> {
    let kind = "TalosOperation";
    let talos = |version: &str| {
        create(json!({"kind": "talosUpgrade", "node": null, "talosUpgrade": {"version": version}}))
    };
    let kubernetes = |version: &str| {
        create(
            json!({"kind": "kubernetesUpgrade", "node": null, "kubernetesUpgrade": {"version": version}}),
        )
    };
    vec![
        row(
            kind,
            "no downgrade below the running minor release",
            talos("v1.13.6"),
            talos("v1.12.9"),
            "spec.talosUpgrade.version: Invalid value: \"v1.12.9\": is older than Talos v1.13, which runs: a downgrade below the running minor release is not supported",
        ),
        row(
            kind,
            "no minor release is left out",
            kubernetes("v1.36.1"),
            kubernetes("v1.37.0"),
            "spec.kubernetesUpgrade.version: Invalid value: \"v1.37.0\": leaves out a minor release after Kubernetes v1.35, which runs: upgrade one minor release at a time",
        ),
        row(
            kind,
            "Talos and Kubernetes go together",
            kubernetes("v1.36.1"),
            kubernetes("v1.37.0"),
            "Talos v1.13, which the cluster runs, runs Kubernetes v1.31 to v1.36: upgrade Talos first",
        ),
        row(
            kind,
            "a Talos that Ichor knows",
            talos("v1.14.0"),
            talos("v1.15.0"),
            "spec.talosUpgrade.version: Invalid value: \"v1.15.0\": Ichor manages Talos v1.9 to v1.14",
        ),
        row(
            kind,
            "Cilium is upgraded where it is installed",
            talos("v1.13.6"),
            create(
                json!({"kind": "ciliumUpgrade", "node": null, "ciliumUpgrade": {"version": "v1.18.2"}}),
            ),
            "spec.ciliumUpgrade: Forbidden: the cluster's spec.cni.provider is not cilium: there is no Cilium to upgrade",
        ),
    ]
}

pub fn clusters() -> Vec<Row> {
    let kind = "TalosCluster";
    vec![
        row(
            kind,
            "the bundle is there",
            as_is(),
            create(json!({"secretsBundleRef": {"name": "none"}})),
            "spec.secretsBundleRef.name: Not found: \"none\": no Secret of that name in namespace ichor-system; store what talosctl gen secrets wrote: kubectl create secret generic NAME -n ichor-system --from-file=bundle=secrets.yaml",
        ),
        row(
            kind,
            "and sound",
            as_is(),
            create(json!({"secretsBundleRef": {"name": "junk"}})),
            "spec.secretsBundleRef.name: Invalid value: \"junk\": the secrets bundle is not YAML as talosctl gen secrets writes it",
        ),
        row(
            kind,
            "and the caller may get it",
            as_is(),
            by_editor(as_is()),
            "spec.secretsBundleRef.name: Forbidden: user \"editor\" may not get Secret \"lab-bundle\" in namespace ichor-system, so Ichor does not use it for them: needs verb \"get\" on secrets",
        )
        .first("user \"editor\" may not get Secret \"lab-bundle\" in namespace ichor-system, so Ichor does not use it for them: needs verb \"get\" on secrets"),
        row(
            kind,
            "and no other cluster's, nor is its cluster ID",
            as_is(),
            create(json!({"secretsBundleRef": {"name": "prod-bundle"}})),
            "spec.secretsBundleRef.name: Duplicate value: \"prod-bundle\": TalosCluster \"prod\" is made from it: make a bundle of its own for each cluster, with talosctl gen secrets",
        ),
        row(
            kind,
            "the bundle stays",
            Ask::Patch(
                "zero",
                spec(json!({"installImage": "example.com/installer:v1.13.5"})),
            ),
            Ask::Patch(
                "zero",
                spec(json!({"secretsBundleRef": {"name": "lab-bundle"}})),
            ),
            "spec.secretsBundleRef: Forbidden: the secrets bundle of a cluster cannot change: its machines are made from it",
        )
        .first("spec.secretsBundleRef: Invalid value: the secrets bundle of a cluster cannot change: its machines are made from it"),
        row(
            kind,
            "versions that go together",
            as_is(),
            create(json!({"kubernetesVersion": "v1.37.0"})),
            "spec.kubernetesVersion: Invalid value: \"v1.37.0\": Talos v1.13 runs Kubernetes v1.31 to v1.36",
        ),
        row(
            kind,
            "editing versions is no way around an upgrade: no downgrade, no minor release left out",
            Ask::Patch("prod", spec(json!({"talosVersion": "v1.13.6"}))),
            Ask::Patch("prod", spec(json!({"talosVersion": "v1.12.9"}))),
            "spec.talosVersion: Invalid value: \"v1.12.9\": is older than Talos v1.13, which runs: a downgrade below the running minor release is not supported, with a TalosOperation of kind talosUpgrade",
        ),
        row(
            kind,
            "the endpoint holds no password, and a refusal repeats none",
            as_is(),
            create(json!({"endpoint": "https://user:password@10.50.0.2:6443"})),
            "spec.endpoint: Forbidden: a URL with \"@\" may hold a user name and a password, which everybody would read: take them out",
        ),
        row(
            kind,
            "an address is probed once, whatever its text",
            Ask::Patch("zero", spec(json!({"discovery": {"addresses": ["fd00::1", "fd00::2"]}}))),
            Ask::Patch("zero", spec(json!({"discovery": {"addresses": ["fd00::1", "FD00:0::1"]}}))),
            "spec.discovery.addresses: Duplicate value: \"fd00::1\": is the address of FD00:0::1, which is in the list: take one of the two out",
        ),
        row(
            kind,
            "a contract that its Talos understands",
            create(json!({"versionContract": "v1.12"})),
            create(json!({"versionContract": "v1.14"})),
            "spec.versionContract: Invalid value: \"v1.14\": is newer than the cluster's Talos v1.13, which does not understand such a configuration",
        ),
        row(
            kind,
            "a cluster with approved machines is not deleted by mistake",
            Ask::Delete("zero"),
            Ask::Delete("prod"),
            "TalosCluster \"prod\" has approved machines (cp-1 and 1 more) and is not deleted: take each out with ichor node remove NAME. To forget the cluster and leave its machines running: kubectl annotate taloscluster prod -n ichor-system ichor.maesh.dev/abandon=true, then delete it",
        ),
    ]
}
