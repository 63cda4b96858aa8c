//! The rules of a TalosEtcdBackup.

use super::case::{Case, rule};
use serde_json::{Value, json};

const CRON: &str = "must be the five fields of cron (minute, hour, day of month, month, day of week), such as \"0 3 * * *\" for every day at three";
const ONE_OF: &str = "exactly one of s3 and volume is needed";
const PATH: &str = "must be a relative path of letters, digits, dots, dashes and underscores, such as clusters/prod";
const PEM: &str = "must be certificates in PEM (-----BEGIN CERTIFICATE-----), and no private key";
const CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";

pub fn cases() -> Vec<Case> {
    let mut cases = schedules();
    cases.extend(destinations());
    cases.push(rule(
        "nightly",
        "is not the name of an object: lower-case letters, digits, \"-\" and \".\", at most 253",
        json!({"clusterRef": {"name": "prod/"}}),
        json!({}),
    ));
    cases.push(
        rule(
            "nightly",
            "clusterRef cannot change after creation; create another TalosEtcdBackup",
            json!({"clusterRef": {"name": "other"}}),
            json!({"suspend": true}),
        )
        .of_stored(json!({}), Value::Null),
    );
    cases
}

fn schedules() -> Vec<Case> {
    let schedule = |text: &str| json!({"schedule": text});
    let mut cases: Vec<Case> = [
        ("60 * * * *", "59 23 31 12 7"),
        ("* * * * 8", "*/5 * * * *"),
        ("0 3 * *", "0,30 1-5/2 * JAN-mar sun,2"),
        ("@daily", "0 0 1 * *"),
        ("TZ=UTC 0 3 * * *", "05 03 01 01 0"),
    ]
    .into_iter()
    .map(|(refused, accepted)| rule("nightly", CRON, schedule(refused), schedule(accepted)))
    .collect();
    cases.extend([
        rule(
            "nightly",
            "must be a time zone such as Europe/Berlin or Etc/UTC",
            json!({"timeZone": "Local"}),
            json!({"timeZone": "America/Argentina/Ushuaia"}),
        ),
        rule(
            "nightly",
            "retention needs count, maxAge or both; leave it out to keep every snapshot",
            json!({"retention": {"count": null, "maxAge": null}}),
            json!({"retention": {"count": null}}),
        ),
        rule(
            "nightly",
            "must be a duration from 1h to 87600h in hours, minutes and seconds, such as 720h",
            json!({"retention": {"maxAge": "30d"}}),
            json!({"retention": {"maxAge": "90m"}}),
        ),
    ]);
    cases
}

fn destinations() -> Vec<Case> {
    let s3 = |change: Value| json!({"destination": {"s3": change}});
    vec![
        rule(
            "nightly",
            ONE_OF,
            json!({"destination": {"volume": {"claimName": "snapshots"}}}),
            json!({"destination": {"s3": null, "volume": {"claimName": "snapshots"}}}),
        ),
        rule(
            "six-hourly",
            ONE_OF,
            json!({"destination": {"volume": null}}),
            json!({}),
        ),
        rule(
            "nightly",
            "must be the URL of the service without a path, such as https://s3.example.com",
            s3(json!({"endpoint": "https://s3.example.com/bucket"})),
            s3(json!({"endpoint": "https://[fd00:5::9]:9000/"})),
        ),
        rule(
            "nightly",
            "an endpoint without https needs encryption: a snapshot holds every Secret of the cluster",
            json!({"encryption": null, "destination": {"s3": {"endpoint": "http://minio.storage:9000"}}}),
            s3(json!({"endpoint": "http://minio.storage:9000", "pathStyle": true})),
        ),
        rule(
            "nightly",
            "must be the name of a bucket: 3 to 63 lower-case letters, digits, dots and dashes",
            s3(json!({"bucket": "Snapshots"})),
            s3(json!({"bucket": "etcd.snapshots-1"})),
        ),
        rule(
            "nightly",
            PATH,
            s3(json!({"prefix": "/prod"})),
            s3(json!({"prefix": "clusters/prod/"})),
        ),
        rule(
            "six-hourly",
            PATH,
            json!({"destination": {"volume": {"path": "prod/../other"}}}),
            json!({"destination": {"volume": {"path": "a..b/prod"}}}),
        ),
        rule(
            "nightly",
            PEM,
            s3(json!({"caBundle": format!("{CERTIFICATE}-----BEGIN PRIVATE KEY-----")})),
            s3(json!({"caBundle": CERTIFICATE})),
        ),
        rule(
            "nightly",
            "must be public keys of age, such as age1...; an identity (AGE-SECRET-KEY-...) stays with its owner",
            json!({"encryption": {"recipients": ["AGE-SECRET-KEY-1QQQ"]}}),
            json!({"encryption": {"recipients": ["age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"]}}),
        ),
    ]
}
