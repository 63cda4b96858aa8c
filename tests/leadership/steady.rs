//! FAULTS 33 (kube#354): a steady state writes nothing. FAULTS 35 (kube#774, linkerd2#14844): one object that cannot be
//! decoded does not stop the others.

use crate::{PATIENT, replicas};
use anyhow::{Result, ensure};
use ichor_ground::controller::NAMESPACE;
use ichor_ground::proxy::Seen;
use ichor_ground::{ClusterSetup, Kubectl, Request, eventually};
use serde_json::{Value, json};
use std::time::Duration;

/// How long nothing is written: many rechecks (1 s) and looks (200 ms) of the ground.
const IDLE: Duration = Duration::from_secs(15);

/// One request is done, one waits for a person, one for a machine without power: only the leader's lease is written.
#[tokio::test]
async fn faults_33_a_steady_state_writes_nothing_but_the_lease() -> Result<()> {
    let turn = replicas(&PATIENT).await?;
    let alice = turn.operator("alice").await?;
    let leader = turn.replica().await?;
    let setup = ClusterSetup {
        orphans: 3,
        ..ClusterSetup::new("steady")
    };
    let cluster = turn.cluster(&setup).await?;
    let done = cluster.node("orphan-1")?;
    Request::create(&alice, done.address(), "steady")
        .await?
        .confirm_and_finish(done.uuid())
        .await?;
    Request::create(&alice, cluster.node("orphan-2")?.address(), "steady")
        .await?
        .inspected()
        .await?;
    let dark = cluster.node("orphan-3")?;
    dark.power_off();
    let waiting = Request::create(&alice, dark.address(), "steady").await?;
    waiting
        .until("the machine to be missed", |status| {
            crate::has_reason(status, ichor_crds::conditions::reclaim::UNREACHABLE)
        })
        .await?;

    leader.trap.set(None);
    tokio::time::sleep(IDLE).await;
    let (renewals, others): (Vec<_>, Vec<_>) = leader
        .trap
        .writes()
        .into_iter()
        .partition(Seen::is_leader_lease);
    let others: Vec<String> = others.iter().map(Seen::label).collect();
    ensure!(others.is_empty(), "written while idle: {others:?}");
    ensure!(renewals.len() >= 10, "the leader lives: {}", renewals.len());
    Ok(())
}

const KINDS: [&str; 2] = [
    "crd/machinereclaims.ichor.maesh.dev",
    "crd/talosmachines.ichor.maesh.dev",
];
const WEBHOOKS: [&str; 2] = [
    "validatingwebhookconfiguration/ichor",
    "mutatingwebhookconfiguration/ichor",
];

/// The kinds as a newer or older Ichor might have left them: anything goes. The webhook would refuse what it cannot
/// read, but what was stored before it was there it never saw.
async fn widen(kubectl: &Kubectl) -> Result<()> {
    let anything = json!({"op": "replace", "path": "/spec/versions/0/schema/openAPIV3Schema",
        "value": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    let selector = json!({"op": "replace", "path": "/webhooks/0/objectSelector",
        "value": {"matchExpressions": [{"key": "stored-before", "operator": "DoesNotExist"}]}});
    patch(kubectl, &KINDS, &anything).await?;
    patch(kubectl, &WEBHOOKS, &selector).await
}

/// Takes [`widen`] back, as far as applying the manifests again does not.
async fn narrow(kubectl: &Kubectl) -> Result<()> {
    let anything = json!({"op": "remove",
        "path": "/spec/versions/0/schema/openAPIV3Schema/x-kubernetes-preserve-unknown-fields"});
    let selector = json!({"op": "replace", "path": "/webhooks/0/objectSelector", "value": {}});
    patch(kubectl, &KINDS, &anything).await?;
    patch(kubectl, &WEBHOOKS, &selector).await
}

async fn patch(kubectl: &Kubectl, objects: &[&str], operation: &Value) -> Result<()> {
    let operations = json!([operation]).to_string();
    for object in objects {
        let args = ["patch", object, "--type=json", "-p", &operations];
        kubectl.run(&args).await?;
    }
    Ok(())
}

fn unreadable(kind: &str, name: &str) -> Value {
    json!({
        "apiVersion": "ichor.maesh.dev/v1alpha1", "kind": kind,
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": {"stored-before": "yes"}},
        "spec": {"address": 7, "identity": "none", "approval": {"by": "nobody"}},
    })
}

async fn told(kubectl: &Kubectl, name: &str) -> Result<()> {
    let of_object = format!("--field-selector=involvedObject.name={name},reason=Undecodable");
    let events = ["get", "events", "-n", NAMESPACE, &of_object, "-o", "name"];
    eventually(&format!("an Event about {name}"), async || {
        let events = kubectl.run(&events).await?;
        Ok((!events.trim().is_empty()).then_some(()))
    })
    .await
}

/// Objects that cannot be decoded, there at the start and come later: the others are reclaimed, the bad ones get an Event.
#[tokio::test]
async fn faults_35_an_undecodable_object_stops_nobody_and_gets_an_event() -> Result<()> {
    let turn = replicas(&PATIENT).await?;
    let alice = turn.operator("alice").await?;
    let leader = turn.replica().await?;
    let kubectl = turn.plane.kubectl();
    let setup = ClusterSetup {
        orphans: 2,
        ..ClusterSetup::new("unreadable")
    };
    let cluster = turn.cluster(&setup).await?;
    widen(&kubectl).await?;
    let store = async |kind: &str, name: &str| {
        let object = unreadable(kind, name).to_string();
        eventually("it to be stored", async || {
            kubectl.apply(&object).await.map(Some)
        })
        .await?;
        told(&kubectl, name).await
    };
    store("MachineReclaim", "bad-request").await?;
    store("TalosMachine", "bad-machine").await?;
    let finish = async |short: &str| {
        let node = cluster.node(short)?;
        let request = Request::create(&alice, node.address(), "unreadable").await?;
        request.confirm_and_finish(node.uuid()).await?;
        anyhow::Ok(())
    };
    finish("orphan-1").await?;

    turn.kill(leader).await?;
    let next = turn.replica().await?;
    next.leads().await?;
    finish("orphan-2").await?;
    ensure!(cluster.resets() == 2);
    for object in ["machinereclaim/bad-request", "talosmachine/bad-machine"] {
        kubectl.run(&["delete", object, "-n", NAMESPACE]).await?;
    }
    narrow(&kubectl).await?;
    turn.restore().await
}
