//! The whole run, in an order in which one measurement does not spoil the next.

use crate::admission::{Ground, Load, Rates, half_of_each, interleaved, no_rates};
use crate::cores::Cores;
use crate::report::Report;
use crate::review::CLUSTER;
use crate::{confirm, crowded, idle, kinds, large, live, mint, scale};
use anyhow::{Context, Result};
use ichor_ground::controller::{free_address, install, tail};
use ichor_ground::pki::KubernetesCa;
use ichor_ground::{ClusterSetup, ControlPlane, Controller, ControllerOptions, World, paths};
use ichor_webhook::{MUTATE_MACHINERECLAIMS, VALIDATE_MACHINERECLAIMS};
use std::path::{Path, PathBuf};
use std::time::Instant;

#[derive(clap::Args)]
pub struct Args {
    /// The binary `ichor`.
    #[arg(long)]
    ichor: PathBuf,
    /// The peer webhook in Go.
    #[arg(long)]
    peer: PathBuf,
    /// Interleaved runs of which the median counts.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// What to measure; everything without it.
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Subject>,
    #[command(flatten)]
    size: scale::Size,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Subject {
    /// Admission of MachineReclaims without an API server.
    Admission,
    /// Creations of all kinds without an API server.
    Kinds,
    /// Bodies at and beyond the limit.
    Bodies,
    /// Slow clients that hold connections.
    Slow,
    /// Client certificates.
    Minting,
    /// Admission with an API server.
    Live,
    /// The controller.
    Controller,
}

impl Args {
    fn wants(&self, subject: Subject) -> bool {
        self.only.is_empty() || self.only.contains(&subject)
    }
}

/// Measures, prints the report and writes it to `target/bench/report.md`, also when something failed on the way.
pub async fn run(args: Args) -> Result<()> {
    let mut report = Report::new(args.rounds);
    let measured = measure(&args, &mut report).await;
    let folder = paths::target().join("bench");
    std::fs::create_dir_all(&folder)?;
    let path = folder.join("report.md");
    std::fs::write(&path, report.text()).with_context(|| format!("write {}", path.display()))?;
    println!("{}", report.text());
    measured
}

async fn measure(args: &Args, report: &mut Report) -> Result<()> {
    let ground = Ground::new(args.rounds, Cores::pick()?, existing(&args.peer)?)?;
    let progress = Progress(Instant::now());
    if args.wants(Subject::Admission) {
        progress.say("admission, access review stubbed");
        admission(&ground, report).await?;
    }
    if args.wants(Subject::Kinds) {
        progress.say("creations of all kinds, access review stubbed");
        let servers = [ground.ichor(None).await?, ground.peer(None).await?];
        let rows = kinds::measure(&ground, &servers, 4).await?;
        report.add(kinds::table(&rows, "access review stubbed"));
    }
    if args.wants(Subject::Bodies) {
        progress.say("large bodies");
        report.add(large::table(&large::measure(&ground).await?));
    }
    if args.wants(Subject::Slow) {
        progress.say("slow clients");
        for table in crowded::tables(&crowded::measure(&ground).await?) {
            report.add(table);
        }
    }
    if args.wants(Subject::Minting) {
        progress.say("minting");
        report.minting(&mint::measure(&ground).await?);
    }
    if args.wants(Subject::Live) || args.wants(Subject::Controller) {
        progress.say("starting a control plane and the controller");
        let mut world = world(&existing(&args.ichor)?).await?;
        let measured = with_world(&ground, &mut world, args, &progress, report).await;
        measured
            .with_context(|| format!("the controller's log:\n{}", tail(&world.controller.log())))?;
    }
    progress.say("done");
    Ok(())
}

async fn admission(ground: &Ground, report: &mut Report) -> Result<()> {
    let servers = [
        ground.nothing().await?,
        ground.ichor(None).await?,
        ground.peer(None).await?,
    ];
    // The tail of one webhook is enough: what the mutating one does beside it is a few allocations.
    let both: [(&str, Rates); 2] = [
        (VALIDATE_MACHINERECLAIMS, half_of_each),
        (MUTATE_MACHINERECLAIMS, no_rates),
    ];
    for (path, rates) in both {
        let measured = interleaved(ground, &servers, &Load::of(path), rates).await?;
        report.admission(&format!("`{path}`, access review stubbed"), &measured);
    }
    Ok(())
}

async fn with_world(
    ground: &Ground,
    world: &mut World,
    args: &Args,
    progress: &Progress,
    report: &mut Report,
) -> Result<()> {
    let setup = ClusterSetup {
        orphans: confirm::ORPHANS,
        ..ClusterSetup::new(CLUSTER)
    };
    let cluster = world.cluster(&setup).await?;
    if args.wants(Subject::Live) {
        progress.say("admission, real access review");
        let (measured, kinds) = live::measure(ground, world).await?;
        let title = format!("`{VALIDATE_MACHINERECLAIMS}`, real access review");
        report.admission(&title, &measured);
        report.add(kinds::table(&kinds, "real access review"));
    }
    if args.wants(Subject::Controller) {
        progress.say("from the typed UUID to the reset");
        report.confirmed(&confirm::measure(world, &cluster).await?);
        progress.say("many machines and requests");
        report.scale(&scale::measure(world, CLUSTER, args.size).await?);
        progress.say("an idle minute");
        report.idle(&idle::measure(world).await?);
    }
    Ok(())
}

/// A control plane whose controller has the defaults of the product, but for the addresses of the simulated nodes.
async fn world(ichor: &Path) -> Result<World> {
    let plane = ControlPlane::start_apart(KubernetesCa::generate()?).await?;
    let mut options = ControllerOptions::new(ichor, free_address()?);
    options.flags = vec![
        "--allow-local-addresses".to_owned(),
        "--log-filter=info".to_owned(),
    ];
    install(&plane.kubectl(), options.webhook.port()).await?;
    let controller = Controller::start(&plane, &options).await?;
    Ok(World {
        plane,
        controller,
        options,
    })
}

fn existing(path: &Path) -> Result<PathBuf> {
    path.canonicalize()
        .with_context(|| format!("{} is missing: `make bench` builds it", path.display()))
}

/// Says on standard error what is being done, and when.
struct Progress(Instant);

impl Progress {
    fn say(&self, what: &str) {
        eprintln!("== {:>3} s  {what}", self.0.elapsed().as_secs());
    }
}
