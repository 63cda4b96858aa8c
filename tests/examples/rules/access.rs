//! The rules of a TalosAccessRequest.

use super::case::{Case, rule};
use serde_json::{Value, json};

const FIXED: &str = "only approval can change after creation; create another TalosAccessRequest";
const FINAL: &str = "a decision is final; create another TalosAccessRequest";
const PEM: &str = "must be one certificate signing request in PEM (-----BEGIN CERTIFICATE REQUEST-----), and no private key";
const REQUEST: &str = "worker-7-disk";

pub fn cases() -> Vec<Case> {
    let approved = || json!({"approval": "Approved"});
    let mut cases = vec![
        rule(
            REQUEST,
            "is not the name of an object: lower-case letters, digits, \"-\" and \".\", at most 253",
            json!({"clusterRef": {"name": "prod."}}),
            json!({}),
        ),
        rule(
            REQUEST,
            "a request begins as Pending: another person decides",
            approved(),
            json!({"approval": "Pending"}),
        ),
        rule(
            REQUEST,
            "must say why the access is needed, for whoever decides",
            json!({"reason": " \n"}),
            json!({"reason": "incident 42"}),
        ),
        rule(
            REQUEST,
            "must be a duration from 10m to 168h in hours, minutes and seconds, such as 8h",
            json!({"duration": "8760h"}),
            json!({"duration": "168h"}),
        ),
        rule(REQUEST, PEM, json!({"csr": "ssh-ed25519 AAAA"}), json!({})),
        rule(
            REQUEST,
            PEM,
            json!({"csr": "-----BEGIN CERTIFICATE REQUEST-----\n-----BEGIN EC PRIVATE KEY-----"}),
            json!({}),
        ),
    ];
    for change in [
        json!({"clusterRef": {"name": "other"}}),
        json!({"role": "os:admin"}),
        json!({"reason": "another"}),
        json!({"duration": "9h"}),
        json!({"csr": "-----BEGIN CERTIFICATE REQUEST-----"}),
    ] {
        cases.push(rule(REQUEST, FIXED, change, approved()).of_stored(json!({}), Value::Null));
    }
    for (decided, other) in [
        ("Approved", "Denied"),
        ("Denied", "Approved"),
        ("Approved", "Pending"),
    ] {
        cases.push(
            rule(REQUEST, FINAL, json!({"approval": other}), json!({}))
                .of_stored(json!({"approval": decided}), Value::Null),
        );
    }
    cases
}
