//! Whole requests through the router, without a socket.

use super::UUID;
use crate::ports::{Access, LookupError};
use crate::stub::Stub;
use crate::{
    MUTATE_MACHINERECLAIMS as MUTATE, Metrics, Settings, VALIDATE_MACHINERECLAIMS as VALIDATE,
    WebhookState, router,
};
use axum::body::Body;
use base64::Engine as _;
use http::{Request, StatusCode};
use http_body_util::BodyExt;
use prometheus_client::registry::Registry;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tower::ServiceExt;

/// A review of a creation by alice.
pub(super) fn review() -> Value {
    json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
            "kind": {"group": "ichor.maesh.dev", "version": "v1alpha1", "kind": "MachineReclaim"},
            "resource": {"group": "ichor.maesh.dev", "version": "v1alpha1", "resource": "machinereclaims"},
            "requestKind": {"group": "ichor.maesh.dev", "version": "v1alpha1", "kind": "MachineReclaim"},
            "name": "reclaim-x7k2p",
            "namespace": "ichor-system",
            "operation": "CREATE",
            "userInfo": {"username": "alice", "uid": "42", "groups": ["operators"], "extra": {"scopes": ["a", "b"]}},
            "object": {
                "apiVersion": "ichor.maesh.dev/v1alpha1",
                "kind": "MachineReclaim",
                "metadata": {"name": "reclaim-x7k2p", "namespace": "ichor-system", "managedFields": [{"manager": "kubectl"}]},
                "spec": {"address": "10.5.0.7", "clusterRef": {"name": "prod"}, "clusterCredentials": true}
            },
            "oldObject": null,
            "dryRun": false,
            "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"}
        }
    })
}

/// A review of a change by alice: `old` and `new` are whole objects.
fn change(old: &Value, new: &Value) -> Value {
    let mut review = review();
    review["request"]["operation"] = json!("UPDATE");
    review["request"]["oldObject"] = old.clone();
    review["request"]["object"] = new.clone();
    review
}

pub(super) struct Ground {
    stub: Arc<Stub>,
    registry: Registry,
    pub(super) router: axum::Router,
}

pub(super) fn ground(mut stub: Stub, settings: Settings) -> Ground {
    stub.log = Some(std::sync::Mutex::default());
    let stub = Arc::new(stub);
    let mut registry = Registry::default();
    let metrics = Metrics::register(&mut registry);
    let state = WebhookState::new(settings, stub.clone(), stub.clone(), metrics);
    Ground {
        stub,
        registry,
        router: router(state),
    }
}

pub(super) fn allowing() -> Ground {
    ground(Stub::default(), Settings::new("ichor-system"))
}

impl Ground {
    pub(super) async fn send(
        &self,
        path: &str,
        content_type: &str,
        body: Body,
    ) -> (StatusCode, Vec<u8>) {
        let request = Request::post(path)
            .header("content-type", content_type)
            .body(body)
            .expect("a request");
        let answer = self
            .router
            .clone()
            .oneshot(request)
            .await
            .expect("an answer");
        let status = answer.status();
        let body = answer
            .into_body()
            .collect()
            .await
            .expect("a body")
            .to_bytes();
        (status, body.to_vec())
    }

    /// Posts a review and returns the response in it.
    pub(super) async fn ask(&self, path: &str, review: &Value) -> Value {
        let (status, body) = self
            .send(path, "application/json", review.to_string().into())
            .await;
        assert_eq!(status, StatusCode::OK, "{}", String::from_utf8_lossy(&body));
        let mut answer: Value = serde_json::from_slice(&body).expect("JSON");
        assert_eq!(answer["apiVersion"], "admission.k8s.io/v1");
        assert_eq!(answer["kind"], "AdmissionReview");
        assert_eq!(answer["response"]["uid"], review["request"]["uid"]);
        answer["response"].take()
    }

    pub(super) fn metrics(&self) -> String {
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &self.registry).expect("metrics");
        text
    }
}

#[tokio::test]
async fn a_creation_is_allowed_and_audited() {
    let ground = allowing();
    let answer = ground.ask(VALIDATE, &review()).await;
    assert_eq!(answer["allowed"], true, "{answer}");
    assert_eq!(answer["auditAnnotations"]["decision"], "allowed");
    assert_eq!(answer["auditAnnotations"]["cluster"], "prod");
    assert!(answer.get("status").is_none() && answer.get("patch").is_none());
    let metrics = ground.metrics();
    for line in [
        r#"ichor_admission_decisions_total{resource="machinereclaims",operation="CREATE",decision="allowed",reason="Allowed"} 1"#,
        r#"controller_runtime_webhook_requests_total{webhook="/validate/machinereclaims",code="200"} 1"#,
        r#"controller_runtime_webhook_requests_in_flight{webhook="/validate/machinereclaims"} 0"#,
        r#"controller_runtime_webhook_latency_seconds_count{webhook="/validate/machinereclaims"} 1"#,
    ] {
        assert!(metrics.contains(line), "{line} in\n{metrics}");
    }
}

/// FAULTS 7: user, uid, groups and extra, with namespace and name.
#[tokio::test]
async fn the_access_review_is_about_the_whole_caller() {
    let ground = allowing();
    let mut review = review();
    review["request"]["object"]["spec"] =
        json!({"address": "10.5.0.7", "credentialSecretRef": {"name": "pasted"}});
    ground.ask(VALIDATE, &review).await;
    let asked = ground.stub.asked();
    let mut what: Vec<&str> = asked.iter().map(|asked| asked.what.as_str()).collect();
    what.sort_unstable();
    assert_eq!(
        what,
        [
            "get  secrets ichor-system pasted",
            "reclaim ichor.maesh.dev machinereclaims ichor-system reclaim-x7k2p"
        ]
    );
    for asked in &asked {
        let user = serde_json::to_value(&asked.user).expect("user");
        assert_eq!(user, review["request"]["userInfo"]);
    }
}

/// FAULTS 6: with generateName the name is empty, and so it is in the review.
#[tokio::test]
async fn generate_name_leaves_the_name_empty() {
    let ground = allowing();
    for name in [Some(""), None] {
        let mut review = review();
        let request = review["request"].as_object_mut().expect("request");
        request.remove("name");
        if let Some(name) = name {
            request.insert("name".to_owned(), json!(name));
        }
        review["request"]["object"]["metadata"] = json!({"generateName": "reclaim-"});
        let answer = ground.ask(VALIDATE, &review).await;
        assert_eq!(answer["allowed"], true);
        assert_eq!(answer["auditAnnotations"]["address"], "10.5.0.7");
        let answer = ground.ask(MUTATE, &review).await;
        assert_eq!(answer["allowed"], true);
    }
    assert!(
        ground
            .stub
            .asked()
            .iter()
            .all(|asked| asked.what.ends_with("ichor-system "))
    );
}

#[tokio::test]
async fn dry_run_is_judged_alike() {
    let ground = allowing();
    let mut review = review();
    review["request"]["dryRun"] = json!(true);
    assert_eq!(ground.ask(VALIDATE, &review).await["allowed"], true);
    assert_eq!(ground.stub.asked().len(), 1);
}

#[tokio::test]
async fn a_refusal_is_a_status_that_kubectl_prints() {
    let stub = Stub {
        verb: Ok(Access::Denied),
        ..Stub::default()
    };
    let answer = ground(stub, Settings::new("ichor-system"))
        .ask(VALIDATE, &review())
        .await;
    assert_eq!(answer["allowed"], false);
    assert_eq!(answer["status"]["code"], 403);
    assert_eq!(answer["status"]["reason"], "Forbidden");
    assert_eq!(
        answer["status"]["message"],
        "user \"alice\" may not reclaim machines in namespace ichor-system: needs verb \"reclaim\" on machinereclaims.ichor.maesh.dev (role ichor-operator has it)"
    );
    assert_eq!(answer["auditAnnotations"]["decision"], "denied: Forbidden");
    let mut unknown = review();
    unknown["request"]["object"]["spec"]["clusterRef"]["name"] = json!("prd");
    let answer = allowing().ask(VALIDATE, &unknown).await;
    assert_eq!(answer["status"]["code"], 422);
    assert_eq!(answer["status"]["details"]["kind"], "MachineReclaim");
    let cause = &answer["status"]["details"]["causes"][0];
    assert_eq!(cause["field"], "spec.clusterRef.name");
    assert_eq!(
        cause["message"],
        "Not found: \"prd\": no TalosCluster of that name in namespace ichor-system; there is prod"
    );
}

#[tokio::test(start_paused = true)]
async fn slow_lookups_are_a_denial_inside_the_api_servers_time() {
    let stub = Stub {
        delay: Duration::from_mins(1),
        ..Stub::default()
    };
    let started = tokio::time::Instant::now();
    let answer = ground(stub, Settings::new("ichor-system"))
        .ask(VALIDATE, &review())
        .await;
    assert!(started.elapsed() < Duration::from_secs(4));
    assert_eq!(answer["status"]["code"], 504);
    let message = answer["status"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("did not answer in time"), "{message}");
}

#[tokio::test]
async fn failed_lookups_are_a_denial_that_says_so() {
    let stub = Stub {
        verb: Err(LookupError::Unreachable),
        ..Stub::default()
    };
    let answer = ground(stub, Settings::new("ichor-system"))
        .ask(VALIDATE, &review())
        .await;
    assert_eq!(answer["allowed"], false);
    assert_eq!(answer["status"]["reason"], "InternalError");
}

/// FAULTS 5: a finalizer comes off with the references gone and the cluster unreachable.
#[tokio::test]
async fn metadata_changes_of_a_terminating_object_resolve_nothing() {
    let stub = Stub {
        verb: Err(LookupError::Unreachable),
        objects: std::collections::BTreeMap::new(),
        ..Stub::default()
    };
    let ground = ground(stub, Settings::new("ichor-system"));
    let mut old = review()["request"]["object"].clone();
    old["metadata"]["deletionTimestamp"] = json!("2026-11-29T23:40:00Z");
    old["metadata"]["finalizers"] = json!(["ichor.maesh.dev/reclaim"]);
    let mut new = old.clone();
    new["metadata"]["finalizers"] = json!([]);
    let answer = ground.ask(VALIDATE, &change(&old, &new)).await;
    assert_eq!(answer["allowed"], true, "{answer}");
    assert!(ground.stub.asked().is_empty());
    // A change of spec is judged as if nothing terminated.
    new["spec"]["force"] = json!(true);
    let answer = ground.ask(VALIDATE, &change(&old, &new)).await;
    assert_eq!(answer["allowed"], false, "{answer}");
}

#[tokio::test]
async fn immutable_fields_are_compared_under_a_deletion_timestamp() {
    let mut old = review()["request"]["object"].clone();
    old["metadata"]["deletionTimestamp"] = json!("2026-11-29T23:40:00Z");
    let mut new = old.clone();
    new["spec"]["address"] = json!("10.5.0.8");
    let answer = allowing().ask(VALIDATE, &change(&old, &new)).await;
    assert_eq!(
        answer["status"]["details"]["causes"][0]["field"],
        "spec.address"
    );
}

#[tokio::test]
async fn an_unknown_field_of_spec_needs_the_verb_too() {
    let stub = Stub {
        verb: Ok(Access::Denied),
        ..Stub::default()
    };
    let old = review()["request"]["object"].clone();
    let mut new = old.clone();
    new["spec"]["ofANewerVersion"] = json!(true);
    let answer = ground(stub, Settings::new("ichor-system"))
        .ask(VALIDATE, &change(&old, &new))
        .await;
    assert_eq!(answer["status"]["code"], 403);
}

#[tokio::test]
async fn the_patch_is_rfc_6902_and_absent_when_empty() {
    let ground = allowing();
    let mut review = review();
    review["request"]["object"]["spec"]["address"] = json!("FC00:22::2");
    let answer = ground.ask(MUTATE, &review).await;
    assert_eq!(answer["patchType"], "JSONPatch");
    let patch = base64::engine::general_purpose::STANDARD
        .decode(answer["patch"].as_str().expect("a patch"))
        .expect("base64");
    let patch: json_patch::Patch = serde_json::from_slice(&patch).expect("a patch");
    json_patch::patch(&mut review["request"]["object"], &patch.0).expect("it applies");
    assert_eq!(review["request"]["object"]["spec"]["address"], "fc00:22::2");
    let answer = ground.ask(MUTATE, &review).await;
    assert!(answer.get("patch").is_none() && answer.get("patchType").is_none());
    assert_eq!(ground.ask(VALIDATE, &review).await["allowed"], true);
}

#[tokio::test]
async fn a_spec_that_cannot_be_read_is_not_changed() {
    let mut broken = review();
    broken["request"]["object"]["spec"]["force"] = json!("very");
    let answer = allowing().ask(MUTATE, &broken).await;
    assert_eq!(
        (&answer["allowed"], answer.get("patch")),
        (&json!(true), None)
    );
}

#[tokio::test]
async fn status_and_deletion_are_not_covered() {
    let ground = allowing();
    let mut status = review();
    status["request"]["subResource"] = json!("status");
    let mut deletion = review();
    deletion["request"]["operation"] = json!("DELETE");
    deletion["request"]["oldObject"] = deletion["request"]["object"].take();
    for review in [status, deletion] {
        for path in [MUTATE, VALIDATE] {
            let answer = ground.ask(path, &review).await;
            assert_eq!(answer["allowed"], true);
            assert!(answer.get("patch").is_none());
        }
    }
    assert!(ground.stub.asked().is_empty());
}

#[tokio::test]
async fn a_typed_uuid_is_admitted_and_stands() {
    let ground = allowing();
    let mut old = review()["request"]["object"].clone();
    old["status"] =
        json!({"phase": "AwaitingConfirmation", "inspection": {"identity": {"uuid": UUID}}});
    let mut new = old.clone();
    new["spec"]["confirmUUID"] = json!(UUID);
    let answer = ground.ask(VALIDATE, &change(&old, &new)).await;
    assert_eq!(answer["allowed"], true, "{answer}");
    assert_eq!(answer["auditAnnotations"]["confirmed-uuid"], UUID);
    let mut forced = new.clone();
    forced["spec"]["force"] = json!(true);
    let answer = ground.ask(VALIDATE, &change(&new, &forced)).await;
    assert_eq!(
        answer["status"]["details"]["causes"][0]["field"],
        "spec.force"
    );
    let mut wrong = old.clone();
    wrong["spec"]["confirmUUID"] = json!(super::OTHER_UUID);
    let answer = ground.ask(VALIDATE, &change(&old, &wrong)).await;
    assert_eq!(answer["allowed"], true);
    assert!(
        answer["warnings"][0]
            .as_str()
            .unwrap_or_default()
            .contains("nothing is wiped")
    );
}
