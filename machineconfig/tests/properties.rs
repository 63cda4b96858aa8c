//! What holds for every text: no panic, the same answer each time, and nothing that was not asked for.

#![allow(
    clippy::unwrap_used,
    reason = "the lints take helpers of tests for the product"
)]

use ichor_machineconfig::{Config, Patch, protected_changes, sample};
use proptest::prelude::*;

const CONTRACTS: [&str; 6] = ["v1.9", "v1.10", "v1.11", "v1.12", "v1.13", "v1.14"];

fn base(contract: usize, control_plane: bool) -> Config {
    sample(CONTRACTS[contract % 6], control_plane).unwrap()
}

/// Text near YAML and near configurations, so that more of it gets past the first check.
fn text() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        Just("machine:"),
        Just("cluster:"),
        Just("\n"),
        Just("  "),
        Just("- "),
        Just("$patch: delete"),
        Just("{"),
        Just("}"),
        Just("["),
        Just("]"),
        Just("kubelet:"),
        Just("&a "),
        Just("*a "),
        Just("<<: "),
        Just("null"),
        Just("apiVersion: v1alpha1\n"),
        Just("kind: "),
        Just("LinkConfig\n"),
        Just("name: a\n"),
        Just("---\n"),
        Just("network:"),
        Just("interfaces:"),
        Just("op: add\n"),
        Just("path: /machine\n"),
        Just("value: "),
        Just("5"),
        Just("\""),
        Just("'"),
        Just("|\n"),
        Just("!!str "),
        Just("# x"),
        Just(": "),
        Just(", "),
        Just("\t"),
        Just("é"),
    ];
    prop_oneof![
        ".{0,200}",
        proptest::collection::vec(any::<u8>(), 0..200)
            .prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
        proptest::collection::vec(word, 0..40).prop_map(|words| words.concat()),
    ]
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in text(), contract in 0..6_usize, control_plane: bool) {
        if let Ok(config) = Config::parse(&text) {
            let written = config.to_yaml();
            prop_assert_eq!(Config::parse(&written), Ok(config), "{}", written);
        }
        if let Ok(patch) = Patch::parse(&text) {
            let base = base(contract, control_plane);
            let (once, twice) = (patch.apply(&base), patch.apply(&base));
            prop_assert_eq!(&once, &twice);
            if let Ok(patched) = once {
                protected_changes(&base, &patched);
                prop_assert_eq!(Config::parse(&patched.to_yaml()), Ok(patched));
            }
        }
    }

    /// What is refused is refused without repeating a value.
    #[test]
    fn errors_repeat_no_value(secret in "[a-z]{20}", field in "token|secret|certSANs|ca|install|nonsense|type") {
        for text in [
            format!("machine: {{{field}: {secret}}}"),
            format!("machine: {{{field}: [{secret}]}}"),
            format!("machine: {{{field}: {{{field}: {secret}}}}}"),
            format!("machine: {{{field}: \"{secret}"),
            format!("- {{op: test, path: /machine/{field}, value: {secret}}}"),
            format!("- {{op: replace, path: /machine, value: {secret}}}"),
            secret.clone(),
        ] {
            let config = base(2, true);
            if let Err(fault) = Patch::parse(&text).and_then(|patch| patch.apply(&config)) {
                prop_assert!(!format!("{fault} {fault:?}").contains(&secret), "{}: {}", text, fault);
            }
        }
    }

    /// Deleting twice is deleting once, or the second time there is nothing to delete.
    #[test]
    fn what_is_absent_is_not_deleted(name in "[a-z]{1,8}", contract in 0..6_usize) {
        let base = base(contract, false);
        let patch = format!("apiVersion: v1alpha1\nkind: LinkConfig\nname: {name}\n$patch: delete\n");
        prop_assert_eq!(Patch::parse(&patch).unwrap().apply(&base), Ok(base));
    }
}

/// Maps without fields change nothing, in any sample.
#[test]
fn an_empty_map_changes_nothing() {
    for contract in CONTRACTS {
        for control_plane in [true, false] {
            let base = sample(contract, control_plane).unwrap();
            for patch in [
                "machine: {}",
                "machine: {features: {}}\ncluster: {}",
                "cluster: {}",
            ] {
                let patched = Patch::parse(patch).unwrap().apply(&base).unwrap();
                assert!(patched.same_meaning(&base), "{contract}: {patch}");
                assert!(protected_changes(&base, &patched).is_empty());
            }
        }
    }
}
