//! Who may ask, and what is recorded about them (FAULTS 6 and 7).

use crate::bare::{
    CAROL, EDITOR, WEBHOOK, accepted, add_cluster, audited, bare, create, object, orphan, patch,
    refused, stored,
};
use crate::common::ichor;
use anyhow::{Result, ensure};
use ichor_crds::REQUESTED_BY;
use ichor_ground::controller::NAMESPACE;
use ichor_ground::{World, eventually};
use serde_json::{Value, json};

/// "no reclaim verb": RBAC's right to write the objects is not the right to wipe machines.
#[tokio::test]
async fn without_the_verb_a_reclaim_is_refused_in_words_that_help() -> Result<()> {
    let world = bare().await?;
    let admin = world.plane.kubectl();
    let text = "admission webhook \"machinereclaims.ichor.maesh.dev\" denied the request: user \"editor\" may not reclaim machines in namespace ichor-system: needs verb \"reclaim\" on machinereclaims.ichor.maesh.dev (role ichor-operator has it)";
    for name in ["by-editor", "by-editor-"] {
        let said = create(&admin, name, &orphan("10.1.0.1"), EDITOR).await?;
        refused(&said, text)?;
        refused(&said, "Error from server (Forbidden)")?;
    }
    accepted(&create(&admin, "by-admin", &orphan("10.1.0.2"), &[]).await?)?;
    for change in [
        json!({"force": true}),
        json!({"confirmUUID": "4c4c4544-0042-3510-8052-b4c04f463133"}),
    ] {
        refused(
            &patch(
                &admin,
                "by-admin",
                "merge",
                &json!({"spec": change}),
                EDITOR,
            )
            .await?,
            text,
        )?;
    }
    let label = json!({"metadata": {"labels": {"a": "b"}}});
    accepted(&patch(&admin, "by-admin", "merge", &label, EDITOR).await?)?;
    let audit = audited(world, "editor", "10.1.0.2").await?;
    ensure!(
        audit[format!("{WEBHOOK}/decision")] == "denied: Forbidden",
        "{audit}"
    );
    Ok(())
}

/// FAULTS 7 (temporal-worker-controller#265, tektoncd/results#634): a group-only binding passes, and an impersonated
/// user is judged as the impersonated, whoever impersonates.
#[tokio::test]
async fn faults_7_the_caller_is_judged_with_groups_and_as_impersonated() -> Result<()> {
    let world = bare().await?;
    let admin = world.plane.kubectl();
    accepted(&create(&admin, "by-group", &orphan("10.2.0.1"), CAROL).await?)?;
    refused(
        &create(&admin, "by-name", &orphan("10.2.0.2"), &["--as=carol"]).await?,
        "carol",
    )?;
    let real = world.plane.person("fred", &["reclaimers"])?;
    accepted(&create(&real, "by-fred", &orphan("10.2.0.3"), &[]).await?)?;
    // An administrator may everything, and is refused while acting as somebody who may not.
    refused(
        &create(&admin, "as-editor", &orphan("10.2.0.4"), EDITOR).await?,
        "\"editor\"",
    )?;
    let by = stored(&admin, "by-group").await?;
    ensure!(
        by["metadata"]["annotations"][REQUESTED_BY] == "carol",
        "{by}"
    );
    Ok(())
}

/// FAULTS 7: a review that cannot be made is a denial that says so.
#[tokio::test]
async fn faults_7_a_review_error_denies() -> Result<()> {
    let world = World::start_apart(ichor()).await?;
    let admin = world.plane.kubectl();
    add_cluster(&admin, "prod").await?;
    accepted(&create(&admin, "before", &orphan("10.3.0.1"), &[]).await?)?;
    let rules = json!([{"op": "replace", "path": "/rules", "value": [
        {"apiGroups": ["admissionregistration.k8s.io"], "resources": ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"], "verbs": ["get", "update"]}]}]);
    admin
        .run(&[
            "patch",
            "clusterrole",
            "ichor-controller",
            "--type=json",
            "-p",
            &rules.to_string(),
        ])
        .await?;
    let said = eventually("the right to be gone", async || {
        let said = create(&admin, "after-", &orphan("10.3.0.2"), &["--dry-run=server"]).await?;
        Ok((!said.ok).then_some(said))
    })
    .await?;
    refused(
        &said,
        "whether user \"kubernetes-admin\" has verb \"reclaim\" could not be checked, so it is refused",
    )?;
    Ok(())
}

/// FAULTS 6 (kubernetes#46107, kyverno#13583) and the audit annotations of DESIGN section 4.
#[tokio::test]
async fn faults_6_a_generated_name_is_judged_and_audited() -> Result<()> {
    let world = bare().await?;
    let admin = world.plane.kubectl();
    let mut spec = orphan("10.7.0.1");
    spec["force"] = json!(true);
    let said = create(&admin, "generated-", &spec, CAROL).await?;
    accepted(&said)?;
    ensure!(
        said.err.contains("Warning: spec.force has no effect until"),
        "{said:?}"
    );
    let audit = audited(world, "carol", "10.7.0.1").await?;
    for (key, want) in [
        ("decision", "allowed"),
        ("cluster", "prod"),
        ("credential-source", "cluster"),
        ("force", "true"),
        ("force-ungraceful", "false"),
    ] {
        ensure!(audit[format!("{WEBHOOK}/{key}")] == want, "{key}: {audit}");
    }
    let refused_spec =
        json!({"address": "10.7.0.2", "clusterRef": {"name": "prd"}, "clusterCredentials": true});
    refused(
        &create(&admin, "generated-", &refused_spec, CAROL).await?,
        "Not found",
    )?;
    let audit = audited(world, "carol", "10.7.0.2").await?;
    ensure!(
        audit[format!("{WEBHOOK}/decision")] == "denied: Invalid",
        "{audit}"
    );
    Ok(())
}

/// DESIGN section 4, step 2: the requester is recorded, and nobody sets or changes it by hand.
#[tokio::test]
async fn the_requester_is_whoever_created_it() -> Result<()> {
    let admin = bare().await?.plane.kubectl();
    let mut forged = object("requester", &orphan("10.10.0.1"));
    forged["metadata"]["annotations"] = json!({REQUESTED_BY: "mallory"});
    accepted(
        &admin
            .pipe(
                &["create", "-f", "-", CAROL[0], CAROL[1]],
                &forged.to_string(),
            )
            .await?,
    )?;
    for value in [json!("mallory"), Value::Null] {
        let change = json!({"metadata": {"annotations": {REQUESTED_BY: value}}});
        accepted(&patch(&admin, "requester", "merge", &change, &[]).await?)?;
        let now = stored(&admin, "requester").await?;
        ensure!(
            now["metadata"]["annotations"][REQUESTED_BY] == "carol",
            "{now}"
        );
    }
    let replaced = admin
        .pipe(&["replace", "-f", "-"], &forged.to_string())
        .await?;
    accepted(&replaced)?;
    let now = stored(&admin, "requester").await?;
    ensure!(
        now["metadata"]["annotations"][REQUESTED_BY] == "carol",
        "{now}"
    );
    Ok(())
}

/// DESIGN section 4, step 4: a dry run is judged in full and has no effect anywhere.
#[tokio::test]
async fn a_dry_run_has_no_effect() -> Result<()> {
    let world = bare().await?;
    let admin = world.plane.kubectl();
    let dry = "--dry-run=server";
    refused(
        &create(&admin, "dry", &orphan("10.8.0.1"), &[dry, EDITOR[0]]).await?,
        "may not reclaim",
    )?;
    accepted(&create(&admin, "dry", &orphan("10.8.0.1"), &[dry]).await?)?;
    let absent = admin
        .try_run(&["get", "machinereclaim", "dry", "-n", NAMESPACE])
        .await?;
    refused(&absent, "NotFound")?;
    // It does not stand in the way of the real one, and a change in a dry run changes nothing either.
    accepted(&create(&admin, "dry", &orphan("10.8.0.1"), &[]).await?)?;
    let before = stored(&admin, "dry").await?;
    accepted(
        &patch(
            &admin,
            "dry",
            "merge",
            &json!({"spec": {"force": true}}),
            &[dry],
        )
        .await?,
    )?;
    let after = stored(&admin, "dry").await?;
    ensure!(before["spec"] == after["spec"], "{after}");
    Ok(())
}
