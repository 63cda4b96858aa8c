//! The rules of patches, access requests, backups and storages.

use super::table::{as_is, by_editor, create};
use super::{Ask, Row, row, spec};
use serde_json::json;

/// Holds every right, and did not ask.
const BOB: &[&str] = &["--as=bob", "--as-group=system:masters"];

pub fn all() -> Vec<Row> {
    [patches(), requests(), backups(), storages()]
        .into_iter()
        .flatten()
        .collect()
}

fn patches() -> Vec<Row> {
    let kind = "TalosConfigPatch";
    let text = |text: &str| create(json!({"patch": text}));
    vec![
        row(
            kind,
            "the patch says something",
            as_is(),
            text("# nothing\n"),
            "spec.patch: Forbidden: the patch is empty",
        ),
        row(
            kind,
            "in fields that Talos knows",
            as_is(),
            text("machine:\n  sysctl: {}\n"),
            "is not a field that Talos knows; check its spelling and what it stands below",
        ),
        row(
            kind,
            "and changes nothing that makes a machine trust its cluster",
            as_is(),
            text("machine:\n  token: x\n"),
            "spec.patch: Forbidden: changes on a control plane what makes it trust its cluster, and no patch may: machine.token; take it out",
        ),
        row(
            kind,
            "the target selects by labels",
            create(json!({"target": {"selector": {"matchLabels": {"rack": "a"}}}})),
            create(json!({"target": {"selector": {"matchLabels": {"a b": "x"}}}})),
            "spec.target.selector.matchLabels: Invalid value: \"a b\": is not the key of a label",
        ),
        row(
            kind,
            "the cluster stays",
            Ask::Patch("stored", spec(json!({"priority": 5}))),
            Ask::Patch("stored", spec(json!({"clusterRef": {"name": "other"}}))),
            "spec.clusterRef: Forbidden: cannot change after creation; create another TalosConfigPatch",
        )
        .first("clusterRef cannot change after creation; create another TalosConfigPatch"),
    ]
}

fn requests() -> Vec<Row> {
    let kind = "TalosAccessRequest";
    let approve = || spec(json!({"approval": "Approved"}));
    let bobs = |what: Ask| Ask::As(BOB, Box::new(what));
    vec![
        row(
            kind,
            "approval needs verb approve",
            bobs(Ask::Patch("asked", approve())),
            by_editor(Ask::Patch("asked", approve())),
            "user \"editor\" may not decide about access to the Talos API in namespace ichor-system: needs verb \"approve\" on talosaccessrequests.ichor.maesh.dev (role ichor-approver has it)",
        ),
        row(
            kind,
            "and is never the requester's own",
            bobs(Ask::Patch("asked", approve())),
            Ask::Patch("asked", approve()),
            "asked for it, so somebody else decides: another person with role ichor-approver",
        ),
        row(
            kind,
            "a request begins as Pending",
            as_is(),
            create(json!({"approval": "Approved"})),
            "spec.approval: Forbidden: a request begins as Pending: another person decides",
        )
        .first("spec.approval: Invalid value: \"Approved\": a request begins as Pending: another person decides"),
        row(
            kind,
            "all else stays",
            bobs(Ask::Patch("asked", approve())),
            Ask::Patch("asked", spec(json!({"role": "os:admin"}))),
            "spec.role: Forbidden: only approval can change after creation; create another TalosAccessRequest",
        )
        .first("only approval can change after creation; create another TalosAccessRequest"),
        row(
            kind,
            "the duration is bounded",
            as_is(),
            create(json!({"duration": "200h"})),
            "spec.duration: Invalid value: \"200h\": must be a duration from 10m to 168h in hours, minutes and seconds, such as 8h",
        ),
        row(
            kind,
            "the signing request can be signed",
            as_is(),
            create(
                json!({"csr": "-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n"}),
            ),
            "spec.csr: Forbidden: is no certificate signing request that can be read; make one with: openssl req -new",
        ),
    ]
}

fn backups() -> Vec<Row> {
    let kind = "TalosEtcdBackup";
    let s3 = |secret: &str| json!({"volume": null, "s3": {"endpoint": "https://s3.example.com", "bucket": "backups", "credentialsSecretRef": {"name": secret}}});
    vec![
        row(
            kind,
            "the schedule is cron, and comes",
            as_is(),
            create(json!({"schedule": "0 3 30 2 *"})),
            "spec.schedule: Invalid value: \"0 3 30 2 *\": never comes: no month has such a day",
        ),
        row(
            kind,
            "in a time zone that there is",
            as_is(),
            create(json!({"timeZone": "Europe/Bonn"})),
            "spec.timeZone: Invalid value: \"Europe/Bonn\": is no time zone of the IANA database, such as Europe/Berlin or Etc/UTC",
        ),
        row(
            kind,
            "something is kept",
            as_is(),
            create(json!({"retention": {"count": null}})),
            "spec.retention: Required value: needs count, maxAge or both; leave it out to keep every snapshot",
        )
        .first("retention needs count, maxAge or both; leave it out to keep every snapshot"),
        row(
            kind,
            "recipients are public keys, typed right",
            as_is(),
            create(
                json!({"encryption": {"recipients": ["age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8q"]}}),
            ),
            "is no public key of age: age-keygen -y IDENTITY prints it, take all of it",
        ),
        row(
            kind,
            "the caller may get the credentials",
            create(json!({"destination": s3("junk")})),
            by_editor(create(json!({"destination": s3("junk")}))),
            "spec.destination.s3.credentialsSecretRef.name: Forbidden: user \"editor\" may not get Secret \"junk\" in namespace ichor-system",
        )
        .first("user \"editor\" may not get Secret \"junk\" in namespace ichor-system, so Ichor does not use it for them: needs verb \"get\" on secrets"),
        row(
            kind,
            "the URL holds no password, and a refusal repeats none",
            create(json!({"destination": s3("junk")})),
            create(json!({"destination": {"volume": null, "s3": {"endpoint": "https://user:password@s3.example.com", "bucket": "backups", "credentialsSecretRef": {"name": "junk"}}}})),
            "spec.destination.s3.endpoint: Forbidden: a URL with \"@\" may hold a user name and a password, which everybody would read: take them out",
        ),
        row(
            kind,
            "and they are there",
            create(json!({"destination": s3("junk")})),
            create(json!({"destination": s3("gone")})),
            "spec.destination.s3.credentialsSecretRef.name: Not found: \"gone\": no Secret of that name in namespace ichor-system",
        ),
    ]
}

fn storages() -> Vec<Row> {
    let kind = "TalosStorage";
    let volume = |selector: &str, most: &str| {
        create(
            json!({"volumes": [{"name": "data", "diskSelector": {"match": selector}, "minSize": "100GiB", "maxSize": most}]}),
        )
    };
    vec![
        row(
            kind,
            "the selector is whole",
            as_is(),
            volume("(disk.size > 1u", "1TiB"),
            "spec.volumes[0].diskSelector.match: Invalid value: \"(disk.size > 1u\": at character 1: nothing closes this \"(\"",
        ),
        row(
            kind,
            "it names what a disk has",
            volume(
                "disk.symlinks.exists(s, s.startsWith('/dev/disk/by-id/'))",
                "1TiB",
            ),
            volume("disk.sise > 1u", "1TiB"),
            "at character 6: a disk has no field \"sise\", only size, io_size, sector_size, readonly, model",
        ),
        row(
            kind,
            "and is true or false",
            as_is(),
            volume("disk.size", "1TiB"),
            "gives a uint, and has to be true or false for a disk: compare it, as in disk.size > 100u * GB",
        ),
        row(
            kind,
            "sizes do not cross",
            as_is(),
            volume("!system_disk", "90GiB"),
            "spec.volumes[0].minSize: Invalid value: \"100GiB\": is more than maxSize 90GiB",
        ),
        row(
            kind,
            "a machine has one volume of a name",
            as_is(),
            create(
                json!({"volumes": [{"name": "scratch", "diskSelector": {"match": "!system_disk"}, "minSize": "100GiB"}]}),
            ),
            "spec.volumes[0].name: Duplicate value: \"scratch\": TalosStorage \"stored\" has a volume of this name for the same machines",
        ),
        row(
            kind,
            "the cluster exists",
            as_is(),
            create(json!({"clusterRef": {"name": "prd"}})),
            "spec.clusterRef.name: Not found: \"prd\": no TalosCluster of that name",
        ),
    ]
}
