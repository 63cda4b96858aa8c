//! The examples as a person applies them, judged by the webhook as well, and once more, which changes nothing.

use crate::common::ichor;
use crate::ground::{NAMESPACE, folder};
use anyhow::{Context, Result, ensure};
use ichor_ground::{Controller, Kubectl, World};
use ichor_simulator::pki::Bundle;
use serde_json::{Value, json};

/// In the order in which one needs the other.
const FILES: [&str; 8] = [
    "taloscluster.yaml",
    "talosmachines.yaml",
    "talosconfigpatch.yaml",
    "talosetcdbackup.yaml",
    "talosstorage.yaml",
    "machinereclaim.yaml",
    "talosaccessrequest.yaml",
    "operations",
];

#[tokio::test]
async fn every_example_is_admitted_and_applying_it_again_changes_nothing() -> Result<()> {
    let (plane, mut options) = World::without_controller(ichor()).await?;
    // Nobody acts on them: their addresses are not of this machine.
    options.role = "webhook";
    options.flags = vec!["--log-format=text".to_owned()];
    let _webhook = Controller::start(&plane, &options).await?;
    let admin = plane.kubectl();
    for secret in secrets()? {
        admin.apply(&secret.to_string()).await?;
    }
    let mut applied = 0;
    for file in FILES {
        let said = apply(&admin, file).await?;
        ensure!(said.lines().all(|line| line.ends_with("created")), "{said}");
        applied += said.lines().count();
    }
    ensure!(applied == crate::ground::examples()?.len(), "{applied}");
    for file in FILES {
        let said = apply(&admin, file).await?;
        ensure!(
            said.lines().all(|line| line.ends_with("unchanged")),
            "{said}"
        );
    }
    Ok(())
}

async fn apply(admin: &Kubectl, file: &str) -> Result<String> {
    let path = folder("manifests/examples").join(file);
    let path = path.to_str().context("a path that is UTF-8")?;
    admin.run(&["apply", "-f", path]).await
}

/// The Secrets that the comments of the examples ask for.
fn secrets() -> Result<Vec<Value>> {
    let secret = |name: &str, kind: &str, data: Value| {
        json!({
            "apiVersion": "v1", "kind": "Secret", "type": kind,
            "metadata": {"name": name, "namespace": NAMESPACE}, "stringData": data,
        })
    };
    let bundle = Bundle::generate()?.yaml()?;
    let keys = json!({"accessKeyID": "id", "secretAccessKey": "key"});
    Ok(vec![
        secret("prod-secrets", "Opaque", json!({"bundle": bundle})),
        secret(
            "old-lab",
            "ichor.maesh.dev/talosconfig",
            json!({"talosconfig": "x"}),
        ),
        secret("backup-s3", "Opaque", keys),
        secret("restore-identity", "Opaque", json!({"identity": "x"})),
    ])
}
