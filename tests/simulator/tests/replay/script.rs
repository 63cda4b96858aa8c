//! What the scripts of states and runs share.

use std::collections::BTreeMap;
use std::time::Duration;

use super::compare::differences;
use super::reasons::{Report, left_out};
use super::record::{Call, Line};
use super::scene::Scene;

/// Replays consecutive calls that were not made during a timeline.
pub async fn replay(scene: &Scene, file: &str, calls: &[&Call], report: &mut Report) {
    for call in calls {
        if left_out(call) {
            report.left_out += 1;
            continue;
        }
        let mut answer = scene.send(call).await;
        let note = call.note.as_deref().unwrap_or_default();
        let patience = tokio::time::Instant::now() + Duration::from_secs(30);
        // What comes with time is asked again.
        while note.contains("try timed out")
            && !differences(call, &answer).is_empty()
            && tokio::time::Instant::now() < patience
        {
            tokio::time::sleep(Duration::from_millis(100)).await;
            answer = scene.send(call).await;
        }
        report.compared += 1;
        report.add(file, call, differences(call, &answer));
    }
}

/// The calls of a file outside its timelines, with the state they were made in.
pub fn calls(lines: &[Line]) -> Vec<&Call> {
    lines
        .iter()
        .filter_map(|line| match line {
            Line::Call(call) if call.run.is_none() => Some(&**call),
            _ => None,
        })
        .collect()
}

pub fn in_state<'a>(calls: &[&'a Call], state: &str) -> Vec<&'a Call> {
    calls
        .iter()
        .copied()
        .filter(|call| call.state == state || call.state.ends_with(&format!(":{state}")))
        .collect()
}

/// Member IDs and hostnames in the recorded answers.
pub fn members(lines: &[Line]) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for line in lines {
        let Line::Call(call) = line else { continue };
        let Some(response) = &call.response else {
            continue;
        };
        for member in response["messages"][0]["members"]
            .as_array()
            .into_iter()
            .flatten()
        {
            if let (Some(id), Some(hostname)) = (member["id"].as_str(), member["hostname"].as_str())
            {
                found.insert(id.to_owned(), hostname.to_owned());
            }
        }
    }
    found
}
