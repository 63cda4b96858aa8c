//! Logs are JSON objects that name their request, and their filter changes without a restart.

use crate::seen;
use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// The lines, and where in them the filter became "debug" and "info" again.
fn lines(log: &str) -> Result<(Vec<Value>, usize, usize)> {
    let lines: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).with_context(|| format!("not JSON: {line}")))
        .collect::<Result<_>>()?;
    let changed = |to: &str| {
        let is_change = |line: &Value| {
            line["message"] == "the filter of the logs changed" && line["filter"] == to
        };
        lines.iter().position(is_change)
    };
    let louder = changed("debug").context("never louder")?;
    let quieter = changed("info").context("never quieter")?;
    Ok((lines, louder, quieter))
}

#[tokio::test]
async fn the_filter_follows_its_file_and_a_mistake_in_it_changes_nothing() -> Result<()> {
    let (lines, louder, quieter) = lines(&seen().await?.log)?;
    let debugs = |lines: &[Value]| lines.iter().filter(|line| line["level"] == "DEBUG").count();
    ensure!(debugs(&lines[..louder]) == 0, "debug lines at level info");
    ensure!(debugs(&lines[louder..quieter]) > 10, "no debug lines");
    ensure!(debugs(&lines[quieter..]) == 0, "debug lines at level info");
    let kept = |line: &Value| line["message"] == "the filter of the logs stays as it was";
    let mistakes = lines.iter().filter(|line| kept(line)).count();
    ensure!(mistakes == 1, "said {mistakes} times");
    Ok(())
}

#[tokio::test]
async fn the_lines_about_a_request_carry_its_id() -> Result<()> {
    let seen = seen().await?;
    let (lines, ..) = lines(&seen.log)?;
    for target in ["ichor_webhook", "ichor::controller::reclaim", "ichor_talos"] {
        let names = |line: &&Value| {
            let spans = line["spans"].as_array().into_iter().flatten();
            let mut ids = spans.filter_map(|span| span["request_id"].as_str());
            ids.any(|id| id == seen.requests[1])
        };
        let is_of = |line: &&Value| {
            line["target"]
                .as_str()
                .is_some_and(|name| name.starts_with(target))
        };
        let found = lines.iter().filter(is_of).filter(names).count();
        ensure!(found > 0, "no line of {target} names the request");
    }
    Ok(())
}
