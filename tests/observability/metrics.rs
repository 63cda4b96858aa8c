//! What a process counts after one reclaim is well-formed, is all there, and is what docs/operations.md says.

use crate::exposition::{self, Metric};
use crate::seen;
use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;

/// What docs/operations.md says of each metric.
fn documented() -> Result<BTreeMap<String, Metric>> {
    let file = ichor_ground::paths::workspace().join("docs/operations.md");
    let text = std::fs::read_to_string(file)?;
    let rows = text.lines().filter_map(|line| {
        let mut cells = line.strip_prefix("| `")?.split(" | ");
        let name = cells.next()?.strip_suffix('`')?;
        let kind = cells.next()?;
        let labels = cells.next()?.split('`').skip(1).step_by(2);
        let is_kind = ["counter", "gauge", "histogram", "info"].contains(&kind);
        is_kind.then(|| {
            let metric = Metric {
                kind: kind.to_owned(),
                labels: labels.map(str::to_owned).collect(),
            };
            (name.to_owned(), metric)
        })
    });
    Ok(rows.collect())
}

/// What one reclaim that goes well does not count.
const AFTER_TROUBLE: [&str; 3] = [
    "controller_runtime_reconcile_errors_total",
    "ichor_undecodable_objects",
    "workqueue_retries_total",
];

#[tokio::test]
async fn every_metric_is_well_formed_and_as_documented() -> Result<()> {
    let scraped = exposition::read(&seen().await?.metrics)?;
    let documented = documented()?;
    for (name, metric) in &scraped {
        let known = documented
            .get(name)
            .with_context(|| format!("{name} is not documented"))?;
        ensure!(
            known == metric,
            "{name} is {metric:?} and documented as {known:?}"
        );
    }
    let missing: Vec<&String> = documented
        .keys()
        .filter(|name| !scraped.contains_key(*name) && !AFTER_TROUBLE.contains(&name.as_str()))
        .collect();
    ensure!(missing.is_empty(), "not counted: {missing:?}");
    Ok(())
}

#[tokio::test]
async fn a_reclaim_is_counted_wherever_it_goes() -> Result<()> {
    let metrics = &seen().await?.metrics;
    let value = |series: &str| -> Result<f64> {
        let found = metrics.lines().find_map(|line| line.strip_prefix(series));
        let value = found.with_context(|| format!("{series} is missing in\n{metrics}"))?;
        Ok(value.trim().parse()?)
    };
    for (series, least) in [
        (
            "ichor_admission_decisions_total{resource=\"machinereclaims\",operation=\"CREATE\",decision=\"allowed\",reason=\"Allowed\"}",
            1.0,
        ),
        ("ichor_reclaims{phase=\"Done\"}", 1.0),
        ("ichor_reclaims_ended_total{phase=\"Done\"}", 1.0),
        ("ichor_resets_sent_total", 1.0),
        (
            "ichor_talos_calls_total{method=\"Reset\",class=\"ok\"}",
            1.0,
        ),
        ("ichor_talos_dial_duration_seconds_count{class=\"ok\"}", 2.0),
        (
            "leader_election_master_status{name=\"ichor-controller\"}",
            1.0,
        ),
        (
            "controller_runtime_reconcile_total{controller=\"machinereclaim\",result=\"requeue_after\"}",
            2.0,
        ),
        (
            "workqueue_adds_total{controller=\"machinereclaim\",name=\"machinereclaim\"}",
            3.0,
        ),
        ("process_resident_memory_bytes", 1e6),
        ("process_open_fds", 10.0),
        ("process_start_time_seconds", 1.7e9),
        (
            "ichor_serving_certificate_expiry_timestamp_seconds{certificate=\"leaf\"}",
            1.7e9,
        ),
    ] {
        let counted = value(series)?;
        ensure!(counted >= least, "{series} is {counted}");
    }
    let requests = |code: &str| {
        let of_code =
            |line: &&str| line.starts_with("rest_client_requests_total") && line.contains(code);
        metrics.lines().filter(of_code).count()
    };
    ensure!(requests("code=\"200\",method=\"GET\"") == 1 && requests("method=\"PUT\"") > 0);
    Ok(())
}
