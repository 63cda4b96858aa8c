//! Writes the AdmissionReview that answers a request.

use crate::review::{API_VERSION, KIND};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderValue, header};
use json_patch::Patch;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Status;
use serde::Serialize;
use std::collections::BTreeMap;

/// The answer to one request. The API server prefixes the keys of the audit annotations with the name of
/// the webhook.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Answer {
    uid: String,
    allowed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Status>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch_type: Option<&'static str>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    audit_annotations: BTreeMap<&'static str, String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

impl Answer {
    /// The request may go on.
    pub(crate) fn allowed(uid: String) -> Self {
        Self {
            uid,
            allowed: true,
            status: None,
            patch: None,
            patch_type: None,
            audit_annotations: BTreeMap::new(),
            warnings: Vec::new(),
        }
    }

    /// The request may not go on, and `status` says why.
    pub(crate) fn denied(uid: String, status: Status) -> Self {
        Self {
            allowed: false,
            status: Some(status),
            ..Self::allowed(uid)
        }
    }

    /// The request cannot be judged as it stands.
    pub(crate) fn bad_request(uid: String, message: String) -> Self {
        Self::denied(uid, status(400, "BadRequest", message))
    }

    /// Changes the object by `patch`; an empty one is left out.
    pub(crate) fn with_patch(mut self, patch: &Patch) -> Result<Self, serde_json::Error> {
        if !patch.0.is_empty() {
            self.patch = Some(STANDARD.encode(serde_json::to_vec(patch)?));
            self.patch_type = Some("JSONPatch");
        }
        Ok(self)
    }

    /// Adds what the audit log shall keep and what the caller shall read.
    pub(crate) fn with_notes(
        mut self,
        audit: BTreeMap<&'static str, String>,
        warnings: Vec<String>,
    ) -> Self {
        self.audit_annotations = audit;
        self.warnings = warnings;
        self
    }
}

/// A Status that refuses.
pub(crate) fn status(code: i32, reason: &str, message: String) -> Status {
    Status {
        code: Some(code),
        message: Some(message),
        reason: Some(reason.to_owned()),
        status: Some("Failure".to_owned()),
        ..Status::default()
    }
}

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Frame {
            api_version: &'static str,
            kind: &'static str,
            response: Answer,
        }
        let frame = Frame {
            api_version: API_VERSION,
            kind: KIND,
            response: self,
        };
        match serde_json::to_vec(&frame) {
            Ok(body) => {
                const JSON: HeaderValue = HeaderValue::from_static("application/json");
                ([(header::CONTENT_TYPE, JSON)], body).into_response()
            }
            Err(error) => {
                tracing::error!(%error, "the answer cannot be written");
                http::StatusCode::INTERNAL_SERVER_ERROR.into_response()
            }
        }
    }
}
