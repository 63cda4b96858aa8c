//! A world in which the webhook judges alone, and what the tests ask of it.

use crate::common::ichor;
pub use crate::rules::people::{CAROL, EDITOR, accepted, people, refused};
pub use crate::rules::things::add_cluster;
use anyhow::{Result, ensure};
use ichor_ground::control_plane::asked_by;
use ichor_ground::controller::NAMESPACE;
use ichor_ground::kubectl::Said;
use ichor_ground::{Kubectl, World, eventually};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

pub const WEBHOOK: &str = "machinereclaims.ichor.maesh.dev";

/// A controller whose webhook judges alone: no policies, no CEL in the CRD. Its clusters have lost their bundles, so that
/// nothing is ever dialled.
pub async fn bare() -> Result<&'static World> {
    static BARE: OnceCell<World> = OnceCell::const_new();
    BARE.get_or_try_init(async || {
        let world = World::start_apart(ichor()).await?;
        let admin = world.plane.kubectl();
        people(&admin).await?;
        for cluster in ["prod", "other"] {
            add_cluster(&admin, cluster).await?;
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

/// Takes the rules out of the CRDs.
async fn without_cel(admin: &Kubectl) -> Result<()> {
    let get = [
        "get",
        "crd",
        "-l",
        "app.kubernetes.io/name=ichor",
        "-o",
        "json",
    ];
    let mut crds: Value = serde_json::from_str(&admin.run(&get).await?)?;
    strip(&mut crds);
    let said = admin
        .pipe(&["replace", "-f", "-"], &crds.to_string())
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

pub fn orphan(address: &str) -> Value {
    json!({"address": address, "clusterRef": {"name": "prod"}, "clusterCredentials": true})
}

pub fn object(name: &str, spec: &Value) -> Value {
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

pub async fn create(kubectl: &Kubectl, name: &str, spec: &Value, flags: &[&str]) -> Result<Said> {
    let args = [&["create", "-f", "-"], flags].concat();
    kubectl.pipe(&args, &object(name, spec).to_string()).await
}

pub async fn patch(
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

pub async fn stored(kubectl: &Kubectl, name: &str) -> Result<Value> {
    let text = kubectl
        .run(&["get", "machinereclaim", name, "-n", NAMESPACE, "-o", "json"])
        .await?;
    Ok(serde_json::from_str(&text)?)
}

/// The annotations of the last audit event of `user` that carries `address`.
pub async fn audited(world: &World, user: &str, address: &str) -> Result<Value> {
    eventually("the audit event", async || {
        let events = world.plane.audit_events()?.into_iter();
        let mut matching = events.filter(|event| {
            asked_by(event) == Some(user)
                && event["annotations"][format!("{WEBHOOK}/address")] == address
        });
        Ok(matching
            .next_back()
            .map(|event| event["annotations"].clone()))
    })
    .await
}
