//! The command line. One binary looks at the name it was called by: as `kubectl-ichor` it is `ichor`, as
//! `kubectl-create-machinereclaim` it is that kubectl command (DESIGN section 13).

mod completion;
mod connect;
mod create;
mod errors;
mod outcome;
mod output;
mod reclaim;
pub mod reference;
mod screen;
mod warnings;

use crate::controller;
use anyhow::Context as _;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

/// The name under which kubectl finds `kubectl ichor`.
const KUBECTL_PLUGIN: &str = "kubectl-ichor";
/// The name under which kubectl finds `kubectl create machinereclaim`.
const KUBECTL_CREATE_PLUGIN: &str = "kubectl-create-machinereclaim";

/// Ichor runs Talos Linux clusters from Kubernetes objects.
#[derive(Debug, Parser)]
#[command(name = "ichor", version, propagate_version = true)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Work on single machines.
    #[command(subcommand)]
    Machine(Box<MachineCommand>),
    /// Run the reconcilers and the admission webhook.
    Controller(Box<controller::ControllerArgs>),
    /// Run the admission webhook alone.
    Webhook(Box<controller::WebhookArgs>),
    /// Print the completion script of a shell.
    Completion(completion::CompletionArgs),
}

/// What can be done to a machine.
#[derive(Debug, Subcommand)]
pub enum MachineCommand {
    /// Wipe a machine, so that it comes back in maintenance mode.
    #[command(long_about = reclaim::LONG_ABOUT)]
    Reclaim(reclaim::ReclaimArgs),
}

/// Reads the command line and runs what it asks for; the exit code is the process's.
pub fn main() -> ExitCode {
    run(std::env::args_os().collect())
}

fn run(args: Vec<OsString>) -> ExitCode {
    let program = args.first().map(program_name);
    match program.as_deref() {
        Some(KUBECTL_CREATE_PLUGIN) => create::main(&create::CreateCli::parse_from(args)),
        Some(KUBECTL_PLUGIN) => dispatch(Cli::command().bin_name("kubectl ichor"), args),
        _ => dispatch(Cli::command(), args),
    }
}

fn dispatch(command: clap::Command, args: Vec<OsString>) -> ExitCode {
    let matches = command.get_matches_from(args);
    match Cli::from_arg_matches(&matches) {
        Ok(cli) => execute(cli.command),
        Err(error) => error.exit(),
    }
}

fn execute(command: Command) -> ExitCode {
    match command {
        Command::Controller(args) => controller::main(&args),
        Command::Webhook(args) => controller::webhook(&args),
        Command::Completion(args) => completion::main(&args),
        Command::Machine(command) => match *command {
            MachineCommand::Reclaim(args) => reclaim::main(args),
        },
    }
}

/// The runtime of a person's command: one thread is enough to wait on.
fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().context("starting the runtime")
}

/// The file name the program was called by, without the suffix that Windows gives programs.
fn program_name(first: &OsString) -> String {
    let name = Path::new(first).file_name().unwrap_or(first);
    let name = name.to_string_lossy();
    name.strip_suffix(".exe").unwrap_or(&name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
        create::CreateCli::command().debug_assert();
    }

    #[test]
    fn the_program_looks_at_its_own_name() {
        for (first, want) in [
            ("ichor", "ichor"),
            ("/usr/local/bin/kubectl-ichor", KUBECTL_PLUGIN),
            ("./kubectl-create-machinereclaim", KUBECTL_CREATE_PLUGIN),
            ("kubectl-ichor.exe", KUBECTL_PLUGIN),
        ] {
            assert_eq!(program_name(&OsString::from(first)), want);
        }
    }
}
