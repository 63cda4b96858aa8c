//! Answers a request: object → facts (pure) → findings (asks) → verdict or patch (pure) → answer.

use crate::answer::Answer;
use crate::handler::Outcome;
use crate::judge::judge;
use crate::mutate;
use crate::observe::observe;
use crate::request::{Change, Facts, Judged, Snapshot, Verdict};
use crate::review::{Operation, Request};
use crate::state::WebhookState;
use crate::stored::Stored;
use ichor_crds::{GROUP, REQUEST_ID, is_request_id};
use serde_json::value::RawValue;
use tokio::sync::Semaphore;
use tracing::field::Empty;
use tracing::{Instrument as _, Span};

/// What a request is about.
enum Subject<'a> {
    /// A subresource, which these rules do not cover. Who writes `status` is the policy's to say (DESIGN
    /// section 4).
    Other,
    /// A created, changed or deleted object. What is deleted is `old`.
    Object {
        object: Option<Stored<'a>>,
        old: Option<Stored<'a>>,
    },
}

/// Answers a request to the mutating webhook.
pub(crate) async fn mutate_request<R: Judged>(
    state: &WebhookState,
    webhook: &'static str,
    request: Request<'_>,
) -> Outcome {
    let span = span(webhook, &request, &request.uid);
    concluded(mutated::<R>(state, request), span).await
}

async fn mutated<R: Judged>(state: &WebhookState, request: Request<'_>) -> Outcome {
    let patch = match subject::<R>(&request) {
        Err(message) => return bad_request(request.uid, message),
        Ok(Subject::Object {
            object: Some(object),
            old,
        }) => {
            match facts::<R>(state, &request, Some(&object), old.as_ref()) {
                // A spec that cannot be read is refused by the API server's schema and by the judge.
                Err(_) => json_patch::Patch::default(),
                Ok(facts) => {
                    let questions = R::filling(&facts);
                    let user = &request.user_info;
                    let findings = observe(state, questions, &facts.namespace, user).await;
                    mutate::patch(&Snapshot { facts, findings }, &object, old.as_ref())
                }
            }
        }
        Ok(_) => json_patch::Patch::default(),
    };
    let reason = if patch.0.is_empty() {
        "Unchanged"
    } else {
        "Patched"
    };
    match Answer::allowed(request.uid.clone()).with_patch(&patch) {
        Ok(answer) => Outcome {
            answer,
            decision: "allowed",
            reason,
        },
        Err(error) => bad_request(request.uid, format!("the patch cannot be written: {error}")),
    }
}

/// Answers a request to the validating webhook.
pub(crate) async fn validate_request<R: Judged>(
    state: &WebhookState,
    webhook: &'static str,
    request: Request<'_>,
) -> Outcome {
    let read = match subject::<R>(&request) {
        Err(message) => Err(message),
        Ok(Subject::Other) => Ok(None),
        Ok(Subject::Object { object, old }) => {
            facts::<R>(state, &request, object.as_ref(), old.as_ref()).map(Some)
        }
    };
    let id = read
        .as_ref()
        .ok()
        .and_then(Option::as_ref)
        .and_then(mutated_as);
    let span = span(webhook, &request, id.unwrap_or(&request.uid));
    concluded(validated(state, request, read), span).await
}

/// Answers inside the span, which then says how.
async fn concluded(answer: impl Future<Output = Outcome>, span: Span) -> Outcome {
    let outcome = answer.instrument(span.clone()).await;
    span.record("decision", outcome.decision);
    span.record("reason", outcome.reason);
    outcome
}

/// The ID that the mutating webhook gave this request, which had another review.
fn mutated_as<R: Judged>(facts: &Facts<R>) -> Option<&str> {
    facts.spec()?;
    let id = facts.annotations.get(REQUEST_ID)?;
    is_request_id(id).then_some(id)
}

fn span(webhook: &'static str, request: &Request<'_>, request_id: &str) -> Span {
    tracing::info_span!(
        "admission",
        request_id,
        webhook,
        operation = request.operation.as_str(),
        namespace = %request.namespace,
        name = %request.name,
        decision = Empty,
        reason = Empty,
    )
}

async fn validated<R: Judged>(
    state: &WebhookState,
    request: Request<'_>,
    read: Result<Option<Facts<R>>, String>,
) -> Outcome {
    let facts = match read {
        Ok(Some(facts)) => facts,
        Ok(None) => {
            let answer = Answer::allowed(request.uid);
            return Outcome {
                answer,
                decision: "allowed",
                reason: "NotCovered",
            };
        }
        Err(message) => return bad_request(request.uid, message),
    };
    let questions = R::questions(&facts);
    let findings = observe(state, questions, &facts.namespace, &request.user_info).await;
    let snapshot = Snapshot { facts, findings };
    let (snapshot, verdict) = if R::TAKES_LONG {
        judge_aside(snapshot).await
    } else {
        let verdict = judge(&snapshot);
        (snapshot, verdict)
    };
    let Verdict {
        denial,
        warnings,
        audit,
    } = verdict;
    let dry_run = request.dry_run.unwrap_or(false);
    let (answer, decision, reason) = match denial {
        None => {
            tracing::debug!(dry_run, "allowed");
            (Answer::allowed(request.uid), "allowed", "Allowed")
        }
        Some(denial) => {
            let name = &snapshot.facts.name;
            let message = denial.message(R::KIND, name);
            tracing::info!(caller = %snapshot.facts.caller, dry_run, %message, "denied");
            let status = denial.status(R::KIND, name);
            (
                Answer::denied(request.uid, status),
                "denied",
                denial.reason(),
            )
        }
    };
    Outcome {
        answer: answer.with_notes(audit, warnings),
        decision,
        reason,
    }
}

/// Requests that are judged aside at the same time: each may take a second of a core and some tens of MiB.
static ASIDE: Semaphore = Semaphore::const_new(2);

/// Judges on a thread for such work, so that the requests of everybody else do not wait behind it.
async fn judge_aside<R: Judged>(snapshot: Snapshot<R>) -> (Snapshot<R>, Verdict) {
    let permit = ASIDE.acquire().await;
    let work = tokio::task::spawn_blocking(move || {
        let verdict = judge(&snapshot);
        drop(permit);
        (snapshot, verdict)
    });
    match work.await {
        Ok(judged) => judged,
        Err(failed) => std::panic::resume_unwind(failed.into_panic()),
    }
}

/// Reads the objects of the request as far as its operation has them.
fn subject<'a, R: Judged>(request: &Request<'a>) -> Result<Subject<'a>, String> {
    let resource = &request.resource;
    if resource.group != GROUP || resource.resource != R::RESOURCE {
        return Err(format!(
            "this path judges {}.{GROUP} and not {}.{}: correct the webhook configuration",
            R::RESOURCE,
            resource.resource,
            resource.group
        ));
    }
    if request
        .sub_resource
        .as_deref()
        .is_some_and(|name| !name.is_empty())
    {
        return Ok(Subject::Other);
    }
    let decode = |text: Option<&'a RawValue>, what: &str| match text {
        None => Err(format!("the request has no {what}")),
        Some(text) => Stored::decode(text)
            .map_err(|error| format!("{what} of the request cannot be read: {error}")),
    };
    let (object, old) = match request.operation {
        Operation::Connect => return Err(format!("{} cannot be connected to", R::RESOURCE)),
        Operation::Create => (Some(decode(request.object, "object")?), None),
        Operation::Update => (
            Some(decode(request.object, "object")?),
            Some(decode(request.old_object, "oldObject")?),
        ),
        Operation::Delete => (None, Some(decode(request.old_object, "oldObject")?)),
    };
    Ok(Subject::Object { object, old })
}

/// What is known without asking anyone.
fn facts<R: Judged>(
    state: &WebhookState,
    request: &Request<'_>,
    object: Option<&Stored<'_>>,
    old: Option<&Stored<'_>>,
) -> Result<Facts<R>, String> {
    let unreadable = |what: &'static str| move |error| format!("{what} cannot be read: {error}");
    let change = match (object, old) {
        (None, old) => Change::Delete {
            old: old.and_then(|old| old.spec().ok()),
        },
        (Some(object), None) => Change::Create {
            spec: object.spec().map_err(unreadable("spec"))?,
        },
        (Some(object), Some(old)) if old.same_spec(object) => Change::Metadata,
        (Some(object), Some(old)) => Change::Spec {
            spec: object.spec().map_err(unreadable("spec"))?,
            old: old.spec().map_err(unreadable("the stored spec"))?,
            status: Box::new(old.status().map_err(unreadable("the stored status"))?),
        },
    };
    let ichors = |stored: Option<&Stored<'_>>| stored.map(Stored::ichors).unwrap_or_default();
    let (annotations, old_annotations) = (ichors(object.or(old)), ichors(old));
    let applied_annotations = object.map(|object| {
        let new = annotations
            .keys()
            .filter(|key| !old_annotations.contains_key(*key));
        new.filter(|key| object.applies_annotation(key))
            .cloned()
            .collect()
    });
    Ok(Facts {
        caller: request.user_info.username.clone().unwrap_or_default(),
        review: request.uid.clone(),
        caller_uid: request.user_info.uid.clone().filter(|uid| !uid.is_empty()),
        namespace: request.namespace.clone(),
        // The deletion of a collection is a review for each object, and names none.
        name: match (&change, old) {
            (Change::Delete { .. }, Some(old)) if request.name.is_empty() => old.name().to_owned(),
            _ => request.name.clone(),
        },
        change,
        annotations,
        old_annotations,
        applied_annotations: applied_annotations.unwrap_or_default(),
        ichor_namespace: state.0.settings.namespace.clone(),
        allow_local_addresses: state.0.settings.allow_local_addresses,
    })
}

fn bad_request(uid: String, message: String) -> Outcome {
    tracing::warn!(message, "a request that cannot be judged");
    Outcome {
        answer: Answer::bad_request(uid, message),
        decision: "denied",
        reason: "BadRequest",
    }
}
