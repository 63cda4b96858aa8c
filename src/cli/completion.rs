//! `ichor completion SHELL`.

use super::Cli;
use clap::CommandFactory;
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
    clap_complete::generate(
        args.shell,
        &mut Cli::command(),
        "ichor",
        &mut std::io::stdout(),
    );
    ExitCode::SUCCESS
}
