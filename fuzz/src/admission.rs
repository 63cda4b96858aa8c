//! Admission: the decoder of reviews, and the judges behind it.

use crate::world;
use axum::Router;
use axum::body::Body;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{Request, StatusCode, header};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use std::sync::OnceLock;
use tokio::runtime::{Builder, Runtime};
use tower::ServiceExt;

/// The resources that are judged, with their kinds.
const RESOURCES: [(&str, &str); 8] = [
    ("machinereclaims", "MachineReclaim"),
    ("talosmachines", "TalosMachine"),
    ("talosoperations", "TalosOperation"),
    ("talosclusters", "TalosCluster"),
    ("talosconfigpatches", "TalosConfigPatch"),
    ("talosaccessrequests", "TalosAccessRequest"),
    ("talosetcdbackups", "TalosEtcdBackup"),
    ("talosstorages", "TalosStorage"),
];
const UID: &str = "705ab4f5-6393-11e8-b7cc-42010a800002";

/// The body of a request to every webhook: an answer of HTTP, or a review with the uid of the request.
pub fn review(data: &[u8]) {
    for (resource, _) in RESOURCES {
        for kind in ["validate", "mutate"] {
            let path = format!("/{kind}/{resource}");
            let (code, body) = post(&world::all()[0].router, &path, data.to_vec());
            assert_ne!(code, StatusCode::INTERNAL_SERVER_ERROR, "a rule panicked");
            if code == StatusCode::OK {
                // The webhook reads no further than it has to, and what it leaves out need not be UTF-8.
                let sent = String::from_utf8_lossy(data);
                let Ok(sent) = serde_json::from_str::<Value>(&sent) else {
                    continue;
                };
                let answer = response(&body);
                assert_eq!(
                    answer["uid"], sent["request"]["uid"],
                    "an answer to another request"
                );
            }
        }
    }
}

/// An object that somebody creates or changes, in a sound frame. The first byte chooses the resource, the
/// second the operation and what the API server knows and says; the rest is the object, and after a zero byte the object as
/// it is stored.
pub fn judge(data: &[u8]) {
    let [resource, operation, texts @ ..] = data else {
        return;
    };
    let (resource, kind) = RESOURCES[usize::from(*resource) % RESOURCES.len()];
    let mut texts = texts.splitn(2, |byte| *byte == 0);
    let mut object = || -> Value {
        let text = texts.next().unwrap_or_default();
        let mut object: Value = serde_json::from_slice(text).unwrap_or_default();
        // The API server never sends an object without metadata.
        if !object["metadata"].is_object() {
            object = json!({"metadata": {}, "spec": object});
        }
        object
    };
    let (object, old) = (object(), object());
    let worlds = world::all();
    let judges = &worlds[usize::from(*operation) / 3 % worlds.len()];
    let operation = ["CREATE", "UPDATE", "DELETE"][usize::from(*operation) % 3];
    let (object, old) = match operation {
        "CREATE" => (object, Value::Null),
        "UPDATE" => (object, old),
        _ => (Value::Null, object),
    };
    let frame = |object: &Value| frame(resource, kind, operation, object, &old);
    let answer = asked(&judges.router, "validate", resource, &frame(&object));
    // What is refused to somebody who may everything, nobody gets who may less or of whom less is known.
    if answer["allowed"] == true && !judges.is_frank() {
        let frank = &worlds[judges.frank];
        let answer = asked(&frank.router, "validate", resource, &frame(&object));
        assert_eq!(answer["allowed"], true, "less rights allow more: {answer}");
    }
    let answer = asked(&judges.router, "mutate", resource, &frame(&object));
    let Some(patch) = answer.get("patch").and_then(Value::as_str) else {
        return;
    };
    // Running a mutation again changes nothing (DESIGN section 4, step 2).
    let patch = STANDARD.decode(patch).expect("the patch is base64");
    let patch: json_patch::Patch = serde_json::from_slice(&patch).expect("the patch is RFC 6902");
    let mut mutated = object.clone();
    json_patch::patch(&mut mutated, &patch).expect("the patch fits the object");
    let again = asked(&judges.router, "mutate", resource, &frame(&mutated));
    assert!(
        again.get("patch").is_none(),
        "a second mutation changes something: {again}"
    );
}

fn asked(router: &Router, webhook: &str, resource: &str, frame: &Value) -> Value {
    let (code, body) = post(
        router,
        &format!("/{webhook}/{resource}"),
        frame.to_string().into_bytes(),
    );
    assert_eq!(
        code,
        StatusCode::OK,
        "a sound frame is answered: {}",
        String::from_utf8_lossy(&body)
    );
    let answer = response(&body);
    assert_eq!(answer["uid"], UID);
    answer
}

fn frame(resource: &str, kind: &str, operation: &str, object: &Value, old: &Value) -> Value {
    let kind = json!({"group": "ichor.maesh.dev", "version": "v1alpha1", "kind": kind});
    let resource = json!({"group": "ichor.maesh.dev", "version": "v1alpha1", "resource": resource});
    json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": UID, "kind": kind, "resource": resource, "operation": operation,
            "name": "any", "namespace": "ichor-system", "dryRun": false,
            "userInfo": {"username": "alice", "groups": ["system:authenticated"]},
            "object": object, "oldObject": old,
        },
    })
}

fn response(body: &[u8]) -> Value {
    let review: Value = serde_json::from_slice(body).expect("an answer is JSON");
    assert_eq!(review["apiVersion"], "admission.k8s.io/v1");
    review["response"].clone()
}

/// Sends a body to the router, without a socket.
fn post(router: &Router, path: &str, body: Vec<u8>) -> (StatusCode, Vec<u8>) {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    let runtime = RUNTIME.get_or_init(|| {
        let mut builder = Builder::new_current_thread();
        builder.enable_all().build().expect("a runtime")
    });
    let request = Request::post(path)
        .header(header::CONTENT_TYPE, "application/json")
        .body(Body::from(body))
        .expect("a request");
    runtime.block_on(async {
        let response = router.clone().oneshot(request).await.expect("an answer");
        let (parts, body) = response.into_parts();
        let body = body.collect().await.expect("a body").to_bytes();
        (parts.status, body.to_vec())
    })
}
