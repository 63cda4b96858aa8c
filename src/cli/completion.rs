//! `ichor completion SHELL`.

use super::Cli;
use clap::CommandFactory;
use std::io::{ErrorKind, Write as _};
use std::process::ExitCode;

/// Arguments of `ichor completion`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  source <(ichor completion bash)
  ichor completion zsh > \"${fpath[1]}/_ichor\"
  ichor completion fish | source")]
pub struct CompletionArgs {
    /// The shell to make the script for.
    shell: clap_complete::Shell,
}

/// Prints the script.
pub fn main(args: &CompletionArgs) -> ExitCode {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "ichor", &mut script);
    match std::io::stdout().write_all(&script) {
        // Who reads it has read enough, as head does.
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            eprintln!("ichor completion: {error}");
            ExitCode::FAILURE
        }
        _ => ExitCode::SUCCESS,
    }
}
