//! What holds for every kind, on the real API server: FAULTS 5 and 7 for the kinds beside MachineReclaim, and whose record
//! a status is.

use crate::bare::{EDITOR, accepted, add_cluster, bare, refused};
use crate::common::world;
use crate::rules::people::{RECORDER, people};
use crate::rules::{Ask, ask, spec, things};
use anyhow::{Context, Result, ensure};
use ichor_ground::controller::NAMESPACE;
use ichor_ground::{ClusterSetup, eventually};
use serde_json::{Value, json};

/// An object of each kind but MachineReclaim, of cluster `cluster`, and a change of it that is refused always.
fn objects(cluster: &str, number: u8) -> Vec<(Value, Value, &'static str)> {
    let uuid = format!("9f0c0000-0042-3510-8052-b4c04f4632{number:02x}");
    let other = json!({"clusterRef": {"name": "other"}});
    let fixed = "spec.clusterRef: Forbidden: cannot change after creation; create another";
    [
        (
            "TalosMachine",
            json!({"approval": "Pending", "endpoint": "10.60.0.7", "identity": {"uuid": uuid, "macs": []}}),
            json!({"identity": {"serial": "other"}}),
            "spec.identity: Forbidden: the identity of a machine cannot change",
        ),
        (
            "TalosOperation",
            json!({"kind": "shutdown", "node": null}),
            json!({"kind": "reboot", "node": {"name": "cp-1"}}),
            "spec.kind: Forbidden: cannot be set, cleared or changed after creation",
        ),
        ("TalosConfigPatch", json!({}), other.clone(), fixed),
        (
            "TalosAccessRequest",
            json!({}),
            json!({"role": "os:admin"}),
            "spec.role: Forbidden: only approval can change after creation",
        ),
        ("TalosEtcdBackup", json!({}), other.clone(), fixed),
        ("TalosStorage", json!({}), other, fixed),
    ]
    .into_iter()
    .map(|(kind, own, change, why)| {
        let mut object = things::example(kind);
        object["metadata"]["name"] = json!(if kind == "TalosMachine" {
            uuid.clone()
        } else {
            format!("of-{cluster}")
        });
        object["spec"]["clusterRef"] = json!({"name": cluster});
        for (key, value) in own.as_object().into_iter().flatten() {
            object["spec"][key] = value.clone();
        }
        if let Some(fields) = object["spec"].as_object_mut() {
            fields.retain(|_, value| !value.is_null());
        }
        (object, change, why)
    })
    .collect()
}

fn kind_and_name(object: &Value) -> Result<(&str, &str)> {
    let kind = object["kind"].as_str().context("a kind")?;
    let name = object["metadata"]["name"].as_str().context("a name")?;
    Ok((kind, name))
}

/// FAULTS 5 (ome#846, dynamo#13254): while an object terminates nothing immutable changes, and its finalizer comes off with
/// all that it refers to gone.
#[tokio::test]
async fn faults_5_every_kind_stays_as_it_is_while_terminating_and_can_go() -> Result<()> {
    let admin = bare().await?.plane.kubectl();
    add_cluster(&admin, "short-lived").await?;
    let bundle = json!({"secretsBundleRef": {"name": "other"}});
    let why = "spec.secretsBundleRef: Forbidden: the secrets bundle of a cluster cannot change";
    let cluster = json!({"kind": "TalosCluster", "metadata": {"name": "short-lived"}});
    let mut all = objects("short-lived", 1);
    for (object, _, _) in &all {
        let said = admin
            .pipe(&["create", "-f", "-"], &object.to_string())
            .await?;
        accepted(&said).with_context(|| object.to_string())?;
    }
    // The cluster first: the others then refer to what is gone.
    all.insert(0, (cluster, bundle, why));
    for (object, immutable, why) in &all {
        let (kind, name) = kind_and_name(object)?;
        let hold = json!({"metadata": {"finalizers": ["example.com/hold"]}});
        accepted(&admin.merge(kind, name, &hold, EDITOR).await?)?;
        let delete = ["delete", kind, name, "-n", NAMESPACE, "--wait=false"];
        admin.run(&delete).await?;
        refused(
            &admin
                .merge(kind, name, &spec(immutable.clone()), &[])
                .await?,
            why,
        )?;
        let release = json!({"metadata": {"finalizers": null}});
        accepted(&admin.merge(kind, name, &release, EDITOR).await?)?;
        eventually("it to be gone", async || {
            let said = admin.try_run(&["get", kind, name, "-n", NAMESPACE]).await?;
            Ok(said.err.contains("NotFound").then_some(()))
        })
        .await?;
    }
    Ok(())
}

/// FAULTS 7 for the verbs `approve` and `wipe`: bound to a group alone they count, for whoever is impersonated with it,
/// and for nobody else.
#[tokio::test]
async fn faults_7_approve_and_wipe_count_by_group_and_for_the_impersonated() -> Result<()> {
    let admin = bare().await?.plane.kubectl();
    add_cluster(&admin, "verbs").await?;
    admin.apply(&deciders()).await?;
    let machine = "9f0c0000-0042-3510-8052-b4c04f463202";
    for (object, _, _) in objects("verbs", 2) {
        if ["TalosMachine", "TalosAccessRequest"].contains(&kind_and_name(&object)?.0) {
            accepted(
                &admin
                    .pipe(&["create", "-f", "-"], &object.to_string())
                    .await?,
            )?;
        }
    }
    let approved = spec(json!({
        "approval": "Approved", "role": "worker", "hostname": "verbs-1", "install": {"disk": "/dev/sda"},
        "maintenanceFingerprint": things::OTHER_PRINT,
    }));
    let replace = json!({"kind": "etcdRestore", "node": null, "clusterRef": {"name": "verbs"},
        "etcdRestore": {"backupRef": {"name": "of-nobody"}, "snapshot": "s1", "confirm": "verbs"}});
    let asks = [
        (
            "TalosMachine",
            Ask::Patch(machine, approved),
            "approve machines",
            "",
        ),
        (
            "TalosAccessRequest",
            Ask::Patch("of-verbs", spec(json!({"approval": "Approved"}))),
            "decide about access to the Talos API",
            "",
        ),
        // With the verb something else stands in the way, and without it nobody learns of that.
        (
            "TalosOperation",
            Ask::Create(spec(replace)),
            "restore etcd",
            "spec.etcdRestore.backupRef.name: Not found",
        ),
    ];
    for (kind, what, doing, with_verb) in asks {
        let group = [EDITOR[0], "--as-group=deciders"];
        let said = ask(&admin, kind, &what, &group).await?;
        match with_verb {
            "" => accepted(&said)?,
            other => refused(&said, other)?,
        }
        let said = ask(&admin, kind, &what, EDITOR).await?;
        refused(&said, &format!("user \"editor\" may not {doing}"))?;
        ensure!(!said.err.contains("Not found"), "{said:?}");
    }
    Ok(())
}

/// A group that holds `approve` and `wipe`, and nothing else: its members' right to write objects is their own.
fn deciders() -> String {
    format!(
        r"
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {{name: ground-deciders, namespace: {NAMESPACE}}}
rules:
- {{apiGroups: [ichor.maesh.dev], resources: [talosmachines], verbs: [approve, wipe]}}
- {{apiGroups: [ichor.maesh.dev], resources: [talosaccessrequests], verbs: [approve]}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {{name: ground-deciders, namespace: {NAMESPACE}}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: Role, name: ground-deciders}}
subjects: [{{apiGroup: rbac.authorization.k8s.io, kind: Group, name: deciders}}]
"
    )
}

/// DESIGN section 4: "`*/status` of Ichor's kinds only by the controller's account", of all eight, whatever RBAC gives.
#[tokio::test]
async fn the_status_of_every_kind_is_the_controllers_record() -> Result<()> {
    let world = world().await?;
    let admin = world.plane.kubectl();
    people(&admin).await?;
    let cluster = world.cluster(&ClusterSetup::new("recorded")).await?;
    let mut all: Vec<Value> = objects("recorded", 3)
        .into_iter()
        .map(|(it, _, _)| it)
        .collect();
    let mut reclaim = things::example("MachineReclaim");
    reclaim["spec"]["clusterRef"]["name"] = json!("recorded");
    reclaim["spec"]["address"] = json!(cluster.node("orphan-1")?.address().to_string());
    all.push(reclaim);
    for object in &all {
        accepted(
            &admin
                .pipe(&["create", "-f", "-"], &object.to_string())
                .await?,
        )?;
    }
    all.push(json!({"kind": "TalosCluster", "metadata": {"name": "recorded"}}));
    ensure!(
        all.len() == ichor_crds::all_crds().len(),
        "a kind is missing"
    );
    let status = json!({"status": {"observedGeneration": 1}});
    for object in &all {
        let (kind, name) = kind_and_name(object)?;
        let forged = admin
            .merge(kind, name, &status, &["--subresource=status"])
            .await?;
        refused(&forged, "it is the record of the controller")?;
        let recorded = [RECORDER, &["--subresource=status"]].concat();
        accepted(&admin.merge(kind, name, &status, &recorded).await?)?;
    }
    Ok(())
}

/// DESIGN section 4: an approved machine and a cluster that has one stay, also where a whole collection is deleted, whose
/// reviews name no object. Asked as a dry run: nothing goes.
#[tokio::test]
async fn a_collection_is_not_deleted_with_what_must_stay() -> Result<()> {
    let world = world().await?;
    let admin = world.plane.kubectl();
    // It has an approved control plane.
    world.cluster(&ClusterSetup::new("collected")).await?;
    for (plural, why) in [
        ("talosclusters", "has approved machines ("),
        ("talosmachines", "is an approved machine of cluster"),
    ] {
        let path =
            format!("/apis/ichor.maesh.dev/v1alpha1/namespaces/{NAMESPACE}/{plural}?dryRun=All");
        let said = admin.try_run(&["delete", "--raw", &path]).await?;
        refused(&said, why)?;
        // What is refused is named.
        ensure!(!said.err.contains("\"\""), "{said:?}");
    }
    Ok(())
}
