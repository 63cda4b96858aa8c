//! The router: reads, decodes, dispatches, traces and counts. What a request means is decided elsewhere.

use crate::admit;
use crate::answer::Answer;
use crate::body::{self, BodyError};
use crate::metrics::DecisionLabels;
use crate::request::Judged;
use crate::review::{self, ReviewError};
use crate::state::WebhookState;
use axum::Router;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use futures::FutureExt;
use http::{HeaderMap, StatusCode, header};
use ichor_crds::{
    MachineReclaim, TalosAccessRequest, TalosCluster, TalosConfigPatch, TalosEtcdBackup,
    TalosMachine, TalosOperation, TalosStorage,
};
use std::panic::AssertUnwindSafe;
use std::time::Instant;

/// Largest body that is read: two objects and their frame (DESIGN section 4).
pub const MAX_BODY_BYTES: usize = 7 << 20;
/// Path of the mutating webhook for machinereclaims.
pub const MUTATE_MACHINERECLAIMS: &str = MachineReclaim::PATHS.mutate;
/// Path of the validating webhook for machinereclaims.
pub const VALIDATE_MACHINERECLAIMS: &str = MachineReclaim::PATHS.validate;

/// The paths of a resource's webhooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paths {
    /// Of the mutating one.
    pub mutate: &'static str,
    /// Of the validating one.
    pub validate: &'static str,
}

/// The routes of the webhook.
pub fn router(state: WebhookState) -> Router {
    let routes = [
        route::<MachineReclaim>(),
        route::<TalosAccessRequest>(),
        route::<TalosCluster>(),
        route::<TalosConfigPatch>(),
        route::<TalosEtcdBackup>(),
        route::<TalosMachine>(),
        route::<TalosOperation>(),
        route::<TalosStorage>(),
    ];
    let all = routes.into_iter().fold(Router::new(), Router::merge);
    all.with_state(state)
}

fn route<R: Judged>() -> Router<WebhookState> {
    let Paths { mutate, validate } = R::PATHS;
    Router::new()
        .route(mutate, post(guarded::<R, true>))
        .route(validate, post(guarded::<R, false>))
}

/// Answers within the request timeout, and also when a rule panics: the API server takes a 500 for a
/// failed webhook and refuses the request, and the connection with its other requests lives on.
async fn guarded<R: Judged, const MUTATES: bool>(
    State(state): State<WebhookState>,
    request: Request,
) -> Response {
    let Paths { mutate, validate } = R::PATHS;
    let webhook = if MUTATES { mutate } else { validate };
    // Monotonic, and only for the histogram: no decision depends on it.
    let started = Instant::now();
    let in_flight = state.0.metrics.start(webhook);
    let work = AssertUnwindSafe(answer::<R, MUTATES>(&state, webhook, request)).catch_unwind();
    let metrics = &state.0.metrics;
    let answered = match tokio::time::timeout(state.0.settings.request_timeout, work).await {
        Ok(Ok(answered)) => answered,
        Ok(Err(_panic)) => {
            tracing::error!(webhook, "a rule of admission panicked");
            metrics.panicked();
            let message = "the webhook failed; its log says where";
            Err(unjudged(
                StatusCode::INTERNAL_SERVER_ERROR,
                "Panic",
                message,
            ))
        }
        Err(_elapsed) => {
            let message = "the request was not read and judged in time: try again";
            Err(unjudged(StatusCode::GATEWAY_TIMEOUT, "Timeout", message))
        }
    };
    let response = answered.unwrap_or_else(|unjudged| {
        metrics.decided(&unread::<R>("error", unjudged.reason));
        unjudged.into_response()
    });
    drop(in_flight);
    metrics.answered(webhook, response.status().as_u16(), started.elapsed());
    response
}

async fn answer<R: Judged, const MUTATES: bool>(
    state: &WebhookState,
    webhook: &'static str,
    request: Request,
) -> Result<Response, Unjudged> {
    let (parts, body) = request.into_parts();
    if !is_json(&parts.headers) {
        let code = StatusCode::UNSUPPORTED_MEDIA_TYPE;
        let message = "the Content-Type of a review is application/json";
        return Err(unjudged(code, "UnsupportedMediaType", message));
    }
    let body = body::read(&state.0.budget, &parts.headers, body, MAX_BODY_BYTES).await?;
    let request = match review::decode(&body.bytes) {
        Ok(request) => request,
        Err(ReviewError::BadRequest { uid, reason }) => {
            let message = format!("the request cannot be read: {reason}");
            let metrics = &state.0.metrics;
            metrics.decided(&unread::<R>("denied", "BadRequest"));
            return Ok(Answer::bad_request(uid, message).into_response());
        }
        Err(error) => {
            let code = StatusCode::BAD_REQUEST;
            return Err(unjudged(code, "BadRequest", &error.to_string()));
        }
    };
    let operation = request.operation.as_str();
    let outcome = if MUTATES {
        admit::mutate_request::<R>(state, webhook, request).await
    } else {
        admit::validate_request::<R>(state, webhook, request).await
    };
    state.0.metrics.decided(&DecisionLabels {
        resource: R::RESOURCE,
        operation,
        decision: outcome.decision,
        reason: outcome.reason,
    });
    Ok(outcome.answer.into_response())
}

/// How a request is counted of which not even the operation is known.
fn unread<R: Judged>(decision: &'static str, reason: &'static str) -> DecisionLabels {
    DecisionLabels {
        resource: R::RESOURCE,
        operation: "UNKNOWN",
        decision,
        reason,
    }
}

/// The answer to a request, and how it is counted.
pub(crate) struct Outcome {
    pub(crate) answer: Answer,
    pub(crate) decision: &'static str,
    pub(crate) reason: &'static str,
}

fn is_json(headers: &HeaderMap) -> bool {
    headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split(';').next())
        .is_some_and(|media| media.trim().eq_ignore_ascii_case("application/json"))
}

/// What was no review, or could not be judged. The API server repeats the message to the caller.
struct Unjudged {
    code: StatusCode,
    /// As the metrics count it.
    reason: &'static str,
    message: String,
}

fn unjudged(code: StatusCode, reason: &'static str, message: &str) -> Unjudged {
    Unjudged {
        code,
        reason,
        message: message.to_owned(),
    }
}

impl From<BodyError> for Unjudged {
    fn from(error: BodyError) -> Self {
        let (code, reason) = match error {
            BodyError::TooLarge(_) => (StatusCode::PAYLOAD_TOO_LARGE, "TooLarge"),
            BodyError::Busy => (StatusCode::SERVICE_UNAVAILABLE, "Busy"),
            BodyError::Broken => (StatusCode::BAD_REQUEST, "BrokenOff"),
        };
        unjudged(code, reason, &error.to_string())
    }
}

impl IntoResponse for Unjudged {
    fn into_response(self) -> Response {
        let Self {
            code,
            reason,
            message,
        } = self;
        tracing::warn!(
            code = code.as_u16(),
            reason,
            message,
            "not a review that can be judged"
        );
        (code, message).into_response()
    }
}

#[cfg(test)]
#[path = "handler_tests.rs"]
mod tests;
