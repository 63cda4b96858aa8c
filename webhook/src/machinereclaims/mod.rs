//! Admission of machinereclaims: request → facts (`stored`, pure) → findings (`observe`, asks) →
//! verdict ([`judge()`], pure), and the patch of the mutating webhook (`mutate`, pure).

mod audit;
mod judge;
mod mutate;
mod observe;
mod rules;
mod snapshot;
mod stored;
#[cfg(test)]
mod tests;
mod unknown;
mod verdict;

pub use judge::judge;
pub use snapshot::{Change, Facts, Findings, Questions, Snapshot};
pub(crate) use stored::StoredReclaim;
pub use verdict::{Denial, Verdict};

use crate::answer::Answer;
use crate::handler::Outcome;
use crate::review::{Operation, Request};
use crate::state::WebhookState;
use ichor_crds::{GROUP, REQUESTED_BY};

/// The resource, in the plural.
pub const RESOURCE: &str = "machinereclaims";

/// What a request is about.
enum Subject<'a> {
    /// Nothing that these rules cover: a deletion (deleting recalls nothing that was sent, and says so in
    /// an Event), or a subresource. Who writes `status` is the policy's to say (DESIGN section 4).
    Other,
    /// A created or changed object.
    Object {
        object: StoredReclaim<'a>,
        old: Option<StoredReclaim<'a>>,
    },
}

/// Answers a request to the mutating webhook.
pub(crate) fn mutate_request(request: Request<'_>) -> Outcome {
    let patch = match subject(&request) {
        Err(message) => return bad_request(request.uid, message),
        Ok(Subject::Other) => json_patch::Patch::default(),
        Ok(Subject::Object { object, old }) => {
            let caller = request.user_info.username.as_deref().unwrap_or_default();
            mutate::mutate(caller, &object, old.as_ref())
        }
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
pub(crate) async fn validate_request(state: &WebhookState, request: Request<'_>) -> Outcome {
    let facts = match subject(&request) {
        Err(message) => return bad_request(request.uid, message),
        Ok(Subject::Other) => {
            let answer = Answer::allowed(request.uid);
            return Outcome {
                answer,
                decision: "allowed",
                reason: "NotCovered",
            };
        }
        Ok(Subject::Object { object, old }) => {
            match facts(state, &request, &object, old.as_ref()) {
                Ok(facts) => facts,
                Err(message) => return bad_request(request.uid, message),
            }
        }
    };
    let findings = observe::observe(state, &facts, &request.user_info).await;
    let snapshot = Snapshot { facts, findings };
    let Verdict {
        denial,
        warnings,
        audit,
    } = judge(&snapshot);
    let dry_run = request.dry_run.unwrap_or(false);
    let (answer, decision, reason) = match denial {
        None => {
            tracing::debug!(dry_run, "allowed");
            (Answer::allowed(request.uid), "allowed", "Allowed")
        }
        Some(denial) => {
            let message = denial.message(&request.name);
            tracing::info!(caller = %snapshot.facts.caller, dry_run, %message, "denied");
            let status = denial.status(&request.name);
            (
                Answer::denied(request.uid, status),
                "denied",
                denial.reason(),
            )
        }
    };
    let answer = answer.with_notes(audit, warnings);
    Outcome {
        answer,
        decision,
        reason,
    }
}

/// Reads the objects of the request as far as its operation has them.
fn subject<'a>(request: &Request<'a>) -> Result<Subject<'a>, String> {
    let resource = &request.resource;
    if resource.group != GROUP || resource.resource != RESOURCE {
        return Err(format!(
            "this path judges {RESOURCE}.{GROUP} and not {}.{}: correct the webhook configuration",
            resource.resource, resource.group
        ));
    }
    if request
        .sub_resource
        .as_deref()
        .is_some_and(|name| !name.is_empty())
    {
        return Ok(Subject::Other);
    }
    let decode = |text: Option<&'a serde_json::value::RawValue>, what: &str| match text {
        None => Err(format!("the request has no {what}")),
        Some(text) => StoredReclaim::decode(text)
            .map_err(|error| format!("{what} of the request cannot be read: {error}")),
    };
    match request.operation {
        Operation::Delete => Ok(Subject::Other),
        Operation::Connect => Err(format!("{RESOURCE} cannot be connected to")),
        Operation::Create => Ok(Subject::Object {
            object: decode(request.object, "object")?,
            old: None,
        }),
        Operation::Update => Ok(Subject::Object {
            object: decode(request.object, "object")?,
            old: Some(decode(request.old_object, "oldObject")?),
        }),
    }
}

/// What is known without asking anyone.
fn facts(
    state: &WebhookState,
    request: &Request<'_>,
    object: &StoredReclaim<'_>,
    old: Option<&StoredReclaim<'_>>,
) -> Result<Facts, String> {
    let unreadable = |what: &'static str| move |error| format!("{what} cannot be read: {error}");
    let change = match old {
        None => Change::Create {
            spec: object.spec().map_err(unreadable("spec"))?,
        },
        Some(old) if old.same_spec(object) => Change::Metadata,
        Some(old) => Change::Spec {
            spec: object.spec().map_err(unreadable("spec"))?,
            old: old.spec().map_err(unreadable("the stored spec"))?,
            status: Box::new(old.status().map_err(unreadable("the stored status"))?),
        },
    };
    let requester = |of: &StoredReclaim<'_>| of.annotation(REQUESTED_BY).map(ToOwned::to_owned);
    Ok(Facts {
        caller: request.user_info.username.clone().unwrap_or_default(),
        namespace: request.namespace.clone(),
        name: request.name.clone(),
        change,
        requested_by: requester(object),
        old_requested_by: old.and_then(requester),
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
