//! `golden/patches`: base, patch, and what Talos's own patcher made of them (FAULTS 27).

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "the lints take helpers of tests for the product"
)]

use ichor_machineconfig::{Config, Error, Patch};
use std::path::{Path, PathBuf};

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|fault| panic!("{}: {fault}", path.display()))
}

fn apply(base: &str, patch: &str) -> Result<Config, Error> {
    Patch::parse(patch)?.apply(&Config::parse(base)?)
}

/// Every case: the same documents in meaning, or a refusal.
#[test]
fn patches_give_what_talos_gives() {
    let mut cases = 0;
    for entry in std::fs::read_dir(golden().join("patches")).unwrap() {
        let folder = entry.unwrap().path();
        let base = read(&golden().join(read(&folder.join("base")).trim()));
        let got = apply(&base, &read(&folder.join("patch.yaml")));
        let want = folder.join("want.yaml");
        if want.exists() {
            let got = got.unwrap_or_else(|fault| panic!("{}: {fault}", folder.display()));
            let want = Config::parse(&read(&want)).unwrap();
            assert!(got.same_meaning(&want), "{}", folder.display());
            let again = Config::parse(&got.to_yaml()).unwrap();
            assert_eq!(again, got, "{}: written and read again", folder.display());
        } else {
            assert!(folder.join("error.txt").exists(), "{}", folder.display());
            assert!(got.is_err(), "{} was not refused", folder.display());
        }
        cases += 1;
    }
    assert_eq!(cases, 33);
}

/// The refusals, in our own words.
#[test]
fn refusals_say_what_and_where() {
    for (case, want) in [
        ("empty", "the patch is empty"),
        ("comment-only", "the patch is empty"),
        (
            "unknown-field",
            "machine.kubelett (line 2) is not a field that Talos knows",
        ),
        ("wrong-type", "machine.certSANs (line 2) must be a list"),
        (
            "unknown-kind",
            "Talos has no document of kind \"NoSuchConfig\"",
        ),
        ("bad-yaml", "line 1 is not YAML"),
        (
            "json6902-multidoc",
            "can only change a configuration of one document, and this one has",
        ),
        (
            "json6902-missing-path",
            "operation 1 of the JSON patch cannot be carried out at /machine/absent",
        ),
    ] {
        let folder = golden().join("patches").join(case);
        let base = read(&golden().join(read(&folder.join("base")).trim()));
        let fault = apply(&base, &read(&folder.join("patch.yaml"))).unwrap_err();
        assert!(fault.to_string().contains(want), "{case}: {fault}");
    }
}
