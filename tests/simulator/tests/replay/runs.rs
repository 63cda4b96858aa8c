//! Plays the recorded timelines in their order, each from where the last one ended.

use std::time::Duration;

use super::reasons::Report;
use super::record::{self, Call};
use super::scene::Scene;
use super::script::{calls, in_state, members, replay};
use super::timeline;
use crate::support;

/// Runs of a file whose name begins with this.
fn run<'a, 'b>(runs: &'a [timeline::Run<'b>], name: &str) -> &'a timeline::Run<'b> {
    runs.iter()
        .find(|run| run.name.starts_with(name))
        .unwrap_or_else(|| panic!("no run {name:?}"))
}

async fn nothing() {}

pub async fn leaving_maintenance(report: &mut Report) {
    let lines = record::read("02-configured-not-bootstrapped.jsonl");
    let scene = Scene::slow(22, &[3, 4]).await;
    for run in timeline::runs(&lines) {
        timeline::play(&scene, "02", &run, report, nothing).await;
    }
    let lines = record::read("04-worker.jsonl");
    let scene = Scene::slow(24, &[2, 5]).await;
    scene.configure(2).await;
    scene.bootstrap(2).await;
    timeline::play(&scene, "04", &timeline::runs(&lines)[0], report, nothing).await;
}

pub async fn graceful_resets(report: &mut Report) {
    let file = "06-reset-graceful.jsonl";
    let lines = record::read(file);
    let runs = timeline::runs(&lines);
    let mut scene = Scene::slow(26, &[2, 3, 4, 5]).await;
    scene.form(&[2, 3, 4]).await;
    scene.join(5, "inputs/worker.yaml").await;
    for name in ["A:", "rejoin after A", "B:", "rejoin after B", "D:"] {
        timeline::play(&scene, file, run(&runs, name), report, nothing).await;
    }
    scene.members = members(&lines);
    let node = scene.node(4);
    support::eventually("its runtime", async || node.runtime_ready()).await;
    replay(
        &scene,
        file,
        &in_state(&calls(&lines), "member-removed-etcd-crash-loop"),
        report,
    )
    .await;
    timeline::play(&scene, file, run(&runs, "E:"), report, nothing).await;
    // Quorum is lost when the other member goes.
    scene.node(3).power_off();
    scene.without_leader(2).await;
    let power_on = async || scene.node(3).power_on();
    timeline::play(&scene, file, run(&runs, "F:"), report, power_on).await;
    timeline::play(&scene, file, run(&runs, "G:"), report, nothing).await;
}

pub async fn ungraceful_resets(report: &mut Report) {
    let file = "07-reset-not-graceful.jsonl";
    let lines = record::read(file);
    let (runs, all) = (timeline::runs(&lines), calls(&lines));
    let mut scene = Scene::slow(27, &[2, 3, 4]).await;
    scene.form(&[2, 3, 4]).await;
    timeline::play(&scene, file, run(&runs, "A:"), report, nothing).await;
    scene.members = members(&lines);
    scene.ask_members(2).await;
    replay(&scene, file, &in_state(&all, "stale-member"), report).await;
    replay(
        &scene,
        file,
        &in_state(&all, "stale-member-removed"),
        report,
    )
    .await;
    for name in ["rejoin after removal", "B:", "rejoin while"] {
        timeline::play(&scene, file, run(&runs, name), report, nothing).await;
    }
}

pub async fn reboots(report: &mut Report) {
    let file = "08-reboot.jsonl";
    let lines = record::read(file);
    let runs = timeline::runs(&lines);
    let scene = Scene::slow(28, &[2, 3, 4]).await;
    scene.form(&[2, 3, 4]).await;
    timeline::play(&scene, file, run(&runs, "A:"), report, nothing).await;
    timeline::play(&scene, file, run(&runs, "B:"), report, nothing).await;
    replay(&scene, file, &in_state(&calls(&lines), "after"), report).await;

    let file = "09-shutdown.jsonl";
    let lines = record::read(file);
    let power_on = async || {
        support::eventually("power off", async || !scene.node(4).is_on()).await;
        scene.node(4).power_on();
    };
    timeline::play(&scene, file, &timeline::runs(&lines)[0], report, power_on).await;
}

/// Bootstrap asked again and again: refused, refused otherwise, accepted, and in the end too late.
pub async fn bootstrap(report: &mut Report) {
    let file = "12-bootstrap.jsonl";
    let lines = record::read(file);
    let all = calls(&lines);
    let scene = Scene::slow(32, &[2, 3, 5]).await;
    let asked = in_state(&all, "12-bootstrap").into_iter();
    let (apply, asked): (Vec<&Call>, Vec<&Call>) =
        asked.partition(|call| call.method == "ApplyConfiguration");
    replay(&scene, file, &apply, report).await;
    let mut expected: Vec<String> = asked
        .iter()
        .map(|call| format!("{} {}", call.code, call.message))
        .collect();
    expected.retain(|outcome| !outcome.starts_with("Unavailable"));
    expected.dedup();
    let mut got: Vec<String> = Vec::new();
    let ends = tokio::time::Instant::now() + Duration::from_secs(20);
    while got.last() != expected.last() && tokio::time::Instant::now() < ends {
        let answer = scene.send(asked[asked.len() - 1]).await;
        if answer.code != "Unavailable" {
            got.push(format!("{} {}", answer.code, answer.message));
            got.dedup();
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    report.compared += asked.len();
    report.timelines += 1;
    if got != expected {
        report.note(format!("12 bootstrap: expected {expected:?}, got {got:?}"));
    }
    scene.running(2).await;
    scene.join(3, "inputs/cp.yaml").await;
    scene.join(5, "inputs/worker.yaml").await;
    replay(&scene, file, &in_state(&all, "worker"), report).await;
    replay(&scene, file, &in_state(&all, "cluster"), report).await;
}

/// Complete configurations in the odd modes, in maintenance.
pub async fn odd_modes(report: &mut Report) {
    let file = "10-apply-config.jsonl";
    let lines = record::read(file);
    let runs = timeline::runs(&lines);
    let scene = Scene::slow(30, &[3, 5, 6]).await;
    for name in [
        "a complete config with STAGED",
        "a complete config with REBOOT",
        "a complete config with TRY",
    ] {
        timeline::play(&scene, file, run(&runs, name), report, nothing).await;
    }
}

pub async fn last_one(report: &mut Report) {
    let file = "13-reset-last.jsonl";
    let lines = record::read(file);
    let runs = timeline::runs(&lines);
    let mut scene = Scene::slow(33, &[2, 3]).await;
    scene.form(&[2, 3]).await;
    timeline::play(&scene, file, run(&runs, "A:"), report, nothing).await;
    scene.members = members(&lines);
    replay(&scene, file, &in_state(&calls(&lines), "one-left"), report).await;
    timeline::play(&scene, file, run(&runs, "B:"), report, nothing).await;
    timeline::play(&scene, file, run(&runs, "C:"), report, nothing).await;
}
