//! Whole requests for the tables of the resources: through the router, as an API server sends them. What is
//! created or changed goes to the mutating webhook first.

use crate::stub::Stub;
use crate::{Metrics, Settings, WebhookState, router};
use axum::body::Body;
use base64::Engine as _;
use http::Request;
use http_body_util::BodyExt;
use prometheus_client::registry::Registry;
use serde_json::{Value, json};
use std::sync::Arc;
use tower::ServiceExt;

/// What came of a request.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) allowed: bool,
    pub(crate) message: String,
    pub(crate) warnings: Vec<String>,
    /// The object as the mutating webhook left it.
    pub(crate) object: Value,
    pub(crate) audit: Value,
    /// The access reviews that were asked for.
    pub(crate) asked: Vec<String>,
}

impl Said {
    /// Asserts a refusal that says `want`, or that it was allowed where that is empty.
    #[track_caller]
    pub(crate) fn is(&self, want: &str) {
        if want.is_empty() {
            assert!(self.allowed, "refused: {}", self.message);
        } else {
            let refused = !self.allowed && self.message.contains(want);
            assert!(refused, "{}\ninstead of {want}", self.message);
        }
    }

    /// Asserts that it was allowed with a warning that says `want`, or without any where that is empty.
    #[track_caller]
    pub(crate) fn warns(&self, want: &str) {
        assert!(self.allowed, "refused: {}", self.message);
        let said = if want.is_empty() {
            self.warnings.is_empty()
        } else {
            self.warnings.iter().any(|warning| warning.contains(want))
        };
        assert!(said, "{:?}\ninstead of {want}", self.warnings);
        assert!(
            self.warnings.iter().all(|warning| warning.len() <= 256),
            "{:?}",
            self.warnings
        );
    }
}

/// An object of `kind`.
#[allow(
    clippy::needless_pass_by_value,
    reason = "the spec is written where it is given"
)]
pub(crate) fn object(kind: &str, name: &str, spec: Value) -> Value {
    json!({
        "apiVersion": "ichor.maesh.dev/v1alpha1", "kind": kind,
        "metadata": {"name": name, "namespace": "ichor-system"}, "spec": spec,
    })
}

/// `value` with changes: JSON pointers and what is put there; null takes away.
pub(crate) fn with(mut value: Value, changes: &[(&str, Value)]) -> Value {
    for (pointer, new) in changes {
        let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
        let key = key.replace("~1", "/");
        let parent = value.pointer_mut(parent).expect(pointer);
        match (parent, new) {
            (Value::Object(fields), Value::Null) => drop(fields.remove(&key)),
            (parent, new) => parent[&key] = new.clone(),
        }
    }
    value
}

pub(crate) async fn create(stub: Stub, object: &Value) -> Said {
    send(stub, "CREATE", object, &Value::Null, "alice").await
}

pub(crate) async fn update(stub: Stub, old: &Value, new: &Value) -> Said {
    send(stub, "UPDATE", new, old, "alice").await
}

pub(crate) async fn delete(stub: Stub, old: &Value) -> Said {
    send(stub, "DELETE", &Value::Null, old, "alice").await
}

/// Sends a request of `user`, whose uid is `uid-of-USER`.
pub(crate) async fn send(
    mut stub: Stub,
    operation: &str,
    object: &Value,
    old: &Value,
    user: &str,
) -> Said {
    stub.log = Some(std::sync::Mutex::default());
    let stub = Arc::new(stub);
    let metrics = Metrics::register(&mut Registry::default());
    let settings = Settings::new("ichor-system");
    let router = router(WebhookState::new(
        settings,
        stub.clone(),
        stub.clone(),
        metrics,
    ));
    let about = if object.is_null() { old } else { object };
    let kind = about["kind"].as_str().expect("a kind");
    let plural = match kind {
        "TalosConfigPatch" => "talosconfigpatches".to_owned(),
        kind => format!("{}s", kind.to_lowercase()),
    };
    // The API server names no object where a collection is deleted, and then only oldObject says which it is.
    let name = match operation {
        "DELETE" => json!(""),
        _ => about["metadata"]["name"].clone(),
    };
    let ask = async |webhook: &str, object: &Value| -> Value {
        let review = json!({
            "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
            "request": {
                "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
                "resource": {"group": "ichor.maesh.dev", "version": "v1alpha1", "resource": plural},
                "name": name, "namespace": about["metadata"]["namespace"],
                "operation": operation, "object": object, "oldObject": old,
                "userInfo": {"username": user, "uid": format!("uid-of-{user}")},
            },
        });
        let request = Request::post(format!("/{webhook}/{plural}"))
            .header("content-type", "application/json")
            .body(Body::from(review.to_string()))
            .expect("a request");
        let answer = router.clone().oneshot(request).await.expect("an answer");
        let body = answer
            .into_body()
            .collect()
            .await
            .expect("a body")
            .to_bytes();
        let mut answer: Value = serde_json::from_slice(&body).expect("JSON");
        answer["response"].take()
    };
    let mut object = object.clone();
    if operation != "DELETE" {
        let patched = ask("mutate", &object).await;
        if let Some(patch) = patched["patch"].as_str() {
            let patch = base64::engine::general_purpose::STANDARD
                .decode(patch)
                .expect("base64");
            let patch: json_patch::Patch = serde_json::from_slice(&patch).expect("a patch");
            json_patch::patch(&mut object, &patch.0).expect("it applies");
            let again = ask("mutate", &object).await;
            assert!(
                again.get("patch").is_none(),
                "running it again changes something"
            );
        }
    }
    let answer = ask("validate", &object).await;
    let warnings = answer["warnings"].as_array().cloned().unwrap_or_default();
    let texts = warnings
        .iter()
        .filter_map(|text| text.as_str().map(str::to_owned));
    Said {
        allowed: answer["allowed"] == true,
        message: answer["status"]["message"]
            .as_str()
            .unwrap_or_default()
            .to_owned(),
        warnings: texts.collect(),
        object,
        audit: answer["auditAnnotations"].clone(),
        asked: stub.asked().into_iter().map(|asked| asked.what).collect(),
    }
}
