//! Talos's own patcher as the judge (DESIGN section 7, FAULTS 27): on a corpus that `tests/oracle` makes up from Talos's
//! own types, every patch gives what Talos's gives, or is refused as Talos refuses it. What is left over is named below.

#![allow(
    clippy::unwrap_used,
    reason = "the lints take helpers of tests for the product"
)]

use ichor_machineconfig::{Config, Error, Patch};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Where ours differs on purpose.
fn reason(case: &Value, ours: &Result<Config, Error>) -> Option<&'static str> {
    let said = text(case, "error");
    match ours {
        // Issue 4: to Talos it is a JSON patch of no operation.
        Err(Error::EmptyPatch) => Some("an empty patch is refused"),
        // RFC 6902, 4.5: Talos copies null.
        Err(Error::Operation { reason, .. }) if reason.contains("that from names") => {
            Some("what a JSON patch copies must be there")
        }
        // RFC 6902, 4.6: to Talos what is not there is null.
        Err(Error::Operation { .. }) if text(case, "patch").contains("test") => {
            Some("what a JSON patch tests must be there")
        }
        // The types of 1.13 and the schema of 1.14 have them, and a second check in 1.13's loader refuses them.
        Ok(_) if said.contains("unexpected type for yaml sequence: v1alpha1.ArgValue") => {
            Some("an argument can be a list")
        }
        // To Talos it is an interface, file or rule of which nothing is known, which it may crash on.
        Err(Error::WrongType { .. }) if text(case, "result").contains("- null") => {
            Some("null is no item of a list")
        }
        // golden/patches/two-base-docs and duplicate-named-docs: Talos 1.14 applies one after the other.
        Ok(_) if said.contains("load: duplicate document") => {
            Some("a patch may have the same document twice")
        }
        // golden/patches/delete-document-absent: Talos 1.14 gives the base; 1.13 crashes as it writes the result.
        Ok(_) if said.contains("cannot return value obtained from unexported field") => {
            Some("a named document that is not there can be deleted")
        }
        _ => None,
    }
}

fn text<'a>(case: &'a Value, field: &str) -> &'a str {
    case[field].as_str().unwrap_or_default()
}

/// Runs the oracle and gives the JSON document that it prints.
fn oracle(args: &[&str], input: &[u8]) -> Value {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/oracle/current/oracle");
    assert!(
        folder.exists(),
        "{} is missing: build it with tests/oracle/build.sh (`make test` does)",
        folder.display()
    );
    let mut child = Command::new(folder)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // It reads all of its input before it writes.
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "oracle {args:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn ours(case: &Value) -> Result<Config, Error> {
    Patch::parse(text(case, "patch"))?.apply(&Config::parse(text(case, "base"))?)
}

#[test]
fn patches_do_what_talos_does() {
    let seed = std::env::var("SEED").unwrap_or_else(|_| "1".to_owned());
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden");
    let bases = [
        "v1.9/worker",
        "v1.11/controlplane",
        "v1.13/controlplane",
        "v1.13/worker",
    ];
    let bases = bases
        .map(|it| format!("{golden}/{it}-default.yaml"))
        .join(",");
    let corpus = oracle(&["corpus", "--seed", &seed, "--bases", &bases], b"");
    let cases = corpus.as_array().unwrap();
    assert!(cases.len() > 3_000, "{} cases", cases.len());
    let ours: Vec<_> = cases.iter().map(ours).collect();
    let written: Vec<_> = ours.iter().flatten().map(Config::to_yaml).collect();
    // Ours goes through Talos's own types, so that spelling does not count and meaning does.
    let read = oracle(&["normalise"], &serde_json::to_vec(&written).unwrap());
    let mut read = read.as_array().unwrap().iter();

    let mut named = BTreeMap::new();
    let mut wrong = Vec::new();
    for (case, ours) in cases.iter().zip(&ours) {
        let said = match ours {
            Ok(_) => read.next().unwrap()["result"]
                .as_str()
                .unwrap_or("not even read by Talos")
                .to_owned(),
            Err(fault) => format!("refused: {fault}"),
        };
        let agreed = match (ours, case["result"].as_str()) {
            // Talos 1.13 writes a delete that found no document as a document of its own.
            (Ok(_), Some(want)) => said == want.replace("---\n{}\n", ""),
            (Err(_), None) => true,
            _ => false,
        };
        match reason(case, ours) {
            _ if agreed => {}
            Some(reason) => *named.entry(reason).or_insert(0) += 1,
            None => wrong.push((case, said)),
        }
    }
    println!("{} cases, differences by reason: {named:#?}", cases.len());
    for (case, said) in wrong.iter().take(8) {
        let want = format!("{}{}", text(case, "result"), text(case, "error"));
        let only = |one: &str, other: &str| {
            let lines = one
                .lines()
                .filter(|it| !other.lines().any(|line| line == *it));
            lines.collect::<Vec<_>>().join("\n")
        };
        println!(
            "=== {}\npatch:\n{}\nonly Talos:\n{}\nonly ours:\n{}",
            text(case, "name"),
            text(case, "patch"),
            only(&want, said),
            only(said, &want),
        );
    }
    assert!(
        wrong.is_empty(),
        "{} of {} cases differ",
        wrong.len(),
        cases.len()
    );
}

/// Facts that are committed are the ones that the oracle reads today.
#[test]
fn the_table_is_what_talos_own_types_say() {
    let committed = include_str!("../data/talos.json");
    let committed: Value = serde_json::from_str(committed).unwrap();
    assert!(
        oracle(&["schema"], b"") == committed,
        "stale: write it again with $(tests/oracle/build.sh) schema >machineconfig/data/talos.json"
    );
}
