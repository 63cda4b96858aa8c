//! The ports against a real API server: pages, what is not there, what a selector selects.

use crate::world::{World, orphan, reclaim, try_create};
use ichor_ground::controller::NAMESPACE;
use ichor_webhook::{BundleLookup, References, Selector};
use serde_json::json;

fn names(list: &[Box<serde_json::value::RawValue>]) -> Vec<String> {
    let name = |text: &Box<serde_json::value::RawValue>| {
        let object: serde_json::Value = serde_json::from_str(text.get()).expect("JSON");
        object["metadata"]["name"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    list.iter().map(name).collect()
}

/// FAULTS 32 (kube#1524): not only the first page.
#[tokio::test]
async fn faults_32_every_page_is_read_and_a_field_selects() {
    const COUNT: usize = 520;
    let world = World::shared().await;
    let objects: Vec<_> = (0..COUNT)
        .map(|number| {
            reclaim(
                &format!("page-{number}"),
                &orphan(&format!("10.40.{}.{}", number / 250, number % 250 + 1)),
            )
        })
        .collect();
    let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
    let said = try_create(&world.admin, &list, &[]).await;
    assert!(said.ok, "{}", said.err);
    let live = world.live().await;
    let all = live
        .list(NAMESPACE, "machinereclaims", &Selector::All, None)
        .await
        .expect("a list");
    let pages = names(&all)
        .iter()
        .filter(|name| name.starts_with("page-"))
        .count();
    assert_eq!(pages, COUNT);
    let some = live
        .list(NAMESPACE, "machinereclaims", &Selector::All, Some(10))
        .await
        .expect("a list");
    assert_eq!(some.len(), 10);
    let at = Selector::Field("spec.address", "10.40.1.7".to_owned());
    let found = live
        .list(NAMESPACE, "machinereclaims", &at, None)
        .await
        .expect("a list");
    assert_eq!(names(&found), ["page-256"]);
    // A value cannot add to its selector.
    let forged = Selector::Field("spec.address", "x,metadata.name!=y".to_owned());
    let found = live
        .list(NAMESPACE, "machinereclaims", &forged, None)
        .await
        .expect("a list");
    assert!(found.is_empty());
    let machines = Selector::Field("status.observedEndpoint", "10.5.0.7".to_owned());
    let found = live
        .list(NAMESPACE, "talosmachines", &machines, None)
        .await
        .expect("a list");
    assert!(found.is_empty());
    let delete = ["delete", "machinereclaims", "-n", NAMESPACE, "--wait=false"];
    let pages: Vec<String> = (0..COUNT).map(|number| format!("page-{number}")).collect();
    let args: Vec<&str> = delete
        .into_iter()
        .chain(pages.iter().map(String::as_str))
        .collect();
    world.admin.run(&args).await.expect("they go");
}

#[tokio::test]
async fn what_is_not_there_is_no_failure() {
    let world = World::shared().await;
    let live = world.live().await;
    assert_eq!(live.secret_type(NAMESPACE, "nothing").await, Ok(None));
    assert_eq!(
        live.bundle(NAMESPACE, "nothing").await,
        Ok(BundleLookup::NoSecret)
    );
    let sound = live.bundle(NAMESPACE, "prod-bundle").await;
    assert!(matches!(sound, Ok(BundleLookup::Sound { .. })), "{sound:?}");
    assert_eq!(live.is_terminating(NAMESPACE).await, Ok(false));
}
