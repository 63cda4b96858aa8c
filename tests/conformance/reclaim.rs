//! The reclaim of an orphan as an operator lives it (record 0136), with the program and the roles that the chart installs.

use crate::admission::annotated;
use crate::cluster::cannot_show;
use crate::release::Release;
use anyhow::{Result, ensure};
use ichor_ground::controller::NAMESPACE;
use ichor_ground::world::operator;
use ichor_ground::{ClusterSetup, GroundCluster, Request, eventually};

pub async fn story(ichor: &Release<'_>) -> Result<()> {
    is_looked_at(ichor, "running").await?;
    let Some(ground) = &ichor.cluster.ground else {
        cannot_show(
            "the reclaim of a machine",
            "simulated nodes listen on the loopback addresses of this computer, where its Pods do not reach them",
        );
        return Ok(());
    };
    let plane = &ground.plane;
    let setup = ClusterSetup::new("conformance");
    let cluster = GroundCluster::start(plane, plane, &setup).await?;
    let orphan = cluster.node("orphan-1")?;
    let alice = operator(plane, "alice").await?;
    let request = Request::create(&alice, orphan.address(), "conformance").await?;
    let seen = request.inspected().await?;
    ensure!(
        cluster.resets() == 0,
        "a machine is wiped before anybody consents: {seen:?}"
    );
    request.confirm_and_finish(orphan.uuid()).await?;
    ensure!(
        cluster.resets() == 1,
        "{} resets were sent",
        cluster.resets()
    );
    let confirmed = orphan.uuid().to_lowercase();
    annotated(
        plane,
        "alice",
        &[("confirmed-uuid", &confirmed), ("decision", "allowed")],
    )
    .await
}

/// A reconciler leads and has written down why it waits: the bundle of the request's cluster is gone.
async fn is_looked_at(ichor: &Release<'_>, name: &str) -> Result<()> {
    eventually("a request to get its status", async || {
        let status = "jsonpath={.status.conditions[*].message}";
        let get = ["get", "machinereclaim", name, "-n", NAMESPACE, "-o", status];
        let said = ichor.kubectl().run(&get).await?;
        ensure!(said.contains("prod-bundle"), "it says {said:?}");
        Ok(Some(()))
    })
    .await
}
