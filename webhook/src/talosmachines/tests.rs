//! Each rule with an accepted and a refused example.

use crate::asked::{Said, create, delete, object, send, update, with};
use crate::ports::Access;
use crate::stub::Stub;
use serde_json::{Value, json};

const UUID: &str = "4c4c4544-0042-3510-8052-b4c04f463133";
const SWAPPED: &str = "44454c4c-4200-1035-8052-b4c04f463133";
const OTHER: &str = "9f0c0000-0042-3510-8052-b4c04f463134";
const PRINT: &str = "5MyYvGEYNLhaDCqSeI9zIZPmSsO3a7hQnaMsmcjM2aU=";
const ABANDON: &str = "/metadata/annotations/ichor.maesh.dev~1abandon";

fn pending() -> Value {
    let mut machine = object(
        "TalosMachine",
        UUID,
        json!({
            "approval": "Pending", "endpoint": "10.5.0.7", "hostname": "worker-7",
            "identity": {"uuid": UUID, "serial": "5B5RF13", "macs": ["02:00:00:00:00:01"]},
        }),
    );
    machine["metadata"]["annotations"] = json!({"ichor.maesh.dev/requested-by": "alice", "ichor.maesh.dev/requested-by-uid": "uid-of-alice"});
    machine["status"] = json!({"maintenanceFingerprint": PRINT});
    machine
}

fn approved() -> Value {
    with(
        pending(),
        &[
            ("/spec/approval", json!("Approved")),
            ("/spec/clusterRef", json!({"name": "prod"})),
            ("/spec/role", json!("worker")),
            ("/spec/install", json!({"disk": "/dev/sda"})),
            ("/spec/maintenanceFingerprint", json!(PRINT)),
        ],
    )
}

fn configured() -> Value {
    with(approved(), &[("/status/appliedHash", json!("abc"))])
}

/// A machine that was wiped and keeps its object.
fn reset() -> Value {
    with(configured(), &[("/status/stage", json!("maintenance"))])
}

/// An approved machine of cluster `test`.
fn other(uuid: &str, changes: &[(&str, Value)]) -> Value {
    let other = with(
        approved(),
        &[
            ("/metadata/name", json!(uuid)),
            ("/spec/identity", json!({"uuid": uuid})),
            ("/spec/clusterRef/name", json!("test")),
            ("/spec/hostname", json!("worker-9")),
            ("/spec/endpoint", json!("10.5.0.9")),
        ],
    );
    with(other, changes)
}

fn stub(resource: &'static str, there: Vec<Value>) -> Stub {
    let mut stub = Stub::default();
    stub.objects.insert(resource, there);
    stub
}

fn asks_approve(said: &Said) -> bool {
    said.is("");
    said.asked
        .iter()
        .any(|asked| asked.starts_with("approve ichor.maesh.dev talosmachines ichor-system"))
}

#[tokio::test]
async fn approval_needs_the_verb_and_so_does_what_was_approved_until_it_is_configured() {
    let set = |pointer: &str, value: Value| with(approved(), &[(pointer, value)]);
    let reprint = (
        "/spec/maintenanceFingerprint",
        json!(PRINT.replace('5', "6")),
    );
    for (old, new, want) in [
        (Value::Null, pending(), false),
        (Value::Null, approved(), true),
        (pending(), approved(), true),
        (
            pending(),
            with(pending(), &[("/spec/hostname", json!("x"))]),
            false,
        ),
        (
            pending(),
            with(pending(), &[("/spec/approval", json!("Rejected"))]),
            false,
        ),
        (approved(), set("/spec/role", json!("controlplane")), true),
        (approved(), set("/spec/endpoint", json!("10.5.0.8")), true),
        (
            approved(),
            set("/spec/install", json!({"disk": "/dev/sdb"})),
            true,
        ),
        (
            approved(),
            with(approved(), std::slice::from_ref(&reprint)),
            true,
        ),
        (approved(), set("/spec/upgradeHold", json!("disk")), false),
        (
            configured(),
            with(configured(), &[("/spec/endpoint", json!("10.5.0.8"))]),
            false,
        ),
        // The fingerprint is a new approval always; where it counts again after a reset, so is what goes with it.
        (
            configured(),
            with(configured(), std::slice::from_ref(&reprint)),
            true,
        ),
        (
            configured(),
            with(
                configured(),
                &[("/spec/maintenanceFingerprint", Value::Null)],
            ),
            true,
        ),
        (
            reset(),
            with(reset(), &[("/spec/endpoint", json!("10.5.0.8"))]),
            true,
        ),
        (
            reset(),
            with(reset(), &[("/spec/install", json!({"disk": "/dev/sdb"}))]),
            true,
        ),
        (
            reset(),
            with(reset(), &[("/spec/upgradeHold", json!("disk"))]),
            false,
        ),
        (
            pending(),
            with(pending(), &[("/spec/maintenanceFingerprint", json!(PRINT))]),
            false,
        ),
        (approved(), set(ABANDON, json!("true")), true),
        (approved(), set(ABANDON, json!("yes")), false),
        (
            approved(),
            set("/metadata/labels", json!({"a": "b"})),
            false,
        ),
    ] {
        let said = if old.is_null() {
            create(
                Stub::default(),
                &with(new.clone(), &[("/metadata/annotations", Value::Null)]),
            )
            .await
        } else {
            update(Stub::default(), &old, &new).await
        };
        assert_eq!(asks_approve(&said), want, "{new}");
    }
    let denied = Stub {
        verb: Ok(Access::Denied),
        ..Stub::default()
    };
    update(denied, &pending(), &approved()).await.is(
        "user \"alice\" may not approve machines in namespace ichor-system: needs verb \"approve\" on talosmachines.ichor.maesh.dev (role ichor-approver has it)",
    );
}

#[tokio::test]
async fn an_approved_machine_has_what_it_needs() {
    for (without, path) in [
        (
            "/spec/clusterRef",
            "spec.clusterRef: Required value: an approved machine belongs to a cluster",
        ),
        (
            "/spec/role",
            "spec.role: Required value: an approved machine has a role",
        ),
        (
            "/spec/install",
            "spec.install: Required value: an approved machine has a disk",
        ),
        (
            "/spec/maintenanceFingerprint",
            "spec.maintenanceFingerprint: Required value: an approved machine has the fingerprint",
        ),
    ] {
        let machine = with(approved(), &[(without, Value::Null)]);
        update(Stub::default(), &pending(), &machine).await.is(path);
        // What was lacking before is no reason to refuse something else.
        let changed = with(machine.clone(), &[("/spec/upgradeHold", json!("disk"))]);
        update(Stub::default(), &machine, &changed).await.is("");
    }
    let adopted = with(approved(), &[("/spec/maintenanceFingerprint", Value::Null)]);
    let running = with(
        pending(),
        &[
            ("/status/appliedHash", json!("abc")),
            ("/spec/role", json!("worker")),
        ],
    );
    update(Stub::default(), &running, &adopted).await.is("");
    let bare = with(pending(), &[("/spec/approval", json!("Approved"))]);
    let said = update(Stub::default(), &pending(), &bare).await;
    assert_eq!(
        said.message.matches("Required value").count(),
        4,
        "all at once: {}",
        said.message
    );
}

#[tokio::test]
async fn what_never_changes_stays() {
    let approved_role = with(approved(), &[("/spec/role", json!("controlplane"))]);
    let configured_role = with(configured(), &[("/spec/role", json!("controlplane"))]);
    for (old, new, want) in [
        (
            pending(),
            with(pending(), &[("/spec/identity/serial", json!("x"))]),
            "spec.identity: Forbidden",
        ),
        (
            approved(),
            with(approved(), &[("/spec/clusterRef/name", json!("test"))]),
            "spec.clusterRef: Forbidden: cannot change once the machine is approved: take it out with ichor node remove worker-7",
        ),
        (
            approved(),
            with(approved(), &[("/spec/clusterRef", Value::Null)]),
            "spec.clusterRef: Forbidden",
        ),
        (approved(), approved_role, ""),
        (
            configured(),
            configured_role,
            "spec.role: Forbidden: cannot change once the machine is configured",
        ),
        (
            configured(),
            with(configured(), &[("/spec/approval", json!("Pending"))]),
            "spec.approval: Forbidden",
        ),
        (
            approved(),
            with(approved(), &[("/spec/approval", json!("Rejected"))]),
            "",
        ),
    ] {
        update(Stub::default(), &old, &new).await.is(want);
        // Also while it terminates (FAULTS 5).
        let dying = |object: Value| {
            with(
                object,
                &[("/metadata/deletionTimestamp", json!("2026-11-29T23:40:00Z"))],
            )
        };
        update(Stub::default(), &dying(old), &dying(new))
            .await
            .is(want);
    }
}

#[tokio::test]
async fn no_two_approved_machines_share_uuid_hostname_or_address() {
    let taken = |path: &str, value: &str| {
        format!("{path}: Duplicate value: \"{value}\": the approved machine")
    };
    let in_list = |address: &str| {
        let network = json!({"addressing": "static", "addresses": [address]});
        ("/spec/network", network)
    };
    let static_address = with(approved(), &[in_list("10.5.0.9/24")]);
    for (there, mine, want) in [
        (other(OTHER, &[]), approved(), String::new()),
        (
            other(SWAPPED, &[]),
            approved(),
            taken("spec.identity.uuid", UUID),
        ),
        (
            other(OTHER, &[("/spec/hostname", json!("worker-7"))]),
            approved(),
            taken("spec.hostname", "worker-7"),
        ),
        (
            other(OTHER, &[("/spec/endpoint", json!("10.5.0.7"))]),
            approved(),
            taken("spec.endpoint", "10.5.0.7"),
        ),
        (
            other(
                OTHER,
                &[(
                    "/status",
                    json!({"observedEndpoint": "10.5.0.7", "observedEndpointFor": "10.5.0.9"}),
                )],
            ),
            approved(),
            taken("spec.endpoint", "10.5.0.7"),
        ),
        (
            other(OTHER, &[]),
            static_address,
            taken("spec.network.addresses", "10.5.0.9"),
        ),
        // The other way round, and list against list, in any spelling.
        (
            other(OTHER, &[in_list("10.5.0.7/24")]),
            approved(),
            taken("spec.endpoint", "10.5.0.7"),
        ),
        (
            other(OTHER, &[in_list("fc00:22:0::7/64")]),
            with(approved(), &[in_list("FC00:22::7/64")]),
            taken("spec.network.addresses", "fc00:22::7"),
        ),
        (
            other(OTHER, &[in_list("10.5.0.66/24")]),
            approved(),
            String::new(),
        ),
        (
            other(
                OTHER,
                &[
                    ("/spec/hostname", json!("worker-7")),
                    ("/spec/approval", json!("Pending")),
                ],
            ),
            approved(),
            String::new(),
        ),
    ] {
        let said = update(stub_with(there.clone()), &pending(), &mine).await;
        said.is(&want);
        if !want.is_empty() {
            assert!(
                said.message
                    .contains("of test has it; take that one out with ichor node remove"),
                "{}",
                said.message
            );
        }
    }
    // Later on only a new hostname or address is looked at.
    let twin = other(OTHER, &[("/spec/hostname", json!("worker-8"))]);
    let renamed = with(configured(), &[("/spec/hostname", json!("worker-8"))]);
    update(stub_with(twin), &configured(), &renamed)
        .await
        .is(&taken("spec.hostname", "worker-8"));
}

/// What a newer version stored and this one cannot read is as much in the way as what can be read, and names itself; what is
/// readably none of it is not (FAULTS 35).
#[tokio::test]
async fn faults_35_what_cannot_be_read_is_in_the_way_where_it_may_decide_and_nowhere_else() {
    let broken = |changes: &[(&str, Value)]| {
        let machine = other(OTHER, &[("/spec/role", json!("witness"))]);
        stub_with(with(machine, changes))
    };
    let operation = |spec: Value, phase: &str| {
        let mut operation = object("TalosOperation", "op-1", spec);
        operation["status"] = json!({"phase": phase});
        stub("talosoperations", vec![operation])
    };
    let unknown = |block: Value| {
        with(
            json!({"clusterRef": {"name": "prod"}, "kind": "defragment"}),
            &[("/node", block)],
        )
    };
    let reclaim = |phase: &str| {
        let mut reclaim = object("MachineReclaim", "r-1", json!({"address": "10.5.0.7"}));
        reclaim["status"] = json!({"phase": phase});
        stub("machinereclaims", vec![reclaim])
    };
    let named = "is stored in a form that this version of Ichor cannot read and counts as";
    for (stub, want) in [
        (
            broken(&[("/spec/hostname", json!("worker-7"))]),
            "spec.hostname: Duplicate value",
        ),
        (
            broken(&[
                ("/spec/hostname", json!("worker-7")),
                ("/spec/approval", json!("Quarantined")),
            ]),
            "spec.hostname: Duplicate value",
        ),
        (
            broken(&[
                ("/spec/hostname", json!("worker-7")),
                ("/spec/approval", json!("Pending")),
            ]),
            "",
        ),
        (broken(&[]), ""),
        (operation(unknown(Value::Null), "InProgress"), "op-1"),
        (operation(unknown(Value::Null), "Thinking"), "op-1"),
        (operation(unknown(Value::Null), "Completed"), ""),
        (
            operation(
                unknown(json!({"name": "worker-8", "machine": OTHER})),
                "InProgress",
            ),
            "",
        ),
        (reclaim("Thinking"), "r-1"),
    ] {
        let said = update(stub, &pending(), &approved()).await;
        said.is(want);
        assert!(want.is_empty() || said.message.contains(named), "{said:?}");
    }
}

fn stub_with(machine: Value) -> Stub {
    stub("talosmachines", vec![machine])
}

/// DESIGN section 18, decision 11.
#[tokio::test]
async fn approval_is_refused_while_something_acts_on_the_machine() {
    let reclaim = |spec: Value, phase: &str| {
        let mut reclaim = object("MachineReclaim", "reclaim-x7k2p", spec);
        reclaim["status"] = json!({"phase": phase});
        stub("machinereclaims", vec![reclaim])
    };
    let operation = |block: Value, phase: &str| {
        let mut spec = json!({"clusterRef": {"name": "prod"}, "kind": "remove"});
        spec["node"] = block;
        let mut operation = object("TalosOperation", "remove-1", spec);
        operation["status"] = json!({"phase": phase});
        stub("talosoperations", vec![operation])
    };
    let at = || json!({"address": "10.5.0.7"});
    let of = |uuid: &str| json!({"address": "10.5.0.66", "confirmUUID": uuid});
    let waits = "spec.approval: Forbidden: MachineReclaim \"reclaim-x7k2p\" acts on this machine and is not finished";
    for (stub, want) in [
        (reclaim(at(), "Inspecting"), waits),
        (reclaim(at(), "Done"), ""),
        (reclaim(of(UUID), "Resetting"), waits),
        (reclaim(of(SWAPPED), "Resetting"), waits),
        (reclaim(of(OTHER), "Resetting"), ""),
        (
            operation(json!({"name": "worker-7", "machine": UUID}), "InProgress"),
            "TalosOperation \"remove-1\" acts on this machine",
        ),
        (
            operation(json!({"name": "worker-7", "machine": UUID}), "Completed"),
            "",
        ),
        (
            operation(json!({"name": "worker-8", "machine": OTHER}), "InProgress"),
            "",
        ),
    ] {
        update(stub, &pending(), &approved()).await.is(want);
    }
}

#[tokio::test]
async fn an_approved_machine_is_not_deleted_by_mistake() {
    let abandoned = with(approved(), &[(ABANDON, json!("true"))]);
    let going = || Stub {
        terminating: true,
        ..Stub::default()
    };
    let operation = object(
        "TalosOperation",
        "remove-1",
        json!({"clusterRef": {"name": "prod"}, "kind": "remove", "node": {"name": "worker-7", "machine": UUID}}),
    );
    let removed = || stub("talosoperations", vec![operation.clone()]);
    let reset = || with(operation.clone(), &[("/spec/kind", json!("reset"))]);
    let replaces = |machine: &str, replacement: &str| {
        let block = json!({"machine": machine, "replacement": replacement, "confirm": machine});
        let spec = json!({"clusterRef": {"name": "prod"}, "kind": "replaceControlPlane", "replaceControlPlane": block});
        let mut operation = object("TalosOperation", "replace-1", spec);
        operation["status"] = json!({"phase": "InProgress", "machines": [{"name": replacement, "phase": "InProgress"}]});
        stub("talosoperations", vec![operation])
    };
    let elsewhere = with(approved(), &[("/metadata/namespace", json!("default"))]);
    let unreadable = with(approved(), &[("/spec/role", json!("witness"))]);
    let refused = "(worker-7) is an approved machine of cluster prod and is not deleted: use ichor node remove worker-7";
    for (stub, machine, want) in [
        (Stub::default(), pending(), ""),
        (Stub::default(), approved(), refused),
        (Stub::default(), configured(), refused),
        (Stub::default(), abandoned, ""),
        (going(), approved(), ""),
        // The last step of an operation is the controller's: until then the machine runs on with its cluster's keys.
        (removed(), approved(), refused),
        (stub("talosoperations", vec![reset()]), approved(), refused),
        (Stub::default(), elsewhere, ""),
        // One that cannot be read may be approved, and can still go.
        (
            Stub::default(),
            unreadable.clone(),
            "is stored in a form that this version of Ichor cannot read and counts as approved, so it is not deleted",
        ),
        (going(), unreadable.clone(), ""),
        (
            Stub::default(),
            with(unreadable, &[(ABANDON, json!("true"))]),
            "",
        ),
    ] {
        delete(stub, &machine).await.is(want);
    }
    let controller = "system:serviceaccount:ichor-system:ichor-controller";
    for (stub, want) in [
        (Stub::default(), refused),
        (removed(), ""),
        (stub("talosoperations", vec![reset()]), refused),
        (replaces(UUID, OTHER), ""),
        (replaces(OTHER, UUID), refused),
    ] {
        let said = send(stub, "DELETE", &Value::Null, &approved(), controller).await;
        said.is(want);
    }
}

#[tokio::test]
async fn texts_are_canonical_and_addresses_can_be_dialled() {
    let shouted = with(
        pending(),
        &[
            ("/spec/identity/uuid", json!(UUID.to_uppercase())),
            ("/spec/endpoint", json!("FC00:22:0::2")),
        ],
    );
    let said = create(
        Stub::default(),
        &with(shouted, &[("/metadata/annotations", Value::Null)]),
    )
    .await;
    said.is("");
    assert_eq!(said.object["spec"]["identity"]["uuid"], UUID);
    assert_eq!(said.object["spec"]["endpoint"], "fc00:22::2");
    let links = with(
        pending(),
        &[("/spec/network", json!({"interface": "02:00:00:00:00:0A"}))],
    );
    let said = update(Stub::default(), &pending(), &links).await;
    assert_eq!(
        said.object["spec"]["network"]["interface"],
        "02:00:00:00:00:0a"
    );
    let twice = json!({"addressing": "static", "addresses": ["fc00::2/64", "FC00:0::2/64"]});
    update(
        Stub::default(),
        &pending(),
        &with(pending(), &[("/spec/network", twice)]),
    )
    .await
    .is("spec.network.addresses: Duplicate value: \"fc00::2/64\": is the address of FC00:0::2/64");
    for (endpoint, want) in [
        ("10.5.0.8", ""),
        (
            "127.0.0.1",
            "spec.endpoint: Invalid value: \"127.0.0.1\": is a loopback or link-local address",
        ),
        ("worker-7", "spec.endpoint: Invalid value: \"worker-7\""),
    ] {
        let moved = with(pending(), &[("/spec/endpoint", json!(endpoint))]);
        update(Stub::default(), &pending(), &moved).await.is(want);
    }
    let lost = with(approved(), &[("/spec/clusterRef/name", json!("prd"))]);
    update(Stub::default(), &pending(), &lost)
        .await
        .is("spec.clusterRef.name: Not found: \"prd\"");
}

#[tokio::test]
async fn labels_and_taints_are_ones_that_a_node_can_have() {
    let label = |key: &str, value: &str| ("/spec/labels", json!({key: value}));
    let taint = |key: &str, value: &str| {
        let taint = json!([{"key": key, "value": value, "effect": "NoSchedule"}]);
        ("/spec/taints", taint)
    };
    for (change, want) in [
        (label("example.com/rack", "b_1"), ""),
        (label("rack", ""), ""),
        (
            label("a b", "x"),
            "spec.labels: Invalid value: \"a b\": is not the key of a label",
        ),
        (
            label("rack", "b 1"),
            "spec.labels[rack]: Invalid value: \"b 1\": is not the value of a label",
        ),
        (taint("example.com/gpu", ""), ""),
        (
            taint("-", "x"),
            "spec.taints[0].key: Invalid value: \"-\": is not the key of a label",
        ),
        (
            taint("gpu", "a/b"),
            "spec.taints[0].value: Invalid value: \"a/b\": is not the value of a label",
        ),
    ] {
        let machine = with(pending(), &[change]);
        update(Stub::default(), &pending(), &machine).await.is(want);
        // What is stored so may change elsewhere.
        let other = with(machine.clone(), &[("/spec/upgradeHold", json!("disk"))]);
        update(Stub::default(), &machine, &other).await.is("");
    }
}

#[tokio::test]
async fn what_is_probably_not_meant_draws_a_warning() {
    let another = with(
        pending(),
        &[("/status/maintenanceFingerprint", json!("other"))],
    );
    update(Stub::default(), &pending(), &approved())
        .await
        .warns("");
    update(Stub::default(), &another, &approved())
        .await
        .warns("is not what the machine shows now, other");
    let zero = "00000000-0000-0000-0000-000000000000";
    let shared = |machine| {
        with(
            machine,
            &[
                ("/metadata/name", json!(zero)),
                ("/spec/identity/uuid", json!(zero)),
            ],
        )
    };
    update(Stub::default(), &shared(pending()), &shared(approved()))
        .await
        .warns("vendors leave on many boards");
    let abandoned = with(approved(), &[(ABANDON, json!("true"))]);
    let said = send(Stub::default(), "UPDATE", &abandoned, &approved(), "alice").await;
    said.warns("goes on running with its configuration and keys");
    assert_eq!(said.audit["abandon"], "true");
}
