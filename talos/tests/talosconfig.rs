//! Reading a pasted talosconfig: every defect by its name, and nothing secret shown.
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use base64::Engine;
use ichor_simulator::Bundle;
use ichor_simulator::pki::ClientOptions;
use ichor_talos::{Talosconfig, TalosconfigError};

/// As `talosctl` writes it: every value on one line.
fn good() -> String {
    let secrets = Bundle::generate().expect("secrets");
    let leaf = secrets
        .client(&ClientOptions::with_roles(&["os:admin"]))
        .expect("leaf");
    let ca = secrets.os_ca().expect("CA").certificate;
    let encode = |text: &str| base64::engine::general_purpose::STANDARD.encode(text);
    format!(
        "context: prod\ncontexts:\n    prod:\n        endpoints:\n            - 10.5.0.2\n        ca: {}\n        crt: {}\n        key: {}\n",
        encode(&ca),
        encode(&leaf.certificate),
        encode(&leaf.key)
    )
}

type Check = fn(&TalosconfigError) -> bool;

fn refused(text: &str, context: Option<&str>) -> TalosconfigError {
    Talosconfig::parse(text)
        .and_then(|config| config.context(context))
        .expect_err(text)
}

#[test]
fn contexts_are_chosen_by_name_or_by_selection() {
    let text = good();
    let config = Talosconfig::parse(&text).expect("parses");
    assert_eq!(config.contexts(), ["prod"]);
    config.context(None).expect("selected");
    config.context(Some("prod")).expect("named");
    let unselected = text.replace("context: prod", "context: ''");
    Talosconfig::parse(&unselected)
        .expect("parses")
        .context(None)
        .expect("the only one");
    assert!(matches!(
        refused(&text, Some("other")),
        TalosconfigError::UnknownContext { .. }
    ));
}

#[test]
fn defects_are_named_and_show_nothing() {
    let text = good();
    let line = |field: &str| {
        let start = format!("{field}: ");
        text.lines()
            .map(str::trim)
            .find(|line| line.starts_with(&start))
            .expect(field)
            .to_owned()
    };
    let (crt, key) = (line("crt"), line("key"));
    let cases: [(String, Check); 8] = [
        ("words".to_owned(), |e| {
            matches!(e, TalosconfigError::NotATalosconfig { .. })
        }),
        ("a: [".to_owned(), |e| {
            matches!(e, TalosconfigError::NotATalosconfig { .. })
        }),
        ("context: x\ncontexts: {}\n".to_owned(), |e| {
            matches!(e, TalosconfigError::NoContexts)
        }),
        ("contexts: {a: {}, b: {}}\n".to_owned(), |e| {
            matches!(e, TalosconfigError::NoneSelected { .. })
        }),
        (text.replace(&key, "key: ''"), |e| {
            matches!(e, TalosconfigError::Missing { field: "key", .. })
        }),
        (text.replace(&key, "key: '%%%'"), |e| {
            matches!(e, TalosconfigError::NotBase64 { field: "key", .. })
        }),
        (text.replace(&key, &crt.replace("crt:", "key:")), |e| {
            matches!(e, TalosconfigError::Unusable { .. })
        }),
        (text.replace(&crt, "crt: aGVsbG8="), |e| {
            matches!(e, TalosconfigError::Unusable { .. })
        }),
    ];
    let secret = key.trim_start_matches("key: ").trim_matches('"');
    for (broken, is_so) in &cases {
        let fault = refused(broken, None);
        assert!(is_so(&fault), "{fault:?}");
        assert!(
            !format!("{fault}{fault:?}").contains(&secret[80..120]),
            "shows the key"
        );
    }
    let config = Talosconfig::parse(&text).expect("parses");
    let shown = format!("{config:?}{:?}", config.context(None));
    assert!(!shown.contains(&secret[80..120]), "{shown}");
}
