//! Who a machine is and what became of it: identity is read from the machine on the connection that acts, never taken
//! from an address, a name or a status (DESIGN sections 1 and 18; FAULTS 11, 12, 15, 18).

#[path = "../common/mod.rs"]
mod common;

mod addresses;
mod changed;
mod effect;
mod forged;
mod quorum;
mod uuids;

use ichor_crds::MachineReclaimStatus;
use ichor_ground::GroundCluster;

/// Whether any condition has this reason.
fn has_reason(status: &MachineReclaimStatus, reason: &str) -> bool {
    status.conditions.iter().any(|one| one.reason == reason)
}

/// Whether a Node is there.
async fn node_exists(cluster: &GroundCluster, name: &str) -> anyhow::Result<bool> {
    let said = cluster.kubectl().try_run(&["get", "node", name]).await?;
    anyhow::ensure!(said.ok || said.err.contains("NotFound"), "{said:?}");
    Ok(said.ok)
}
