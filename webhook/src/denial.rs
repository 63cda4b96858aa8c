//! Why a request is denied, and how that reads in a Status.

use crate::answer;
use crate::field::FieldError;
use crate::ports::LookupError;
use ichor_crds::GROUP;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Status, StatusDetails};

/// Why a request is denied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Denial {
    /// The caller may not.
    Forbidden(String),
    /// Fields are wrong; all of them at once (STYLE rule 4).
    Invalid(Vec<FieldError>),
    /// Something could not be found out. What cannot be checked is not allowed.
    Unknown {
        /// What was to be found out.
        what: String,
        /// Why it was not.
        error: LookupError,
    },
}

impl Denial {
    /// The reason of the Status, also counted in the metrics.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Forbidden(_) => "Forbidden",
            Self::Invalid(_) => "Invalid",
            Self::Unknown {
                error: LookupError::Deadline,
                ..
            } => "Timeout",
            Self::Unknown { .. } => "InternalError",
        }
    }

    /// The HTTP code of the Status.
    pub fn code(&self) -> i32 {
        match self {
            Self::Forbidden(_) => 403,
            Self::Invalid(_) => 422,
            Self::Unknown {
                error: LookupError::Deadline,
                ..
            } => 504,
            Self::Unknown { .. } => 500,
        }
    }

    /// The message for an object of `kind` called `name`, in the API server's own form for field errors.
    pub fn message(&self, kind: &str, name: &str) -> String {
        match self {
            Self::Forbidden(message) => message.clone(),
            Self::Invalid(errors) => {
                let all: Vec<String> = errors.iter().map(ToString::to_string).collect();
                let all = match all.as_slice() {
                    [one] => one.clone(),
                    many => format!("[{}]", many.join(", ")),
                };
                format!("{kind}.{GROUP} {name:?} is invalid: {all}")
            }
            Self::Unknown { what, error } => {
                format!("{what} could not be checked, so it is refused: {error}; try again")
            }
        }
    }

    /// The Status; its causes are what kubectl prints line by line.
    pub(crate) fn status(&self, kind: &str, name: &str) -> Status {
        let mut status = answer::status(self.code(), self.reason(), self.message(kind, name));
        if let Self::Invalid(errors) = self {
            status.details = Some(StatusDetails {
                group: Some(GROUP.to_owned()),
                kind: Some(kind.to_owned()),
                name: Some(name.to_owned()),
                causes: Some(errors.iter().map(FieldError::status_cause).collect()),
                ..StatusDetails::default()
            });
        }
        status
    }
}
