//! Every recorded call of a real Talos node, sent to a simulated one in the same state; a difference that no reason in
//! `reasons.rs` explains fails the test.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

#[path = "../support/mod.rs"]
mod support;

mod compare;
mod handshake;
mod reasons;
mod record;
mod scene;
mod timeline;

use std::io::Write;
use std::time::Duration;

use compare::differences;
use reasons::{Report, left_out};
use record::{Call, Line};
use scene::Scene;

/// Replays consecutive calls that were not made during a timeline.
async fn replay(scene: &Scene, file: &str, calls: &[&Call], report: &mut Report) {
    for call in calls {
        if left_out(call) {
            report.left_out += 1;
            continue;
        }
        if call.note.as_deref().is_some_and(|note| note.contains("try timed out")) {
            tokio::time::sleep(Duration::from_millis(2200)).await;
        }
        let answer = scene.send(call).await;
        report.compared += 1;
        report.add(file, call, differences(call, &answer));
    }
}

/// The calls of a file outside its timelines, with the state they were made in.
fn calls(lines: &[Line]) -> Vec<&Call> {
    lines
        .iter()
        .filter_map(|line| match line {
            Line::Call(call) if call.run.is_none() => Some(&**call),
            _ => None,
        })
        .collect()
}

fn in_state<'a>(calls: &[&'a Call], state: &str) -> Vec<&'a Call> {
    calls.iter().copied().filter(|call| call.state == state || call.state.ends_with(&format!(":{state}"))).collect()
}

/// Member IDs and hostnames in the recorded answers.
fn members(lines: &[Line]) -> std::collections::BTreeMap<String, String> {
    let mut found = std::collections::BTreeMap::new();
    for line in lines {
        let Line::Call(call) = line else { continue };
        let Some(response) = &call.response else { continue };
        for member in response["messages"][0]["members"].as_array().into_iter().flatten() {
            if let (Some(id), Some(hostname)) = (member["id"].as_str(), member["hostname"].as_str()) {
                found.insert(id.to_owned(), hostname.to_owned());
            }
        }
    }
    found
}

async fn maintenance(report: &mut Report) {
    let file = "01-maintenance.jsonl";
    let lines = record::read(file);
    let scene = Scene::new(1, &[2]).await;
    handshake::replay(&scene, file, &lines, report).await;
    replay(&scene, file, &calls(&lines), report).await;
}

async fn not_bootstrapped(report: &mut Report) {
    let file = "02-configured-not-bootstrapped.jsonl";
    let lines = record::read(file);
    let scene = Scene::new(2, &[3]).await;
    scene.configure(3).await;
    handshake::replay(&scene, file, &lines, report).await;
    replay(&scene, file, &calls(&lines), report).await;
}

async fn healthy(report: &mut Report) {
    let file = "03-cluster-healthy.jsonl";
    let lines = record::read(file);
    let mut scene = Scene::cluster(3, &[2, 3, 4], &[]).await;
    handshake::replay(&scene, file, &lines, report).await;
    scene.members = members(&lines);
    replay(&scene, file, &calls(&lines), report).await;
}

async fn worker(report: &mut Report) {
    let file = "04-worker.jsonl";
    let lines = record::read(file);
    let scene = Scene::cluster(4, &[2], &[5]).await;
    scene.join(5, "inputs/worker.yaml").await;
    handshake::replay(&scene, file, &lines, report).await;
    replay(&scene, file, &calls(&lines), report).await;
}

async fn nodes_down(report: &mut Report) {
    let file = "05-etcd-nodes-down.jsonl";
    let lines = record::read(file);
    let all = calls(&lines);
    let mut scene = Scene::cluster(5, &[2, 3, 4], &[]).await;
    scene.members = members(&lines);
    // When these were recorded talos1 was no longer the leader.
    scene.forfeit(2).await;
    scene.node(4).power_off();
    replay(&scene, file, &in_state(&all, "one-down-first-seconds"), report).await;
    replay(&scene, file, &in_state(&all, "one-down"), report).await;
    scene.node(3).power_off();
    let first = in_state(&all, "quorum-lost-first-seconds");
    let scene_ref = &scene;
    // These were made at the same time, in the seconds after the loss.
    let answers = futures::future::join_all(first.iter().map(|call| async move { scene_ref.send(call).await })).await;
    for (call, answer) in first.iter().zip(answers) {
        if left_out(call) {
            report.left_out += 1;
        } else {
            report.compared += 1;
            report.add(file, call, differences(call, &answer));
        }
    }
    tokio::time::sleep(Duration::from_millis(4500)).await;
    replay(&scene, file, &in_state(&all, "quorum-lost"), report).await;
    scene.node(3).power_on();
    scene.running(3).await;
    replay(&scene, file, &in_state(&all, "one-down-again"), report).await;
    replay(&scene, file, &in_state(&all, "dead-member-removed"), report).await;
}

/// Runs of a file whose name begins with this.
fn run<'a, 'b>(runs: &'a [timeline::Run<'b>], name: &str) -> &'a timeline::Run<'b> {
    runs.iter().find(|run| run.name.starts_with(name)).unwrap_or_else(|| panic!("no run {name:?}"))
}

async fn nothing() {}

async fn leaving_maintenance(report: &mut Report) {
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

async fn graceful_resets(report: &mut Report) {
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
    replay(&scene, file, &in_state(&calls(&lines), "member-removed-etcd-crash-loop"), report).await;
    timeline::play(&scene, file, run(&runs, "E:"), report, nothing).await;
    // Quorum is lost when the other member goes.
    scene.node(3).power_off();
    tokio::time::sleep(Duration::from_millis(400)).await;
    let power_on = async || scene.node(3).power_on();
    timeline::play(&scene, file, run(&runs, "F:"), report, power_on).await;
    timeline::play(&scene, file, run(&runs, "G:"), report, nothing).await;
}

async fn ungraceful_resets(report: &mut Report) {
    let file = "07-reset-not-graceful.jsonl";
    let lines = record::read(file);
    let (runs, all) = (timeline::runs(&lines), calls(&lines));
    let mut scene = Scene::slow(27, &[2, 3, 4]).await;
    scene.form(&[2, 3, 4]).await;
    timeline::play(&scene, file, run(&runs, "A:"), report, nothing).await;
    scene.members = members(&lines);
    scene.ask_members(2).await;
    replay(&scene, file, &in_state(&all, "stale-member"), report).await;
    replay(&scene, file, &in_state(&all, "stale-member-removed"), report).await;
    for name in ["rejoin after removal", "B:", "rejoin while"] {
        timeline::play(&scene, file, run(&runs, name), report, nothing).await;
    }
}

async fn reboots(report: &mut Report) {
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
async fn bootstrap(report: &mut Report) {
    let file = "12-bootstrap.jsonl";
    let lines = record::read(file);
    let all = calls(&lines);
    let scene = Scene::slow(32, &[2, 3, 5]).await;
    let asked = in_state(&all, "12-bootstrap").into_iter();
    let (apply, asked): (Vec<&Call>, Vec<&Call>) = asked.partition(|call| call.method == "ApplyConfiguration");
    replay(&scene, file, &apply, report).await;
    let mut expected: Vec<String> = asked.iter().map(|call| format!("{} {}", call.code, call.message)).collect();
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
async fn odd_modes(report: &mut Report) {
    let file = "10-apply-config.jsonl";
    let lines = record::read(file);
    let runs = timeline::runs(&lines);
    let scene = Scene::slow(30, &[3, 5, 6]).await;
    for name in ["a complete config with STAGED", "a complete config with REBOOT", "a complete config with TRY"] {
        timeline::play(&scene, file, run(&runs, name), report, nothing).await;
    }
}

async fn last_one(report: &mut Report) {
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

async fn apply_matrix(report: &mut Report) {
    let file = "10-apply-config.jsonl";
    let lines = record::read(file);
    let all = calls(&lines);
    let scene = Scene::cluster(10, &[2, 3, 4], &[5]).await;
    replay(&scene, file, &in_state(&all, "maintenance"), report).await;
    replay(&scene, file, &in_state(&all, "maintenance-partial"), report).await;
    replay(&scene, file, &in_state(&all, "configured"), report).await;
}

async fn proxying(report: &mut Report) {
    let file = "11-proxying.jsonl";
    let lines = record::read(file);
    let all = calls(&lines);
    let mut scene = Scene::cluster(11, &[2, 3, 4], &[5]).await;
    scene.members = members(&lines);
    replay(&scene, file, &in_state(&all, "11-proxying"), report).await;
    scene.apply(5, "inputs/partial.yaml").await;
    replay(&scene, file, &in_state(&all, "maintenance"), report).await;
    scene.join(5, "inputs/worker.yaml").await;
    replay(&scene, file, &in_state(&all, "worker"), report).await;
    replay(&scene, file, &in_state(&all, "to-worker"), report).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn recordings_replay() {
    let mut report = Report::default();
    let mut parts: Vec<Report> = Vec::new();
    parts.resize_with(14, Report::default);
    let [a, b, c, d, e, f, g, h, i, j, k, l, m, n] = &mut parts[..] else { panic!("fourteen parts") };
    tokio::join!(
        maintenance(a),
        not_bootstrapped(b),
        healthy(c),
        worker(d),
        nodes_down(e),
        apply_matrix(f),
        proxying(g)
    );
    // Timelines are polled: fewer at a time, so that a busy computer misses nothing.
    tokio::join!(
        async {
            graceful_resets(i).await;
            leaving_maintenance(h).await;
            bootstrap(m).await;
            odd_modes(n).await;
        },
        async {
            ungraceful_resets(j).await;
            reboots(k).await;
            last_one(l).await;
        }
    );
    for part in parts {
        report.merge(part);
    }
    // Past the test harness, which keeps quiet about tests that pass.
    writeln!(std::io::stderr(), "\n{}", report.summary()).unwrap();
    assert!(report.unexplained().is_empty(), "differences without a reason:\n{}", report.unexplained().join("\n"));
    assert!(report.idle_reasons().is_empty(), "reasons that explain nothing: {:?}", report.idle_reasons());
}
