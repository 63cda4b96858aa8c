//! What the rules need to know from the API server, as ports: a test answers them from a table, the
//! controller with [`crate::LiveCluster`].

use async_trait::async_trait;
use ichor_certs::BundleError;
use ichor_crds::TalosCluster;
use k8s_openapi::api::authentication::v1::UserInfo;
use serde_json::value::RawValue;

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
    /// The object is stored in a form that cannot be read.
    #[error(
        "it is stored in a form that this version of Ichor cannot read, and its log says why: upgrade Ichor, or correct the object with kubectl edit"
    )]
    Unreadable,
}

/// A TalosCluster looked up by name.
#[derive(Clone, Debug, PartialEq)]
pub enum ClusterLookup {
    /// It exists.
    Found(Box<TalosCluster>),
    /// It does not; these do, in no order.
    Missing {
        /// Names of the clusters that exist.
        existing: Vec<String>,
    },
}

/// What a Secret holds under the key of a secrets bundle. No secret is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BundleLookup {
    /// There is no Secret of that name.
    NoSecret,
    /// The Secret has no such key.
    NoKey,
    /// What is there is not usable.
    Defect(BundleError),
    /// A usable bundle of the cluster with this ID.
    Sound {
        /// The cluster's ID.
        cluster_id: String,
    },
}

/// Which objects are listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selector {
    /// All of the namespace.
    All,
    /// Those whose field has this value; the CRD names the field as selectable.
    Field(&'static str, String),
}

impl Selector {
    /// The object of this name.
    pub fn name(name: impl Into<String>) -> Self {
        Self::Field("metadata.name", name.into())
    }
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
    /// Lists objects of Ichor's `resource`, at most `most` of them where that is given.
    async fn list(
        &self,
        namespace: &str,
        resource: &str,
        selector: &Selector,
        most: Option<u32>,
    ) -> Result<Vec<Box<RawValue>>, LookupError>;

    /// The type of the Secret `name`, `None` when there is none. Its data is not kept.
    async fn secret_type(&self, namespace: &str, name: &str)
    -> Result<Option<String>, LookupError>;

    /// What the Secret `name` holds as a secrets bundle.
    async fn bundle(&self, namespace: &str, name: &str) -> Result<BundleLookup, LookupError>;

    /// What the Kubernetes Node `name` of the cluster that Ichor runs in says is its system UUID, `None` when there is no
    /// such Node.
    async fn node_system_uuid(&self, name: &str) -> Result<Option<String>, LookupError>;

    /// Whether the namespace is being deleted.
    async fn is_terminating(&self, namespace: &str) -> Result<bool, LookupError>;
}
