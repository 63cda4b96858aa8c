//! Every recorded call of a real Talos node, sent to a simulated one in the same state; a difference that no reason in
//! `reasons.rs` explains fails the test.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

#[path = "../support/mod.rs"]
mod support;

mod callers;
mod compare;
mod compare_tests;
mod handshake;
mod probes;
mod reasons;
mod record;
mod runs;
mod scene;
mod script;
mod states;
mod timeline;

use std::io::Write;

use futures::FutureExt;
use futures::future::LocalBoxFuture;
use reasons::Report;

async fn part(replay: impl AsyncFnOnce(&mut Report)) -> Report {
    let mut report = Report::default();
    replay(&mut report).await;
    report
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn recordings_replay() {
    let mut report = Report::default();
    let states: Vec<LocalBoxFuture<'_, Report>> = vec![
        part(states::maintenance).boxed_local(),
        part(states::not_bootstrapped).boxed_local(),
        part(states::healthy).boxed_local(),
        part(states::worker).boxed_local(),
        part(states::nodes_down).boxed_local(),
        part(states::apply_matrix).boxed_local(),
        part(states::proxying).boxed_local(),
    ];
    // Timelines are polled: fewer at a time, so that a busy computer misses nothing.
    let first = async |report: &mut Report| {
        runs::graceful_resets(report).await;
        runs::leaving_maintenance(report).await;
        runs::bootstrap(report).await;
        runs::odd_modes(report).await;
    };
    let second = async |report: &mut Report| {
        runs::ungraceful_resets(report).await;
        runs::reboots(report).await;
        runs::last_one(report).await;
    };
    let timelines = vec![part(first).boxed_local(), part(second).boxed_local()];
    for group in [states, timelines] {
        for part in futures::future::join_all(group).await {
            report.merge(part);
        }
    }
    // Past the test harness, which keeps quiet about tests that pass.
    writeln!(std::io::stderr(), "\n{}", report.summary()).unwrap();
    assert!(
        report.unexplained().is_empty(),
        "differences without a reason:\n{}",
        report.unexplained().join("\n")
    );
    assert!(
        report.idle_reasons().is_empty(),
        "reasons that explain nothing: {:?}",
        report.idle_reasons()
    );
}
