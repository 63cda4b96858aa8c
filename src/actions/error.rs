//! What can go wrong when a person asks something of the API server.

use std::future::Future;
use std::time::Duration;

/// How long one request to the API server may take. Admission asks a webhook that has five seconds, twice.
const REQUEST_DEADLINE: Duration = Duration::from_secs(30);

/// Why something a person asked for was not done.
#[derive(Debug, thiserror::Error)]
pub enum ActionError {
    /// The API server refused, or could not be reached.
    #[error(transparent)]
    Kube(#[from] kube::Error),
    /// The API server took the request and did not answer.
    #[error("the API server did not answer in time while {0}")]
    Deadline(&'static str),
    /// The person lacks rights, seen before anything was sent.
    #[error("{0}")]
    NotAllowed(String),
    /// Other writers changed the object again and again.
    #[error("{object} was changed by others {attempts} times in a row; try again")]
    Contended {
        /// The object, as kubectl names it.
        object: String,
        /// How often it was tried.
        attempts: u32,
    },
}

impl ActionError {
    /// Whether asking again later can help: the API server was not reached, too busy or did not answer.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Kube(kube::Error::Api(status)) => {
                status.code >= 500 || status.code == 429 || status.code == 410
            }
            Self::Kube(kube::Error::Service(_) | kube::Error::HyperError(_))
            | Self::Deadline(_)
            | Self::Contended { .. } => true,
            Self::Kube(_) | Self::NotAllowed(_) => false,
        }
    }
}

/// Runs one request with a deadline: an API server that accepts connections and says nothing must not hold
/// a person for ever.
pub async fn bounded<T>(
    doing: &'static str,
    request: impl Future<Output = kube::Result<T>>,
) -> Result<T, ActionError> {
    match tokio::time::timeout(REQUEST_DEADLINE, request).await {
        Ok(answer) => Ok(answer?),
        Err(_) => Err(ActionError::Deadline(doing)),
    }
}
