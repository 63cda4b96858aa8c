//! `ichor-simulator`: a fleet of simulated Talos machines from a file.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result};
use clap::Parser;
use ichor_simulator::{Fleet, FleetSpec, bind_control, serve_control};
use serde_json::json;
use tokio::io::AsyncReadExt;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Mutex;

/// Runs simulated Talos machines on loopback addresses.
#[derive(Parser)]
struct Arguments {
    /// YAML file that describes clusters and nodes.
    #[arg(long)]
    fleet: PathBuf,
    /// Address of the HTTP control API; a free port with port 0.
    #[arg(long, default_value = "127.0.0.1:0")]
    control: SocketAddr,
    /// Also end when standard input is closed, so that the simulator never outlives whoever started it.
    #[arg(long)]
    until_stdin_closes: bool,
}

#[tokio::main]
async fn main() -> Result<()> {
    let arguments = Arguments::parse();
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .init();
    let file = &arguments.fleet;
    let text =
        std::fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))?;
    let spec = FleetSpec::parse(&text).with_context(|| format!("in {}", file.display()))?;
    let fleet = Fleet::start(spec).await?;
    let listener = bind_control(arguments.control).await?;
    let ready = json!({
        "control": format!("http://{}", listener.local_addr()?),
        "nodes": fleet.nodes().len(),
    });
    println!("{ready}");

    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let stdin_closed = async {
        if !arguments.until_stdin_closes {
            std::future::pending::<()>().await;
        }
        let mut buffer = [0; 256];
        while matches!(tokio::io::stdin().read(&mut buffer).await, Ok(count) if count > 0) {}
    };
    tokio::select! {
        outcome = serve_control(listener, Arc::new(Mutex::new(fleet))) => outcome,
        _ = terminate.recv() => Ok(()),
        _ = interrupt.recv() => Ok(()),
        () = stdin_closed => Ok(()),
    }
}
