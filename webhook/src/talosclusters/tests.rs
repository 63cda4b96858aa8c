//! Each rule with an accepted and a refused example.

use crate::asked::{create, delete, object, update, with};
use crate::ports::{Access, BundleLookup};
use crate::stub::{Stub, cluster};
use ichor_certs::BundleError;
use ichor_certs::bundle::Part;
use serde_json::{Value, json};

const ABANDON: &str = "/metadata/annotations/ichor.maesh.dev~1abandon";

/// Holds no cluster, and a sound bundle of cluster ID `id-1` for `lab`.
fn empty() -> Stub {
    let mut stub = Stub::default();
    stub.objects.clear();
    let sound = BundleLookup::Sound {
        cluster_id: "id-1".to_owned(),
    };
    stub.bundles.insert("lab-bundle".to_owned(), sound);
    stub
}

fn beside(other: Value) -> Stub {
    let mut stub = empty();
    stub.objects.insert("talosclusters", vec![other]);
    stub
}

fn lab(changes: &[(&str, Value)]) -> Value {
    with(cluster("lab"), changes)
}

fn stored(cluster: &Value) -> Value {
    let mut stored = cluster.clone();
    stored["metadata"]["annotations"] = json!({"ichor.maesh.dev/requested-by": "alice", "ichor.maesh.dev/requested-by-uid": "uid-of-alice"});
    stored
}

#[tokio::test]
async fn the_bundle_is_there_sound_and_the_callers() {
    let path = "spec.secretsBundleRef.name";
    for (bundle, want) in [
        (
            BundleLookup::Sound {
                cluster_id: "id-1".to_owned(),
            },
            String::new(),
        ),
        (
            BundleLookup::NoSecret,
            format!(
                "{path}: Not found: \"lab-bundle\": no Secret of that name in namespace ichor-system; store what talosctl gen secrets wrote"
            ),
        ),
        (
            BundleLookup::NoKey,
            format!("{path}: Invalid value: \"lab-bundle\": the Secret has no key \"bundle\""),
        ),
        (
            BundleLookup::Defect(BundleError::NoKey(Part::TalosApi)),
            format!(
                "{path}: Invalid value: \"lab-bundle\": the Talos API CA (certs.os) of the secrets bundle has no key"
            ),
        ),
    ] {
        let mut stub = empty();
        stub.bundles.insert("lab-bundle".to_owned(), bundle);
        create(stub, &lab(&[])).await.is(&want);
    }
    let denied = Stub {
        get_secret: Ok(Access::Denied),
        ..empty()
    };
    let said = create(denied, &lab(&[])).await;
    said.is("user \"alice\" may not get Secret \"lab-bundle\" in namespace ichor-system");
    assert_eq!(said.asked, ["get  secrets ichor-system lab-bundle"]);
}

#[tokio::test]
async fn no_other_cluster_uses_the_bundle_or_its_cluster_id() {
    let sound = |id: &str| BundleLookup::Sound {
        cluster_id: id.to_owned(),
    };
    let unreadable = |cluster: Value| with(cluster, &[("/spec/kubernetesAccess", json!("tunnel"))]);
    let same_secret = with(
        cluster("prod"),
        &[("/spec/secretsBundleRef/name", json!("lab-bundle"))],
    );
    let seen = with(
        cluster("prod"),
        &[("/status", json!({"clusterID": "id-1"}))],
    );
    for (other, its_bundle, want) in [
        (cluster("prod"), sound("id-2"), ""),
        (
            same_secret,
            sound("id-2"),
            "spec.secretsBundleRef.name: Duplicate value: \"lab-bundle\": TalosCluster \"prod\" is made from it",
        ),
        (
            cluster("prod"),
            sound("id-1"),
            "TalosCluster \"prod\" has the same cluster ID",
        ),
        // One that a newer version stored counts by what can be read of it.
        (
            unreadable(cluster("prod")),
            sound("id-1"),
            "TalosCluster \"prod\" has the same cluster ID",
        ),
        (unreadable(cluster("prod")), sound("id-2"), ""),
        (
            with(
                unreadable(cluster("prod")),
                &[("/spec/secretsBundleRef", json!({"vault": "lab"}))],
            ),
            sound("id-2"),
            "TalosCluster \"prod\" may be made from it; TalosCluster \"prod\" is stored in a form that this version of Ichor cannot read: upgrade Ichor",
        ),
        // A bundle that is read goes before what was seen once; one that is gone leaves what was seen.
        (seen.clone(), sound("id-2"), ""),
        (
            seen,
            BundleLookup::NoSecret,
            "TalosCluster \"prod\" has the same cluster ID",
        ),
    ] {
        let mut stub = beside(other);
        stub.bundles.insert("prod-bundle".to_owned(), its_bundle);
        create(stub, &lab(&[])).await.is(want);
    }
}

/// FAULTS 26: the contract is set once and follows nothing.
#[tokio::test]
async fn faults_26_the_contract_is_defaulted_once() {
    let without = |talos: &str| {
        lab(&[
            ("/spec/versionContract", Value::Null),
            ("/spec/talosVersion", json!(talos)),
        ])
    };
    let said = create(empty(), &without("v1.13.5")).await;
    said.is("");
    assert_eq!(said.object["spec"]["versionContract"], "v1.13");
    let old = stored(&said.object);
    // Upgraded, and the file that never had it is applied again.
    let said = update(empty(), &old, &stored(&without("v1.14.0"))).await;
    said.is("");
    assert_eq!(said.object["spec"]["versionContract"], "v1.13");
    // Stored before admission ran: what it was rendered by.
    let said = update(
        empty(),
        &stored(&without("v1.13.5")),
        &stored(&without("v1.14.0")),
    )
    .await;
    assert_eq!(said.object["spec"]["versionContract"], "v1.13");
    let edited = with(old.clone(), &[("/spec/versionContract", json!("v1.12"))]);
    update(empty(), &old, &edited)
        .await
        .warns("changes from v1.13 to v1.12");
}

#[tokio::test]
async fn versions_are_known_and_go_together() {
    for (talos, kubernetes, contract, want) in [
        ("v1.14.0", "v1.37.2", "v1.14", ""),
        ("v1.14.0", "v1.37.2", "v1.9", ""),
        (
            "v1.14.0",
            "v1.31.0",
            "v1.14",
            "spec.kubernetesVersion: Invalid value: \"v1.31.0\": Talos v1.14 runs Kubernetes v1.32 to v1.37",
        ),
        (
            "v1.8.0",
            "v1.31.0",
            "v1.9",
            "spec.talosVersion: Invalid value: \"v1.8.0\": Ichor manages Talos v1.9 to v1.14",
        ),
        (
            "1.14",
            "v1.37.2",
            "v1.14",
            "spec.talosVersion: Invalid value: \"1.14\": is not a version such as v1.14.3",
        ),
        (
            "v1.13.0",
            "v1.36.0",
            "v1.14",
            "spec.versionContract: Invalid value: \"v1.14\": is newer than the cluster's Talos v1.13",
        ),
        (
            "v1.13.0",
            "v1.36.0",
            "v1.8",
            "spec.versionContract: Invalid value: \"v1.8\": Ichor renders configurations of Talos v1.9 to v1.14",
        ),
    ] {
        let changes = [
            ("/spec/talosVersion", json!(talos)),
            ("/spec/kubernetesVersion", json!(kubernetes)),
            ("/spec/versionContract", json!(contract)),
        ];
        create(empty(), &lab(&changes)).await.is(want);
        // One that is stored so may change elsewhere.
        let old = stored(&lab(&changes));
        let other = with(
            old.clone(),
            &[("/spec/installImage", json!("example.com/installer"))],
        );
        update(empty(), &old, &other).await.is("");
    }
}

#[tokio::test]
async fn what_never_changes_stays_and_probed_addresses_can_be_dialled() {
    let old = stored(&lab(&[]));
    let running = with(old.clone(), &[("/status", json!({"machines": 1}))]);
    let network = ("/spec/network", json!({"podCIDRs": ["10.1.0.0/16"]}));
    let probe = |address: &str| ("/spec/discovery", json!({"addresses": [address]}));
    for (old, change, want) in [
        (
            &old,
            ("/spec/secretsBundleRef/name", json!("other")),
            "spec.secretsBundleRef: Forbidden: the secrets bundle of a cluster cannot change",
        ),
        (&old, network.clone(), ""),
        (&running, network, "spec.network: Forbidden"),
        (&old, probe("10.5.0.7"), ""),
        (
            &old,
            (
                "/spec/discovery",
                json!({"addresses": ["fd00::1", "FD00:0::1", "10.5.0.7"]}),
            ),
            "spec.discovery.addresses: Duplicate value: \"FD00:0::1\": is the address of fd00::1, which is in the list",
        ),
        (&old, ("/spec/endpoint", json!("https://10.5.0.2:7443")), ""),
        (
            &old,
            probe("169.254.169.254"),
            "spec.discovery.addresses: Invalid value: \"169.254.169.254\": is a loopback or link-local address",
        ),
    ] {
        update(empty(), old, &with(old.clone(), &[change]))
            .await
            .is(want);
    }
}

/// An edit is no way around an operation: what runs decides, and without a configured machine nothing does.
#[tokio::test]
async fn versions_are_edited_one_step_upwards_from_what_runs() {
    let running = |approval: &str, talos: &str, kubernetes: &str| {
        let spec =
            json!({"approval": approval, "clusterRef": {"name": "lab"}, "identity": {"uuid": "a"}});
        let mut machine = object("TalosMachine", "a", spec);
        machine["status"] =
            json!({"appliedHash": "abc", "talosVersion": talos, "kubernetesVersion": kubernetes});
        let mut stub = empty();
        stub.objects.insert("talosmachines", vec![machine]);
        stub
    };
    let old = stored(&lab(&[]));
    let talos = |version: &str| with(old.clone(), &[("/spec/talosVersion", json!(version))]);
    let kubernetes =
        |version: &str| with(old.clone(), &[("/spec/kubernetesVersion", json!(version))]);
    let contract = |object: Value| with(object, &[("/spec/versionContract", json!("v1.12"))]);
    let as_spec = || running("Approved", "v1.13.5", "v1.35.4");
    // What a machine was booted from is not what runs, before it is configured and after a reset.
    let booted = |status: Value| {
        let mut stub = running("Approved", "", "");
        stub.objects.get_mut("talosmachines").expect("machines")[0]["status"] = status;
        stub
    };
    for (stub, new, want) in [
        (as_spec(), talos("v1.13.9"), ""),
        (as_spec(), talos("v1.14.0"), ""),
        (
            as_spec(),
            contract(talos("v1.12.0")),
            "spec.talosVersion: Invalid value: \"v1.12.0\": is older than Talos v1.13, which runs: a downgrade below the running minor release is not supported, with a TalosOperation of kind talosUpgrade",
        ),
        (
            as_spec(),
            kubernetes("v1.34.0"),
            "spec.kubernetesVersion: Invalid value: \"v1.34.0\": is older than Kubernetes v1.35",
        ),
        (
            running("Approved", "v1.14.0", "v1.35.4"),
            with(
                talos("v1.14.0"),
                &[("/spec/kubernetesVersion", json!("v1.37.0"))],
            ),
            "spec.kubernetesVersion: Invalid value: \"v1.37.0\": leaves out a minor release after Kubernetes v1.35, which runs: upgrade one minor release at a time, with a TalosOperation of kind kubernetesUpgrade",
        ),
        // The spec follows operations that were two steps.
        (
            running("Approved", "v1.14.0", "v1.37.0"),
            with(
                talos("v1.14.0"),
                &[("/spec/kubernetesVersion", json!("v1.37.0"))],
            ),
            "",
        ),
        (
            running("Approved", "", ""),
            kubernetes("v1.34.0"),
            "is older than Kubernetes v1.35",
        ),
        (running("Pending", "", ""), kubernetes("v1.34.0"), ""),
        (
            booted(json!({"talosVersion": "v1.14.0"})),
            contract(talos("v1.12.0")),
            "",
        ),
        (
            booted(
                json!({"appliedHash": "abc", "stage": "maintenance", "talosVersion": "v1.14.0"}),
            ),
            contract(talos("v1.12.0")),
            "",
        ),
        (empty(), contract(talos("v1.12.0")), ""),
    ] {
        update(stub, &old, &new).await.is(want);
    }
    update(as_spec(), &old, &talos("v1.14.0"))
        .await
        .warns("spec.talosVersion is now \"v1.14.0\" and machines run v1.13: the edit upgrades none of them in order; a TalosOperation of kind talosUpgrade does");
    update(as_spec(), &old, &talos("v1.13.9")).await.warns("");
}

/// DESIGN principle 6: a sentinel comes back nowhere.
#[tokio::test]
async fn a_password_in_the_endpoint_is_refused_and_not_repeated() {
    for endpoint in [
        "https://admin:s3ntinel@10.5.0.2:6443",
        "https://s3ntinel@10.5.0.2:6443",
        "https://admin:s3nt/inel@10.5.0.2:6443",
    ] {
        let given = lab(&[("/spec/endpoint", json!(endpoint))]);
        let said = create(empty(), &given).await;
        said.is("spec.endpoint: Forbidden: a URL with \"@\" may hold a user name and a password");
        assert!(!said.message.contains("s3nt") && !said.audit.to_string().contains("s3nt"));
        // One that is stored so may change elsewhere.
        let old = stored(&given);
        let other = with(
            old.clone(),
            &[("/spec/installImage", json!("example.com/i"))],
        );
        update(empty(), &old, &other).await.is("");
    }
}

#[tokio::test]
async fn a_cluster_with_approved_machines_is_not_deleted_by_mistake() {
    let machine = |name: &str, approval: &str| {
        object(
            "TalosMachine",
            name,
            json!({"approval": approval, "clusterRef": {"name": "lab"}, "identity": {"uuid": name}, "hostname": format!("host-{name}")}),
        )
    };
    let unreadable =
        |approval: &str| with(machine("d", approval), &[("/spec/role", json!("witness"))]);
    let there = |machines: Vec<Value>| {
        let mut stub = empty();
        stub.objects.insert("talosmachines", machines);
        stub
    };
    let approved = || {
        there(vec![
            machine("a", "Approved"),
            machine("b", "Pending"),
            machine("c", "Approved"),
        ])
    };
    let abandoned = with(stored(&lab(&[])), &[(ABANDON, json!("true"))]);
    for (stub, cluster, want) in [
        (there(vec![]), lab(&[]), ""),
        (there(vec![machine("b", "Pending")]), lab(&[]), ""),
        (
            approved(),
            lab(&[]),
            "TalosCluster \"lab\" has approved machines (host-a and 1 more) and is not deleted: take each out with ichor node remove NAME",
        ),
        // One that a newer version stored may be approved, and says so.
        (
            there(vec![unreadable("Approved")]),
            lab(&[]),
            "TalosCluster \"lab\" has approved machines (host-d) and is not deleted",
        ),
        (
            there(vec![unreadable("Quarantined")]),
            lab(&[]),
            "TalosMachine \"d\" is stored in a form that this version of Ichor cannot read and counts as approved: upgrade Ichor, or correct it with kubectl edit talosmachines d",
        ),
        (there(vec![unreadable("Pending")]), lab(&[]), ""),
        (approved(), abandoned.clone(), ""),
        (
            Stub {
                terminating: true,
                ..approved()
            },
            lab(&[]),
            "",
        ),
        (
            approved(),
            lab(&[("/metadata/namespace", json!("default"))]),
            "",
        ),
    ] {
        delete(stub, &cluster).await.is(want);
    }
    update(empty(), &stored(&lab(&[])), &abandoned)
        .await
        .warns("go on running, and nobody manages them");
}
