//! Requests that are no review, too large or broken (FAULTS 9).

use super::requests::{allowing, ground, review};
use crate::stub::Stub;
use crate::{
    MAX_BODY_BYTES, MUTATE_MACHINERECLAIMS as MUTATE, Settings,
    VALIDATE_MACHINERECLAIMS as VALIDATE,
};
use axum::body::Body;
use http::{Request, StatusCode};
use proptest::prelude::*;
use serde_json::{Value, json};
use tower::ServiceExt;

/// FAULTS 9 (kube#1905): what has a uid is answered with it.
#[tokio::test]
async fn what_has_a_uid_is_answered_with_it() {
    type Break = fn(&mut Value);
    let breaks: [(Break, &str); 9] = [
        (
            |r| r["request"]["object"]["spec"] = json!({"address": 7}),
            "spec cannot be read",
        ),
        (
            |r| r["request"]["object"]["spec"] = json!("x"),
            "spec cannot be read",
        ),
        (|r| r["request"]["object"] = Value::Null, "no object"),
        (|r| r["request"]["object"] = json!([1]), "cannot be read"),
        (
            |r| r["request"]["operation"] = json!("UPDATE"),
            "no oldObject",
        ),
        (
            |r| r["request"]["operation"] = json!("CONNECT"),
            "cannot be connected to",
        ),
        (
            |r| r["request"]["operation"] = json!("EXPLODE"),
            "unknown variant",
        ),
        (|r| r["request"]["userInfo"] = json!(3), "cannot be read"),
        (
            |r| r["request"]["resource"]["resource"] = json!("pods"),
            "this path judges machinereclaims",
        ),
    ];
    for (break_it, want) in breaks {
        let mut review = review();
        break_it(&mut review);
        let answer = allowing().ask(VALIDATE, &review).await;
        assert_eq!(answer["allowed"], false);
        let message = answer["status"]["message"].as_str().unwrap_or_default();
        assert!(message.contains(want), "{message}");
        assert_eq!(answer["status"]["code"], 400);
    }
}

/// FAULTS 9 (controller-runtime#2598): what has none is an HTTP error.
#[tokio::test]
async fn what_is_no_review_is_an_http_error() {
    let edit = |edit: fn(&mut Value)| {
        let mut review = review();
        edit(&mut review);
        review.to_string()
    };
    for (body, want) in [
        (String::new(), "no JSON"),
        ("\u{0}\u{1}garbage".to_owned(), "no JSON"),
        ("[]".to_owned(), "no AdmissionReview but kind \"\""),
        ("{}".to_owned(), "no AdmissionReview but kind \"\""),
        (review().to_string() + "x", "no JSON"),
        ("[".repeat(100_000), "no JSON"),
        (
            edit(|r| r["kind"] = json!("Pod")),
            "no AdmissionReview but kind \"Pod\"",
        ),
        (
            edit(|r| r["apiVersion"] = json!("admission.k8s.io/v1beta1")),
            "version \"admission.k8s.io/v1beta1\"",
        ),
        (
            edit(|r| r["request"] = Value::Null),
            "no request with a uid",
        ),
        (
            edit(|r| r["request"]["uid"] = json!("")),
            "no request with a uid",
        ),
        (
            edit(|r| r["request"]["uid"] = Value::Null),
            "no request with a uid",
        ),
        (edit(|r| r["request"] = json!({})), "no request with a uid"),
    ] {
        for path in [MUTATE, VALIDATE] {
            let (status, answer) = allowing()
                .send(path, "application/json", body.clone().into())
                .await;
            assert_eq!(status, StatusCode::BAD_REQUEST);
            let answer = String::from_utf8_lossy(&answer);
            assert!(answer.contains(want), "{answer} instead of {want}");
        }
    }
}

#[tokio::test]
async fn a_body_over_the_limit_is_refused_unread() {
    // Endless, so that reading it whole would never end.
    let endless = futures::stream::repeat_with(|| {
        Ok::<_, std::io::Error>(bytes::Bytes::from_static(&[b' '; 8 << 10]))
    });
    let (status, _) = allowing()
        .send(VALIDATE, "application/json", Body::from_stream(endless))
        .await;
    assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE);
    // Up to the limit it is read, and judged.
    let mut review = review();
    let fill = MAX_BODY_BYTES - review.to_string().len() - "\"filler\":\"\",".len();
    review["request"]["filler"] = json!("x".repeat(fill));
    assert_eq!(review.to_string().len(), MAX_BODY_BYTES);
    assert_eq!(allowing().ask(VALIDATE, &review).await["allowed"], true);
}

#[tokio::test]
async fn only_posted_json_is_taken() {
    let ground = allowing();
    for (content_type, want) in [
        ("application/json", StatusCode::OK),
        ("application/json; charset=utf-8", StatusCode::OK),
        ("text/plain", StatusCode::UNSUPPORTED_MEDIA_TYPE),
        ("", StatusCode::UNSUPPORTED_MEDIA_TYPE),
    ] {
        let (status, _) = ground
            .send(VALIDATE, content_type, review().to_string().into())
            .await;
        assert_eq!(status, want, "{content_type}");
    }
    let get = Request::get(VALIDATE)
        .body(Body::empty())
        .expect("a request");
    let answer = ground.router.clone().oneshot(get).await.expect("an answer");
    assert_eq!(answer.status(), StatusCode::METHOD_NOT_ALLOWED);
    let (status, _) = ground
        .send("/validate/pods", "application/json", Body::empty())
        .await;
    assert_eq!(status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_panic_is_a_500_and_the_next_request_is_answered() {
    let ground = ground(
        Stub {
            panics: true,
            ..Stub::default()
        },
        Settings::new("ichor-system"),
    );
    for _ in 0..2 {
        let (status, _) = ground
            .send(VALIDATE, "application/json", review().to_string().into())
            .await;
        assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR);
    }
    assert!(
        ground
            .metrics()
            .contains(r#"in_flight{webhook="/validate/machinereclaims"} 0"#)
    );
    for counted in [
        "controller_runtime_webhook_panics_total 2",
        r#"operation="UNKNOWN",decision="error",reason="Panic"} 2"#,
    ] {
        assert!(ground.metrics().contains(counted), "{}", ground.metrics());
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_never_ends_is_given_up() {
    let never = Body::from_stream(futures::stream::pending::<
        Result<bytes::Bytes, std::io::Error>,
    >());
    let (status, _) = allowing().send(VALIDATE, "application/json", never).await;
    assert_eq!(status, StatusCode::GATEWAY_TIMEOUT);
}

/// Posts `body` to both paths and checks that nothing panicked.
fn survives(body: &[u8]) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    runtime.expect("a runtime").block_on(async {
        for path in [MUTATE, VALIDATE] {
            let body = Body::from(body.to_vec());
            let (status, _) = allowing().send(path, "application/json", body).await;
            assert_ne!(status, StatusCode::INTERNAL_SERVER_ERROR);
        }
    });
}

proptest! {
    #[test]
    fn no_body_makes_it_panic(body in proptest::collection::vec(any::<u8>(), 0..200)) {
        survives(&body);
    }

    #[test]
    fn no_damaged_review_makes_it_panic(
        edits in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..4),
        cut in proptest::option::of(any::<proptest::sample::Index>()),
    ) {
        let mut body = review().to_string().into_bytes();
        for (at, byte) in edits {
            let at = at.index(body.len());
            body[at] = byte;
        }
        if let Some(cut) = cut {
            body.truncate(cut.index(body.len()));
        }
        survives(&body);
    }
}
