//! The controller: reconcilers, which only the leader runs, and the admission webhook, which every replica serves.

mod args;
mod clusters;
mod context;
mod events;
mod kubernetes;
pub mod lock;
pub mod reclaim;
mod store;
mod workers;

pub use args::ControllerArgs;

use std::process::ExitCode;

/// Runs the controller until it is told to stop or something it needs ends.
pub fn main(_args: &ControllerArgs) -> ExitCode {
    ExitCode::SUCCESS
}
