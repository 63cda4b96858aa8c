//! What may be asked: credentials, addresses, namespaces, one request at a time.

use crate::bare::{CAROL, accepted, bare, create, object, orphan, patch, refused, stored};
use anyhow::{Result, ensure};
use ichor_ground::controller::NAMESPACE;
use serde_json::json;

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
            "* spec.clusterRef.name: Not found: \"prd\": no TalosCluster of that name in namespace ichor-system; there are other, ",
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
        "spec.address: Duplicate value: \"10.11.0.1\": MachineReclaim \"first\" has not ended; wait for it, or end it with kubectl delete machinereclaim first -n ichor-system",
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

/// DESIGN section 4: "consent follows inspection", also after the creation.
#[tokio::test]
async fn nothing_is_consented_to_before_the_inspection() -> Result<()> {
    let admin = bare().await?.plane.kubectl();
    accepted(&create(&admin, "unseen", &orphan("10.13.0.1"), &[]).await?)?;
    let typed = json!({"spec": {"confirmUUID": "4c4c4544-0042-3510-8052-b4c04f463133"}});
    refused(
        &patch(&admin, "unseen", "merge", &typed, &[]).await?,
        "spec.confirmUUID: Forbidden: the machine is not inspected yet",
    )
}
