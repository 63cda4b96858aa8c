//! An upgrade: objects stored under the CRDs of 0.1.0 stay readable and usable under today's, also where a rule of
//! today would refuse them (CRD fields are append-only, and rules only bite on what changes).

use crate::common::ichor;
use crate::ground::{Ground, NAMESPACE, example, folder};
use anyhow::{Context, Result, ensure};
use ichor_crds::{MachineReclaim, TalosCluster, TalosMachine};
use ichor_ground::controller::{free_address, install};
use ichor_ground::{Controller, ControllerOptions, eventually};
use ichor_simulator::pki::Bundle;
use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Objects that 0.1.0 accepted: kind, object, a change of the spec that has nothing to do with today's rules, and a status.
fn objects() -> Vec<(&'static str, Value, Value, Value)> {
    let uuid = "4c4c4544-0042-3510-8052-b4c04f463133";
    vec![
        (
            "TalosCluster",
            json!({
                "metadata": {"name": "prod"},
                "spec": {
                    "endpoint": "https://10.5.0.10:6443", "talosVersion": "v1.13.5", "kubernetesVersion": "v1.35.4",
                    "secretsBundleRef": {"name": "prod-secrets"}, "kubernetesAccess": "self",
                    "network": {"dnsDomain": "Cluster_Local"}, "discovery": {"interval": "1.5h"},
                },
            }),
            json!({"talosVersion": "v1.14.3", "discovery": {"addresses": ["10.5.0.31"]}}),
            json!({"machines": 3, "talosVersions": ["v1.13.5"]}),
        ),
        // Approved without a fingerprint and without a disk, with a name and addresses that are refused today.
        (
            "TalosMachine",
            json!({
                "metadata": {"name": uuid},
                "spec": {
                    "clusterRef": {"name": "prod"}, "approval": "Approved", "role": "worker",
                    "identity": {"uuid": uuid, "serial": "5B5RF13", "macs": ["02:00:0a:05:00:07"]},
                    "endpoint": "10.5.0.7", "hostname": "Worker_7",
                    "network": {"interface": "eth0", "addresses": ["10.5.0.7"]},
                    "taints": [{"key": "dedicated", "effect": "NoSchedule"}],
                },
            }),
            json!({"upgradeHold": "replace disk first"}),
            json!({"appliedHash": "b1946ac9", "stage": "running"}),
        ),
        (
            "TalosMachine",
            json!({
                "metadata": {"name": "machine-9"},
                "spec": {"approval": "Pending", "identity": {"uuid": "machine-9"}},
            }),
            json!({"endpoint": "10.5.0.9"}),
            json!({"maintenanceFingerprint": "5e:4f"}),
        ),
        (
            "MachineReclaim",
            json!({
                "metadata": {"name": "old-worker-9"},
                "spec": {"address": "10.5.0.19", "clusterRef": {"name": "prod"}, "clusterCredentials": true},
            }),
            json!({"confirmUUID": uuid}),
            json!({"phase": "AwaitingConfirmation", "inspection": {"identity": {"uuid": uuid}}}),
        ),
    ]
}

#[tokio::test]
async fn what_0_1_stored_stays_usable() -> Result<()> {
    let ground = stored_by_0_1().await?;
    ground.install(&folder("crds/yaml")).await?;
    today(&ground).await?;
    for (kind, object, change, status) in objects() {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let api = ground.api(kind);
        let status = Patch::Merge(json!({"status": status}));
        api.patch_status(name, &PatchParams::default(), &status)
            .await
            .with_context(|| format!("status of {kind} {name}"))?;
        all_used(&ground, kind, name, &change).await?;
    }
    mended(&ground).await
}

/// The same with all that is installed today: policies and the webhook let such objects change as well.
#[tokio::test]
async fn what_0_1_stored_stays_usable_with_the_webhook() -> Result<()> {
    let ground = stored_by_0_1().await?;
    for (kind, object, _, status) in objects() {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let status = Patch::Merge(json!({"status": status}));
        let api = ground.api(kind);
        api.patch_status(name, &PatchParams::default(), &status)
            .await?;
    }
    let bundle = Bundle::generate()?.yaml()?;
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "prod-secrets", "namespace": NAMESPACE},
        "stringData": {"bundle": bundle},
    });
    ground.kubectl.apply(&secret.to_string()).await?;
    let options = ControllerOptions {
        // Nobody acts on them: their addresses are not of this machine.
        role: "webhook",
        flags: vec!["--log-format=text".to_owned()],
        ..ControllerOptions::new(ichor(), free_address()?)
    };
    install(&ground.kubectl, options.webhook.port()).await?;
    let _webhook = Controller::start(&ground.plane, &options).await?;
    today(&ground).await?;
    for (kind, object, change, _) in objects() {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        all_used(&ground, kind, name, &change).await?;
    }
    Ok(())
}

/// A cluster in which 0.1.0 stored the objects.
async fn stored_by_0_1() -> Result<Ground> {
    let ground = Ground::with_crds(&folder("tests/examples/crds-0.1")).await?;
    for (kind, object, _, _) in objects() {
        let mut object: DynamicObject = serde_json::from_value(object)?;
        object.types = Some(kube::core::TypeMeta {
            api_version: format!("{}/{}", ichor_crds::GROUP, ichor_crds::VERSION),
            kind: kind.to_owned(),
        });
        ground
            .api(kind)
            .create(&PostParams::default(), &object)
            .await
            .with_context(|| format!("0.1.0 stores {kind}"))?;
    }
    Ok(ground)
}

async fn all_used(ground: &Ground, kind: &str, name: &str, change: &Value) -> Result<()> {
    let used = match kind {
        "TalosCluster" => used::<TalosCluster>(ground, kind, name, change).await,
        "TalosMachine" => used::<TalosMachine>(ground, kind, name, change).await,
        _ => used::<MachineReclaim>(ground, kind, name, change).await,
    };
    used.with_context(|| format!("{kind} {name}"))
}

/// Waits until today's rules judge: the API server takes a changed CRD up some time after it is stored.
async fn today(ground: &Ground) -> Result<()> {
    let mut machine = example("4c4c4544-0042-3510-8052-b4c04f463138")?;
    machine.metadata.name = Some("worker-8".to_owned());
    machine.data["spec"]["identity"]["uuid"] = json!("worker-8");
    let dry_run = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    eventually("today's rules", async || {
        let api = ground.api("TalosMachine");
        let said = api.create(&dry_run, &machine).await;
        Ok(said
            .is_err_and(|error| error.to_string().contains("lower-case UUID"))
            .then_some(()))
    })
    .await
}

/// Reads an object as its type, and writes its metadata, its spec and, server-side, its spec again.
async fn used<K: DeserializeOwned>(
    ground: &Ground,
    kind: &str,
    name: &str,
    change: &Value,
) -> Result<()> {
    let api = ground.api(kind);
    let read = api.get(name).await?;
    serde_json::from_value::<K>(serde_json::to_value(&read)?).context("read as its type")?;
    let plain = PatchParams::default();
    let label =
        json!({"metadata": {"labels": {"upgraded": "yes"}, "finalizers": ["example.com/hold"]}});
    api.patch(name, &plain, &Patch::Merge(label))
        .await
        .context("metadata")?;
    let spec = json!({"spec": change});
    api.patch(name, &plain, &Patch::Merge(spec))
        .await
        .context("spec")?;
    let applied = json!({
        "apiVersion": format!("{}/{}", ichor_crds::GROUP, ichor_crds::VERSION), "kind": kind,
        "metadata": {"name": name}, "spec": change,
    });
    let server_side = PatchParams::apply("upgrade").force();
    let stored = api
        .patch(name, &server_side, &Patch::Apply(applied))
        .await
        .context("server-side apply")?;
    serde_json::from_value::<K>(serde_json::to_value(&stored)?).context("read as its type")?;
    let free = json!({"metadata": {"finalizers": null}});
    api.patch(name, &plain, &Patch::Merge(free))
        .await
        .context("finalizer")?;
    Ok(())
}

/// What is mended follows today's rules from then on.
async fn mended(ground: &Ground) -> Result<()> {
    let api = ground.api("TalosMachine");
    let name = "4c4c4544-0042-3510-8052-b4c04f463133";
    let plain = PatchParams::default();
    let disk = |disk: Value| Patch::Merge(json!({"spec": {"install": disk}}));
    api.patch(name, &plain, &disk(json!({"disk": "/dev/sda"})))
        .await
        .context("give it a disk")?;
    let refused = api.patch(name, &plain, &disk(Value::Null)).await;
    ensure!(
        refused
            .as_ref()
            .is_err_and(|error| error.to_string().contains("needs install")),
        "{refused:?}"
    );
    Ok(())
}
