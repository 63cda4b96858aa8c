//! What never changes, and what may although the references are gone (FAULTS 5).

use crate::bare::{EDITOR, accepted, add_cluster, bare, create, object, orphan, patch, refused};
use anyhow::Result;
use ichor_ground::controller::NAMESPACE;
use ichor_ground::{Kubectl, eventually};
use serde_json::json;

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

/// FAULTS 5 (ome#846): a change of metadata is admitted with the references gone, and needs no verb.
#[tokio::test]
async fn faults_5_metadata_changes_with_the_references_gone() -> Result<()> {
    let admin = bare().await?.plane.kubectl();
    add_cluster(&admin, "passing").await?;
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
