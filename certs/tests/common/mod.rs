//! What the tests of this crate share.
#![allow(dead_code, reason = "each test binary uses its part")]

use base64::Engine;
use jiff::Timestamp;

/// Within the life of every CA in `golden/`.
pub fn now() -> Timestamp {
    "2027-03-01T12:00:00Z".parse().expect("a time")
}

pub fn golden(name: &str) -> String {
    let path = format!("{}/tests/golden/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|fault| panic!("{path}: {fault}"))
}

pub fn encode(bytes: &[u8]) -> String {
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

pub fn base64(text: &str) -> String {
    encode(text.as_bytes())
}

/// The bytes inside one PEM block.
pub fn base64_of_pem(text: &str) -> Vec<u8> {
    let body: String = text
        .lines()
        .filter(|line| !line.starts_with("-----"))
        .collect();
    base64::engine::general_purpose::STANDARD
        .decode(body)
        .expect("PEM")
}

/// A bundle of the current layout with these PEM texts as Talos API CA; empty ones are left out.
pub fn bundle_with(crt: &str, key: &str) -> String {
    let mut text = "cluster:\n  id: dGVzdA==\ncerts:\n  os:\n    note: x\n".to_owned();
    for (name, value) in [("crt", crt), ("key", key)] {
        if !value.is_empty() {
            let line = format!("    {name}: {}\n", base64(value));
            text.push_str(&line);
        }
    }
    text
}

/// Certificate and key of `certs.os` in a golden bundle, PEM.
pub fn golden_os(name: &str) -> (String, String) {
    let text = golden(name);
    let os = text.split("    os:\n").nth(1).expect("certs.os");
    let value = |field: &str| {
        let line = os
            .lines()
            .find_map(|line| line.trim().strip_prefix(field))
            .expect(field);
        let bytes = base64::engine::general_purpose::STANDARD
            .decode(line.trim())
            .expect("base64");
        String::from_utf8(bytes).expect("PEM")
    };
    (value("crt:"), value("key:"))
}
