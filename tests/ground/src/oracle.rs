//! Talos's own Go library as a command (`tests/oracle`).

use crate::paths;
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::net::IpAddr;
use std::path::Path;
use tokio::process::Command;

/// Runs the oracle and gives the JSON document it prints, and whether it said yes.
pub async fn ask(args: &[&str]) -> Result<(bool, Value)> {
    let output = Command::new(paths::oracle()?)
        .args(args)
        .kill_on_drop(true)
        .output()
        .await?;
    let text = String::from_utf8_lossy(&output.stdout);
    let said = serde_json::from_str(&text).with_context(|| {
        format!(
            "oracle {args:?} printed {text:?} and {:?}",
            String::from_utf8_lossy(&output.stderr)
        )
    })?;
    Ok((output.status.success(), said))
}

/// Applies a configuration to a node in maintenance mode, as `talosctl apply-config --insecure` does.
pub async fn apply(address: IpAddr, config: &str) -> Result<()> {
    let file = tempfile::NamedTempFile::new()?;
    std::fs::write(file.path(), config)?;
    dial(
        &["--insecure"],
        address,
        &["apply", "--file", text(file.path())?],
    )
    .await
    .map(drop)
}

/// Dials a node with Talos's own client; fails when the call does.
pub async fn dial(credential: &[&str], address: IpAddr, action: &[&str]) -> Result<Value> {
    let address = address.to_string();
    let args = [&["dial"], credential, &["--node", &address], action].concat();
    let (ok, said) = ask(&args).await?;
    if !ok {
        bail!("oracle {args:?}: {said}");
    }
    Ok(said)
}

fn text(path: &Path) -> Result<&str> {
    path.to_str().context("a path that is UTF-8")
}
