//! `make soak`: steady load while certificates rotate every few seconds; memory and file descriptors stay where they are.

use crate::fleet::{Fleet, Replica};
use crate::load::{Load, Rates, request};
use anyhow::{Context, Result, ensure};
use ichor_ground::controller::QUICK;
use ichor_ground::{ClusterSetup, GroundCluster};
use std::time::{Duration, Instant};

/// How much more memory may be in use at the end than after the warm-up, in percent.
const TOLERANCE: u64 = 5;
/// How many more file descriptors may be open. An API server keeps the connections of before each rotation for a minute
/// and a half, a few more on a busy computer; a descriptor that is lost once a rotation would show as fifty.
const CONNECTIONS: u64 = 10;

#[derive(Clone, Copy, Debug)]
struct Sample {
    kilobytes: u64,
    descriptors: u64,
}

fn sample(replica: &Replica) -> Result<Sample> {
    let process = format!("/proc/{}", replica.controller.pid()?);
    let status = std::fs::read_to_string(format!("{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next());
    let descriptors = std::fs::read_dir(format!("{process}/fd"))?.count();
    Ok(Sample {
        kilobytes: kilobytes.context("no VmRSS")?.parse()?,
        descriptors: u64::try_from(descriptors)?,
    })
}

fn median(samples: &[Sample], of: fn(&Sample) -> u64) -> u64 {
    let mut values: Vec<_> = samples.iter().map(of).collect();
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or_default()
}

/// `ICHOR_SOAK_SECONDS` (600) of load at `ICHOR_ROTATION_RATE`. The first fifth is warm-up; the fifth after it is
/// compared with the last one.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes ten minutes: make soak"]
async fn soak() -> Result<()> {
    let seconds = std::env::var("ICHOR_SOAK_SECONDS").unwrap_or_else(|_| "600".to_owned());
    let seconds: u64 = seconds.parse().context("ICHOR_SOAK_SECONDS")?;
    ensure!(seconds >= 60, "less than a minute says nothing");
    let fleet = Fleet::start(&QUICK).await?;
    let replicas = fleet.replicas(2).await?;
    let setup = ClusterSetup::new("soak");
    let cluster = GroundCluster::start(&fleet.plane, &fleet.plane, &setup).await?;
    let request = request("soak", &cluster.node("orphan-1")?.address().to_string())?;
    let targets = replicas.iter().map(|one| one.webhook).collect();
    let load = Load::start(&fleet, targets, &request, Rates::of_environment()?).await?;
    let begin = Instant::now();
    let mut samples: Vec<Vec<Sample>> = vec![Vec::new(); replicas.len()];
    let mut ticks = tokio::time::interval(Duration::from_secs(1));
    while begin.elapsed() < Duration::from_secs(seconds) {
        ticks.tick().await;
        for (replica, samples) in replicas.iter().zip(&mut samples) {
            samples.push(sample(replica)?);
        }
        load.is_clean()?;
    }
    let rotations = load.tally.leaves(replicas[0].webhook);
    load.end(&format!("{seconds} s, {rotations} leaves")).await;
    ensure!(
        rotations as u64 > seconds / 30,
        "only {rotations} rotations"
    );
    for (number, samples) in samples.iter().enumerate() {
        let fifth = samples.len() / 5;
        let (warm, last) = (
            &samples[fifth..2 * fifth],
            &samples[samples.len() - fifth..],
        );
        let memory = [warm, last].map(|part| median(part, |one| one.kilobytes));
        let open = [warm, last].map(|part| median(part, |one| one.descriptors));
        println!(
            "replica {number}: memory {} kB after warm-up, {} kB at the end; file descriptors {}, {}",
            memory[0], memory[1], open[0], open[1]
        );
        let tenths = samples.chunks(samples.len().div_ceil(10));
        let tenths: Vec<_> = tenths
            .map(|part| {
                (
                    median(part, |one| one.kilobytes),
                    median(part, |one| one.descriptors),
                )
            })
            .collect();
        println!("replica {number}, each tenth: {tenths:?}");
        ensure!(
            memory[1] * 100 <= memory[0] * (100 + TOLERANCE),
            "memory grows"
        );
        ensure!(open[1] <= open[0] + CONNECTIONS, "file descriptors grow");
    }
    Ok(())
}
