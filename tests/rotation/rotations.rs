//! FAULTS 2 (brupop#280, cert-manager#1340, gatekeeper#1045): certificates rotate under load and nobody notices.

use crate::fleet::{Fleet, Replica, first, is_signed_by};
use crate::load::{Load, Rates, request};
use anyhow::{Context, Result, ensure};
use ichor_certs::keys;
use ichor_ground::controller::QUICK;
use ichor_ground::wait::within;
use ichor_ground::{ClusterSetup, GroundCluster, eventually};
use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// For a few rotations, however busy the computer is.
const PATIENCE: Duration = Duration::from_mins(3);

fn webhooks(replicas: &[Replica]) -> Vec<SocketAddr> {
    replicas.iter().map(|one| one.webhook).collect()
}

/// Waits until every replica has shown `number` further leaves. A leaf follows a CA each time, because it outlives the
/// CA's turn.
async fn rotations(load: &Load, replicas: &[Replica], number: usize) -> Result<()> {
    let before: Vec<usize> = replicas
        .iter()
        .map(|one| load.tally.leaves(one.webhook))
        .collect();
    within(PATIENCE, "the rotations", async || {
        load.is_clean()?;
        let done = replicas
            .iter()
            .zip(&before)
            .all(|(one, before)| load.tally.leaves(one.webhook) >= (*before).max(1) + number);
        Ok(done.then_some(()))
    })
    .await
}

/// Three rotations with two replicas, then three with five, one of which is killed in the middle of a rotation: no
/// admission and no handshake fails but those the killed one had begun.
#[tokio::test(flavor = "multi_thread")]
async fn three_rotations_under_load_with_two_and_five_replicas() -> Result<()> {
    let rates = Rates::of_environment()?;
    let fleet = Fleet::start(&QUICK).await?;
    let mut replicas = fleet.replicas(2).await?;
    let cluster =
        GroundCluster::start(&fleet.plane, &fleet.plane, &ClusterSetup::new("load")).await?;
    let request = request("load", &cluster.node("orphan-1")?.address().to_string())?;

    let first_ca = first(&fleet.stored("ca.crt").await?)?;
    let load = Load::start(&fleet, webhooks(&replicas), &request, rates).await?;
    rotations(&load, &replicas, 3).await?;
    let bundle = keys::certificates(&fleet.bundle().await?);
    ensure!(
        bundle.len() > 3 && bundle.contains(&first_ca),
        "no CA goes before it expires"
    );
    ensure!(bundle.first() != Some(&first_ca));
    for replica in &replicas {
        measured(replica).await?;
    }
    load.is_clean()?;
    let tally = load.end("two replicas, three rotations").await;
    ensure!(tally.reviews.load(Ordering::Relaxed) > 300);
    ensure!(tally.handshakes.load(Ordering::Relaxed) > 30);
    ensure!(tally.dry_runs.load(Ordering::Relaxed) > 40);

    replicas.extend(fleet.replicas(3).await?);
    let load = Load::start(&fleet, webhooks(&replicas), &request, rates).await?;
    rotations(&load, &replicas, 2).await?;
    load.is_clean()?;
    kill_mid_rotation(&fleet, &load, &mut replicas).await?;
    load.is_clean_but_for_the_dead()?;
    let tally = load.end("five replicas, three rotations, one killed").await;
    ensure!(tally.reviews.load(Ordering::Relaxed) > 300);
    ensure!(tally.dry_runs.load(Ordering::Relaxed) > 40);
    Ok(())
}

/// The metrics tell of the rotation: when leaf and CA end, and what this replica began to serve.
async fn measured(replica: &Replica) -> Result<()> {
    let (_, metrics) = replica.controller.get("/metrics").await?;
    let value = |name: &str| {
        let line = metrics.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|value| value.trim().parse::<i64>().ok())
            .with_context(|| format!("{name} in {metrics}"))
    };
    let expiry = "ichor_serving_certificate_expiry_timestamp_seconds";
    let now = ichor::runtime::clock::now().as_second();
    let leaf = value(&format!("{expiry}{{certificate=\"leaf\"}}"))?;
    let ca = value(&format!("{expiry}{{certificate=\"ca\"}}"))?;
    ensure!(leaf > now && leaf <= now + 60, "leaf {leaf}, now {now}");
    ensure!(
        ca >= leaf && ca <= now + 90,
        "CA {ca}, leaf {leaf}, now {now}"
    );
    let served = value("ichor_serving_certificate_reloads_total{result=\"served\"}")?;
    ensure!(served > 3, "{served} were served");
    Ok(())
}

/// Kills a replica after a new CA stands in the bundle and before it signs: the others finish the rotation.
async fn kill_mid_rotation(fleet: &Fleet, load: &Load, replicas: &mut Vec<Replica>) -> Result<()> {
    eventually("the middle of a rotation", async || {
        let newest = first(&fleet.stored("ca.crt").await?)?;
        let signed = fleet.stored("tls.crt").await?;
        let known = keys::certificates(&fleet.bundle().await?);
        Ok((known.first() == Some(&newest) && !is_signed_by(&signed, &newest)?).then_some(()))
    })
    .await?;
    let newest = first(&fleet.stored("ca.crt").await?)?;
    let mut dead = replicas.remove(0);
    load.aim(webhooks(replicas)).await?;
    dead.controller.kill().await?;
    within(PATIENCE, "the rest of the rotation", async || {
        let signed = fleet.stored("tls.crt").await?;
        let turned = first(&fleet.stored("ca.crt").await?)? != newest;
        Ok((turned || is_signed_by(&signed, &newest)?).then_some(()))
    })
    .await?;
    let mut seen = Vec::new();
    for replica in replicas.iter() {
        seen.push((replica.webhook, load.tally.leaves(replica.webhook)));
    }
    within(PATIENCE, "the others to serve the next leaf", async || {
        let served = seen
            .iter()
            .all(|(webhook, before)| load.tally.leaves(*webhook) > *before);
        Ok(served.then_some(()))
    })
    .await
}
