//! Each rule with an accepted and a refused example.

use crate::asked::{create, object, update, with};
use crate::ports::Access;
use crate::stub::Stub;
use serde_json::{Value, json};

/// Made with age-keygen; its identity was not kept.
const RECIPIENT: &str = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p";

fn backup(changes: &[(&str, Value)]) -> Value {
    let s3 = json!({"endpoint": "https://s3.example.com", "bucket": "backups", "credentialsSecretRef": {"name": "s3"}});
    let spec = json!({
        "clusterRef": {"name": "prod"}, "schedule": "0 3 * * *", "destination": {"s3": s3},
        "encryption": {"recipients": [RECIPIENT]},
    });
    with(object("TalosEtcdBackup", "nightly", spec), changes)
}

/// An API server with the Secret of the bucket.
fn stub() -> Stub {
    let secrets = [("s3".to_owned(), "Opaque".to_owned())];
    Stub {
        secrets: secrets.into(),
        ..Stub::default()
    }
}

fn stored(changes: &[(&str, Value)]) -> Value {
    let by = json!({"ichor.maesh.dev/requested-by": "alice", "ichor.maesh.dev/requested-by-uid": "uid-of-alice"});
    with(with(backup(&[]), &[("/metadata/annotations", by)]), changes)
}

/// DESIGN principle 6: a sentinel comes back nowhere.
#[tokio::test]
async fn a_password_in_the_endpoint_is_refused_and_not_repeated() {
    for endpoint in [
        "https://key:s3ntinel@s3.example.com",
        "https://key:s3nt/inel@s3.example.com",
        "http://s3ntinel@169.254.169.254",
    ] {
        let given = backup(&[("/spec/destination/s3/endpoint", json!(endpoint))]);
        let said = create(stub(), &given).await;
        said.is("spec.destination.s3.endpoint: Forbidden: a URL with \"@\" may hold a user name and a password");
        assert!(!said.message.contains("s3nt") && !said.audit.to_string().contains("s3nt"));
        assert!(
            said.audit["destination"]
                .as_str()
                .is_some_and(|it| it.ends_with("/backups"))
        );
    }
}

#[tokio::test]
async fn fields_are_what_they_should_be() {
    let recipients = |text: &str| json!({"recipients": [text]});
    for (field, value, want) in [
        ("/spec/schedule", json!("*/15 2-4 * * mon,fri"), ""),
        (
            "/spec/schedule",
            json!("0 3 * *"),
            "spec.schedule: Invalid value: \"0 3 * *\": must be the five fields of cron",
        ),
        (
            "/spec/schedule",
            json!("0 0 3 * * *"),
            "must be the five fields of cron",
        ),
        (
            "/spec/schedule",
            json!("61 3 * * *"),
            "spec.schedule: Invalid value: \"61 3 * * *\": cannot be read as cron",
        ),
        (
            "/spec/schedule",
            json!("0 3 30 2 *"),
            "spec.schedule: Invalid value: \"0 3 30 2 *\": never comes",
        ),
        ("/spec/timeZone", json!("Europe/Berlin"), ""),
        (
            "/spec/timeZone",
            json!("Europe/Bonn"),
            "spec.timeZone: Invalid value: \"Europe/Bonn\": is no time zone",
        ),
        ("/spec/retention", json!({"count": 3, "maxAge": "720h"}), ""),
        (
            "/spec/retention",
            json!({}),
            "spec.retention: Required value: needs count, maxAge or both",
        ),
        (
            "/spec/retention",
            json!({"count": 0}),
            "spec.retention.count: Invalid value: \"0\": keeps no snapshot at all",
        ),
        (
            "/spec/retention",
            json!({"maxAge": "5m"}),
            "spec.retention.maxAge: Invalid value: \"5m\"",
        ),
        (
            "/spec/destination",
            json!({}),
            "spec.destination: Required value: exactly one of s3 and volume",
        ),
        (
            "/spec/destination",
            json!({"volume": {"claimName": "backups"}}),
            "",
        ),
        (
            "/spec/destination/s3/endpoint",
            json!("https://[fe80::1]"),
            "spec.destination.s3.endpoint: Invalid value: \"fe80::1\": is a loopback or link-local address",
        ),
        (
            "/spec/destination/s3/endpoint",
            json!("http://s3.example.com"),
            "",
        ),
        (
            "/spec/encryption",
            recipients("age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8q"),
            "spec.encryption.recipients: Invalid value: \"age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8q\": is no public key of age",
        ),
        // A key of a plugin.
        (
            "/spec/encryption",
            recipients("age1yubikey1qwt50d05nh5vutpdzmlg5wn80xq5negm4uj9ghv0snvdd3yysf5yw3rhl3t"),
            "is no public key of age",
        ),
        (
            "/spec/encryption",
            recipients("AGE-SECRET-KEY-1QQQ"),
            "spec.encryption.recipients: Forbidden: holds an identity",
        ),
        (
            "/spec/clusterRef/name",
            json!("prd"),
            "spec.clusterRef.name: Not found: \"prd\"",
        ),
    ] {
        let said = create(stub(), &backup(&[(field, value)])).await;
        said.is(want);
        assert!(
            !said.message.contains("AGE-SECRET-KEY-1QQQ"),
            "repeats an identity"
        );
    }
}

#[tokio::test]
async fn nothing_leaves_in_the_clear_and_the_cluster_stays() {
    let clear = backup(&[
        (
            "/spec/destination/s3/endpoint",
            json!("http://s3.example.com"),
        ),
        ("/spec/encryption", Value::Null),
    ]);
    create(stub(), &clear)
        .await
        .is("without https needs encryption");
    let moved = stored(&[("/spec/clusterRef/name", json!("test"))]);
    update(stub(), &stored(&[]), &moved).await.is(
        "spec.clusterRef: Forbidden: cannot change after creation; create another TalosEtcdBackup",
    );
}

/// No confused deputy: credentials are the caller's to use, again when they go elsewhere.
#[tokio::test]
async fn the_credentials_are_the_callers() {
    let denied = || Stub {
        get_secret: Ok(Access::Denied),
        ..stub()
    };
    let refused = "spec.destination.s3.credentialsSecretRef.name: Forbidden: user \"alice\" may not get Secret \"s3\"";
    create(denied(), &backup(&[])).await.is(refused);
    let gone = Stub::default();
    create(gone, &backup(&[])).await.is("spec.destination.s3.credentialsSecretRef.name: Not found: \"s3\": no Secret of that name in namespace ichor-system");
    let elsewhere = stored(&[(
        "/spec/destination/s3/endpoint",
        json!("https://s3.example.org"),
    )]);
    update(denied(), &stored(&[]), &elsewhere).await.is(refused);
    update(
        denied(),
        &stored(&[]),
        &stored(&[("/spec/suspend", json!(true))]),
    )
    .await
    .is("");
}

#[tokio::test]
async fn what_is_probably_not_meant_draws_a_warning() {
    create(stub(), &backup(&[])).await.warns("");
    create(stub(), &backup(&[("/spec/encryption", Value::Null)]))
        .await
        .warns("spec.encryption is absent");
    for (schedule, want) in [
        ("*/5 * * * *", ""),
        ("0,30 3 * * *", ""),
        ("0 3 29 2 *", ""),
        ("*/2 * * * *", "takes snapshots 2m apart"),
        ("0,1 3 * * sun", "takes snapshots 1m apart"),
        ("58-59,0 0,23 * * *", "takes snapshots 1m apart"),
    ] {
        let often = backup(&[("/spec/schedule", json!(schedule))]);
        create(stub(), &often).await.warns(want);
    }
    let file =
        json!({"metadata": {"annotations": {"ichor.maesh.dev/backup-now": "true"}}}).to_string();
    let applied = stored(&[
        (
            "/metadata/annotations/ichor.maesh.dev~1backup-now",
            json!("true"),
        ),
        (
            "/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration",
            json!(file),
        ),
    ]);
    update(stub(), &stored(&[]), &applied)
        .await
        .warns("a snapshot is taken every time it is applied");
}
