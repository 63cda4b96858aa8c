//! What a text may cost: size, depth, documents, and aliases that grow.

use ichor_machineconfig::{Config, Error, Patch, sample};
use std::fmt::Write;

/// What a patch of this text, and a configuration, are refused for.
fn refused(text: &str) -> Option<Error> {
    let patch = Patch::parse(text).err();
    assert_eq!(patch, Config::parse(text).err());
    patch
}

#[test]
fn aliases_of_aliases_are_refused() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let below = level - 1;
        let _ = writeln!(
            bomb,
            "a{level}: &a{level} [{}]",
            vec![format!("*a{below}"); 9].join(", ")
        );
    }
    assert!(matches!(refused(&bomb), Some(Error::TooManyNodes { .. })));
}

/// Few values, and each as long as the text.
#[test]
fn copies_of_a_long_text_are_refused() {
    let long = "y".repeat(400_000);
    let mut aliases = format!("machine:\n  sysctls:\n    a: &a {long}\n");
    for number in 0..5_000 {
        let _ = writeln!(aliases, "    k{number}: *a");
    }
    assert!(matches!(refused(&aliases), Some(Error::TooLarge { .. })));
    let copies = (0..5_000).map(|number| {
        format!("{{\"op\":\"copy\",\"from\":\"/machine/sysctls/a\",\"path\":\"/machine/sysctls/k{number}\"}}")
    });
    let copies = format!("[{}]", copies.collect::<Vec<_>>().join(","));
    let base = Config::parse(&format!("machine: {{sysctls: {{a: {long}}}}}")).unwrap();
    let done = Patch::parse(&copies).unwrap().apply(&base);
    assert!(matches!(done, Err(Error::Operation { .. })));
}

#[test]
fn an_alias_inside_its_own_anchor_is_refused() {
    assert!(matches!(
        refused("machine: &a {sysctls: *a}\n"),
        Some(Error::NotYaml { .. })
    ));
}

#[test]
fn depth_is_bounded_also_through_aliases() {
    let brackets = "[".repeat(10_000);
    assert!(matches!(
        refused(&brackets),
        Some(Error::NotYaml { .. } | Error::TooDeep { .. })
    ));
    let mut chain = "a0: &a0 {x: y}\n".to_owned();
    for level in 1..200 {
        let _ = writeln!(chain, "a{level}: &a{level} {{x: *a{}}}", level - 1);
    }
    assert!(matches!(refused(&chain), Some(Error::TooDeep { .. })));
}

#[test]
fn size_and_number_of_documents_are_bounded() {
    let long = format!("machine: {{token: {}}}", "x".repeat(5 << 20));
    assert!(matches!(refused(&long), Some(Error::TooLarge { .. })));
    let many = "apiVersion: v1alpha1\nkind: LinkConfig\n---\n".repeat(1_001);
    assert!(matches!(refused(&many), Some(Error::TooLarge { .. })));
}

/// DESIGN section 7: a configuration of 80,000 lines is read and patched.
#[test]
fn a_long_configuration_is_read_and_patched() {
    let mut text = "machine:\n  sysctls:\n".to_owned();
    for line in 0..80_000 {
        let _ = writeln!(text, "    net.x{line}: \"{line}\"");
    }
    let config = Config::parse(&text).unwrap();
    let patch = Patch::parse("machine: {sysctls: {net.x5: changed}}").unwrap();
    let patched = patch.apply(&config).unwrap();
    let sysctls = &patched.documents()[0].value()["machine"]["sysctls"];
    assert_eq!(sysctls["net.x5"], "changed");
    assert_eq!(sysctls["net.x79999"], "79999");
}

/// Copies of copies double what is there, and copies into themselves its depth.
#[test]
fn a_json_patch_cannot_grow_without_end() {
    let base = Config::parse("machine: {kubelet: {extraConfig: {a: {b: {}}}}}").unwrap();
    let from = "/machine/kubelet/extraConfig";
    let double = (0..60)
        .map(|it| format!("{{\"op\":\"copy\",\"from\":\"{from}\",\"path\":\"{from}/x{it}\"}}"));
    let bomb = format!("[{}]", double.collect::<Vec<_>>().join(","));
    let deep = (1..9).map(|it| {
        let path = "/a".repeat(1 << it);
        format!("{{\"op\":\"copy\",\"from\":\"{from}\",\"path\":\"{from}{path}\"}}")
    });
    let tower = format!("[{}]", deep.collect::<Vec<_>>().join(","));
    for text in [bomb, tower] {
        let refused = Patch::parse(&text).unwrap().apply(&base);
        assert!(matches!(refused, Err(Error::Operation { .. })), "{text}");
    }
}

/// Half a megabyte, which is the longest patch that is stored, of what costs most: every item against every other.
#[test]
fn the_longest_patches_take_no_long_time() {
    let base = sample("v1.11", true).unwrap();
    let many = |start: &str, item: &dyn Fn(usize) -> String, end: &str| {
        let mut text = start.to_owned();
        for at in 0.. {
            let item = item(at);
            if text.len() + item.len() + end.len() > 512 << 10 {
                break;
            }
            text += &item;
        }
        text + end
    };
    for text in [
        many(
            "machine: {network: {interfaces: [",
            &|at| format!("{{interface: a{at}}},"),
            "]}}",
        ),
        many(
            "machine: {sysctls: {",
            &|at| format!("k{at}: {{$patch: delete}},"),
            "}}",
        ),
        many("machine: {certSANs: [", &|_| "a,".to_owned(), "]}"),
        many("machine: {sysctls: {", &|at| format!("k{at}: v,"), "}}"),
        many("", &|at| format!("k{at}: {{$patch: delete}}\n"), ""),
        many(
            "[",
            &|_| "{\"op\":\"add\",\"path\":\"/machine/certSANs/0\",\"value\":\"a\"},".to_owned(),
            "{\"op\":\"test\",\"path\":\"\",\"value\":0}]",
        ),
        many(
            "x: &x {",
            &|at| format!("k{at}: v,"),
            "}\ny: {<<: [*x, *x, *x, *x, *x], z: 1}\n",
        ),
    ] {
        // Whether it can be applied does not matter here; that it ends soon does.
        let _ = Patch::parse(&text).and_then(|patch| patch.apply(&base));
    }
}

#[test]
fn samples_are_there_for_every_contract_and_no_other() {
    for minor in 9..=14 {
        for control_plane in [true, false] {
            let config = sample(&format!("v1.{minor}"), control_plane).unwrap();
            assert!(sample(&format!("v1.{minor}.3"), control_plane).is_some());
            assert!(!config.to_yaml().contains("PRIVATE"), "v1.{minor}");
        }
    }
    for other in [
        "v1.8",
        "v1.15",
        "v2.9",
        "",
        "v1",
        "1.x",
        "v1.99999999999999999999",
    ] {
        assert!(sample(other, true).is_none(), "{other}");
    }
}

/// What Talos's own parser does not read is not read here, and text is written as it was read.
#[test]
fn control_characters_are_refused_and_escaped_ones_are_kept() {
    for letter in ['\0', '\u{7}', '\u{1b}', '\u{7f}', '\u{80}', '\u{fffe}'] {
        let text = format!("machine:\n  type: worker # {letter}\n");
        assert_eq!(
            refused(&text),
            Some(Error::ControlCharacter { line: 2 }),
            "{letter:?}"
        );
    }
    let bell = "machine:\n  sysctls:\n    a: \"\\a \\0 \\e \\u0085 \\ufeff\"\n";
    let config = Config::parse(bell).expect("a configuration");
    let read = Config::parse(&config.to_yaml()).expect("what was written");
    assert!(config.same_meaning(&read), "{}", config.to_yaml());
}

/// A document without a name is written and read as one without a name, and not as one that is called "null".
#[test]
fn a_name_that_is_null_is_no_name() {
    let patch =
        Patch::parse("apiVersion: v1alpha1\nkind: UserVolumeConfig\nname:\n").expect("a patch");
    let base = sample("v1.14", false).expect("a sample");
    let patched = patch.apply(&base).expect("it applies");
    let read = Config::parse(&patched.to_yaml()).expect("what was written");
    assert!(patched.same_meaning(&read), "{}", patched.to_yaml());
    assert!(
        !patched
            .documents()
            .iter()
            .any(|document| document.name() == Some("null"))
    );
}
