//! The ports against a real API server: pages, what is not there, what a selector selects.

use crate::world::{World, orphan, reclaim};
use futures::{StreamExt, TryStreamExt, stream};
use ichor_crds::MachineReclaim;
use ichor_ground::controller::NAMESPACE;
use ichor_webhook::{BundleLookup, References, Selector};
use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use serde_json::json;

fn names(list: &[Box<serde_json::value::RawValue>]) -> Vec<String> {
    let name = |text: &serde_json::value::RawValue| {
        let object: serde_json::Value = serde_json::from_str(text.get()).expect("JSON");
        object["metadata"]["name"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    list.iter().map(|text| name(text)).collect()
}

/// FAULTS 32 (kube#1524): not only the first page.
#[tokio::test]
async fn faults_32_every_page_is_read_and_a_field_selects() {
    const COUNT: usize = 520;
    let world = World::shared().await;
    let client = world.plane.client().await.expect("a client");
    let reclaims: Api<MachineReclaim> = Api::namespaced(client, NAMESPACE);
    let all = (0..COUNT).map(|number| {
        let address = format!("10.40.{}.{}", number / 250, number % 250 + 1);
        let mut object = reclaim(&format!("page-{number}"), &orphan(&address));
        object["metadata"]["labels"] = json!({"page": "yes"});
        let object = serde_json::from_value(object).expect("a reclaim");
        let reclaims = reclaims.clone();
        async move { reclaims.create(&PostParams::default(), &object).await }
    });
    let made: Result<Vec<_>, _> = stream::iter(all).buffer_unordered(16).try_collect().await;
    assert_eq!(made.expect("reclaims").len(), COUNT);
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
    let labelled = ListParams::default().labels("page=yes");
    let now = DeleteParams::default();
    let gone = reclaims.delete_collection(&now, &labelled);
    gone.await.expect("they go");
}

/// With the rights of the controller's account, which may get Nodes and list none.
#[tokio::test]
async fn a_node_says_its_system_uuid() {
    let world = World::shared().await;
    let admin: Api<Node> = Api::all(world.plane.client().await.expect("a client"));
    let uuid = "4c4c4544-0042-3510-8052-b4c04f463133";
    let info = json!({
        "systemUUID": uuid, "machineID": "", "bootID": "", "kernelVersion": "", "osImage": "", "architecture": "",
        "containerRuntimeVersion": "", "kubeletVersion": "", "kubeProxyVersion": "", "operatingSystem": "",
    });
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "worker-a"}});
    let node = serde_json::from_value(node).expect("a Node");
    let params = PostParams::default();
    admin.create(&params, &node).await.expect("it is made");
    let live = world.live().await;
    // Before its kubelet reported, it is there and says nothing.
    let silent = live.node_system_uuid("worker-a").await.expect("a look");
    assert!(silent.is_none_or(|uuid| uuid.is_empty()));
    let status = Patch::Merge(json!({"status": {"nodeInfo": info}}));
    let params = PatchParams::default();
    let patched = admin.patch_status("worker-a", &params, &status);
    patched.await.expect("its status is written");
    let said = live.node_system_uuid("worker-a").await;
    assert_eq!(said, Ok(Some(uuid.to_owned())));
    let now = DeleteParams::default();
    admin.delete("worker-a", &now).await.expect("it goes");
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
    assert_eq!(live.node_system_uuid("nothing").await, Ok(None));
    let sound = live.bundle(NAMESPACE, "prod-bundle").await;
    assert!(matches!(sound, Ok(BundleLookup::Sound { .. })), "{sound:?}");
    assert_eq!(live.is_terminating(NAMESPACE).await, Ok(false));
}
