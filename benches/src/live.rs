//! Admission with the real access review, against a real API server.

use crate::admission::{Ground, Load, Measured, half_of_each, interleaved};
use crate::kinds;
use crate::review::{BUCKET, BUNDLE, CALLER};
use crate::serve::worker;
use anyhow::{Result, ensure};
use ichor_ground::World;
use ichor_ground::controller::NAMESPACE;
use ichor_simulator::pki::Bundle;
use ichor_webhook::VALIDATE_MACHINERECLAIMS;
use serde_json::json;

/// Reviews under way on each of the eight connections when all kinds are measured: some ask the API server ten things.
const STREAMS: usize = 1;

/// Both webhooks run under the controller's account. The API server shares the machine with them and with the load.
pub async fn measure(ground: &Ground, world: &World) -> Result<(Measured, Vec<kinds::Row>)> {
    objects(world).await?;
    let kubeconfig = world
        .plane
        .folder()
        .join(format!("{}.kubeconfig", world.options.name));
    let servers = [
        ground.ichor(Some(&kubeconfig)).await?,
        ground.peer(Some(&kubeconfig)).await?,
    ];
    let load = Load::of(VALIDATE_MACHINERECLAIMS);
    let measured = interleaved(ground, &servers, &load, half_of_each).await?;
    let kinds = kinds::measure(ground, &servers, STREAMS).await?;
    Ok((measured, kinds))
}

/// What the reviews refer to beside the cluster, and the rights of whoever asks.
async fn objects(world: &World) -> Result<()> {
    world.operator(CALLER).await?;
    let kubectl = world.plane.kubectl();
    let user = format!("--user={CALLER}");
    let bind = [
        "create",
        "rolebinding",
        "caller-is-admin",
        "--clusterrole=ichor-admin",
    ];
    let said = kubectl
        .try_run(&[&bind[..], &[&user, "-n", NAMESPACE]].concat())
        .await?;
    ensure!(said.ok, "bind the admin role: {}", said.err);
    let secret = |name: &str, key: &str, value: &str| {
        json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": NAMESPACE},
            "stringData": {key: value},
        })
    };
    let bundle = Bundle::generate()?.yaml()?;
    let items = [
        secret(BUNDLE, ichor_crds::BUNDLE_KEY, &bundle),
        secret(BUCKET, "accessKeyID", "bench"),
        // An address where nobody listens, of this machine.
        worker("127.7.0.17"),
    ];
    let list = json!({"apiVersion": "v1", "kind": "List", "items": items});
    kubectl.apply(&list.to_string()).await.map(drop)
}
