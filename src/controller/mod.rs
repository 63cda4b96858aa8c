//! The controller: reconcilers, which only the leader runs, and the admission webhook, which every replica serves.

mod args;

pub use args::ControllerArgs;

use std::process::ExitCode;

/// Runs the controller until it is told to stop or something it needs ends.
pub fn main(_args: &ControllerArgs) -> ExitCode {
    ExitCode::SUCCESS
}
