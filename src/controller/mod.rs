//! The controller: reconcilers, which only the leader runs, and the admission webhook, which every replica serves and
//! which can be run alone.

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

pub use args::{ControllerArgs, LogFormat, WebhookArgs};

use crate::runtime::telemetry;
use std::process::ExitCode;

/// Runs reconcilers and webhook until the process is told to stop or something it needs ends.
pub fn main(args: &ControllerArgs) -> ExitCode {
    start("controller", &args.webhook, Some(args))
}

/// Runs the webhook alone until the process is told to stop or something it needs ends.
pub fn webhook(args: &WebhookArgs) -> ExitCode {
    start("webhook", args, None)
}

fn start(role: &str, args: &WebhookArgs, controller: Option<&ControllerArgs>) -> ExitCode {
    // Already installed only where this runs twice in one process, as tests may do.
    rustls::crypto::ring::default_provider()
        .install_default()
        .ok();
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => return unable(role, &error.into()),
    };
    let telemetry = {
        let _inside = runtime.enter();
        telemetry::start(args.telemetry())
    };
    let telemetry = match telemetry {
        Ok(telemetry) => telemetry,
        Err(error) => return unable(role, &error),
    };
    let ended = runtime.block_on(run::run(args, controller, telemetry.filter()));
    if let Err(error) = &ended {
        tracing::error!(role, error = %format!("{error:#}"), "the process ends");
    }
    telemetry.flush();
    // What did not end in time does not hold the process up.
    runtime.shutdown_timeout(std::time::Duration::from_secs(1));
    if ended.is_ok() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// There is no log yet.
fn unable(role: &str, error: &anyhow::Error) -> ExitCode {
    eprintln!("ichor {role}: {error:#}");
    ExitCode::FAILURE
}
