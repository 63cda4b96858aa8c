//! What the controller writes while nothing happens, by the API server's audit log.

use crate::process::Memory;
use crate::scale::memory_of;
use anyhow::Result;
use ichor_ground::World;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{Read, Seek, SeekFrom};
use std::time::Duration;

const MINUTE: Duration = Duration::from_mins(1);
const ACCOUNT: &str = "system:serviceaccount:ichor-system:ichor-controller";

/// A minute in which nobody asked for anything.
pub struct Idle {
    /// Writes of the controller by verb and resource, those to its leader's lease apart.
    pub writes: BTreeMap<String, usize>,
    /// Renewals of the leader's lease.
    pub renewals: usize,
    /// Memory of the controller before and after.
    pub memory: (Memory, Memory),
}

/// Waits a minute and counts.
pub async fn measure(world: &World) -> Result<Idle> {
    let before = memory_of(&world.controller)?;
    let mut log = std::fs::File::open(world.plane.audit_log())?;
    log.seek(SeekFrom::End(0))?;
    tokio::time::sleep(MINUTE).await;
    let mut text = String::new();
    log.read_to_string(&mut text)?;
    let mut writes = count(&text);
    Ok(Idle {
        renewals: writes.remove("update leases").unwrap_or_default()
            + writes.remove("patch leases").unwrap_or_default(),
        writes,
        memory: (before, memory_of(&world.controller)?),
    })
}

/// The controller's writes in lines of an audit log.
fn count(log: &str) -> BTreeMap<String, usize> {
    let mut writes = BTreeMap::new();
    let events = log
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    for event in events {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let verb = text(&event["verb"]);
        if event["user"]["username"] != ACCOUNT || ["get", "list", "watch"].contains(&verb.as_str())
        {
            continue;
        }
        let object = &event["objectRef"];
        let mut what = text(&object["resource"]);
        if let Some(sub) = object["subresource"].as_str() {
            what = format!("{what}/{sub}");
        }
        *writes.entry(format!("{verb} {what}")).or_default() += 1;
    }
    writes
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_writes_of_the_controller_count() {
        let event = |user: &str, verb: &str, resource: &str, sub: Option<&str>| {
            json!({"user": {"username": user}, "verb": verb,
                "objectRef": {"resource": resource, "subresource": sub}})
            .to_string()
        };
        let log = [
            event(ACCOUNT, "update", "leases", None),
            event(ACCOUNT, "patch", "machinereclaims", Some("status")),
            event(ACCOUNT, "watch", "machinereclaims", None),
            event("alice", "create", "machinereclaims", None),
            "half a li".to_owned(),
        ]
        .join("\n");
        let want = [("patch machinereclaims/status", 1), ("update leases", 1)];
        let want = want.map(|(what, times)| (what.to_owned(), times));
        assert_eq!(count(&log), BTreeMap::from(want));
    }
}
