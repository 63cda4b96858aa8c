//! Decodes the frame of an AdmissionReview and leaves the objects in it as text: an object that cannot
//! be decoded still gets an answer with the uid of its request (FAULTS 9: kube#1905), and what nobody
//! looks at (managed fields, the other object's status) is never built up in memory.

use k8s_openapi::api::authentication::v1::UserInfo;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// The version that is spoken. The API server sends what the webhook configuration lists, so any other
/// is a mistake in there.
pub(crate) const API_VERSION: &str = "admission.k8s.io/v1";
/// The kind of the frame.
pub(crate) const KIND: &str = "AdmissionReview";

/// What is asked to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(crate) enum Operation {
    Create,
    Update,
    Delete,
    Connect,
}

impl Operation {
    /// Its name in the review and in metrics.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::Connect => "CONNECT",
        }
    }
}

/// Group and resource of the object. Its version is the one of the rules (`matchPolicy: Equivalent`).
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ResourceName<'a> {
    #[serde(borrow)]
    pub(crate) group: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) resource: Cow<'a, str>,
}

/// A request, its objects still text.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Request<'a> {
    pub(crate) uid: String,
    #[serde(borrow)]
    pub(crate) resource: ResourceName<'a>,
    #[serde(default)]
    pub(crate) sub_resource: Option<String>,
    #[serde(default)]
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) namespace: String,
    pub(crate) operation: Operation,
    pub(crate) user_info: UserInfo,
    #[serde(borrow, default)]
    pub(crate) object: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) old_object: Option<&'a RawValue>,
    #[serde(default)]
    pub(crate) dry_run: Option<bool>,
}

/// Why a body holds no request to judge.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ReviewError {
    /// Not JSON.
    #[error("the body is no JSON: {0}")]
    NotJson(String),
    /// JSON, and something else.
    #[error("the body is no {KIND} but kind {0:?}")]
    NotAReview(String),
    /// A review of another version.
    #[error("the review has version {0:?}: list {API_VERSION} alone in admissionReviewVersions")]
    OtherVersion(String),
    /// A review without a request, or with one that has no uid to answer to.
    #[error("the review holds no request with a uid")]
    NoRequest,
    /// A request that can be answered, and not be read.
    #[error("the request cannot be read: {reason}")]
    BadRequest {
        /// Its uid.
        uid: String,
        /// What is wrong with it.
        reason: String,
    },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Frame<'a> {
    #[serde(borrow, default)]
    api_version: Cow<'a, str>,
    #[serde(borrow, default)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    request: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct OnlyUid {
    uid: String,
}

/// Decodes the request in `body`.
pub(crate) fn decode(body: &[u8]) -> Result<Request<'_>, ReviewError> {
    let frame: Frame<'_> =
        serde_json::from_slice(body).map_err(|e| ReviewError::NotJson(e.to_string()))?;
    if frame.kind != KIND {
        return Err(ReviewError::NotAReview(shorten(&frame.kind)));
    }
    if frame.api_version != API_VERSION {
        return Err(ReviewError::OtherVersion(shorten(&frame.api_version)));
    }
    let text = frame.request.ok_or(ReviewError::NoRequest)?.get();
    match serde_json::from_str::<Request<'_>>(text) {
        Ok(request) if request.uid.is_empty() => Err(ReviewError::NoRequest),
        Ok(request) => Ok(request),
        Err(error) => match serde_json::from_str::<OnlyUid>(text) {
            Ok(OnlyUid { uid }) if !uid.is_empty() => Err(ReviewError::BadRequest {
                uid,
                reason: error.to_string(),
            }),
            _ => Err(ReviewError::NoRequest),
        },
    }
}

/// Enough of a foreign text to recognise it.
fn shorten(text: &str) -> String {
    text.chars().take(64).collect()
}
