//! What holds without the webhook: the CRDs' own rules and the admission policies (DESIGN section 4, "Without the
//! webhook"; FAULTS 5 and 7).

use crate::release::Release;
use crate::rules::people::{CAROL, EDITOR, accepted, refused};
use anyhow::Result;
use ichor_ground::controller::NAMESPACE;
use ichor_ground::kubectl::Said;
use ichor_ground::{Kubectl, eventually};
use serde_json::json;

/// Takes the webhook configurations away, as uninstalling does first, and asks.
pub async fn hold(ichor: &Release<'_>) -> Result<()> {
    let kubectl = ichor.kubectl();
    for kind in [
        "validatingwebhookconfiguration",
        "mutatingwebhookconfiguration",
    ] {
        kubectl.run(&["delete", kind, "ichor"]).await?;
    }
    // The API server forgets the webhooks a moment after they went, and the policies are compiled meanwhile.
    eventually("the policies to judge", async || {
        let dry = [EDITOR, &["--dry-run=server"]].concat();
        let said = create(kubectl, &dry, "probe", CLUSTER_CREDENTIALS).await?;
        Ok(said.err.contains(NO_VERB).then_some(()))
    })
    .await?;
    verb_reclaim(kubectl).await?;
    one_of(kubectl).await?;
    immutable(kubectl).await?;
    terminating(kubectl).await?;
    status_is_the_controllers(kubectl).await
}

async fn create(kubectl: &Kubectl, who: &[&str], name: &str, spec: &str) -> Result<Said> {
    let metadata = if name.ends_with('-') {
        "generateName"
    } else {
        "name"
    };
    let object = format!(
        r#"{{"apiVersion":"ichor.maesh.dev/v1alpha1","kind":"MachineReclaim","metadata":{{"{metadata}":"{name}","namespace":"{NAMESPACE}"}},"spec":{spec}}}"#
    );
    let args = [&["create", "-f", "-"], who].concat();
    kubectl.pipe(&args, &object).await
}

/// Writes an inspection as the controller would, with no more rights than it has.
async fn inspected(kubectl: &Kubectl, name: &str) -> Result<()> {
    let text = kubectl
        .run(&["get", "machinereclaim", name, "-n", NAMESPACE, "-o", "json"])
        .await?;
    let mut object: serde_json::Value = serde_json::from_str(&text)?;
    object["status"] = serde_json::json!({"phase": "AwaitingConfirmation",
        "inspection": {"identity": {"uuid": "4c4c4544-0042-3510-8052-b4c04f463133"}}});
    let as_controller = "--as=system:serviceaccount:ichor-system:ichor-controller";
    let args = ["replace", "--subresource=status", as_controller, "-f", "-"];
    accepted(&kubectl.pipe(&args, &object.to_string()).await?)
}

async fn change(
    kubectl: &Kubectl,
    who: &[&str],
    name: &str,
    kind: &str,
    patch: &str,
) -> Result<Said> {
    let kind = format!("--type={kind}");
    let object = ["patch", "machinereclaim", name, "-n", NAMESPACE];
    let args = [&object[..], &[&kind, "-p", patch], who].concat();
    kubectl.try_run(&args).await
}

/// An administrator, as kubectl is by itself.
const ADMIN: &[&str] = &[];

/// What every refusal for want of the verb says.
const NO_VERB: &str = r#"verb "reclaim" on machinereclaims.ichor.maesh.dev"#;

const CLUSTER_CREDENTIALS: &str =
    r#"{"address":"10.5.0.7","clusterRef":{"name":"prod"},"clusterCredentials":true}"#;
const SECRET: &str = r#"{"address":"10.5.0.7","credentialSecretRef":{"name":"pasted"}}"#;

/// FAULTS 7: a group-only binding counts; RBAC's update alone does not.
async fn verb_reclaim(kubectl: &Kubectl) -> Result<()> {
    refused(
        &create(kubectl, EDITOR, "refused", CLUSTER_CREDENTIALS).await?,
        NO_VERB,
    )?;
    refused(
        &create(kubectl, EDITOR, "refused-", CLUSTER_CREDENTIALS).await?,
        "Forbidden",
    )?;
    accepted(&create(kubectl, CAROL, "by-group", CLUSTER_CREDENTIALS).await?)?;
    accepted(&create(kubectl, CAROL, "by-group-", CLUSTER_CREDENTIALS).await?)?;
    refused(
        &create(
            kubectl,
            CAROL,
            "confirmed",
            &CLUSTER_CREDENTIALS
                .replace('}', r#","confirmUUID":"x"}"#)
                .replace(r#""prod","confirmUUID":"x"}"#, r#""prod"}"#),
        )
        .await?,
        "consent follows inspection",
    )?;
    // Tidying up needs no verb: labels and finalizers pass.
    accepted(
        &change(
            kubectl,
            EDITOR,
            "by-group",
            "merge",
            r#"{"metadata":{"labels":{"a":"b"}}}"#,
        )
        .await?,
    )?;
    refused(
        &change(
            kubectl,
            EDITOR,
            "by-group",
            "merge",
            r#"{"spec":{"confirmUUID":"4c4c4544-0042-3510-8052-b4c04f463133"}}"#,
        )
        .await?,
        NO_VERB,
    )?;
    let consent = r#"{"spec":{"confirmUUID":"4c4c4544-0042-3510-8052-b4c04f463133"}}"#;
    let early = change(kubectl, CAROL, "by-group", "merge", consent).await?;
    refused(&early, "before the machine was inspected")?;
    inspected(kubectl, "by-group").await?;
    accepted(&change(kubectl, CAROL, "by-group", "merge", consent).await?)
}

/// Record 0136: exactly one of credentialSecretRef or clusterCredentials with clusterRef is set.
async fn one_of(kubectl: &Kubectl) -> Result<()> {
    for (spec, why) in [
        (
            r#"{"address":"10.5.0.7"}"#,
            "exactly one of credentialSecretRef and clusterCredentials",
        ),
        (
            r#"{"address":"10.5.0.7","clusterRef":{"name":"prod"}}"#,
            "exactly one of",
        ),
        (
            r#"{"address":"10.5.0.7","clusterRef":{"name":"prod"},"clusterCredentials":false}"#,
            "exactly one of",
        ),
        (
            r#"{"address":"10.5.0.7","clusterRef":{"name":"prod"},"clusterCredentials":true,"credentialSecretRef":{"name":"x"}}"#,
            "exactly one of",
        ),
        (
            r#"{"address":"10.5.0.7","clusterCredentials":true}"#,
            "clusterCredentials needs clusterRef",
        ),
        (
            r#"{"address":"10.5.0.7","clusterCredentials":true,"clusterRef":null}"#,
            "clusterCredentials needs clusterRef",
        ),
        (
            r#"{"address":"worker-7","clusterCredentials":true,"clusterRef":{"name":"prod"}}"#,
            "must be an IP address",
        ),
    ] {
        refused(&create(kubectl, CAROL, "refused", spec).await?, why)?;
    }
    // No confused deputy: the Secret is one that the caller may get, whether it is there or not.
    let said = create(kubectl, CAROL, "refused", SECRET).await?;
    refused(&said, "user \"carol\" may not get Secret \"pasted\"")?;
    accepted(&create(kubectl, ADMIN, "secret", SECRET).await?)?;
    let both = SECRET.replace("}}", r#"},"clusterRef":{"name":"prod"}}"#);
    accepted(&create(kubectl, ADMIN, "secret-and-cluster", &both).await?)
}

/// Record 0136: neither can change after creation; DESIGN section 3: set, cleared or changed, by any way of writing.
async fn immutable(kubectl: &Kubectl) -> Result<()> {
    accepted(&create(kubectl, CAROL, "fixed", CLUSTER_CREDENTIALS).await?)?;
    for (name, kind, patch, why) in [
        (
            "fixed",
            "merge",
            r#"{"spec":{"address":"10.5.0.8"}}"#,
            "address cannot change",
        ),
        (
            "fixed",
            "merge",
            r#"{"spec":{"clusterRef":{"name":"other"}}}"#,
            "clusterRef cannot be set, cleared or changed",
        ),
        (
            "fixed",
            "merge",
            r#"{"spec":{"clusterCredentials":null,"credentialSecretRef":{"name":"x"}}}"#,
            "cannot be set, cleared or changed",
        ),
        (
            "fixed",
            "json",
            r#"[{"op":"remove","path":"/spec/clusterRef"}]"#,
            "clusterRef cannot be set, cleared or changed",
        ),
        (
            "fixed",
            "json",
            r#"[{"op":"add","path":"/spec/credentialSecretRef","value":{"name":"x"}}]"#,
            "credentialSecretRef cannot be set",
        ),
        (
            "secret",
            "merge",
            r#"{"spec":{"clusterRef":{"name":"prod"}}}"#,
            "clusterRef cannot be set, cleared or changed",
        ),
        (
            "secret",
            "merge",
            r#"{"spec":{"credentialSecretRef":{"name":"other"}}}"#,
            "credentialSecretRef cannot be set, cleared or changed",
        ),
        (
            "secret",
            "merge",
            r#"{"spec":{"clusterCredentials":false}}"#,
            "clusterCredentials cannot be set",
        ),
    ] {
        refused(&change(kubectl, CAROL, name, kind, patch).await?, why)?;
    }
    let applied = format!(
        r#"{{"apiVersion":"ichor.maesh.dev/v1alpha1","kind":"MachineReclaim","metadata":{{"name":"fixed","namespace":"{NAMESPACE}"}},"spec":{{"address":"10.5.0.9"}}}}"#
    );
    let args = [
        &["apply", "--server-side", "--force-conflicts", "-f", "-"][..],
        CAROL,
    ]
    .concat();
    refused(
        &kubectl.pipe(&args, &applied).await?,
        "address cannot change",
    )
}

/// FAULTS 5 (ome#846, dynamo#13254): a finalizer can always go; a spec is fixed also while terminating.
async fn terminating(kubectl: &Kubectl) -> Result<()> {
    accepted(&create(kubectl, CAROL, "ending", CLUSTER_CREDENTIALS).await?)?;
    accepted(
        &change(
            kubectl,
            EDITOR,
            "ending",
            "merge",
            r#"{"metadata":{"finalizers":["example.com/hold"]}}"#,
        )
        .await?,
    )?;
    kubectl
        .run(&[
            "delete",
            "machinereclaim",
            "ending",
            "-n",
            NAMESPACE,
            "--wait=false",
        ])
        .await?;
    refused(
        &change(
            kubectl,
            CAROL,
            "ending",
            "merge",
            r#"{"spec":{"address":"10.5.0.8"}}"#,
        )
        .await?,
        "address cannot change",
    )?;
    accepted(
        &change(
            kubectl,
            EDITOR,
            "ending",
            "merge",
            r#"{"metadata":{"finalizers":null}}"#,
        )
        .await?,
    )
}

/// DESIGN section 4: `*/status` only by the controller's account; not even an administrator may forge it.
async fn status_is_the_controllers(kubectl: &Kubectl) -> Result<()> {
    let done = json!({"status": {"phase": "Done"}});
    let forged = kubectl
        .merge("machinereclaim", "fixed", &done, &["--subresource=status"])
        .await?;
    refused(&forged, "may not write the status")
}
