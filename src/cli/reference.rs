//! The reference of the command line, made from the commands themselves: `docs/cli.md` (STYLE rule 13).

use super::{Cli, create::CreateCli};
use clap::{Command, CommandFactory};
use std::fmt::Write as _;

/// Columns of the help texts, whatever terminal they are made on.
const WIDTH: usize = 110;

/// The text of `docs/cli.md`.
pub fn markdown() -> String {
    let mut text = String::from(
        "# Command line\n\n\
         Made from the program by `make generate`; do not edit. `ichor` uses your kubeconfig, so what you may do is\n\
         what RBAC lets you do, and what you did is in the audit log.\n\n\
         As kubectl plugins: link the program to `kubectl-ichor` and `kubectl-create-machinereclaim` in a folder of your\n\
         `PATH`; then `kubectl ichor …` is `ichor …`, and `kubectl create machinereclaim` creates a request.\n",
    );
    section(&mut text, &mut Cli::command(), "ichor");
    section(
        &mut text,
        &mut CreateCli::command(),
        "kubectl create machinereclaim",
    );
    text
}

/// The section of a command, then those of its subcommands.
fn section(text: &mut String, command: &mut Command, name: &str) {
    let mut shown = command
        .clone()
        .bin_name(name)
        .term_width(WIDTH)
        .disable_help_subcommand(true)
        // Not the environment that the reference is made in.
        .mut_args(|arg| arg.hide_env_values(true));
    let help = shown.render_long_help().to_string();
    let help: Vec<_> = help.trim_end().lines().map(str::trim_end).collect();
    // Writing to a String cannot fail.
    let _ = write!(text, "\n## {name}\n\n```text\n{}\n```\n", help.join("\n"));
    for subcommand in command.get_subcommands_mut() {
        if subcommand.get_name() != "help" && !subcommand.is_hide_set() {
            let name = format!("{name} {}", subcommand.get_name());
            section(text, subcommand, &name);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    fn read(file: &str) -> String {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
        std::fs::read_to_string(file).expect("a file of the repository")
    }

    #[test]
    fn the_committed_reference_is_current() {
        assert!(
            read("docs/cli.md") == super::markdown(),
            "docs/cli.md is not what the program makes: run `make generate`"
        );
    }

    /// A person who meets a phase or a reason finds it in the guide.
    #[test]
    fn the_guide_explains_every_phase_and_reason_of_a_reclaim() {
        let guide = read("docs/reclaim.md");
        let constants = read("crds/src/conditions.rs");
        let (_, reasons) = constants.split_once("pub mod reclaim {").expect("reasons");
        let (reasons, _) = reasons.split_once("\n}").expect("end of the reasons");
        let reasons: Vec<_> = reasons.split('"').skip(1).step_by(2).collect();
        assert!(reasons.len() > 20, "{reasons:?}");
        let phases = "Pending Inspecting AwaitingConfirmation Resetting AwaitingMaintenance Done Refused Failed";
        for word in reasons.into_iter().chain(phases.split(' ')) {
            assert!(
                guide.contains(&format!("`{word}`")),
                "docs/reclaim.md does not explain {word}"
            );
        }
    }
}
