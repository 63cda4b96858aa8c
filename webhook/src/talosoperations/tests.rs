//! Each rule with an accepted and a refused example.

use crate::asked::{create, object, send, update, with};
use crate::ports::Access;
use crate::stub::Stub;
use serde_json::{Value, json};

const UUID: &str = "4c4c4544-0042-3510-8052-b4c04f463133";
const OTHER: &str = "9f0c0000-0042-3510-8052-b4c04f463134";
const RETRY: &str = "/metadata/annotations/ichor.maesh.dev~1retry";

/// An approved machine of cluster `prod`.
fn machine(uuid: &str, hostname: &str, endpoint: &str) -> Value {
    let mut machine = object(
        "TalosMachine",
        uuid,
        json!({
            "approval": "Approved", "role": "controlplane", "clusterRef": {"name": "prod"},
            "identity": {"uuid": uuid}, "hostname": hostname, "endpoint": endpoint,
        }),
    );
    machine["status"] = json!({"appliedHash": "abc", "talosVersion": "v1.13.5", "kubernetesVersion": "v1.35.4", "nodeName": format!("node-{hostname}")});
    machine
}

fn stub(machines: Vec<Value>) -> Stub {
    let mut stub = Stub::default();
    stub.objects.insert("talosmachines", machines);
    stub
}

fn two() -> Stub {
    stub(vec![
        machine(UUID, "cp-1", "10.5.0.2"),
        machine(OTHER, "cp-2", "10.5.0.3"),
    ])
}

fn operation(kind: &str, changes: &[(&str, Value)]) -> Value {
    let plain = object(
        "TalosOperation",
        "op-1",
        json!({"clusterRef": {"name": "prod"}, "kind": kind}),
    );
    with(plain, changes)
}

fn node(kind: &str, name: &str) -> Value {
    let mut block = json!({"name": name});
    if matches!(kind, "reset" | "remove") {
        block["confirm"] = json!(name);
    }
    operation(kind, &[("/spec/node", block)])
}

/// `created` as it is stored.
fn stored(created: &Value) -> Value {
    let mut stored = created.clone();
    stored["metadata"]["annotations"] = json!({"ichor.maesh.dev/requested-by": "alice", "ichor.maesh.dev/requested-by-uid": "uid-of-alice"});
    stored
}

/// Record 0095: machine name, then hostname, then Node name or address.
#[tokio::test]
async fn record_0095_a_name_stands_for_one_machine() {
    let there = || {
        vec![
            machine(UUID, "cp-1", "10.5.0.2"),
            machine(OTHER, "cp-2", "10.5.0.3"),
            // A Node called as another machine's host: the hostname goes first.
            with(
                machine("9f0c0000-0042-3510-8052-b4c04f463135", "cp-3", "10.5.0.4"),
                &[("/status/nodeName", json!("cp-1"))],
            ),
            with(
                machine("9f0c0000-0042-3510-8052-b4c04f463136", "twin", "10.5.0.5"),
                &[],
            ),
            with(
                machine("9f0c0000-0042-3510-8052-b4c04f463137", "twin", "10.5.0.6"),
                &[],
            ),
            with(
                machine("9f0c0000-0042-3510-8052-b4c04f463138", "waits", "10.5.0.8"),
                &[("/spec/approval", json!("Pending"))],
            ),
            with(
                machine("9f0c0000-0042-3510-8052-b4c04f463139", "moved", "10.5.0.9"),
                &[
                    ("/status/observedEndpoint", json!("10.5.0.99")),
                    ("/status/observedEndpointFor", json!("10.5.0.9")),
                ],
            ),
            with(
                machine(
                    "9f0c0000-0042-3510-8052-b4c04f46313a",
                    "elsewhere",
                    "10.6.0.1",
                ),
                &[("/spec/clusterRef/name", json!("test"))],
            ),
        ]
    };
    for (name, want) in [
        (UUID, Ok(UUID)),
        (&UUID.to_uppercase(), Ok(UUID)),
        ("cp-1", Ok(UUID)),
        ("node-cp-2", Ok(OTHER)),
        ("10.5.0.3", Ok(OTHER)),
        ("10.5.0.99", Ok("9f0c0000-0042-3510-8052-b4c04f463139")),
        (
            "twin",
            Err(
                "spec.node.name: Invalid value: \"twin\": may be any of 9f0c0000-0042-3510-8052-b4c04f463136 (twin), 9f0c0000-0042-3510-8052-b4c04f463137 (twin)",
            ),
        ),
        (
            "10.5.0.9",
            Err(
                "spec.node.name: Not found: \"10.5.0.9\": no machine of cluster prod has that name, hostname, Node name or address; it has 4c4c4544-0042-3510-8052-b4c04f463133 (cp-1)",
            ),
        ),
        ("elsewhere", Err("spec.node.name: Not found")),
        ("waits", Err("which is not an approved machine")),
    ] {
        let said = create(stub(there()), &node("reboot", name)).await;
        match want {
            Ok(uuid) => {
                said.is("");
                assert_eq!(
                    said.object["spec"]["node"],
                    json!({"name": name, "machine": uuid})
                );
            }
            Err(want) => said.is(want),
        }
    }
    let forged = with(
        node("reboot", "cp-1"),
        &[("/spec/node/machine", json!(OTHER))],
    );
    // Whatever was given, admission says which machine it is.
    let said = create(stub(there()), &forged).await;
    assert_eq!(said.object["spec"]["node"]["machine"], UUID);
    let forged = with(
        node("reboot", "nobody"),
        &[("/spec/node/machine", json!(OTHER))],
    );
    create(stub(there()), &forged)
        .await
        .is("spec.node.name: Not found");
}

/// DESIGN section 18, decision 17: the same file again changes nothing.
#[tokio::test]
async fn applying_the_same_file_again_keeps_the_machine() {
    let made = create(two(), &node("reboot", "cp-1")).await;
    let old = stored(&made.object);
    // The machine is called otherwise by now; a replace with the file leaves the machine out.
    let renamed = stub(vec![machine(UUID, "cp-9", "10.5.0.2")]);
    let said = update(renamed, &old, &stored(&node("reboot", "cp-1"))).await;
    said.is("");
    assert_eq!(said.object["spec"], old["spec"]);
}

#[tokio::test]
async fn what_wipes_needs_the_verb_and_the_typed_name() {
    let restore = |confirm: &str| {
        let block = json!({"backupRef": {"name": "nightly"}, "snapshot": "s1", "confirm": confirm});
        operation("etcdRestore", &[("/spec/etcdRestore", block)])
    };
    let replace = |confirm: &str| {
        let block = json!({"machine": UUID, "replacement": OTHER, "confirm": confirm});
        operation(
            "replaceControlPlane",
            &[("/spec/replaceControlPlane", block)],
        )
    };
    let all = || {
        let mut stub = two();
        let backup = object(
            "TalosEtcdBackup",
            "nightly",
            json!({"clusterRef": {"name": "prod"}, "schedule": "0 3 * * *", "destination": {}}),
        );
        stub.objects.insert("talosetcdbackups", vec![backup]);
        stub
    };
    for (operation, want) in [
        (node("reboot", "cp-1"), None),
        (node("powerOff", "cp-1"), None),
        (operation("shutdown", &[]), None),
        (node("reset", "cp-1"), Some(UUID)),
        (node("remove", "cp-1"), Some(UUID)),
        (restore("prod"), Some("")),
        (replace(UUID), Some(UUID)),
    ] {
        let said = create(all(), &operation).await;
        said.is("");
        let wipe = said.asked.iter().find_map(|asked| {
            asked.strip_prefix("wipe ichor.maesh.dev talosmachines ichor-system ")
        });
        assert_eq!(wipe, want, "{operation}");
        let denied = create(
            Stub {
                verb: Ok(Access::Denied),
                ..all()
            },
            &operation,
        )
        .await;
        denied.is(if want.is_some() {
            "needs verb \"wipe\" on talosmachines.ichor.maesh.dev (role ichor-admin has it)"
        } else {
            ""
        });
    }
    let confirm = |text: Value| with(node("reset", "cp-1"), &[("/spec/node/confirm", text)]);
    let force = |name: Value| {
        with(
            node("remove", "cp-1"),
            &[
                ("/spec/node/force", json!(true)),
                ("/spec/node/confirmClusterName", name),
            ],
        )
    };
    for (operation, want) in [
        (confirm(json!(UUID)), ""),
        (
            confirm(json!("cp-2")),
            "spec.node.confirm: Invalid value: \"cp-2\": type the name of the machine, \"cp-1\"",
        ),
        (confirm(Value::Null), "spec.node.confirm: Required value"),
        (force(json!("prod")), ""),
        (
            force(json!("test")),
            "spec.node.confirmClusterName: Invalid value",
        ),
        (
            force(Value::Null),
            "spec.node.confirmClusterName: Required value: type the name of the cluster",
        ),
        (
            restore("test"),
            "spec.etcdRestore.confirm: Invalid value: \"test\": type the name of the cluster, \"prod\"",
        ),
        (
            replace(OTHER),
            "spec.replaceControlPlane.confirm: Invalid value",
        ),
    ] {
        create(all(), &operation).await.is(want);
    }
}

#[tokio::test]
async fn the_block_matches_the_kind() {
    for (operation, want) in [
        (
            operation("talosUpgrade", &[]),
            "spec.talosUpgrade: Required value: kind talosUpgrade needs this block",
        ),
        (
            operation(
                "shutdown",
                &[("/spec/kubernetesUpgrade", json!({"version": "v1.36.0"}))],
            ),
            "spec.kubernetesUpgrade: Forbidden: does not belong to kind shutdown",
        ),
        (operation("reboot", &[]), "spec.node: Required value"),
        (operation("shutdown", &[]), ""),
    ] {
        create(two(), &operation).await.is(want);
    }
}

#[tokio::test]
async fn an_upgrade_is_one_step_upwards_that_fits() {
    let talos = |version: &str| {
        operation(
            "talosUpgrade",
            &[("/spec/talosUpgrade", json!({"version": version}))],
        )
    };
    let kubernetes = |version: &str| {
        operation(
            "kubernetesUpgrade",
            &[("/spec/kubernetesUpgrade", json!({"version": version}))],
        )
    };
    let versions = |talos: &str, kubernetes: &str| {
        with(
            machine(OTHER, "cp-2", "10.5.0.3"),
            &[
                ("/status/talosVersion", json!(talos)),
                ("/status/kubernetesVersion", json!(kubernetes)),
            ],
        )
    };
    let mixed = |talos: &str, kubernetes: &str| {
        stub(vec![
            machine(UUID, "cp-1", "10.5.0.2"),
            versions(talos, kubernetes),
        ])
    };
    let held = stub(vec![
        machine(UUID, "cp-1", "10.5.0.2"),
        with(
            versions("v1.11.0", "v1.35.4"),
            &[("/spec/upgradeHold", json!("disk"))],
        ),
    ]);
    for (stub, operation, want) in [
        (two(), talos("v1.13.6"), ""),
        (two(), talos("v1.13.0"), ""),
        (two(), talos("v1.14.3"), ""),
        (
            two(),
            talos("v1.12.9"),
            "is older than Talos v1.13, which runs: a downgrade",
        ),
        (mixed("v1.12.1", "v1.35.4"), talos("v1.13.6"), ""),
        (
            mixed("v1.12.1", "v1.35.4"),
            talos("v1.14.3"),
            "leaves out a minor release after Talos v1.12, which runs",
        ),
        (held, talos("v1.14.3"), ""),
        (two(), talos("v1.15.0"), "Ichor manages Talos v1.9 to v1.14"),
        (
            two(),
            talos("1.14.3"),
            "spec.talosUpgrade.version: Invalid value: \"1.14.3\": is not a version such as v1.14.3",
        ),
        (
            mixed("v1.13.5", "v1.31.0"),
            talos("v1.14.3"),
            "Talos v1.14 runs Kubernetes v1.32 to v1.37, and the cluster runs v1.31: upgrade Kubernetes first",
        ),
        (two(), kubernetes("v1.36.1"), ""),
        (two(), kubernetes("v1.35.0"), ""),
        (
            two(),
            kubernetes("v1.34.9"),
            "is older than Kubernetes v1.35, which runs",
        ),
        (
            two(),
            kubernetes("v1.37.0"),
            "leaves out a minor release after Kubernetes v1.35",
        ),
        (mixed("v1.13.5", "v1.36.0"), kubernetes("v1.36.1"), ""),
        (
            mixed("v1.12.5", "v1.35.4"),
            kubernetes("v1.36.1"),
            "Talos v1.12, which the cluster runs, runs Kubernetes v1.30 to v1.35: upgrade Talos first",
        ),
        // Before any machine was seen, what the cluster should run counts.
        (
            Stub::default(),
            talos("v1.12.0"),
            "is older than Talos v1.13",
        ),
        (Stub::default(), kubernetes("v1.36.0"), ""),
    ] {
        create(stub, &operation).await.is(want);
    }
}

#[tokio::test]
async fn cilium_is_upgraded_where_it_is_installed() {
    let cilium = |version: &str| {
        operation(
            "ciliumUpgrade",
            &[("/spec/ciliumUpgrade", json!({"version": version}))],
        )
    };
    let with_cilium = || {
        let cni = json!({"provider": "cilium", "cilium": {"version": "v1.17.3"}});
        let cluster = with(crate::stub::cluster("prod"), &[("/spec/cni", cni)]);
        let mut stub = Stub::default();
        stub.objects.insert("talosclusters", vec![cluster]);
        stub
    };
    for (stub, version, want) in [
        (with_cilium(), "v1.18.2", ""),
        (
            with_cilium(),
            "v1.19.0",
            "leaves out a minor release after Cilium v1.17",
        ),
        (with_cilium(), "v1.16.0", "is older than Cilium v1.17"),
        (
            Stub::default(),
            "v1.18.2",
            "spec.ciliumUpgrade: Forbidden: the cluster's spec.cni.provider is not cilium",
        ),
    ] {
        create(stub, &cilium(version)).await.is(want);
    }
}

#[tokio::test]
async fn what_an_operation_names_is_there() {
    let replace = |machine: &str, replacement: &str| {
        let block = json!({"machine": machine, "replacement": replacement, "confirm": machine});
        operation(
            "replaceControlPlane",
            &[("/spec/replaceControlPlane", block)],
        )
    };
    let worker = with(
        machine(OTHER, "worker-1", "10.5.0.3"),
        &[("/spec/role", json!("worker"))],
    );
    let restore = operation(
        "etcdRestore",
        &[(
            "/spec/etcdRestore",
            json!({"backupRef": {"name": "nightly"}, "snapshot": "s1", "confirm": "prod"}),
        )],
    );
    let secret = with(
        restore.clone(),
        &[(
            "/spec/etcdRestore/identitySecretRef",
            json!({"name": "age"}),
        )],
    );
    for (stub, operation, want) in [
        (two(), replace(UUID, OTHER), ""),
        (
            two(),
            replace(UUID, "9f0c0000-0042-3510-8052-b4c04f463199"),
            "spec.replaceControlPlane.replacement: Not found",
        ),
        (
            stub(vec![machine(UUID, "cp-1", "10.5.0.2"), worker]),
            replace(UUID, OTHER),
            "is not an approved control plane of cluster prod",
        ),
        (
            Stub::default(),
            restore,
            "spec.etcdRestore.backupRef.name: Not found: \"nightly\"",
        ),
        (
            Stub {
                get_secret: Ok(Access::Denied),
                ..Stub::default()
            },
            secret.clone(),
            "user \"alice\" may not get Secret \"age\" in namespace ichor-system",
        ),
        (
            stub_with_backup(&[]),
            secret.clone(),
            "spec.etcdRestore.identitySecretRef.name: Not found: \"age\": no Secret of that name in namespace ichor-system; create it with the key identity",
        ),
        (stub_with_backup(&["age"]), secret, ""),
        (
            two(),
            replace(&UUID.to_uppercase(), &OTHER.to_uppercase()),
            "",
        ),
        (
            stub(vec![
                machine(UUID, "cp-1", "10.5.0.2"),
                with(
                    machine(OTHER, "cp-2", "10.5.0.3"),
                    &[("/spec/clusterRef/name", json!("test"))],
                ),
            ]),
            replace(UUID, OTHER),
            "spec.replaceControlPlane.replacement: Not found",
        ),
        (
            Stub::default(),
            operation_of("prd"),
            "spec.clusterRef.name: Not found: \"prd\": no TalosCluster of that name in namespace ichor-system; there is prod",
        ),
        (
            Stub::default(),
            operation_of("../x"),
            "spec.clusterRef.name: Invalid value",
        ),
    ] {
        create(stub, &operation).await.is(want);
    }
}

/// Backup `nightly`, and Secrets of these names.
fn stub_with_backup(secrets: &[&str]) -> Stub {
    let mut stub = Stub::default();
    let backup = object(
        "TalosEtcdBackup",
        "nightly",
        json!({"clusterRef": {"name": "prod"}, "schedule": "0 3 * * *", "destination": {}}),
    );
    stub.objects.insert("talosetcdbackups", vec![backup]);
    let secrets = secrets
        .iter()
        .map(|name| ((*name).to_owned(), "Opaque".to_owned()));
    stub.secrets = secrets.collect();
    stub
}

/// A Node that no machine's status names is told by its system UUID, in either byte order, in the cluster that Ichor runs
/// in; an address is also one that a machine's link has.
#[tokio::test]
async fn record_0095_a_node_that_nobody_recorded_and_an_address_of_a_list() {
    let there = |told: &str, access: &str| {
        let network = json!({"addressing": "static", "addresses": ["FC00:22::7/64"]});
        let mut stub = stub(vec![
            machine(UUID, "cp-1", "10.5.0.2"),
            with(
                machine(OTHER, "cp-2", "10.5.0.3"),
                &[("/spec/network", network)],
            ),
        ]);
        let cluster = with(
            crate::stub::cluster("prod"),
            &[("/spec/kubernetesAccess", json!(access))],
        );
        stub.objects.insert("talosclusters", vec![cluster]);
        stub.nodes = [("worker-a".to_owned(), told.to_owned())].into();
        stub
    };
    let none = "spec.node.name: Not found: \"worker-a\"";
    for (told, access, name, want) in [
        (UUID, "self", "worker-a", Ok(UUID)),
        (
            "44454C4C-4200-1035-8052-B4C04F463133",
            "self",
            "worker-a",
            Ok(UUID),
        ),
        (UUID, "bundle", "worker-a", Err(none)),
        (
            "00000000-0000-0000-0000-000000000000",
            "self",
            "worker-a",
            Err(none),
        ),
        ("junk", "self", "worker-a", Err(none)),
        (UUID, "self", "fc00:22:0::7", Ok(OTHER)),
        (UUID, "self", "fc00:22::8", Err("spec.node.name: Not found")),
    ] {
        let said = create(there(told, access), &node("reboot", name)).await;
        match want {
            Ok(uuid) => {
                said.is("");
                assert_eq!(said.object["spec"]["node"]["machine"], uuid);
            }
            Err(want) => said.is(want),
        }
    }
    // A machine that cannot be read as a whole is named, and not worked on.
    let broken = with(
        machine(UUID, "cp-1", "10.5.0.2"),
        &[("/spec/role", json!("witness"))],
    );
    create(stub(vec![broken]), &node("reboot", "cp-1")).await.is(
        "is stored in a form that this version of Ichor cannot read and counts as approved: upgrade Ichor",
    );
}

fn operation_of(cluster: &str) -> Value {
    operation("shutdown", &[("/spec/clusterRef/name", json!(cluster))])
}

#[tokio::test]
async fn only_paused_changes_and_a_started_restore_goes_on() {
    let old = stored(&create(two(), &node("reset", "cp-1")).await.object);
    for (change, want) in [
        (("/spec/paused", json!(true)), ""),
        (
            ("/spec/kind", json!("reboot")),
            "spec.kind: Forbidden: cannot be set, cleared or changed after creation",
        ),
        (("/spec/node/name", json!("cp-2")), "spec.node: Forbidden"),
        (("/spec/node/machine", json!(OTHER)), "spec.node: Forbidden"),
        (
            ("/spec/clusterRef/name", json!("test")),
            "spec.clusterRef: Forbidden",
        ),
    ] {
        update(two(), &old, &with(old.clone(), &[change]))
            .await
            .is(want);
    }
    let block = json!({"backupRef": {"name": "nightly"}, "snapshot": "s1", "confirm": "prod"});
    let restore = stored(&operation("etcdRestore", &[("/spec/etcdRestore", block)]));
    let started = with(
        restore.clone(),
        &[(
            "/status",
            json!({"phase": "InProgress", "startedAt": "2026-11-29T23:40:00Z"}),
        )],
    );
    let paused =
        |object: &Value, paused: bool| with(object.clone(), &[("/spec/paused", json!(paused))]);
    for (old, new, want) in [
        (restore.clone(), paused(&restore, true), ""),
        (
            started.clone(),
            paused(&started, true),
            "spec.paused: Forbidden: an etcd restore that has started cannot be paused",
        ),
        // Resuming is never refused (record 0095, first amendment).
        (paused(&started, true), paused(&started, false), ""),
    ] {
        update(Stub::default(), &old, &new).await.is(want);
    }
}

/// Record 0067: its text, and `shutdown` may always be asked for.
#[tokio::test]
async fn record_0067_an_operation_that_waits_draws_a_warning() {
    let unfinished = |kind: &str, phase: &str| {
        let mut other = with(
            operation(kind, &[]),
            &[("/metadata/name", json!("shutdown-qdr77"))],
        );
        other["status"] = json!({"phase": phase});
        let mut stub = two();
        stub.objects.insert("talosoperations", vec![other]);
        stub
    };
    let text = "operation \"shutdown-qdr77\" (shutdown) on this cluster is not finished (phase \"InProgress\")";
    for (stub, asked, want) in [
        (
            unfinished("shutdown", "InProgress"),
            node("reboot", "cp-1"),
            text,
        ),
        (
            unfinished("shutdown", "Completed"),
            node("reboot", "cp-1"),
            "",
        ),
        (
            unfinished("shutdown", "InProgress"),
            operation("shutdown", &[]),
            text,
        ),
        (
            unfinished("kubernetesUpgrade", "Paused"),
            operation("shutdown", &[]),
            "",
        ),
    ] {
        create(stub, &asked).await.warns(want);
    }
}

/// DESIGN section 18, decision 17, and record 0095's second amendment.
#[tokio::test]
async fn a_retry_in_a_file_draws_a_warning() {
    let old = stored(&operation("shutdown", &[]));
    let by_hand = with(old.clone(), &[(RETRY, json!("true"))]);
    let file = json!({"metadata": {"annotations": {"ichor.maesh.dev/retry": "true"}}}).to_string();
    let applied = with(
        by_hand.clone(),
        &[(
            "/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration",
            json!(file),
        )],
    );
    let other = with(old.clone(), &[(RETRY, json!("2026-11-29T23:40:00Z"))]);
    update(Stub::default(), &old, &by_hand).await.warns("");
    update(Stub::default(), &old, &applied)
        .await
        .warns("every time it is applied, a failed step runs again");
    update(
        Stub::default(),
        &applied,
        &with(applied.clone(), &[("/spec/paused", json!(true))]),
    )
    .await
    .warns("");
    update(Stub::default(), &old, &other)
        .await
        .warns("is ignored; only \"true\" asks for a retry");
    let created = with(
        by_hand,
        &[(
            "/metadata/annotations/ichor.maesh.dev~1requested-by",
            Value::Null,
        )],
    );
    send(Stub::default(), "CREATE", &created, &Value::Null, "alice")
        .await
        .warns("a failed step runs again");
}

#[tokio::test]
async fn a_snapshot_that_is_not_listed_or_of_another_cluster_draws_a_warning() {
    let backup = |cluster: &str, snapshot: &str| {
        let mut backup = object(
            "TalosEtcdBackup",
            "nightly",
            json!({"clusterRef": {"name": cluster}, "schedule": "0 3 * * *", "destination": {}}),
        );
        backup["status"] = json!({"snapshots": [{"name": snapshot}]});
        let mut stub = Stub::default();
        stub.objects.insert("talosetcdbackups", vec![backup]);
        stub
    };
    let restore = operation(
        "etcdRestore",
        &[(
            "/spec/etcdRestore",
            json!({"backupRef": {"name": "nightly"}, "snapshot": "s1", "confirm": "prod"}),
        )],
    );
    for (stub, want) in [
        (backup("prod", "s1"), ""),
        (backup("prod", "s2"), "does not list \"s1\""),
        (backup("test", "s1"), "are of cluster \"test\""),
    ] {
        create(stub, &restore).await.warns(want);
    }
}
