//! Brings machines into each recorded state and replays the calls made there.

use super::compare::differences;
use super::handshake;
use super::reasons::{Report, left_out};
use super::record;
use super::scene::Scene;
use super::script::{calls, in_state, members, replay};

pub async fn maintenance(report: &mut Report) {
    let file = "01-maintenance.jsonl";
    let lines = record::read(file);
    let scene = Scene::new(1, &[2]).await;
    handshake::replay(&scene, file, &lines, report).await;
    replay(&scene, file, &calls(&lines), report).await;
}

pub async fn not_bootstrapped(report: &mut Report) {
    let file = "02-configured-not-bootstrapped.jsonl";
    let lines = record::read(file);
    let scene = Scene::new(2, &[3]).await;
    scene.configure(3).await;
    handshake::replay(&scene, file, &lines, report).await;
    replay(&scene, file, &calls(&lines), report).await;
}

pub async fn healthy(report: &mut Report) {
    let file = "03-cluster-healthy.jsonl";
    let lines = record::read(file);
    let mut scene = Scene::cluster(3, &[2, 3, 4], &[]).await;
    handshake::replay(&scene, file, &lines, report).await;
    scene.members = members(&lines);
    replay(&scene, file, &calls(&lines), report).await;
}

pub async fn worker(report: &mut Report) {
    let file = "04-worker.jsonl";
    let lines = record::read(file);
    let scene = Scene::cluster(4, &[2], &[5]).await;
    scene.join(5, "inputs/worker.yaml").await;
    handshake::replay(&scene, file, &lines, report).await;
    replay(&scene, file, &calls(&lines), report).await;
}

pub async fn nodes_down(report: &mut Report) {
    let file = "05-etcd-nodes-down.jsonl";
    let lines = record::read(file);
    let all = calls(&lines);
    let mut scene = Scene::cluster(5, &[2, 3, 4], &[]).await;
    scene.members = members(&lines);
    // When these were recorded talos1 was no longer the leader.
    scene.forfeit(2).await;
    scene.node(4).power_off();
    replay(
        &scene,
        file,
        &in_state(&all, "one-down-first-seconds"),
        report,
    )
    .await;
    replay(&scene, file, &in_state(&all, "one-down"), report).await;
    scene.node(3).power_off();
    let first = in_state(&all, "quorum-lost-first-seconds");
    let scene_ref = &scene;
    // These were made at the same time, in the seconds after the loss.
    let answers = futures::future::join_all(
        first
            .iter()
            .map(|call| async move { scene_ref.send(call).await }),
    )
    .await;
    for (call, answer) in first.iter().zip(answers) {
        if left_out(call) {
            report.left_out += 1;
        } else {
            report.compared += 1;
            report.add(file, call, differences(call, &answer));
        }
    }
    scene.without_leader(2).await;
    replay(&scene, file, &in_state(&all, "quorum-lost"), report).await;
    scene.node(3).power_on();
    scene.running(3).await;
    replay(&scene, file, &in_state(&all, "one-down-again"), report).await;
    replay(&scene, file, &in_state(&all, "dead-member-removed"), report).await;
}

pub async fn apply_matrix(report: &mut Report) {
    let file = "10-apply-config.jsonl";
    let lines = record::read(file);
    let all = calls(&lines);
    let scene = Scene::cluster(10, &[2, 3, 4], &[5]).await;
    replay(&scene, file, &in_state(&all, "maintenance"), report).await;
    replay(&scene, file, &in_state(&all, "maintenance-partial"), report).await;
    replay(&scene, file, &in_state(&all, "configured"), report).await;
}

pub async fn proxying(report: &mut Report) {
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
