//! The crash matrix of DESIGN section 16 for the reclaim: the controller is a process whose requests to the API server
//! pass a trap, and whose calls to Talos nodes the simulator can hold. The points come from a recorded run, so a new
//! write or call adds one by itself. At each the process is killed before and after, or stopped past its lease while
//! another takes over and then continued. Whatever happens, the end is a legal one (section 18, decision 1) and at
//! most one reset is sent.
//!
//! `make test` runs a sample, always with the points around the record and the reset; `make crash`
//! (`ICHOR_CRASH_POINTS=all`) runs all, and any other word there those whose description has it.

#[path = "../common/mod.rs"]
mod common;
mod points;
mod sabotage;
mod story;

use anyhow::{Context, Result, ensure};
use ichor_crds::ReclaimPhase;
use ichor_ground::{Kubectl, Replica, Replicas};
use points::{Point, Scenario};
use std::time::Instant;
use story::Stage;

/// Every how manieth point is in the sample: odd, so that every deed comes up.
const SAMPLE: usize = 61;
/// How often a crucial point is tried: a busy computer may end a process before it comes there.
const TRIES: usize = 3;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_or_stopped_anywhere_a_reclaim_ends_legally_with_at_most_one_reset() -> Result<()> {
    let begun = Instant::now();
    let mut replicas = Replicas::start(common::ichor()).await?;
    let options = replicas.options.clone();
    replicas.options = options
        .with("--lease-duration", "5s")
        .with("--lease-renew-deadline", "4s")
        // Longer than a takeover, else a reset that is on the wire counts as not observed.
        .with("--observe-timeout", "12s");
    let alice = replicas.operator("alice").await?;
    let mut leader = replicas.replica().await?;

    let mut points = Vec::new();
    for scenario in [Scenario::Worker, Scenario::ControlPlane, Scenario::Busy] {
        let stage = Stage::set(&replicas, &alice, scenario, &leader).await?;
        let (_, status) = stage.tell().await?;
        stage.is_legal(&status)?;
        points.extend(points::of(scenario, &leader.trap.steps(), &stage.calls()));
        stage.clear(&replicas).await?;
    }
    let wanted = std::env::var("ICHOR_CRASH_POINTS").ok();
    let is_chosen = |number: usize, point: &Point| match wanted.as_deref() {
        None => point.is_crucial() || number.is_multiple_of(SAMPLE),
        Some("all") => true,
        Some(word) => point.to_string().contains(word),
    };
    let chosen: Vec<&Point> = points
        .iter()
        .enumerate()
        .filter(|(number, point)| is_chosen(*number, point))
        .map(|(_, point)| point)
        .collect();

    let mut missed = Vec::new();
    for (number, point) in chosen.iter().enumerate() {
        let mut tries = 0;
        let reached = loop {
            let reached;
            let played = Box::pin(run(&replicas, &alice, leader, point)).await;
            let phase;
            (leader, reached, phase) = played.with_context(|| format!("{point}"))?;
            tries += 1;
            println!(
                "{:>4}/{} {point}: {}{phase:?} ({} s)",
                number + 1,
                chosen.len(),
                if reached { "" } else { "not reached, " },
                begun.elapsed().as_secs(),
            );
            if reached || tries == TRIES || !point.is_crucial() {
                break reached;
            }
        };
        ensure!(
            reached || !point.is_crucial(),
            "{point} was not reached in {TRIES} runs"
        );
        if !reached {
            missed.push(point.to_string());
        }
    }
    println!("crash points: {}, run: {}", points.len(), chosen.len());
    println!("not reached: {missed:#?}");
    // How often a machine is looked at while it boots differs from run to run, so the last points may not come.
    ensure!(
        missed.len() * 5 <= chosen.len(),
        "too many points were not reached: {missed:#?}"
    );
    Ok(())
}

/// One point: gives who leads then, whether the point was reached, and how the story ended.
async fn run(
    replicas: &Replicas,
    alice: &Kubectl,
    mut leader: Replica,
    point: &Point,
) -> Result<(Replica, bool, ReclaimPhase)> {
    if leader.controller.ended()?.is_some() {
        leader = replicas.replica().await?;
    }
    let stage = Stage::set(replicas, alice, point.scenario, &leader).await?;
    let played = Box::pin(sabotage::play(replicas, &stage, leader, point)).await?;
    stage.is_legal(&played.status)?;
    let mut leader = played.leader;
    if played.status.phase != ReclaimPhase::Done {
        leader = sabotage::supervised(replicas, leader, stage.ask_again()).await?;
    }
    stage.clear(replicas).await?;
    Ok((leader, played.reached, played.status.phase))
}
