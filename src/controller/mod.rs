//! The controller: reconcilers, which only the leader runs, and the admission webhook, which every replica serves.

mod args;
mod cluster;
mod clusters;
mod context;
mod endpoint;
mod events;
mod kubernetes;
mod lock;
mod reclaim;
mod reconcilers;
mod run;
mod serving;
mod store;
mod workers;

pub use args::{ControllerArgs, LogFormat};

use crate::runtime::telemetry;
use std::process::ExitCode;

/// Runs the controller until it is told to stop or something it needs ends.
pub fn main(args: &ControllerArgs) -> ExitCode {
    let logging = telemetry::start(args.log_format == LogFormat::Json, &args.log_filter);
    if let Err(error) = logging {
        eprintln!("ichor controller: {error:#}");
        return ExitCode::FAILURE;
    }
    match start(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!(error = %format!("{error:#}"), "the controller ends");
            ExitCode::FAILURE
        }
    }
}

fn start(args: &ControllerArgs) -> anyhow::Result<()> {
    // Already installed only where this runs twice in one process, as tests may do.
    rustls::crypto::ring::default_provider()
        .install_default()
        .ok();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let ended = runtime.block_on(run::run(args));
    // What did not end in time does not hold the process up.
    runtime.shutdown_timeout(std::time::Duration::from_secs(1));
    ended
}
