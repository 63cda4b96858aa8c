//! Compares an answer with the recorded one: code, message, and the response field by field.
//!
//! Fields that change from run to run (times, IDs, sizes of a host) must be there with the same kind of value; every
//! other value must be equal. COSI specs are compared in both forms: YAML by meaning, protobuf by its field numbers.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::record::Call;

/// What the simulator answered, in the form of a recording.
#[derive(Clone, Debug)]
pub struct Answer {
    pub code: String,
    pub message: String,
    pub response: Option<Value>,
    pub deadline: bool,
}

/// Fields whose values change from run to run.
const VOLATILE: &[&str] = &[
    "actor_id",
    "available",
    "boot_time",
    "bookmark",
    "bytes",
    "ca",
    "created",
    "crt",
    "db_size",
    "db_size_in_use",
    "inodes",
    "inodes_free",
    "inodes_used",
    "key",
    "last_change",
    "last_message",
    "leader",
    "member_id",
    "raft_applied_index",
    "raft_index",
    "raft_term",
    "size",
    "talosconfig",
    "ts",
    "updated",
    "used",
    "bootID",
    "nodeId",
    "memberID",
    "linkIndex",
    "events",
    "hostnameVersion",
];

/// Strings of the recordings are cut at this length or later.
const CUT: usize = 1400;

/// All differences, each `path: expected ..., got ...`.
pub fn differences(call: &Call, answer: &Answer) -> Vec<String> {
    if call.deadline_hit || answer.deadline {
        return deadline(call, answer);
    }
    let mut found = Vec::new();
    if call.code != answer.code {
        found.push(format!(
            "code: expected {} {:?}, got {} {:?}",
            call.code, call.message, answer.code, answer.message
        ));
        return found;
    }
    if call.message != answer.message {
        found.push(format!(
            "message: expected {:?}, got {:?}",
            call.message, answer.message
        ));
    }
    if call.code == "OK" {
        contents(call, answer, &mut found);
    }
    found
}

fn deadline(call: &Call, answer: &Answer) -> Vec<String> {
    let mut found = Vec::new();
    if !(call.deadline_hit && answer.deadline) {
        let said = |hit: bool, code: &str| {
            if hit {
                "no end before the deadline".to_owned()
            } else {
                code.to_owned()
            }
        };
        found.push(format!(
            "code: expected {}, got {} {:?}",
            said(call.deadline_hit, &call.code),
            said(answer.deadline, &answer.code),
            answer.message
        ));
    } else if call.method == "Watch" {
        contents(call, answer, &mut found);
    }
    found
}

fn contents(call: &Call, answer: &Answer, found: &mut Vec<String>) {
    let Some(expected) = &call.response else {
        return;
    };
    let trimmed = !call.trimmed.is_null() && call.trimmed != Value::Bool(false);
    let got = answer.response.clone().unwrap_or(Value::Null);
    if call.service == "cosi.resource.State" {
        return cosi(expected, &got, trimmed, found);
    }
    value("response", expected, &got, trimmed, found);
}

/// Resources are matched by ID; events by position.
fn cosi(expected: &Value, got: &Value, trimmed: bool, found: &mut Vec<String>) {
    let resources = |value: &Value| -> BTreeMap<String, Value> {
        let list = value
            .as_array()
            .cloned()
            .unwrap_or_else(|| vec![value.clone()]);
        let with_id = |item: Value| {
            (
                item["resource"]["metadata"]["id"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned(),
                item,
            )
        };
        list.into_iter().map(with_id).collect()
    };
    let is_watch = |value: &Value| {
        value
            .as_array()
            .is_some_and(|list| list.iter().any(|item| item.get("event").is_some()))
    };
    if is_watch(expected) || is_watch(got) {
        return watch(expected, got, found);
    }
    let (expected, got) = (resources(expected), resources(got));
    for (id, item) in &expected {
        match got.get(id) {
            Some(other) => resource(
                &format!("[{id}]"),
                &item["resource"],
                &other["resource"],
                found,
            ),
            None => found.push(format!("[{id}]: expected, but not there")),
        }
    }
    for id in got
        .keys()
        .filter(|id| !trimmed && !expected.contains_key(*id))
    {
        found.push(format!("[{id}]: there, but not expected"));
    }
}

fn watch(expected: &Value, got: &Value, found: &mut Vec<String>) {
    let none = Vec::new();
    let (expected, got) = (
        expected.as_array().unwrap_or(&none),
        got.as_array().unwrap_or(&none),
    );
    if expected.len() != got.len() {
        found.push(format!(
            "messages: expected {}, got {}",
            expected.len(),
            got.len()
        ));
    }
    for (index, (expected, got)) in expected.iter().zip(got).enumerate() {
        let events = |value: &Value| value["event"].as_array().cloned().unwrap_or_default();
        let (expected, got) = (events(expected), events(got));
        if expected.len() != got.len() {
            found.push(format!(
                "message {index}: expected {} events, got {}",
                expected.len(),
                got.len()
            ));
        }
        for (expected, got) in expected.iter().zip(&got) {
            let path = format!("message {index}");
            let kind = |event: &Value| event["event_type"].as_str().unwrap_or("CREATED").to_owned();
            if kind(expected) != kind(got) {
                found.push(format!(
                    "{path}.event_type: expected {}, got {}",
                    kind(expected),
                    kind(got)
                ));
            }
            if expected.get("bookmark").is_some() != got.get("bookmark").is_some() {
                found.push(format!("{path}.bookmark: only on one side"));
            }
            resource(&path, &expected["resource"], &got["resource"], found);
        }
    }
}

fn resource(path: &str, expected: &Value, got: &Value, found: &mut Vec<String>) {
    if expected.is_null() != got.is_null() {
        found.push(format!("{path}: a resource only on one side"));
        return;
    }
    let mut metadata = (expected["metadata"].clone(), got["metadata"].clone());
    for side in [&mut metadata.0, &mut metadata.1] {
        // Finalizers and versions count what other controllers of a real machine did.
        if let Some(fields) = side.as_object_mut() {
            fields.remove("finalizers");
            if fields
                .get("version")
                .is_some_and(|version| version != "undefined")
            {
                fields.insert("version".to_owned(), Value::from("N"));
            }
        }
    }
    value(
        &format!("{path}.metadata"),
        &metadata.0,
        &metadata.1,
        false,
        found,
    );
    yaml(
        path,
        &expected["spec"]["yaml_spec"],
        &got["spec"]["yaml_spec"],
        found,
    );
    let numbers =
        |resource: &Value| fields(resource["spec"]["proto_spec"].as_str().unwrap_or_default());
    let (expected, got) = (numbers(expected), numbers(got));
    if expected != got {
        found.push(format!(
            "{path}.proto_spec: expected fields {expected:?}, got {got:?}"
        ));
    }
}

fn yaml(path: &str, expected: &Value, got: &Value, found: &mut Vec<String>) {
    let parse = |side: &Value| -> Value {
        serde_saphyr::from_str(side.as_str().unwrap_or_default()).unwrap_or(side.clone())
    };
    value(
        &format!("{path}.yaml_spec"),
        &parse(expected),
        &parse(got),
        false,
        found,
    );
}

/// Numbers and wire types of the top-level fields of an encoded message, each once.
fn fields(base64: &str) -> Vec<(u64, u64)> {
    let bytes = STANDARD.decode(base64).unwrap_or_default();
    let mut rest = bytes.as_slice();
    let mut found = Vec::new();
    while let Some(tag) = varint(&mut rest) {
        let (number, wire) = (tag >> 3, tag & 7);
        if !found.contains(&(number, wire)) {
            found.push((number, wire));
        }
        let skip = match wire {
            0 => {
                varint(&mut rest);
                0
            }
            1 => 8,
            2 => varint(&mut rest).unwrap_or_default(),
            _ => 4,
        };
        rest = rest
            .get(usize::try_from(skip).unwrap_or(usize::MAX)..)
            .unwrap_or_default();
    }
    found.sort_unstable();
    found
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

fn value(path: &str, expected: &Value, got: &Value, trimmed: bool, found: &mut Vec<String>) {
    match (expected, got) {
        (Value::Object(left), Value::Object(right)) => {
            for (key, item) in left {
                match right.get(key) {
                    None => found.push(format!(
                        "{path}.{key}: expected {}, but not there",
                        short(item)
                    )),
                    Some(other) if volatile(key, item) => {
                        kind(&format!("{path}.{key}"), item, other, found);
                    }
                    Some(other) => value(&format!("{path}.{key}"), item, other, trimmed, found),
                }
            }
            for key in right.keys().filter(|key| !left.contains_key(*key)) {
                found.push(format!("{path}.{key}: there, but not expected"));
            }
        }
        (Value::Array(left), Value::Array(right)) => {
            if left.len() != right.len() && !trimmed {
                found.push(format!(
                    "{path}: expected {} items, got {}",
                    left.len(),
                    right.len()
                ));
            }
            let (left, right) = (ordered(left), ordered(right));
            for (index, (item, other)) in left.iter().zip(&right).enumerate() {
                value(&format!("{path}[{index}]"), item, other, trimmed, found);
            }
        }
        (Value::String(left), Value::String(right))
            if left.len() >= CUT && right.starts_with(left.trim_end()) => {}
        _ if expected != got => found.push(format!(
            "{path}: expected {}, got {}",
            short(expected),
            short(got)
        )),
        _ => {}
    }
}

/// Lists whose order depends on random IDs or on who answered first, ordered by what names their items.
fn ordered(list: &[Value]) -> Vec<Value> {
    let name = |item: &Value| {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        text(&item["hostname"])
            .or(text(&item["metadata"]["hostname"]))
            .or(text(item))
            .unwrap_or_default()
    };
    let mut list = list.to_vec();
    list.sort_by_key(name);
    list
}

fn volatile(key: &str, item: &Value) -> bool {
    let number = item
        .as_str()
        .is_some_and(|text| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()));
    match key {
        "id" => number,
        "version" => false,
        _ => VOLATILE.contains(&key),
    }
}

fn kind(path: &str, expected: &Value, got: &Value, found: &mut Vec<String>) {
    if std::mem::discriminant(expected) != std::mem::discriminant(got) {
        found.push(format!(
            "{path}: expected a value like {}, got {}",
            short(expected),
            short(got)
        ));
    }
}

fn short(value: &Value) -> String {
    let text = value.to_string();
    text.chars().take(160).collect()
}
