//! FAULTS 33 (kube#354): a steady state writes nothing. FAULTS 35 (kube#774, linkerd2#14844): one object that cannot be
//! decoded does not stop the others.

use crate::{PATIENT, replicas};
use anyhow::{Result, ensure};
use ichor::runtime::clock;
use ichor_crds::ReclaimPhase;
use ichor_crds::conditions::reclaim as reason;
use ichor_ground::cluster::UNSEEN;
use ichor_ground::controller::NAMESPACE;
use ichor_ground::proxy::Seen;
use ichor_ground::{ClusterSetup, GroundCluster, Kubectl, Request, eventually};
use ichor_simulator::{Action, Fault, Stage, Timings};
use serde_json::{Value, json};
use std::time::Duration;

/// How long nothing is written: a minute, and with it sixty rechecks and three hundred looks of the ground.
const IDLE: Duration = Duration::from_mins(1);

/// A request for a machine of `cluster`, waited for until some condition has `reason`.
async fn waiting(
    alice: &Kubectl,
    cluster: &GroundCluster,
    short: &str,
    reason: &str,
    typed: Option<&str>,
) -> Result<Request> {
    let node = cluster.node(short)?;
    let request = Request::create(alice, node.address(), &cluster.name).await?;
    if let Some(typed) = typed {
        request.inspected().await?;
        request.confirm(typed).await?;
    }
    let what = format!("{short} to be at {reason}");
    request
        .until(&what, |status| crate::has_reason(status, reason))
        .await?;
    Ok(request)
}

/// How long nothing is written before the minute begins: some rechecks.
const SETTLED: Duration = Duration::from_secs(5);

/// One request for each thing that is waited for: a person, power, another UUID, the disruption lock, a machine that stays
/// away, a Kubernetes API. Only the leader's lease is written, for a minute.
#[tokio::test]
async fn faults_33_a_steady_state_writes_nothing_but_the_lease() -> Result<()> {
    let flags = [&PATIENT[..], &[("--overdue", "3s")]].concat();
    let mut turn = replicas(&flags).await?;
    let alice = turn.operator("alice").await?;
    let mut leader = turn.replica().await?;
    let setup = ClusterSetup {
        control_planes: 3,
        orphans: 5,
        orphan_control_planes: 1,
        timings: Timings {
            down: 5000,
            ..Timings::default()
        },
        ..ClusterSetup::new("steady")
    };
    let cluster = turn.cluster(&setup).await?;
    let away = cluster.node("orphan-5")?;
    away.fault(Fault::on("Reset", Action::LoseAnswer));
    let overdue = Request::create(&alice, away.address(), "steady").await?;
    overdue.inspected().await?;
    overdue.confirm(away.uuid()).await?;
    eventually("the reset to begin", async || {
        Ok((away.stage() != Stage::Running).then_some(()))
    })
    .await?;
    away.power_off();
    overdue
        .until("it to be overdue", |status| {
            crate::has_reason(status, reason::OVERDUE)
        })
        .await?;
    // Whoever waits for a Kubernetes API gives up when it is overdue; from here on, nothing is.
    turn.terminate(&mut leader).await?;
    let patient = turn.replicas.options.clone().with("--overdue", "1h");
    turn.replicas.options = patient;
    let leader = turn.replica().await?;
    leader.leads().await?;

    let done = cluster.node("orphan-1")?;
    Request::create(&alice, done.address(), "steady")
        .await?
        .confirm_and_finish(done.uuid())
        .await?;
    let dark = cluster.node("orphan-3")?;
    dark.power_off();
    lock_for_somebody(&turn.plane.kubectl(), "steady").await?;
    let remote = ClusterSetup {
        access: "bundle",
        ..ClusterSetup::new("unanswered")
    };
    let remote = turn.cluster(&remote).await?;
    let nowhere = json!({"spec": {"endpoint": "https://127.0.0.1:1"}});
    let kubectl = turn.plane.kubectl();
    let moved = kubectl.merge("taloscluster", "unanswered", &nowhere, &[]);
    ensure!(moved.await?.ok, "its endpoint does not change");

    let wrong = "11111111-2222-4333-8444-555555555555";
    let locked = cluster.node("orphan-cp-1")?.uuid().to_owned();
    let wiped = remote.node("orphan-1")?.uuid().to_owned();
    for (cluster, short, reason, typed) in [
        (&cluster, "orphan-2", reason::AWAITING_CONFIRMATION, None),
        (&cluster, "orphan-3", reason::UNREACHABLE, None),
        (&cluster, "orphan-4", reason::UUID_MISMATCH, Some(wrong)),
        (
            &cluster,
            "orphan-cp-1",
            reason::CLUSTER_LOCK_HELD,
            Some(locked.as_str()),
        ),
        (
            &remote,
            "orphan-1",
            reason::KUBERNETES_UNAVAILABLE,
            Some(wiped.as_str()),
        ),
    ] {
        waiting(&alice, cluster, short, reason, typed).await?;
    }

    // The Events about what was written last are on their way.
    eventually("what is under way to be written", async || {
        leader.trap.set(None);
        tokio::time::sleep(SETTLED).await;
        let quiet = leader.trap.writes().iter().all(Seen::is_leader_lease);
        Ok(quiet.then_some(()))
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
    ensure!(!overdue.status().await?.phase.is_final());
    Ok(())
}

/// Takes the disruption lock of a cluster for an hour, in the name of nobody who is here.
async fn lock_for_somebody(kubectl: &Kubectl, cluster: &str) -> Result<()> {
    let now = clock::now();
    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": format!("ichor-disruption-{cluster}"), "namespace": NAMESPACE},
        "spec": {
            "holderIdentity": "talosoperation/upgrade elsewhere", "leaseDurationSeconds": 3600,
            "acquireTime": format!("{now:.6}"), "renewTime": format!("{now:.6}"),
        },
    });
    kubectl.apply(&lease.to_string()).await.map(drop)
}

/// The kinds, and the fields that have to stay what they are, because lists are selected by them.
fn kinds() -> [(&'static str, Value); 2] {
    let text = || json!({"type": "string"});
    let open = |properties: Value| json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": properties});
    let reclaim = json!({"spec": open(json!({"address": text(), "confirmUUID": text()}))});
    let machine = json!({
        "spec": open(json!({"clusterRef": open(json!({"name": text()})), "hostname": text(), "endpoint": text(), "network": open(json!({"addressing": text()}))})),
        "status": open(json!({"observedEndpoint": text(), "nodeName": text()})),
    });
    [
        ("crd/machinereclaims.ichor.maesh.dev", open(reclaim)),
        ("crd/talosmachines.ichor.maesh.dev", open(machine)),
    ]
}

/// The kinds as a newer or older Ichor might have left them: nearly anything goes. The webhook would refuse what it cannot
/// read, but what was stored before it was there it never saw. Gives the schemas that were there.
async fn widen(kubectl: &Kubectl) -> Result<Vec<(&'static str, Value)>> {
    let mut before = Vec::new();
    for (kind, anything) in kinds() {
        let text = kubectl.run(&["get", kind, "-o", "json"]).await?;
        let mut found: Value = serde_json::from_str(&text)?;
        let schema = found["spec"]["versions"][0]["schema"]["openAPIV3Schema"].take();
        before.push((kind, schema));
        replace_schema(kubectl, kind, &anything).await?;
    }
    crate::leave_out_unseen(kubectl, true).await?;
    Ok(before)
}

/// Takes [`widen`] back.
async fn narrow(kubectl: &Kubectl, before: &[(&str, Value)]) -> Result<()> {
    for (kind, schema) in before {
        replace_schema(kubectl, kind, schema).await?;
    }
    crate::leave_out_unseen(kubectl, false).await
}

async fn replace_schema(kubectl: &Kubectl, kind: &str, schema: &Value) -> Result<()> {
    let operations = json!([{"op": "replace", "path": "/spec/versions/0/schema/openAPIV3Schema", "value": schema}]);
    let operations = operations.to_string();
    let args = ["patch", kind, "--type=json", "-p", &operations];
    kubectl.run(&args).await.map(drop)
}

fn unreadable(kind: &str, name: &str) -> Value {
    json!({
        "apiVersion": "ichor.maesh.dev/v1alpha1", "kind": kind,
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": {UNSEEN: "yes"}},
        "spec": {"address": "nowhere", "clusterCredentials": "perhaps", "identity": "none", "approval": {"by": "nobody"}},
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
    let before = widen(&kubectl).await?;
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
    // One whose reset is recorded may be on its way, to any machine: nothing is sent while that is so.
    let recorded = json!({"status": {"phase": "Draining", "reset": {"bootID": "boot-1"}}});
    let as_controller = [
        "--subresource=status",
        "--as=system:serviceaccount:ichor-system:ichor-controller",
        "--as-group=system:masters",
    ];
    let said = kubectl.merge("machinereclaim", "bad-request", &recorded, &as_controller);
    let said = said.await?;
    ensure!(said.ok, "{said:?}");
    let node = cluster.node("orphan-2")?;
    let request = Request::create(&alice, node.address(), "unreadable").await?;
    request.inspected().await?;
    request.confirm(node.uuid()).await?;
    request
        .until("it to wait for the one that cannot be decoded", |status| {
            let mut all = status.conditions.iter();
            all.any(|one| {
                one.message
                    .contains("kubectl delete machinereclaim bad-request")
            })
        })
        .await?;
    ensure!(cluster.resets() == 1);
    kubectl
        .run(&["delete", "machinereclaim", "bad-request", "-n", NAMESPACE])
        .await?;
    request.reaches(ReclaimPhase::Done).await?;
    ensure!(cluster.resets() == 2);
    kubectl
        .run(&["delete", "talosmachine", "bad-machine", "-n", NAMESPACE])
        .await?;
    narrow(&kubectl, &before).await
}
