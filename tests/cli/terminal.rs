//! A person at a terminal: what they run, and what they read.

use crate::common::ichor;
use anyhow::{Context, Result, ensure};
use ichor_ground::Kubectl;
use ichor_ground::kubectl::Said;
use ichor_simulator::NodeHandle;
use tempfile::TempDir;
use tokio::process::Command;

/// Runs `ichor` as the person, with `input` typed.
pub async fn run(person: &Kubectl, args: &[&str], input: &str) -> Result<Said> {
    person.exec(Command::new(ichor()), args, input).await
}

/// `ichor machine reclaim ADDRESS --cluster NAME` and more flags.
pub async fn reclaim(
    person: &Kubectl,
    node: &NodeHandle,
    cluster: &str,
    flags: &[&str],
    input: &str,
) -> Result<Said> {
    let address = node.address().to_string();
    let args = ["machine", "reclaim", &address, "--cluster", cluster];
    run(person, &[&args, flags].concat(), input).await
}

/// What was said, without the line breaks and indents that the width of a terminal asks for.
pub fn flat(said: &Said) -> String {
    let all = format!("{} {}", said.out, said.err);
    all.split_whitespace().collect::<Vec<_>>().join(" ")
}

pub fn says(said: &Said, code: i32, words: &[&str]) -> Result<()> {
    let text = flat(said);
    let missing: Vec<_> = words.iter().filter(|word| !text.contains(**word)).collect();
    ensure!(
        said.code == Some(code) && missing.is_empty(),
        "wanted exit code {code}, missing {missing:?}: {said:?}"
    );
    Ok(())
}

/// Whether the words come in this order.
pub fn in_order(said: &Said, words: &[&str]) -> Result<()> {
    let text = flat(said);
    let mut rest = text.as_str();
    for word in words {
        let at = rest
            .find(word)
            .with_context(|| format!("{word:?} is not (there) in {said:?}"))?;
        rest = &rest[at + word.len()..];
    }
    Ok(())
}

/// A folder for PATH with the program under the names of the plugins, and kubectl.
pub fn plugins(person: &Kubectl) -> Result<TempDir> {
    let folder = TempDir::new()?;
    for name in ["ichor", "kubectl-ichor", "kubectl-create-machinereclaim"] {
        std::os::unix::fs::symlink(ichor(), folder.path().join(name))?;
    }
    std::os::unix::fs::symlink(person.bin().join("kubectl"), folder.path().join("kubectl"))?;
    Ok(folder)
}

/// Runs kubectl with the plugins in PATH.
pub async fn kubectl(person: &Kubectl, path: &TempDir, args: &[&str], input: &str) -> Result<Said> {
    let mut command = Command::new(path.path().join("kubectl"));
    let rest = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{rest}", path.path().display()));
    person.exec(command, args, input).await
}
