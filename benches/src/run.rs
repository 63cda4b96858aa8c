//! The whole run, in an order in which one measurement does not spoil the next.

use crate::admission::{Ground, interleaved};
use crate::cores::Cores;
use crate::report::Report;
use crate::review::CLUSTER;
use crate::{confirm, idle, live, mint, scale};
use anyhow::{Context, Result};
use ichor_ground::controller::{free_address, install};
use ichor_ground::pki::KubernetesCa;
use ichor_ground::{ClusterSetup, ControlPlane, Controller, ControllerOptions, World, paths};
use ichor_webhook::{MUTATE_MACHINERECLAIMS, VALIDATE_MACHINERECLAIMS};
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct Args {
    /// The binary `ichor`.
    #[arg(long)]
    ichor: PathBuf,
    /// The peer webhook in Go.
    #[arg(long)]
    peer: PathBuf,
}

/// Measures everything, prints the report and writes it to `target/bench/report.md`.
pub async fn run(args: Args) -> Result<()> {
    let ground = Ground::new(Cores::pick()?, existing(&args.peer)?)?;
    let mut report = Report::default();
    say("admission, access review stubbed");
    let servers = [
        ground.nothing().await?,
        ground.ichor(None).await?,
        ground.peer(None).await?,
    ];
    let halves = [servers[1].name, servers[2].name];
    for path in [VALIDATE_MACHINERECLAIMS, MUTATE_MACHINERECLAIMS] {
        let measured = interleaved(&ground, &servers, path, &halves).await?;
        report.admission(
            &format!("Admission at `{path}`, access review stubbed"),
            &measured,
        );
    }
    drop(servers);
    say("minting");
    report.minting(&mint::measure(&ground).await?);

    say("starting a control plane and the controller");
    let mut world = world(&existing(&args.ichor)?).await?;
    let setup = ClusterSetup {
        orphans: confirm::ORPHANS,
        ..ClusterSetup::new(CLUSTER)
    };
    let cluster = world.cluster(&setup).await?;
    say("admission, real access review");
    let measured = live::measure(&ground, &world).await?;
    report.admission(
        &format!("Admission at `{VALIDATE_MACHINERECLAIMS}`, real access review"),
        &measured,
    );
    say("from the typed UUID to the reset");
    report.confirmed(&confirm::measure(&world, &cluster).await?);
    say("ten thousand machines and a thousand requests");
    report.scale(&scale::measure(&mut world, CLUSTER).await?);
    say("an idle minute");
    report.idle(&idle::measure(&world).await?);

    let folder = paths::target().join("bench");
    std::fs::create_dir_all(&folder)?;
    let path = folder.join("report.md");
    std::fs::write(&path, report.text()).with_context(|| format!("write {}", path.display()))?;
    println!("{}", report.text());
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

fn say(what: &str) {
    eprintln!("== {what}");
}
