//! Replays what happened over time: each recorded probe's outcomes must come in the recorded order.
//!
//! Times differ on purpose (the simulator is quick), and what a poll may or may not catch is left away on both sides:
//! the moment in which a daemon is gone behind a live API, a connection reset, the short pause of a restarting API.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;

use super::compare::differences;
use super::probes::{
    BOOT, CERTIFICATE, MEMBERS, STATUS, STATUS_ANONYMOUS, Seen, TCP, VERSION, VERSION_ANONYMOUS,
    classify, poll,
};
use super::reasons::Report;
use super::record::{Call, Line, Observation, host};
use super::scene::Scene;

/// A recorded run.
pub struct Run<'a> {
    pub name: String,
    pub calls: Vec<&'a Call>,
    observations: Vec<&'a Observation>,
}

/// The runs of a file, in order.
pub fn runs(lines: &[Line]) -> Vec<Run<'_>> {
    let mut found: Vec<Run<'_>> = Vec::new();
    for line in lines {
        let name = match line {
            Line::Call(call) => call.run.clone(),
            Line::Timeline(observation) => Some(observation.run.clone()),
            Line::Tls(_) => None,
        };
        let Some(name) = name else { continue };
        if !found.iter().any(|run| run.name == name) {
            found.push(Run {
                name: name.clone(),
                calls: Vec::new(),
                observations: Vec::new(),
            });
        }
        let run = found.iter_mut().find(|run| run.name == name).unwrap();
        match line {
            Line::Call(call) => run.calls.push(call),
            Line::Timeline(observation) => run.observations.push(observation),
            Line::Tls(_) => {}
        }
    }
    found
}

/// Plays one run; `after_calls` does what happened outside the API (power, other nodes).
pub async fn play(
    scene: &Scene,
    file: &str,
    run: &Run<'_>,
    report: &mut Report,
    after_calls: impl AsyncFnOnce(),
) {
    let observed = run
        .observations
        .iter()
        .find(|seen| seen.probe == TCP)
        .map(|seen| host(&seen.target));
    let target = run
        .calls
        .first()
        .map_or_else(|| observed.unwrap(), |call| call.host());
    let began = tokio::time::Instant::now();
    let expected = recorded(run);
    let seen: Arc<Mutex<Seen>> = Arc::default();
    let probes = expected.keys().map(|probe| {
        let at = if probe == MEMBERS {
            scene.socket(2)
        } else {
            scene.socket(target)
        };
        let caller = scene.caller(if probe.contains("anonymous") {
            "anonymous"
        } else {
            "os:admin"
        });
        tokio::spawn(poll(probe.clone(), at, caller, Arc::clone(&seen)))
    });
    let probes: Vec<_> = probes.collect();
    until(|| {
        expected
            .keys()
            .all(|probe| seen.lock().unwrap().contains_key(probe))
    })
    .await;

    for (index, call) in run.calls.iter().enumerate() {
        // Recorded while the API went down: only that it cannot be reached is compared.
        let refused = call.code == "Unavailable";
        if refused {
            until(|| !scene.node(call.host()).serving()).await;
        } else if index > 0 {
            let gap = call.t_ms - run.calls[index - 1].t_ms;
            tokio::time::sleep(Duration::from_millis(gap.min(50))).await;
        }
        let answer = scene.send(call).await;
        report.compared += 1;
        if !(refused && answer.code == "Unavailable") {
            report.add(file, call, differences(call, &answer));
        }
    }
    after_calls().await;
    let last = |sequences: &Seen| -> BTreeMap<String, String> {
        sequences
            .iter()
            .filter_map(|(probe, list)| Some((probe.clone(), list.last()?.clone())))
            .collect()
    };
    let goal = last(&expected);
    let ends = tokio::time::Instant::now() + Duration::from_secs(15);
    while last(&clean(&seen.lock().unwrap())) != goal && tokio::time::Instant::now() < ends {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    for probe in probes {
        probe.abort();
    }
    report.timelines += 1;
    let seen = clean(&seen.lock().unwrap());
    if std::env::var_os("REPLAY_VERBOSE").is_some() {
        eprintln!(
            "run {} {:?} took {:?}, goal {goal:?}, got {:?}",
            &file[..2],
            run.name,
            began.elapsed(),
            last(&seen)
        );
    }
    for (probe, list) in &expected {
        let other = &seen[probe];
        if !same(list, other) {
            report.note(format!(
                "{} timeline {:?} {probe}: expected {list:?}, got {other:?}",
                &file[..2],
                run.name
            ));
        }
    }
}

async fn until(mut condition: impl FnMut() -> bool) {
    let ends = tokio::time::Instant::now() + Duration::from_secs(15);
    while !condition() && tokio::time::Instant::now() < ends {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn recorded(run: &Run<'_>) -> Seen {
    let mut names = (Vec::new(), Vec::new());
    let mut found = Seen::new();
    let probes = [
        STATUS,
        STATUS_ANONYMOUS,
        VERSION,
        VERSION_ANONYMOUS,
        TCP,
        CERTIFICATE,
        BOOT,
        MEMBERS,
    ];
    for observation in run
        .observations
        .iter()
        .filter(|observation| probes.contains(&observation.probe.as_str()))
    {
        let text = match &observation.outcome {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let class = classify(&observation.probe, &text, &mut names);
        found
            .entry(observation.probe.clone())
            .or_default()
            .push(class);
    }
    clean(&found)
}

/// Drops what a poll may miss, and repetitions.
fn clean(sequences: &Seen) -> Seen {
    let chance = ["daemon gone", "reset", "refused", "unavailable"];
    let tidy = |probe: &str, list: &Vec<String>| {
        // The old API may still answer strangers for a moment after a configuration was taken.
        let moment = |class: &String| probe == VERSION_ANONYMOUS && class == "configured";
        let missable = |class: &String| chance.contains(&class.as_str()) || moment(class);
        let mut list: Vec<String> = list
            .iter()
            .filter(|class| !missable(class))
            .cloned()
            .collect();
        list.dedup();
        list
    };
    sequences
        .iter()
        .map(|(probe, list)| (probe.clone(), tidy(probe, list)))
        .collect()
}

/// Equal but for what lasts so briefly that a poll on a busy computer may miss it, where only one side has it.
fn same(expected: &[String], got: &[String]) -> bool {
    let brief = |class: &String| {
        [
            "resetting",
            "rebooting",
            "shutting down",
            "booting, ready true",
            "\"\" learner",
        ]
        .iter()
        .any(|part| class.contains(part))
    };
    let without = |list: &[String], other: &[String]| -> Vec<String> {
        let mut list: Vec<String> = list
            .iter()
            .filter(|class| !brief(class) || other.contains(class))
            .cloned()
            .collect();
        list.dedup();
        list
    };
    without(expected, got) == without(got, expected)
}
