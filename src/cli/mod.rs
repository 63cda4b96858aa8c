//! The command line.

use crate::controller;
use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Ichor runs Talos Linux clusters from Kubernetes objects.
#[derive(Debug, Parser)]
#[command(name = "ichor", version)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the reconcilers and the admission webhook.
    Controller(Box<controller::ControllerArgs>),
}

/// Reads the command line and runs what it asks for; the exit code is the process's.
pub fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Controller(args) => controller::main(&args),
    }
}
