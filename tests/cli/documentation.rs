//! What the documentation shows is what the program takes.

use crate::common::world;
use crate::terminal::{kubectl, plugins, run, says};
use anyhow::{Result, ensure};

#[tokio::test]
async fn completion_is_printed_for_each_shell() -> Result<()> {
    let nobody = world().await?.plane.kubectl_with("/nonexistent".as_ref());
    for shell in ["bash", "zsh", "fish"] {
        let said = run(&nobody, &["completion", shell], "").await?;
        says(&said, 0, &["reclaim", "--force-ungraceful"])
            .or_else(|_| says(&said, 0, &["reclaim", "force-ungraceful"]))?;
    }
    Ok(())
}

/// Commands that the texts name and that come later (record 0136 has them as they are).
const LATER: [&str; 5] = [
    "adopt",
    "node remove",
    "machine approve",
    "cluster show",
    "talosconfig",
];

/// Every command of ours that the documentation shows is one that the program takes: each is parsed with `--help`
/// behind it, which refuses wrong flags and values and does nothing.
#[tokio::test]
async fn every_command_in_the_documentation_is_understood() -> Result<()> {
    let nobody = world().await?.plane.kubectl_with("/nonexistent".as_ref());
    let path = plugins(&nobody)?;
    let mut tried = 0;
    for command in documented()? {
        let words: Vec<&str> = command.split_whitespace().collect();
        if LATER
            .iter()
            .any(|later| command.starts_with(&format!("ichor {later}")))
        {
            continue;
        }
        let said = match words.as_slice() {
            ["ichor", args @ ..] => run(&nobody, &[args, &["--help"]].concat(), "").await?,
            ["kubectl", args @ ..] => {
                kubectl(&nobody, &path, &[args, &["--help"]].concat(), "").await?
            }
            _ => continue,
        };
        ensure!(said.ok, "`{command}`: {said:?}");
        tried += 1;
    }
    ensure!(
        tried > 10,
        "only {tried} commands were found in the documentation"
    );
    Ok(())
}

/// The commands `ichor …`, `kubectl ichor …` and `kubectl create machinereclaim …` of README.md and docs/, with words
/// in capitals replaced by values.
fn documented() -> Result<Vec<String>> {
    let root = ichor_ground::paths::workspace();
    let mut files = vec![root.join("README.md")];
    for entry in std::fs::read_dir(root.join("docs"))? {
        files.push(entry?.path());
    }
    let mut commands = Vec::new();
    for file in files
        .iter()
        .filter(|file| file.extension().is_some_and(|kind| kind == "md"))
    {
        let text = std::fs::read_to_string(file)?;
        let quoted = text.split('`').skip(1).step_by(2).map(str::trim);
        let lines = text
            .lines()
            .map(|line| line.trim().trim_start_matches("$ "));
        for line in quoted.filter(|code| !code.contains('\n')).chain(lines) {
            let line = line.rsplit(" | ").next().unwrap_or(line);
            let line = line.split(" #").next().unwrap_or(line).trim();
            let ours = ["ichor ", "kubectl ichor ", "kubectl create machinereclaim "];
            if ours.iter().any(|start| line.starts_with(start))
                && !line.contains(['…', '[', '<', '|', '`', '('])
            {
                commands.push(filled_in(line));
            }
        }
    }
    commands.sort();
    commands.dedup();
    Ok(commands)
}

fn filled_in(line: &str) -> String {
    let words =
        line.split_whitespace()
            .map(|word| match word.trim_matches(['"', ',', '.', ':', ';']) {
                "ADDRESS" => "10.5.0.7",
                "DURATION" => "30m",
                "FORMAT" => "json",
                word => word,
            });
    words.collect::<Vec<_>>().join(" ")
}
