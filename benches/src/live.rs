//! Admission with the real access review, against a real API server.

use crate::admission::{Ground, Measured, interleaved};
use crate::review::CALLER;
use anyhow::Result;
use ichor_ground::World;
use ichor_webhook::VALIDATE_MACHINERECLAIMS;

/// Both webhooks run under the controller's account. The API server shares the machine with them and with the load.
pub async fn measure(ground: &Ground, world: &World) -> Result<Measured> {
    world.operator(CALLER).await?;
    let kubeconfig = world
        .plane
        .folder()
        .join(format!("{}.kubeconfig", world.options.name));
    let servers = [
        ground.ichor(Some(&kubeconfig)).await?,
        ground.peer(Some(&kubeconfig)).await?,
    ];
    let slower = servers[1].name;
    interleaved(
        ground,
        &servers,
        VALIDATE_MACHINERECLAIMS,
        &[servers[0].name, slower],
    )
    .await
}
