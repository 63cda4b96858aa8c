//! Admission of machinereclaims as kubectl sees it: the webhook of a running controller behind a real API server
//! (DESIGN section 4; FAULTS 5 to 7 and 9).
//!
//! Most rules hold three times: CEL in the CRD, a policy, the webhook. In the bare world of these tests the first two
//! are taken away, so that what answers is the webhook; the last tests ask the same with all three.

mod common;

use anyhow::{Context, Result, ensure};
use common::{alice, ichor, world};
use ichor_crds::REQUESTED_BY;
use ichor_ground::controller::NAMESPACE;
use ichor_ground::kubectl::Said;
use ichor_ground::{ClusterSetup, Kubectl, Request, World, eventually};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

const WEBHOOK: &str = "machinereclaims.ichor.maesh.dev";
const EDITOR: &[&str] = &["--as=editor"];
const CAROL: &[&str] = &["--as=carol", "--as-group=reclaimers"];

/// A controller whose webhook judges alone: no policies, no CEL in the CRD. Its cluster `prod` has no bundle, so that
/// nothing is ever dialled.
async fn bare() -> Result<&'static World> {
    static BARE: OnceCell<World> = OnceCell::const_new();
    BARE.get_or_try_init(async || {
        let world = World::start_apart(ichor()).await?;
        let admin = world.plane.kubectl();
        people(&admin).await?;
        for cluster in ["prod", "other"] {
            admin.apply(&talos_cluster(cluster)).await?;
        }
        admin
            .run(&["delete", "validatingadmissionpolicybinding", "--all"])
            .await?;
        without_cel(&admin).await?;
        eventually("the webhook alone to judge", async || {
            let both = json!({"address": "10.0.0.1", "clusterRef": {"name": "prod"}, "clusterCredentials": true, "credentialSecretRef": {"name": "x"}});
            let said = create(&admin, "probe", &both, &["--dry-run=server"]).await?;
            let editor = create(&admin, "probe", &orphan("10.0.0.1"), &[EDITOR[0], "--dry-run=server"]).await?;
            Ok((said.err.contains("cannot stand beside") && editor.err.contains(WEBHOOK)).then_some(()))
        })
        .await?;
        Ok(world)
    })
    .await
}

/// Takes the rules out of the CRD.
async fn without_cel(admin: &Kubectl) -> Result<()> {
    let get = [
        "get",
        "crd",
        "machinereclaims.ichor.maesh.dev",
        "-o",
        "json",
    ];
    let mut crd: Value = serde_json::from_str(&admin.run(&get).await?)?;
    strip(&mut crd);
    let said = admin
        .pipe(&["replace", "-f", "-"], &crd.to_string())
        .await?;
    ensure!(said.ok, "{}", said.err);
    Ok(())
}

fn strip(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove("x-kubernetes-validations");
            fields.values_mut().for_each(strip);
        }
        Value::Array(items) => items.iter_mut().for_each(strip),
        _ => {}
    }
}

/// `editor` may write all of Ichor's objects and has no verb `reclaim`; `carol` has it through her group alone.
async fn people(admin: &Kubectl) -> Result<()> {
    let text = format!(
        r#"
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {{name: ground-editor}}
rules:
- {{apiGroups: [ichor.maesh.dev], resources: ["*"], verbs: [get, list, create, update, patch, delete]}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {{name: ground-editor, namespace: {NAMESPACE}}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: ground-editor}}
subjects: [{{apiGroup: rbac.authorization.k8s.io, kind: User, name: editor}}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {{name: ground-reclaimers, namespace: {NAMESPACE}}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: ichor-operator}}
subjects: [{{apiGroup: rbac.authorization.k8s.io, kind: Group, name: reclaimers}}]
"#
    );
    admin.apply(&text).await.map(drop)
}

fn talos_cluster(name: &str) -> String {
    json!({
        "apiVersion": "ichor.maesh.dev/v1alpha1", "kind": "TalosCluster",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "endpoint": "https://10.0.0.1:6443", "talosVersion": "v1.14.0", "kubernetesVersion": "v1.37.2",
            "secretsBundleRef": {"name": format!("{name}-bundle")}, "kubernetesAccess": "self",
        },
    })
    .to_string()
}

fn orphan(address: &str) -> Value {
    json!({"address": address, "clusterRef": {"name": "prod"}, "clusterCredentials": true})
}

fn object(name: &str, spec: &Value) -> Value {
    let key = if name.ends_with('-') {
        "generateName"
    } else {
        "name"
    };
    json!({
        "apiVersion": "ichor.maesh.dev/v1alpha1", "kind": "MachineReclaim",
        "metadata": {key: name, "namespace": NAMESPACE}, "spec": spec,
    })
}

async fn create(kubectl: &Kubectl, name: &str, spec: &Value, flags: &[&str]) -> Result<Said> {
    let args = [&["create", "-f", "-"], flags].concat();
    kubectl.pipe(&args, &object(name, spec).to_string()).await
}

async fn patch(
    kubectl: &Kubectl,
    name: &str,
    kind: &str,
    patch: &Value,
    flags: &[&str],
) -> Result<Said> {
    let (kind, text) = (format!("--type={kind}"), patch.to_string());
    let args = [
        "patch",
        "machinereclaim",
        name,
        "-n",
        NAMESPACE,
        &kind,
        "-p",
        &text,
    ];
    kubectl.try_run(&[&args, flags].concat()).await
}

async fn stored(kubectl: &Kubectl, name: &str) -> Result<Value> {
    let text = kubectl
        .run(&["get", "machinereclaim", name, "-n", NAMESPACE, "-o", "json"])
        .await?;
    Ok(serde_json::from_str(&text)?)
}

fn refused(said: &Said, with: &str) -> Result<()> {
    ensure!(
        !said.ok && said.err.contains(with),
        "wanted a refusal with {with:?}, got {said:?}"
    );
    Ok(())
}

fn accepted(said: &Said) -> Result<()> {
    ensure!(said.ok, "wanted it accepted, got {said:?}");
    Ok(())
}

/// The annotations of the last audit event of `user` that carries `address`.
async fn audited(world: &World, user: &str, address: &str) -> Result<Value> {
    eventually("the audit event", async || {
        let log = std::fs::read_to_string(world.plane.audit_log())?;
        let events = log
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let matching = events.filter(|event| {
            let by = event["impersonatedUser"]["username"].as_str();
            by.or(event["user"]["username"].as_str()) == Some(user)
                && event["annotations"][format!("{WEBHOOK}/address")] == address
        });
        Ok(matching.last().map(|event| event["annotations"].clone()))
    })
    .await
}

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
    admin.apply(&talos_cluster("prod")).await?;
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

/// Record 0136: "exactly one of …", both and none, and a credential without its cluster.
#[tokio::test]
async fn exactly_one_credential_is_needed() -> Result<()> {
    let admin = bare().await?.plane.kubectl();
    for (spec, why) in [
        (
            json!({"address": "10.4.0.1", "clusterRef": {"name": "prod"}, "clusterCredentials": true, "credentialSecretRef": {"name": "x"}}),
            "spec.credentialSecretRef: Forbidden: cannot stand beside clusterCredentials: true",
        ),
        (
            json!({"address": "10.4.0.1"}),
            "spec.credentialSecretRef: Required value: exactly one of",
        ),
        (
            json!({"address": "10.4.0.1", "clusterRef": {"name": "prod"}}),
            "spec.credentialSecretRef: Required value: exactly one of",
        ),
        (
            json!({"address": "10.4.0.1", "clusterCredentials": true}),
            "spec.clusterRef: Required value: clusterCredentials: true needs the cluster",
        ),
        (
            json!({"address": "worker-7", "clusterRef": {"name": "prd"}, "clusterCredentials": true}),
            "spec.address: Invalid value: \"worker-7\"",
        ),
        // Every error at once (STYLE rule 4).
        (
            json!({"address": "worker-7", "clusterRef": {"name": "prd"}, "clusterCredentials": true}),
            "* spec.clusterRef.name: Not found: \"prd\": no TalosCluster of that name in namespace ichor-system; there are other, prod",
        ),
        (
            json!({"address": "10.4.0.1", "clusterRef": {"name": "prod"}, "clusterCredentials": true, "confirmUUID": "4c4c4544-0042-3510-8052-b4c04f463133"}),
            "spec.confirmUUID: Forbidden: is not accepted at creation: consent follows inspection",
        ),
    ] {
        refused(&create(&admin, "refused", &spec, &[]).await?, why)?;
    }
    Ok(())
}

/// FAULTS 5 (dynamo#13254): set, cleared or changed, by every way of writing, and also while terminating.
#[tokio::test]
async fn faults_5_what_is_immutable_stays_so_while_terminating_and_through_apply() -> Result<()> {
    let admin = bare().await?.plane.kubectl();
    accepted(&create(&admin, "fixed", &orphan("10.5.0.1"), &[]).await?)?;
    let pasted = json!({"type": "ichor.maesh.dev/talosconfig", "apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": "fixed", "namespace": NAMESPACE}, "stringData": {"talosconfig": "x"}});
    admin.apply(&pasted.to_string()).await?;
    let secret = json!({"address": "10.5.0.2", "credentialSecretRef": {"name": "fixed"}});
    accepted(&create(&admin, "fixed-secret", &secret, &[]).await?)?;
    changes_are_refused(&admin).await?;

    for name in ["fixed", "fixed-secret"] {
        let hold = json!({"metadata": {"finalizers": ["example.com/hold"]}});
        accepted(&patch(&admin, name, "merge", &hold, EDITOR).await?)?;
        admin
            .run(&[
                "delete",
                "machinereclaim",
                name,
                "-n",
                NAMESPACE,
                "--wait=false",
            ])
            .await?;
    }
    changes_are_refused(&admin).await?;
    for name in ["fixed", "fixed-secret"] {
        let release = json!({"metadata": {"finalizers": null}});
        accepted(&patch(&admin, name, "merge", &release, EDITOR).await?)?;
    }
    Ok(())
}

async fn changes_are_refused(admin: &Kubectl) -> Result<()> {
    for (name, kind, change, why) in [
        (
            "fixed",
            "merge",
            json!({"spec": {"address": "10.5.0.9"}}),
            "spec.address: Invalid value: \"10.5.0.9\": cannot change from \"10.5.0.1\"",
        ),
        (
            "fixed",
            "merge",
            json!({"spec": {"clusterRef": {"name": "other"}}}),
            "spec.clusterRef: Forbidden: cannot change from \"prod\" to \"other\" after creation",
        ),
        (
            "fixed",
            "json",
            json!([{"op": "remove", "path": "/spec/clusterRef"}]),
            "spec.clusterRef: Forbidden: cannot be cleared of \"prod\"",
        ),
        (
            "fixed-secret",
            "merge",
            json!({"spec": {"clusterRef": {"name": "prod"}}}),
            "spec.clusterRef: Forbidden: cannot be set to \"prod\" after creation",
        ),
        (
            "fixed",
            "json",
            json!([{"op": "add", "path": "/spec/credentialSecretRef", "value": {"name": "fixed"}}]),
            "spec.credentialSecretRef: Forbidden: cannot be set to \"fixed\"",
        ),
        (
            "fixed",
            "merge",
            json!({"spec": {"clusterCredentials": null, "credentialSecretRef": {"name": "fixed"}}}),
            "spec.clusterCredentials: Forbidden: cannot be set, cleared or changed",
        ),
        (
            "fixed-secret",
            "merge",
            json!({"spec": {"credentialSecretRef": {"name": "other"}}}),
            "spec.credentialSecretRef: Forbidden: cannot change from \"fixed\" to \"other\"",
        ),
    ] {
        refused(&patch(admin, name, kind, &change, &[]).await?, why)?;
    }
    let applied = object(
        "fixed",
        &json!({"address": "10.5.0.1", "clusterRef": {"name": "other"}, "clusterCredentials": true}),
    );
    let apply = ["apply", "--server-side", "--force-conflicts", "-f", "-"];
    refused(
        &admin.pipe(&apply, &applied.to_string()).await?,
        "spec.clusterRef: Forbidden: cannot change from \"prod\" to \"other\"",
    )
}

/// DESIGN section 4: the Secret is of the type, exists, and the caller may get it: no confused deputy.
#[tokio::test]
async fn a_secret_has_to_be_a_talosconfig_that_the_caller_may_get() -> Result<()> {
    let admin = bare().await?.plane.kubectl();
    for (name, kind) in [
        ("pasted", "ichor.maesh.dev/talosconfig"),
        ("opaque", "Opaque"),
    ] {
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "type": kind, "metadata": {"name": name, "namespace": NAMESPACE}, "stringData": {"talosconfig": "x"}});
        admin.apply(&secret.to_string()).await?;
    }
    let named =
        |secret: &str| json!({"address": "10.6.0.1", "credentialSecretRef": {"name": secret}});
    for (secret, why) in [
        (
            "opaque",
            "spec.credentialSecretRef.name: Invalid value: \"opaque\": the Secret has type \"Opaque\"",
        ),
        (
            "absent",
            "spec.credentialSecretRef.name: Not found: \"absent\"",
        ),
    ] {
        refused(&create(&admin, "pasted", &named(secret), &[]).await?, why)?;
    }
    // Whoever may not get it does not learn whether it is there.
    for secret in ["pasted", "absent"] {
        let why =
            format!("user \"carol\" may not get Secret \"{secret}\" in namespace ichor-system");
        refused(
            &create(&admin, "pasted", &named(secret), CAROL).await?,
            &why,
        )?;
    }
    accepted(&create(&admin, "pasted", &named("pasted"), &[]).await?)
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

/// FAULTS 5 (ome#846): a change of metadata is admitted with the references gone, and needs no verb.
#[tokio::test]
async fn faults_5_metadata_changes_with_the_references_gone() -> Result<()> {
    let admin = bare().await?.plane.kubectl();
    admin.apply(&talos_cluster("passing")).await?;
    let spec = json!({"address": "10.9.0.1", "clusterRef": {"name": "passing"}, "clusterCredentials": true});
    let said = create(&admin, "dangling", &spec, &[]).await?;
    accepted(&said)?;
    admin
        .run(&["delete", "taloscluster", "passing", "-n", NAMESPACE])
        .await?;
    let finalizer = json!({"metadata": {"finalizers": ["example.com/hold"]}});
    accepted(&patch(&admin, "dangling", "merge", &finalizer, EDITOR).await?)?;
    admin
        .run(&[
            "delete",
            "machinereclaim",
            "dangling",
            "-n",
            NAMESPACE,
            "--wait=false",
        ])
        .await?;
    refused(
        &patch(
            &admin,
            "dangling",
            "merge",
            &json!({"spec": {"force": true}}),
            &[],
        )
        .await?,
        "spec.clusterRef.name: Not found: \"passing\"",
    )?;
    let release = json!({"metadata": {"finalizers": null}});
    accepted(&patch(&admin, "dangling", "merge", &release, EDITOR).await?)?;
    eventually("it to be gone", async || {
        let said = admin
            .try_run(&["get", "machinereclaim", "dangling", "-n", NAMESPACE])
            .await?;
        Ok(said.err.contains("NotFound").then_some(()))
    })
    .await
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

/// DESIGN section 4, step 2: one text for an address, and applying the same file again changes nothing.
#[tokio::test]
async fn addresses_are_canonical_and_applying_again_changes_nothing() -> Result<()> {
    let admin = bare().await?.plane.kubectl();
    let file = object("canonical", &orphan("FC00:22:0::2")).to_string();
    let apply = ["apply", "--server-side", "-f", "-"];
    accepted(&admin.pipe(&apply, &file).await?)?;
    let first = stored(&admin, "canonical").await?;
    ensure!(first["spec"]["address"] == "fc00:22::2", "{first}");
    accepted(
        &admin
            .pipe(
                &["apply", "--server-side", "--force-conflicts", "-f", "-"],
                &file,
            )
            .await?,
    )?;
    let again = stored(&admin, "canonical").await?;
    ensure!(
        again["spec"] == first["spec"]
            && again["metadata"]["generation"] == first["metadata"]["generation"],
        "{again}"
    );
    // The address counts in every spelling.
    refused(
        &create(&admin, "twin", &orphan("fc00:0022::0002"), &[]).await?,
        "MachineReclaim \"canonical\" has not ended",
    )
}

/// DESIGN section 18, decision 11: "a second reclaim of the UUID or address is refused".
#[tokio::test]
async fn a_second_active_reclaim_of_an_address_is_refused() -> Result<()> {
    let admin = bare().await?.plane.kubectl();
    accepted(&create(&admin, "first", &orphan("10.11.0.1"), &[]).await?)?;
    refused(
        &create(&admin, "second", &orphan("10.11.0.1"), CAROL).await?,
        "spec.address: Duplicate value: \"10.11.0.1\": MachineReclaim \"first\" has not ended; wait for it, or end it with kubectl delete machinereclaim first",
    )?;
    admin
        .run(&["delete", "machinereclaim", "first", "-n", NAMESPACE])
        .await?;
    accepted(&create(&admin, "second", &orphan("10.11.0.1"), CAROL).await?)
}

/// Record 0136: "The cluster must live in the Ichor namespace (where the controller reads it)".
#[tokio::test]
async fn requests_of_other_namespaces_are_refused() -> Result<()> {
    let admin = bare().await?.plane.kubectl();
    let mut elsewhere = object("elsewhere", &orphan("10.12.0.1"));
    elsewhere["metadata"]["namespace"] = json!("default");
    let said = admin
        .pipe(&["create", "-f", "-"], &elsewhere.to_string())
        .await?;
    refused(
        &said,
        "metadata.namespace: Invalid value: \"default\": Ichor reads MachineReclaims in namespace ichor-system only",
    )
}

/// With everything in place the answers are no less clear, whoever of the three gives them.
#[tokio::test]
async fn with_policies_and_rules_in_place_the_answers_are_as_clear() -> Result<()> {
    let world = world().await?;
    let admin = world.plane.kubectl();
    people(&admin).await?;
    let cluster = world.cluster(&ClusterSetup::new("judged")).await?;
    let address = cluster.node("orphan-1")?.address().to_string();
    let spec =
        json!({"address": address, "clusterRef": {"name": "judged"}, "clusterCredentials": true});
    let said = create(&admin, "judged", &spec, EDITOR).await?;
    refused(&said, "Error from server (Forbidden)")?;
    refused(&said, "verb \"reclaim\" on machinereclaims.ichor.maesh.dev")?;
    refused(&said, "ichor-operator")?;
    for (extra, why) in [
        (
            json!({"credentialSecretRef": {"name": "x"}}),
            "exactly one of credentialSecretRef and clusterCredentials",
        ),
        (
            json!({"clusterCredentials": null}),
            "exactly one of credentialSecretRef and clusterCredentials",
        ),
        (
            json!({"clusterRef": null}),
            "clusterCredentials needs clusterRef",
        ),
        (
            json!({"clusterRef": {"name": "jugded"}}),
            "Not found: \"jugded\"",
        ),
        (
            json!({"confirmUUID": "4c4c4544-0042-3510-8052-b4c04f463133"}),
            "consent follows inspection",
        ),
    ] {
        let mut changed = spec.clone();
        for (key, value) in extra.as_object().context("an object")? {
            changed[key] = value.clone();
        }
        refused(&create(&admin, "judged", &changed, CAROL).await?, why)?;
    }
    ensure!(
        cluster.node("orphan-1")?.calls().is_empty(),
        "a refused request dials nothing"
    );
    accepted(&create(&admin, "judged", &spec, CAROL).await?)
}

/// DESIGN section 4: `confirmUUID` follows the inspection, in any spelling of case; it "and the force flags are
/// immutable once they matched"; audit annotations carry the confirmed UUID.
#[tokio::test]
async fn consent_is_written_in_lower_case_audited_and_stands() -> Result<()> {
    let (world, alice) = (world().await?, alice().await?);
    let cluster = world.cluster(&ClusterSetup::new("consent")).await?;
    let orphan = cluster.node("orphan-1")?;
    // While the machine is not inspected there is nothing to consent to.
    orphan.power_off();
    let request = Request::create(&alice, orphan.address(), "consent").await?;
    let early = request.patch(json!({"confirmUUID": orphan.uuid()})).await?;
    refused(&early, "the machine is not inspected yet")?;
    orphan.power_on();
    request.inspected().await?;
    let junk = request.patch(json!({"confirmUUID": "yes"})).await?;
    refused(
        &junk,
        "spec.confirmUUID: Invalid value: \"yes\": is not a UUID",
    )?;
    let wrong = request
        .patch(json!({"confirmUUID": "4c4c4544-0042-3510-8052-b4c04f463133"}))
        .await?;
    accepted(&wrong)?;
    ensure!(
        wrong.err.contains("is not the UUID of the machine"),
        "{wrong:?}"
    );
    // Frozen, so that the request stands still between consent and its end.
    orphan.fault(ichor_simulator::Fault::on(
        "Reset",
        ichor_simulator::Action::Hold,
    ));
    request.confirm(&orphan.uuid().to_uppercase()).await?;
    let spec = request.get().await?.spec;
    ensure!(
        spec.confirm_uuid.as_deref() == Some(orphan.uuid().to_lowercase().as_str()),
        "{spec:?}"
    );
    for (change, path) in [
        (
            json!({"confirmUUID": null}),
            "spec.confirmUUID: Forbidden: cannot change any more",
        ),
        (
            json!({"force": true}),
            "spec.force: Forbidden: cannot change any more",
        ),
        (
            json!({"forceUngraceful": true}),
            "spec.forceUngraceful: Forbidden: cannot change any more",
        ),
    ] {
        refused(&request.patch(change).await?, path)?;
    }
    let audit = audited(world, "alice", &orphan.address().to_string()).await?;
    ensure!(
        audit[format!("{WEBHOOK}/decision")] == "denied: Invalid",
        "{audit}"
    );
    let log = std::fs::read_to_string(world.plane.audit_log())?;
    let confirmed = format!(
        "\"{WEBHOOK}/confirmed-uuid\":\"{}\"",
        orphan.uuid().to_lowercase()
    );
    ensure!(log.contains(&confirmed), "no audit event has {confirmed}");
    orphan.clear_faults();
    Ok(())
}
