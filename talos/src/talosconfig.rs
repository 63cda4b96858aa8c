//! The talosconfig of `talosctl`: contexts with a CA, a client certificate and a key.

use crate::credential::{Credential, CredentialError};
use base64::Engine;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;
use zeroize::Zeroizing;

/// Why a talosconfig cannot be used; nothing of its content is in the text but the names of contexts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TalosconfigError {
    /// The text is no talosconfig.
    #[error("this is not a talosconfig: expected YAML with context and contexts{}", .line.map(|line| format!(" (line {line})")).unwrap_or_default())]
    NotATalosconfig {
        /// Line of the first fault, where it is known.
        line: Option<u64>,
    },
    /// There is no context in it.
    #[error("the talosconfig has no contexts")]
    NoContexts,
    /// No context was asked for and the file selects none.
    #[error("the talosconfig selects no context; choose one of: {}", .known.join(", "))]
    NoneSelected {
        /// Contexts of the file.
        known: Vec<String>,
    },
    /// The context that was asked for is not in it.
    #[error("the talosconfig has no context {name:?}; it has: {}", .known.join(", "))]
    UnknownContext {
        /// The context.
        name: String,
        /// Contexts of the file.
        known: Vec<String>,
    },
    /// A part of the context is missing: it may authenticate in another way.
    #[error("context {context:?} of the talosconfig has no {field}; Ichor needs ca, crt and key")]
    Missing {
        /// The context.
        context: String,
        /// `ca`, `crt` or `key`.
        field: &'static str,
    },
    /// A value is not base64.
    #[error("the {field} in context {context:?} of the talosconfig is not base64")]
    NotBase64 {
        /// The context.
        context: String,
        /// `ca`, `crt` or `key`.
        field: &'static str,
    },
    /// The parts make no credential.
    #[error("context {context:?} of the talosconfig cannot be used: {defect}")]
    Unusable {
        /// The context.
        context: String,
        /// What is wrong.
        defect: CredentialError,
    },
}

/// A parsed talosconfig.
#[derive(Deserialize)]
pub struct Talosconfig {
    #[serde(default)]
    context: Option<String>,
    #[serde(default)]
    contexts: BTreeMap<String, Option<Context>>,
}

#[derive(Deserialize, Default)]
struct Context {
    #[serde(default)]
    endpoints: Option<Vec<String>>,
    #[serde(default)]
    ca: Option<Secret>,
    #[serde(default)]
    crt: Option<Secret>,
    #[serde(default)]
    key: Option<Secret>,
}

#[derive(Deserialize)]
#[serde(from = "String")]
struct Secret(Zeroizing<String>);

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self(Zeroizing::new(text))
    }
}

impl Talosconfig {
    /// Reads the text. The YAML reader's own message is dropped: it quotes the text.
    pub fn parse(text: &str) -> Result<Self, TalosconfigError> {
        let parsed: Self = serde_saphyr::from_str(text).map_err(|fault| {
            let line = fault.location().map(|location| location.line());
            TalosconfigError::NotATalosconfig { line }
        })?;
        if parsed.contexts.is_empty() {
            return Err(TalosconfigError::NoContexts);
        }
        Ok(parsed)
    }

    /// The names of its contexts.
    pub fn contexts(&self) -> Vec<String> {
        self.contexts.keys().cloned().collect()
    }

    /// The endpoints of a context, or of the selected one.
    pub fn endpoints(&self, name: Option<&str>) -> Result<Vec<String>, TalosconfigError> {
        let (_, context) = self.select(name)?;
        Ok(context.endpoints.clone().unwrap_or_default())
    }

    /// The credential of a context, or of the selected one.
    pub fn context(&self, name: Option<&str>) -> Result<Credential, TalosconfigError> {
        let (name, context) = self.select(name)?;
        let ca = part(name, "ca", context.ca.as_ref())?;
        let crt = part(name, "crt", context.crt.as_ref())?;
        let key = part(name, "key", context.key.as_ref())?;
        Credential::from_pem(&ca, &crt, &key).map_err(|defect| TalosconfigError::Unusable {
            context: name.to_owned(),
            defect,
        })
    }

    fn select(&self, name: Option<&str>) -> Result<(&str, &Context), TalosconfigError> {
        let selected = self.context.as_deref().filter(|name| !name.is_empty());
        let wanted = match (name.or(selected), self.contexts.len()) {
            (Some(name), _) => name,
            (None, 1) => self.contexts.keys().next().map_or("", String::as_str),
            (None, _) => {
                return Err(TalosconfigError::NoneSelected {
                    known: self.contexts(),
                });
            }
        };
        match self.contexts.get_key_value(wanted) {
            Some((name, Some(context))) => Ok((name, context)),
            Some((name, None)) => Err(TalosconfigError::Missing {
                context: name.clone(),
                field: "ca",
            }),
            None => Err(TalosconfigError::UnknownContext {
                name: wanted.to_owned(),
                known: self.contexts(),
            }),
        }
    }
}

fn part(
    context: &str,
    field: &'static str,
    value: Option<&Secret>,
) -> Result<Zeroizing<Vec<u8>>, TalosconfigError> {
    let text = value.map(|secret| secret.0.split_ascii_whitespace().collect::<String>());
    let text = Zeroizing::new(text.unwrap_or_default());
    if text.is_empty() {
        return Err(TalosconfigError::Missing {
            context: context.to_owned(),
            field,
        });
    }
    base64::engine::general_purpose::STANDARD
        .decode(text.as_bytes())
        .map(Zeroizing::new)
        .map_err(|_| TalosconfigError::NotBase64 {
            context: context.to_owned(),
            field,
        })
}

impl fmt::Debug for Talosconfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Talosconfig")
            .field("contexts", &self.contexts())
            .finish_non_exhaustive()
    }
}
