//! Errors as kubectl prints them, so that people and scripts find what they know.

use crate::actions::error::ActionError;
use kube::core::Status;
use kube::core::response::StatusDetails;

/// The text of an error, without a line break at the end.
pub fn render(error: &anyhow::Error) -> String {
    let kube = error.chain().find_map(|cause| {
        let action = cause.downcast_ref::<ActionError>();
        match action {
            Some(ActionError::Kube(kube)) => Some(kube),
            _ => cause.downcast_ref::<kube::Error>(),
        }
    });
    match kube {
        Some(kube::Error::Api(status)) => render_status(status),
        Some(kube::Error::Service(_) | kube::Error::HyperError(_)) => {
            format!("Unable to connect to the server: {}", root_cause(error))
        }
        _ => format!("error: {error:#}"),
    }
}

/// A refusal of the API server.
fn render_status(status: &Status) -> String {
    match status.reason.as_str() {
        "Invalid" => render_invalid(status),
        "Unauthorized" => format!(
            "error: You must be logged in to the server ({})",
            status.message
        ),
        "" => format!("Error from server: {}", status.message),
        reason => format!("Error from server ({reason}): {}", status.message),
    }
}

/// `The MachineReclaim "x" is invalid: spec.address: …`, with a list where there are several causes.
fn render_invalid(status: &Status) -> String {
    let Some(details) = &status.details else {
        return format!("The request is invalid: {}", status.message);
    };
    let head = format!("The {} \"{}\" is invalid", details.kind, details.name);
    match causes(details).as_slice() {
        [] => format!("{head}: {}", status.message),
        [one] => format!("{head}: {one}"),
        many => format!("{head}: \n* {}", many.join("\n* ")),
    }
}

fn causes(details: &StatusDetails) -> Vec<String> {
    let mut causes: Vec<String> = Vec::new();
    for cause in &details.causes {
        let text = if cause.field.is_empty() {
            cause.message.clone()
        } else {
            format!("{}: {}", cause.field, cause.message)
        };
        if !causes.contains(&text) {
            causes.push(text);
        }
    }
    causes
}

/// The innermost cause: the layers above it only repeat that a request failed.
fn root_cause(error: &anyhow::Error) -> String {
    error.root_cause().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn rendered(status: Value) -> String {
        let status: Status = serde_json::from_value(status).expect("Status");
        let error = ActionError::from(kube::Error::Api(Box::new(status)));
        render(&anyhow::Error::from(error).context("while creating"))
    }

    #[test]
    fn refusals_read_as_kubectl_prints_them() {
        for (status, want) in [
            (
                json!({"status": "Failure", "code": 403, "reason": "Forbidden", "message": "admission webhook \"w\" denied the request: no"}),
                "Error from server (Forbidden): admission webhook \"w\" denied the request: no",
            ),
            (
                json!({"status": "Failure", "code": 400, "message": "admission webhook \"w\" denied the request: no"}),
                "Error from server: admission webhook \"w\" denied the request: no",
            ),
            (
                json!({"status": "Failure", "code": 401, "reason": "Unauthorized", "message": "Unauthorized"}),
                "error: You must be logged in to the server (Unauthorized)",
            ),
            (
                json!({"status": "Failure", "code": 422, "reason": "Invalid", "message": "long", "details": {
                    "name": "a", "kind": "MachineReclaim", "causes": [{"field": "spec.address", "message": "Invalid value: \"x\": must be an IP address"}]}}),
                "The MachineReclaim \"a\" is invalid: spec.address: Invalid value: \"x\": must be an IP address",
            ),
            (
                json!({"status": "Failure", "code": 422, "reason": "Invalid", "message": "long", "details": {
                    "name": "a", "kind": "MachineReclaim", "causes": [{"field": "spec", "message": "one"}, {"message": "two"}, {"field": "spec", "message": "one"}]}}),
                "The MachineReclaim \"a\" is invalid: \n* spec: one\n* two",
            ),
        ] {
            assert_eq!(rendered(status), want);
        }
    }

    #[test]
    fn other_errors_say_what_happened() {
        let error = anyhow::anyhow!("no such file").context("reading FILE");
        assert_eq!(render(&error), "error: reading FILE: no such file");
    }
}
