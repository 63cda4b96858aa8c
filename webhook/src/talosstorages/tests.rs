//! Each rule with an accepted and a refused example.

use crate::asked::{create, object, update, with};
use crate::stub::Stub;
use serde_json::{Value, json};

fn storage(volume: &[(&str, Value)]) -> Value {
    let plain = json!({"name": "data", "diskSelector": {"match": "disk.size > 100u * GB && !system_disk"}, "minSize": "100GiB"});
    let spec = json!({"clusterRef": {"name": "prod"}, "volumes": [with(plain, volume)]});
    object("TalosStorage", "data", spec)
}

fn by_alice() -> (&'static str, Value) {
    let by = json!({"ichor.maesh.dev/requested-by": "alice", "ichor.maesh.dev/requested-by-uid": "uid-of-alice"});
    ("/metadata/annotations", by)
}

#[tokio::test]
async fn fields_are_what_they_should_be() {
    let select = |text: &str| ("/diskSelector/match", json!(text));
    for (volume, want) in [
        (vec![], ""),
        (vec![("/maxSize", json!("500GB"))], ""),
        (vec![("/maxSize", json!("80%"))], ""),
        (
            vec![("/maxSize", json!("90GiB"))],
            "spec.volumes[0].minSize: Invalid value: \"100GiB\": is more than maxSize 90GiB",
        ),
        (vec![select("disk.model == \"a)\" && !system_disk")], ""),
        (
            vec![select("(disk.cdrom && !system_disk")],
            "spec.volumes[0].diskSelector.match: Invalid value: \"(disk.cdrom && !system_disk\": at character 1: nothing closes this",
        ),
        (
            vec![select("disk.size")],
            "spec.volumes[0].diskSelector.match: Invalid value: \"disk.size\": gives a uint, and has to be true or false",
        ),
    ] {
        create(Stub::default(), &storage(&volume)).await.is(want);
    }
    let lost = with(storage(&[]), &[("/spec/clusterRef/name", json!("prd"))]);
    create(Stub::default(), &lost)
        .await
        .is("spec.clusterRef.name: Not found: \"prd\"");
    // One that was stored before there was this rule does not stand in the way of another change.
    let old = with(storage(&[select("disk.size")]), &[by_alice()]);
    let new = with(old.clone(), &[("/spec/volumes/0/minSize", json!("2GiB"))]);
    update(Stub::default(), &old, &new).await.is("");
}

#[tokio::test]
async fn what_is_probably_not_meant_draws_a_warning() {
    create(Stub::default(), &storage(&[])).await.warns("");
    create(
        Stub::default(),
        &storage(&[("/diskSelector/match", json!("disk.size > 1u"))]),
    )
    .await
    .warns("may be put on the system disk");
    let by = by_alice();
    let old = with(storage(&[]), &[by]);
    let new = with(old.clone(), &[("/spec/volumes/0/name", json!("other"))]);
    let old = with(old, &[("/spec/volumes/0/minSize", json!("1GiB"))]);
    update(Stub::default(), &old, &new)
        .await
        .warns("\"data\" is taken out of the list and not wiped");
}

#[tokio::test]
async fn a_machine_has_one_volume_of_a_name() {
    let with_other = |spec: Value| {
        let volumes =
            json!([{"name": "data", "diskSelector": {"match": "!system_disk"}, "minSize": "1GiB"}]);
        let mut other = object(
            "TalosStorage",
            "other",
            with(spec, &[("/volumes", volumes)]),
        );
        other["metadata"]["uid"] = json!("1");
        let mut stub = Stub::default();
        stub.objects
            .insert("talosstorages", vec![other, storage(&[])]);
        stub
    };
    let for_target = |target: Value| json!({"clusterRef": {"name": "prod"}, "target": target});
    let taken = "spec.volumes[0].name: Duplicate value: \"data\": TalosStorage \"other\" has a volume of this name";
    let all = || with_other(for_target(json!({})));
    create(all(), &storage(&[])).await.is(taken);
    create(all(), &storage(&[("/name", json!("scratch"))]))
        .await
        .warns("");
    let elsewhere = with_other(json!({"clusterRef": {"name": "test"}}));
    create(elsewhere, &storage(&[])).await.warns("");
    let labelled = json!({"selector": {"matchLabels": {"rack": "a"}}});
    let perhaps = with_other(for_target(labelled));
    let workers = with(storage(&[]), &[("/spec/target", json!({"role": "worker"}))]);
    create(perhaps, &workers)
        .await
        .warns("no machine may be selected by both");
    // What is so already may be mended in steps.
    let old = with(storage(&[]), &[by_alice()]);
    let new = with(old.clone(), &[("/spec/volumes/0/minSize", json!("2GiB"))]);
    update(all(), &old, &new).await.is("");
    let free = with(old.clone(), &[("/spec/volumes/0/name", json!("scratch"))]);
    update(all(), &free, &new).await.is(taken);
}
