//! Field errors in kubectl's own form, such as `spec.address: Invalid value: "x": is not an IP address`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::StatusCause;
use std::borrow::Cow;
use std::fmt;

/// The path of a field; most are fixed.
pub type Path = Cow<'static, str>;

/// What is wrong with a field; the names of Kubernetes' own field errors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The value is not acceptable.
    Invalid(String),
    /// A value is needed.
    Required,
    /// The field may not be set, changed or used so.
    Forbidden,
    /// What the value names does not exist.
    NotFound(String),
    /// Another object has the value, and only one may.
    Duplicate(String),
}

/// What is wrong with one field, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    /// Path of the field, such as `spec.clusterRef.name`.
    pub path: Path,
    /// What is wrong with it.
    pub cause: Cause,
    /// Why, and what to do.
    pub detail: String,
}

impl FieldError {
    /// The value of `path` is not acceptable.
    pub fn invalid(path: impl Into<Path>, value: &str, detail: impl Into<String>) -> Self {
        Self::new(path, Cause::Invalid(value.to_owned()), detail)
    }

    /// `path` needs a value.
    pub fn required(path: impl Into<Path>, detail: impl Into<String>) -> Self {
        Self::new(path, Cause::Required, detail)
    }

    /// `path` may not be set, changed or used so.
    pub fn forbidden(path: impl Into<Path>, detail: impl Into<String>) -> Self {
        Self::new(path, Cause::Forbidden, detail)
    }

    /// What `path` names does not exist.
    pub fn not_found(path: impl Into<Path>, value: &str, detail: impl Into<String>) -> Self {
        Self::new(path, Cause::NotFound(value.to_owned()), detail)
    }

    /// Another object has the value of `path`, and only one may.
    pub fn duplicate(path: impl Into<Path>, value: &str, detail: impl Into<String>) -> Self {
        Self::new(path, Cause::Duplicate(value.to_owned()), detail)
    }

    fn new(path: impl Into<Path>, cause: Cause, detail: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            cause,
            detail: detail.into(),
        }
    }

    /// The part behind the path, as kubectl prints it after the field of a status cause.
    fn text(&self) -> String {
        match &self.cause {
            Cause::Invalid(value) => format!("Invalid value: {value:?}: {}", self.detail),
            Cause::Required => format!("Required value: {}", self.detail),
            Cause::Forbidden => format!("Forbidden: {}", self.detail),
            Cause::Duplicate(value) => format!("Duplicate value: {value:?}: {}", self.detail),
            Cause::NotFound(value) => format!("Not found: {value:?}: {}", self.detail),
        }
    }

    /// The cause that kubectl prints as a line of its own.
    pub(crate) fn status_cause(&self) -> StatusCause {
        let reason = match self.cause {
            Cause::Invalid(_) => "FieldValueInvalid",
            Cause::Required => "FieldValueRequired",
            Cause::Forbidden => "FieldValueForbidden",
            Cause::Duplicate(_) => "FieldValueDuplicate",
            Cause::NotFound(_) => "FieldValueNotFound",
        };
        StatusCause {
            field: Some(self.path.to_string()),
            message: Some(self.text()),
            reason: Some(reason.to_owned()),
        }
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_read_as_those_of_kubectl() {
        for (error, want, reason) in [
            (
                FieldError::invalid("spec.address", "x", "is not an IP address"),
                r#"spec.address: Invalid value: "x": is not an IP address"#,
                "FieldValueInvalid",
            ),
            (
                FieldError::required("spec.clusterRef", "name the cluster"),
                "spec.clusterRef: Required value: name the cluster",
                "FieldValueRequired",
            ),
            (
                FieldError::forbidden("spec.confirmUUID", "not at creation"),
                "spec.confirmUUID: Forbidden: not at creation",
                "FieldValueForbidden",
            ),
            (
                FieldError::not_found("spec.clusterRef.name", "prd", "there is prod"),
                r#"spec.clusterRef.name: Not found: "prd": there is prod"#,
                "FieldValueNotFound",
            ),
            (
                FieldError::duplicate("spec.address", "10.5.0.7", "taken"),
                r#"spec.address: Duplicate value: "10.5.0.7": taken"#,
                "FieldValueDuplicate",
            ),
        ] {
            assert_eq!(error.to_string(), want);
            assert_eq!(error.status_cause().reason.as_deref(), Some(reason));
            assert_eq!(
                error.status_cause().field.as_deref(),
                Some(error.path.as_ref())
            );
        }
    }
}
