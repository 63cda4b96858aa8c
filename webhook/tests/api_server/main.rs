//! The webhook behind a real API server, as kubectl sees it.

// Clippy's permission for tests does not reach their helper functions.
#![allow(clippy::expect_used)]

mod paging;
mod world;

use ichor_ground::controller::NAMESPACE;
use serde_json::json;
use world::{World, orphan, reclaim, stored, try_create, try_patch};

const UUID: &str = "4c4c4544-0042-3510-8052-b4c04f463133";
const BY: &str = "ichor.maesh.dev/requested-by";

#[tokio::test]
async fn without_the_verb_a_request_is_forbidden() {
    let world = World::shared().await;
    // May write the objects, and not reclaim.
    let role = [
        "create",
        "role",
        "writer",
        "-n",
        NAMESPACE,
        "--verb=create,get,patch,update",
        "--resource=machinereclaims.ichor.maesh.dev",
    ];
    world.admin.run(&role).await.expect("a role");
    let bind = [
        "create",
        "rolebinding",
        "dev",
        "-n",
        NAMESPACE,
        "--role=writer",
        "--user=dev",
    ];
    world.admin.run(&bind).await.expect("a binding");
    let dev = world.plane.person("dev", &[]).expect("dev");
    let refused = "Error from server (Forbidden): error when creating \"STDIN\": admission webhook \"machinereclaims.ichor.maesh.dev\" denied the request: user \"dev\" may not reclaim machines in namespace ichor-system: needs verb \"reclaim\" on machinereclaims.ichor.maesh.dev (role ichor-operator has it)\n";
    for object in [
        reclaim("dev-1", &orphan("10.1.0.1")),
        reclaim("", &orphan("10.1.0.1")),
    ] {
        let said = try_create(&dev, &object, &[]).await;
        assert_eq!((said.ok, said.err.as_str()), (false, refused));
    }
    let audit = world.audited("dev", "10.1.0.1").await;
    assert_eq!(
        audit["machinereclaims.ichor.maesh.dev/decision"],
        "denied: Forbidden"
    );
    // A change of spec needs it as well; a label does not.
    let alice = world.operator("alice-verb").await;
    assert!(
        try_create(&alice, &reclaim("not-devs", &orphan("10.1.0.2")), &[])
            .await
            .ok
    );
    let said = try_patch(&dev, "not-devs", &json!({"spec": {"force": true}}), &[]).await;
    assert!(
        !said.ok && said.err.contains("may not reclaim machines"),
        "{}",
        said.err
    );
    let said = try_patch(
        &dev,
        "not-devs",
        &json!({"metadata": {"labels": {"a": "b"}}}),
        &[],
    )
    .await;
    assert!(said.ok, "{}", said.err);
}

/// FAULTS 7: the caller is judged with groups, and as whom they act.
#[tokio::test]
async fn groups_and_impersonation_count() {
    let world = World::shared().await;
    let bind = [
        "create",
        "rolebinding",
        "wipers",
        "-n",
        NAMESPACE,
        "--clusterrole=ichor-operator",
        "--group=wipers",
    ];
    world.admin.run(&bind).await.expect("a binding");
    let fred = world.plane.person("fred", &["wipers"]).expect("fred");
    let said = try_create(&fred, &reclaim("by-group", &orphan("10.2.0.1")), &[]).await;
    assert!(said.ok, "{}", said.err);
    let object = reclaim("as-another", &orphan("10.2.0.2"));
    // The administrator may everything, and whom they impersonate may nothing.
    let said = try_create(&world.admin, &object, &["--as=nobody"]).await;
    assert!(!said.ok && said.err.contains("\"nobody\""), "{}", said.err);
    let said = try_create(&world.admin, &object, &["--as=gina", "--as-group=wipers"]).await;
    assert!(said.ok, "{}", said.err);
    let object = stored(&world.admin, "as-another").await;
    assert_eq!(object["metadata"]["annotations"][BY], "gina");
}

#[tokio::test]
async fn the_requester_and_one_text_for_an_address_are_filled_in() {
    let world = World::shared().await;
    let alice = world.operator("alice-fill").await;
    let mut object = reclaim("filled", &orphan("FC00:22:0::2"));
    object["metadata"]["annotations"] = json!({BY: "mallory"});
    let said = try_create(&alice, &object, &[]).await;
    assert!(said.ok, "{}", said.err);
    let first = stored(&alice, "filled").await;
    assert_eq!(first["spec"]["address"], "fc00:22::2");
    assert_eq!(first["metadata"]["annotations"][BY], "alice-fill");
    // By hand it stays what it was, and the same file again changes nothing.
    let annotate = json!({"metadata": {"annotations": {BY: "mallory"}}});
    assert!(try_patch(&alice, "filled", &annotate, &[]).await.ok);
    let remove = json!({"metadata": {"annotations": {BY: null}}});
    assert!(try_patch(&alice, "filled", &remove, &[]).await.ok);
    let apply = ["apply", "--server-side", "--force-conflicts", "-f", "-"];
    let said = alice
        .pipe(&apply, &object.to_string())
        .await
        .expect("kubectl runs");
    assert!(said.ok, "{}", said.err);
    let last = stored(&alice, "filled").await;
    assert_eq!(
        last["metadata"]["annotations"],
        first["metadata"]["annotations"]
    );
    assert_eq!(
        last["metadata"]["generation"],
        first["metadata"]["generation"]
    );
    assert_eq!(last["spec"], first["spec"]);
}

#[tokio::test]
async fn references_are_resolved_as_the_caller() {
    let world = World::shared().await;
    let alice = world.operator("alice-refs").await;
    let mut unknown = orphan("10.3.0.1");
    unknown["clusterRef"]["name"] = json!("prd");
    let said = try_create(&alice, &reclaim("unknown", &unknown), &[]).await;
    assert_eq!(
        said.err,
        "The MachineReclaim \"unknown\" is invalid: spec.clusterRef.name: Not found: \"prd\": no TalosCluster of that name in namespace ichor-system; there is prod\n"
    );
    let pasted = |secret: &str| {
        reclaim(
            "",
            &json!({"address": "10.3.0.2", "credentialSecretRef": {"name": secret}}),
        )
    };
    for (name, kind) in [
        ("opaque", "Opaque"),
        ("pasted", "ichor.maesh.dev/talosconfig"),
    ] {
        let kind = format!("--type={kind}");
        let create = [
            "create",
            "secret",
            "generic",
            name,
            "-n",
            NAMESPACE,
            &kind,
            "--from-literal=talosconfig=x",
        ];
        world.admin.run(&create).await.expect("a Secret");
    }
    for secret in ["pasted", "absent"] {
        let said = try_create(&alice, &pasted(secret), &[]).await;
        let want = format!("user \"alice-refs\" may not get Secret \"{secret}\"");
        assert!(!said.ok && said.err.contains(&want), "{}", said.err);
    }
    let role = [
        "create",
        "role",
        "reader",
        "-n",
        NAMESPACE,
        "--verb=get",
        "--resource=secrets",
        "--resource-name=pasted",
        "--resource-name=opaque",
        "--resource-name=absent",
    ];
    world.admin.run(&role).await.expect("a role");
    let bind = [
        "create",
        "rolebinding",
        "reader",
        "-n",
        NAMESPACE,
        "--role=reader",
        "--user=alice-refs",
    ];
    world.admin.run(&bind).await.expect("a binding");
    for (secret, want) in [
        ("opaque", Some("the Secret has type \"Opaque\"")),
        ("absent", Some("Not found: \"absent\"")),
        ("pasted", None),
    ] {
        let said = ichor_ground::eventually("the role to count", async || {
            let said = try_create(&alice, &pasted(secret), &[]).await;
            Ok((!said.err.contains("may not get")).then_some(said))
        });
        let said = said.await.expect("a verdict");
        assert_eq!(said.ok, want.is_none(), "{}", said.err);
        assert!(said.err.contains(want.unwrap_or_default()), "{}", said.err);
    }
}

/// FAULTS 5, record 0136: consent, and what stands from when on.
#[tokio::test]
async fn consent_follows_inspection_and_stands() {
    let world = World::shared().await;
    let alice = world.operator("alice-consent").await;
    let mut early = orphan("10.4.0.1");
    early["confirmUUID"] = json!(UUID);
    let said = try_create(&alice, &reclaim("early", &early), &[]).await;
    assert!(
        !said.ok
            && said
                .err
                .contains("spec.confirmUUID: Forbidden: is not accepted at creation"),
        "{}",
        said.err
    );
    assert!(
        try_create(&alice, &reclaim("consent", &orphan("10.4.0.1")), &[])
            .await
            .ok
    );
    let said = try_create(&alice, &reclaim("second", &orphan("10.4.0.1")), &[]).await;
    assert!(
        said.err.contains(
            "spec.address: Duplicate value: \"10.4.0.1\": MachineReclaim \"consent\" has not ended"
        ),
        "{}",
        said.err
    );
    let typed = |uuid: &str| json!({"spec": {"confirmUUID": uuid}});
    let said = try_patch(&alice, "consent", &typed(UUID), &[]).await;
    assert!(said.err.contains("is not inspected yet"), "{}", said.err);
    let inspection = json!({"identity": {"uuid": UUID}});
    let status = json!({"phase": "AwaitingConfirmation", "inspection": inspection});
    world.report("consent", &status).await;
    let said = try_patch(
        &alice,
        "consent",
        &typed("4c4c4544-0042-3510-8052-b4c04f463134"),
        &[],
    )
    .await;
    assert!(
        said.ok && said.err.starts_with("Warning: spec.confirmUUID"),
        "{}",
        said.err
    );
    let said = try_patch(&alice, "consent", &typed(&UUID.to_uppercase()), &[]).await;
    assert!(said.ok && said.err.is_empty(), "{}", said.err);
    assert_eq!(stored(&alice, "consent").await["spec"]["confirmUUID"], UUID);
    // The CRD says it first (DESIGN section 3: so it holds with the webhook down).
    let both = json!({"spec": {"confirmUUID": null, "force": true}});
    let said = try_patch(&alice, "consent", &both, &[]).await;
    assert!(
        said.err.starts_with("The MachineReclaim \"consent\" is invalid: \n* spec.confirmUUID: Invalid value: confirmUUID cannot change any more")
            && said.err.contains("\n* spec.force: Invalid value: force cannot change any more"),
        "{}",
        said.err
    );
    let said = try_patch(
        &alice,
        "consent",
        &json!({"spec": {"address": "10.4.0.9"}}),
        &[],
    )
    .await;
    assert!(!said.ok && said.err.contains("spec"), "{}", said.err);
}

#[tokio::test]
async fn a_finalizer_comes_off_with_the_references_gone() {
    let world = World::shared().await;
    let alice = world.operator("alice-gone").await;
    world
        .admin
        .apply(&world::cluster("gone"))
        .await
        .expect("a cluster");
    let mut spec = orphan("10.6.0.1");
    spec["clusterRef"]["name"] = json!("gone");
    let mut object = reclaim("held", &spec);
    object["metadata"]["finalizers"] = json!(["example.com/held"]);
    let said = try_create(&alice, &object, &[]).await;
    assert!(said.ok, "{}", said.err);
    let delete = ["delete", "taloscluster", "gone", "-n", NAMESPACE];
    world.admin.run(&delete).await.expect("it goes");
    let delete = [
        "delete",
        "machinereclaim",
        "held",
        "-n",
        NAMESPACE,
        "--wait=false",
    ];
    alice.run(&delete).await.expect("it is marked");
    let said = try_patch(&alice, "held", &json!({"spec": {"force": true}}), &[]).await;
    assert!(
        !said.ok && said.err.contains("spec.clusterRef.name: Not found"),
        "{}",
        said.err
    );
    let said = try_patch(
        &alice,
        "held",
        &json!({"metadata": {"finalizers": null}}),
        &[],
    )
    .await;
    assert!(said.ok, "{}", said.err);
}

#[tokio::test]
async fn a_dry_run_and_a_generated_name_are_judged_and_audited() {
    let world = World::shared().await;
    let alice = world.operator("alice-dry").await;
    let said = try_create(
        &alice,
        &reclaim("", &orphan("10.7.0.1")),
        &["--dry-run=server"],
    )
    .await;
    assert!(
        said.ok && said.out.contains("created (server dry run)"),
        "{}{}",
        said.out,
        said.err
    );
    let audit = world.audited("alice-dry", "10.7.0.1").await;
    for (key, want) in [
        ("decision", "allowed"),
        ("cluster", "prod"),
        ("credential-source", "cluster"),
        ("force", "false"),
        ("force-ungraceful", "false"),
    ] {
        assert_eq!(
            audit[format!("machinereclaims.ichor.maesh.dev/{key}")],
            want,
            "{audit}"
        );
    }
    // It left nothing that would stand in the way.
    let said = try_create(&alice, &reclaim("", &orphan("10.7.0.1")), &[]).await;
    assert!(said.ok, "{}", said.err);
}

#[tokio::test]
async fn requests_live_in_the_namespace_of_ichor() {
    let world = World::shared().await;
    let mut object = reclaim("elsewhere", &orphan("10.8.0.1"));
    object["metadata"]["namespace"] = json!("default");
    let said = try_create(&world.admin, &object, &[]).await;
    assert!(
        said.err.contains("metadata.namespace: Invalid value: \"default\": Ichor reads MachineReclaims in namespace ichor-system only"),
        "{}",
        said.err
    );
}
