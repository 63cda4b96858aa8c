//! What the rules need to know from the API server, as ports: a test answers them from a table, the
//! controller with [`crate::LiveCluster`].

use async_trait::async_trait;
use ichor_crds::{NodeAddress, SystemUuid};
use k8s_openapi::api::authentication::v1::UserInfo;

/// A question of who may do what: a SubjectAccessReview for a resource.
#[derive(Clone, Copy, Debug)]
pub struct AccessQuestion<'a> {
    /// The caller as the API server authenticated it. All of it counts: a verb may be bound to a group
    /// only, and an impersonated user is judged as the impersonated (FAULTS 7).
    pub user: &'a UserInfo,
    /// Verb, such as `reclaim`.
    pub verb: &'a str,
    /// API group; empty for the core group.
    pub group: &'a str,
    /// Resource in the plural.
    pub resource: &'a str,
    /// Namespace of the object.
    pub namespace: &'a str,
    /// Name of the object; empty when it has none yet (generateName, FAULTS 6).
    pub name: &'a str,
}

/// The answer to an [`AccessQuestion`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// The caller may.
    Allowed,
    /// The caller may not.
    Denied,
}

/// Why something could not be learned. Whoever sees it denies and says so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LookupError {
    /// No answer in time.
    #[error("the API server did not answer in time")]
    Deadline,
    /// The API server answered with an error.
    #[error("the API server answered: {0}")]
    Refused(String),
    /// The API server could not be asked.
    #[error("the API server could not be asked; the log of the controller says why")]
    Unreachable,
}

/// A TalosCluster looked up by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClusterLookup {
    /// It exists.
    Found,
    /// It does not; these do, in no order.
    Missing {
        /// Names of the clusters that exist.
        existing: Vec<String>,
    },
}

/// Another MachineReclaim that has not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherReclaim {
    /// Its name.
    pub name: String,
    /// Its address, where that is one.
    pub address: Option<NodeAddress>,
    /// The UUID that its inspection found.
    pub machine: Option<SystemUuid>,
    /// Whether its consent was given: the typed UUID is the machine's.
    pub confirmed: bool,
}

/// Asks who may do what.
#[async_trait]
pub trait AccessReviewer: Send + Sync {
    /// Answers `question` for the caller it names.
    async fn review(&self, question: AccessQuestion<'_>) -> Result<Access, LookupError>;
}

/// Reads the objects that a request refers to. An answer that leads to a refusal has to come from a live
/// read: a cache may lag behind the person who just created the object.
#[async_trait]
pub trait References: Send + Sync {
    /// Looks the TalosCluster `name` up.
    async fn cluster(&self, namespace: &str, name: &str) -> Result<ClusterLookup, LookupError>;

    /// The type of the Secret `name`, `None` when there is none. Its data is not kept.
    async fn secret_type(&self, namespace: &str, name: &str)
    -> Result<Option<String>, LookupError>;

    /// The MachineReclaims of `namespace` that have not ended.
    async fn unfinished_reclaims(&self, namespace: &str) -> Result<Vec<OtherReclaim>, LookupError>;
}
