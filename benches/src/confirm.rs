//! From the typed UUID to the reset at the node.

use crate::figures::quantile;
use anyhow::{Context, Result};
use ichor_crds::{MachineReclaim, ReclaimPhase};
use ichor_ground::controller::NAMESPACE;
use ichor_ground::{GroundCluster, Request, World, eventually};
use jiff::Timestamp;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::json;
use std::time::Duration;

/// Orphans that are wiped.
pub const ORPHANS: u8 = 20;

/// How long it took.
pub struct Confirmed {
    /// The half that was faster.
    pub p50: Duration,
    /// The slowest of all, which the 99th percentile of so few is.
    pub worst: Duration,
}

/// Confirms every orphan of `cluster`, one after the other, and waits until all are wiped.
pub async fn measure(world: &World, cluster: &GroundCluster) -> Result<Confirmed> {
    let api: Api<MachineReclaim> = Api::namespaced(world.plane.client().await?, NAMESPACE);
    let admin = world.plane.kubectl();
    let mut requests = Vec::new();
    for number in 1..=ORPHANS {
        let node = cluster.node(&format!("orphan-{number}"))?;
        let request = Request::create(&admin, node.address(), &cluster.name).await?;
        requests.push((node, request));
    }
    let mut took = Vec::new();
    for (node, request) in &requests {
        request.inspected().await?;
        let patch = Patch::Merge(json!({"spec": {"confirmUUID": node.uuid()}}));
        let typed = now();
        api.patch(&request.name, &PatchParams::default(), &patch)
            .await?;
        let reset = eventually("the reset to arrive", async || {
            Ok(node.calls_of("Reset").first().map(|call| call.time))
        })
        .await?;
        let span = typed.duration_until(reset);
        took.push(Duration::try_from(span).context("the reset came before the UUID")?);
    }
    for (_, request) in &requests {
        request.reaches(ReclaimPhase::Done).await?;
    }
    took.sort_unstable();
    Ok(Confirmed {
        p50: quantile(&took, 500),
        worst: quantile(&took, 990),
    })
}

#[allow(
    clippy::disallowed_methods,
    reason = "the simulator stamps calls by the system's clock; nothing is decided by it"
)]
fn now() -> Timestamp {
    Timestamp::now()
}
