//! Each rule with an accepted and a refused example.

use crate::asked::{Said, create, object, send, with};
use crate::ports::Access;
use crate::stub::Stub;
use serde_json::{Value, json};

fn csr() -> String {
    let key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ED25519).expect("a key");
    let request = rcgen::CertificateParams::default().serialize_request(&key);
    request.expect("a request").pem().expect("PEM")
}

fn request(changes: &[(&str, Value)]) -> Value {
    let spec = json!({
        "clusterRef": {"name": "prod"}, "role": "os:reader", "reason": "look at a disk", "duration": "8h",
        "csr": csr(), "approval": "Pending",
    });
    with(object("TalosAccessRequest", "r", spec), changes)
}

/// As alice's request is stored.
fn stored(changes: &[(&str, Value)]) -> Value {
    let by = json!({"ichor.maesh.dev/requested-by": "alice", "ichor.maesh.dev/requested-by-uid": "uid-of-alice"});
    with(
        with(request(&[]), &[("/metadata/annotations", by)]),
        changes,
    )
}

async fn change(user: &str, old: &Value, changes: &[(&str, Value)]) -> Said {
    send(
        Stub::default(),
        "UPDATE",
        &with(old.clone(), changes),
        old,
        user,
    )
    .await
}

#[tokio::test]
async fn another_person_with_the_verb_decides_once() {
    let decide = |how: &str| vec![("/spec/approval", json!(how))];
    let old = stored(&[]);
    let said = change("bob", &old, &decide("Approved")).await;
    said.is("");
    assert_eq!(
        said.asked,
        ["approve ichor.maesh.dev talosaccessrequests ichor-system r"]
    );
    assert_eq!(
        said.object["metadata"]["annotations"]["ichor.maesh.dev/decided-by"],
        "bob"
    );
    change("bob", &old, &decide("Denied")).await.is("");
    let own = "spec.approval: Forbidden: \"alice\" asked for it, so somebody else decides";
    change("alice", &old, &decide("Approved")).await.is(own);
    // The same account under another name.
    let renamed = stored(&[(
        "/metadata/annotations/ichor.maesh.dev~1requested-by-uid",
        json!("uid-of-bob"),
    )]);
    change("bob", &renamed, &decide("Approved"))
        .await
        .is("asked for it, so somebody else decides");
    let nobodys = stored(&[("/metadata/annotations", json!({}))]);
    change("bob", &nobodys, &decide("Approved"))
        .await
        .is("nobody recorded who asked");
    let done = stored(&[("/spec/approval", json!("Denied"))]);
    change("bob", &done, &decide("Approved"))
        .await
        .is("spec.approval: Forbidden: a decision is final");
    let denied = Stub {
        verb: Ok(Access::Denied),
        ..Stub::default()
    };
    let new = with(old.clone(), &decide("Approved"));
    send(denied, "UPDATE", &new, &old, "bob").await.is("user \"bob\" may not decide about access to the Talos API in namespace ichor-system: needs verb \"approve\" on talosaccessrequests.ichor.maesh.dev");
}

#[tokio::test]
async fn all_but_the_decision_stays() {
    let old = stored(&[]);
    for (change_of, path) in [
        (("/spec/role", json!("os:admin")), "spec.role"),
        (("/spec/duration", json!("9h")), "spec.duration"),
        (("/spec/reason", json!("other")), "spec.reason"),
        (("/spec/csr", json!(csr())), "spec.csr"),
        (("/spec/clusterRef/name", json!("test")), "spec.clusterRef"),
    ] {
        let both = [change_of, ("/spec/approval", json!("Approved"))];
        change("bob", &old, &both)
            .await
            .is(&format!("{path}: Forbidden: only approval can change"));
    }
    // Who asked and who decided is admission's to say.
    let forged = with(
        old.clone(),
        &[(
            "/metadata/annotations/ichor.maesh.dev~1requested-by",
            json!("eve"),
        )],
    );
    let said = send(Stub::default(), "UPDATE", &forged, &old, "alice").await;
    said.is("");
    assert_eq!(said.object["metadata"], old["metadata"]);
    create(
        Stub::default(),
        &request(&[("/spec/approval", json!("Approved"))]),
    )
    .await
    .is("spec.approval: Forbidden: a request begins as Pending");
}

#[tokio::test]
async fn a_request_can_be_signed() {
    let key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ED25519)
        .expect("a key")
        .serialize_pem();
    let certificate = csr().replace("CERTIFICATE REQUEST", "CERTIFICATE");
    let mut forged = pem::parse(csr()).expect("PEM").contents().to_vec();
    *forged.last_mut().expect("a signature") ^= 1;
    let forged = pem::encode(&pem::Pem::new("CERTIFICATE REQUEST", forged));
    for (field, value, want) in [
        ("/spec/duration", json!("10m"), ""),
        ("/spec/duration", json!("168h"), ""),
        (
            "/spec/duration",
            json!("9m59s"),
            "spec.duration: Invalid value: \"9m59s\": must be a duration from 10m to 168h",
        ),
        (
            "/spec/duration",
            json!("7d"),
            "spec.duration: Invalid value",
        ),
        ("/spec/reason", json!(" "), "spec.reason: Required value"),
        (
            "/spec/csr",
            json!("x"),
            "spec.csr: Forbidden: has to be exactly one certificate signing request in PEM",
        ),
        (
            "/spec/csr",
            json!(csr() + &csr()),
            "spec.csr: Forbidden: has to be exactly one",
        ),
        (
            "/spec/csr",
            json!(certificate),
            "spec.csr: Forbidden: is no certificate signing request",
        ),
        (
            "/spec/csr",
            json!(forged),
            "spec.csr: Forbidden: is not signed with the key that it names",
        ),
        (
            "/spec/csr",
            json!(key.clone()),
            "spec.csr: Forbidden: holds a private key, which has to stay on your machine",
        ),
        (
            "/spec/clusterRef/name",
            json!("prd"),
            "spec.clusterRef.name: Not found: \"prd\"",
        ),
    ] {
        let said = create(Stub::default(), &request(&[(field, value)])).await;
        said.is(want);
        assert!(
            !said.message.contains(key.lines().nth(1).unwrap_or("-")),
            "repeats what was pasted"
        );
    }
    let long = request(&[
        ("/spec/role", json!("os:admin")),
        ("/spec/duration", json!("48h")),
    ]);
    create(Stub::default(), &long)
        .await
        .warns("os:admin can wipe nodes and read every Secret, and cannot be taken back for 48h");
    create(Stub::default(), &request(&[])).await.warns("");
}

/// Made with openssl, which has more kinds of keys than this program.
#[tokio::test]
async fn keys_are_of_a_kind_that_is_signed() {
    let kind = "spec.csr: Forbidden: has a key of a kind that Ichor does not sign: take Ed25519";
    for (csr, want) in [
        (include_str!("requests/rsa-2048.pem"), ""),
        (include_str!("requests/p384.pem"), ""),
        (include_str!("requests/rsa-1024.pem"), kind),
        (include_str!("requests/p521.pem"), kind),
        (include_str!("requests/ed448.pem"), kind),
        (
            include_str!("requests/p256-sha512.pem"),
            "spec.csr: Forbidden: is signed in a way that is not checked here: sign it with SHA-256",
        ),
    ] {
        let request = request(&[("/spec/csr", json!(csr))]);
        create(Stub::default(), &request).await.is(want);
    }
}
