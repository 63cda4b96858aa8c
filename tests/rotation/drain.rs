//! The end of a replica: not ready first, serving until API servers know, then every connection is told to go and what
//! was begun is answered.

use crate::fleet::{Fleet, Replica};
use crate::load::{Load, Rates, request};
use anyhow::{Result, ensure};
use ichor_ground::handshake::{Trusts, shake};
use ichor_ground::{ClusterSetup, GroundCluster, eventually};
use std::process::Command;
use std::sync::atomic::Ordering;

/// Rolling restarts under load, as a Deployment does them: a new replica is ready before an old one is told to stop.
/// The API server and the straight clients go through the Service, and hold connections to the replica that stops.
#[tokio::test(flavor = "multi_thread")]
async fn a_rolling_restart_loses_no_admission() -> Result<()> {
    let fleet = Fleet::start(&[("--shutdown-delay", "1s")]).await?;
    let mut old = fleet.replicas(1).await?;
    let setup = ClusterSetup::new("drain");
    let cluster = GroundCluster::start(&fleet.plane, &fleet.plane, &setup).await?;
    let request = request("drain", &cluster.node("orphan-1")?.address().to_string())?;
    let rates = Rates {
        straight: 60,
        through: 20,
    };
    let load = Load::start(&fleet, vec![fleet.service], &request, rates).await?;
    for _ in 0..3 {
        some_admissions(&load).await?;
        let new = fleet.replicas(1).await?;
        stop(&fleet, &mut old[0]).await?;
        old = new;
    }
    some_admissions(&load).await?;
    load.is_clean()?;
    let tally = load.end("three restarts").await;
    ensure!(tally.dry_runs.load(Ordering::Relaxed) >= 60);
    ensure!(tally.reviews.load(Ordering::Relaxed) >= 60);
    Ok(())
}

async fn some_admissions(load: &Load) -> Result<()> {
    let count = || {
        let tally = &load.tally;
        [&tally.dry_runs, &tally.reviews].map(|of| of.load(Ordering::Relaxed))
    };
    let before = count();
    eventually("some admissions", async || {
        load.is_clean()?;
        let now = count();
        Ok((now[0] >= before[0] + 15 && now[1] >= before[1] + 15).then_some(()))
    })
    .await
}

/// Tells a replica to stop: it says at once that it is not ready, while handshakes still work, and ends well.
async fn stop(fleet: &Fleet, replica: &mut Replica) -> Result<()> {
    let trusts = Trusts {
        bundle: fleet.bundle().await?,
        ..Trusts::default()
    };
    let pid = replica.controller.pid()?.to_string();
    ensure!(
        Command::new("kill")
            .args(["-TERM", &pid])
            .status()?
            .success()
    );
    eventually("it not to be ready and to serve", async || {
        let (code, why) = replica.controller.get("/readyz").await?;
        if code != 503 {
            return Ok(None);
        }
        ensure!(why.contains("ending"), "{why}");
        shake(replica.webhook, &trusts, "h2")
            .await
            .map(|_| Some(()))
    })
    .await?;
    let ended = replica.controller.ends().await?;
    ensure!(ended.success(), "a good end: {ended}");
    Ok(())
}
