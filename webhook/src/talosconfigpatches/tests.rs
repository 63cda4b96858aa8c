//! Each rule with an accepted and a refused example.

use crate::asked::{create, object, update, with};
use crate::stub::Stub;
use serde_json::{Value, json};
use std::pin::pin;

fn patch(text: &str) -> Value {
    object(
        "TalosConfigPatch",
        "p",
        json!({"clusterRef": {"name": "prod"}, "patch": text}),
    )
}

fn stored(text: &str) -> Value {
    with(
        patch(text),
        &[(
            "/metadata/annotations",
            json!({"ichor.maesh.dev/requested-by": "alice", "ichor.maesh.dev/requested-by-uid": "uid-of-alice"}),
        )],
    )
}

const CA: &str = "cluster:\n  ca:\n    crt: eA==\n    key: eA==\n";
const GOOD: &str = "machine:\n  sysctls:\n    net.core.somaxconn: \"65535\"\n";

#[tokio::test]
async fn the_patch_parses_and_applies() {
    for (text, want) in [
        (GOOD, ""),
        ("# nothing\n", "spec.patch: Forbidden: the patch is empty"),
        ("machine: [", "is not YAML"),
        (
            "machine:\n  sysctl: {}\n",
            "is not a field that Talos knows",
        ),
        (
            "- op: replace\n  path: /machine/nowhere/at/all\n  value: x\n",
            "spec.patch: Forbidden: does not apply to a control plane of contract v1.13",
        ),
    ] {
        create(Stub::default(), &patch(text)).await.is(want);
    }
    let lost = with(patch(GOOD), &[("/spec/clusterRef/name", json!("prd"))]);
    create(Stub::default(), &lost)
        .await
        .is("spec.clusterRef.name: Not found: \"prd\"");
}

/// FAULTS 10: what makes a machine trust its cluster is not for patches.
#[tokio::test]
async fn faults_10_no_patch_changes_what_is_trusted() {
    let protected = "spec.patch: Forbidden: changes on a control plane what makes it trust its cluster, and no patch may:";
    for text in [
        CA,
        "machine:\n  acceptedCAs:\n    - crt: eA==\n",
        "machine:\n  token: x\n",
        "cluster:\n  id: x\n",
        "cluster:\n  secretboxEncryptionSecret: x\n",
        "cluster:\n  serviceAccount:\n    key: eA==\n",
        "machine:\n  ca:\n    $patch: delete\n",
        "machine:\n  features:\n    kubernetesTalosAPIAccess:\n      enabled: true\n      allowedRoles: [os:admin]\n",
    ] {
        create(Stub::default(), &patch(text)).await.is(protected);
    }
    // Just what the sample has is no less a change to a cluster.
    let sample = ichor_machineconfig::sample("v1.13", true).expect("a sample");
    let token = &sample.documents()[0].value()["machine"]["token"];
    let text = format!("machine:\n  token: {token}\n");
    create(Stub::default(), &patch(&text)).await.is(protected);
    // The message repeats paths, never values.
    let said = create(Stub::default(), &patch("machine:\n  token: sentinel\n")).await;
    assert!(
        said.message.contains("machine.token") && !said.message.contains("sentinel"),
        "{}",
        said.message
    );
    assert!(
        !said.audit.to_string().contains("sentinel"),
        "{}",
        said.audit
    );
}

#[tokio::test]
async fn a_stored_patch_that_breaks_a_rule_may_change_while_it_gets_no_worse() {
    let worse = format!("{CA}machine:\n  token: x\n");
    let retargeted = with(stored(CA), &[("/spec/priority", json!(5))]);
    update(Stub::default(), &stored(CA), &retargeted)
        .await
        .warns("the patch was stored with a fault and still has it");
    update(Stub::default(), &stored(CA), &stored(GOOD))
        .await
        .warns("");
    update(Stub::default(), &stored(CA), &stored(&worse))
        .await
        .is("machine.token");
    update(Stub::default(), &stored(GOOD), &stored(CA))
        .await
        .is("cluster.ca");
    // Better, and not yet good.
    update(Stub::default(), &stored(&worse), &stored(CA))
        .await
        .warns("still has it: changes on a control plane");
    // The same fields with something else in them.
    update(
        Stub::default(),
        &stored(CA),
        &stored(&CA.replace("eA==", "eQ==")),
    )
    .await
    .is("cluster.ca");
    // A comment moves the line of a fault.
    let unknown = "machine:\n  sysctl: {}\n";
    update(
        Stub::default(),
        &stored(unknown),
        &stored(&format!("# why\n{unknown}")),
    )
    .await
    .warns("is not a field that Talos knows");
    // What never applied may not begin to change what is trusted, nor reach machines of another role.
    update(Stub::default(), &stored(unknown), &stored(CA))
        .await
        .is("cluster.ca");
    let aggregator = "cluster:\n  aggregatorCA:\n    $patch: delete\n";
    let workers = with(
        stored(aggregator),
        &[("/spec/target", json!({"role": "worker"}))],
    );
    create(Stub::default(), &workers).await.is("");
    update(Stub::default(), &workers, &stored(aggregator))
        .await
        .is("changes on a control plane what makes it trust its cluster, and no patch may: cluster.aggregatorCA");
    // A label is no update of the patch.
    let labelled = with(stored(CA), &[("/metadata/labels", json!({"a": "b"}))]);
    update(Stub::default(), &stored(CA), &labelled)
        .await
        .warns("");
    let moved = with(stored(GOOD), &[("/spec/clusterRef/name", json!("test"))]);
    update(Stub::default(), &stored(GOOD), &moved).await.is(
        "spec.clusterRef: Forbidden: cannot change after creation; create another TalosConfigPatch",
    );
}

/// Patches of the greatest size are judged aside, well within the time that the API server waits.
#[tokio::test]
async fn other_requests_do_not_wait_behind_a_large_patch() {
    let mut text = "machine:\n  sysctls:\n".to_owned();
    for line in 0.. {
        let next = format!("    net.x{line}: \"{line}\"\n");
        if text.len() + next.len() > 512 << 10 {
            break;
        }
        text.push_str(&next);
    }
    let (large, small) = (patch(&text), patch(GOOD));
    let large = create(Stub::default(), &large);
    // This runtime has one thread: were the patch judged on it, the small one would be done last.
    let small = create(Stub::default(), &small);
    let (mut large, mut small) = (pin!(large), pin!(small));
    tokio::select! {
        biased;
        said = &mut large => panic!("the large patch was judged first: {}", said.message),
        said = &mut small => said.is(""),
    }
    large.await.is("");
}
