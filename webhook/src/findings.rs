//! What has to be found out for a request, and what was.

use crate::candidates::{Called, Candidates};
use crate::ports::{Access, BundleLookup, ClusterLookup, LookupError, Selector};
use crate::seen::Seen;
use ichor_crds::{
    MachineReclaim, TalosCluster, TalosEtcdBackup, TalosMachine, TalosOperation, TalosStorage,
};

/// An answer; `None` is what nobody had to ask.
pub type Answer<T> = Option<Result<T, LookupError>>;

/// A verb that the caller needs for a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verb {
    /// The verb, such as `reclaim`.
    pub verb: &'static str,
    /// The resource it is about.
    pub resource: &'static str,
    /// The object it is about; empty for any.
    pub name: String,
    /// What the caller wants to do, as in `may not reclaim machines`.
    pub doing: &'static str,
    /// The role of the manifests that holds the verb.
    pub role: &'static str,
}

/// What has to be found out for a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Questions {
    /// A verb that the caller needs. Who lacks it learns nothing else.
    pub verb: Option<Verb>,
    /// The cluster to look up.
    pub cluster: Option<String>,
    /// The Secret with a talosconfig whose type and access are looked up.
    pub secret: Option<String>,
    /// The Secret with a secrets bundle that is read, and access to it looked up.
    pub bundle: Option<String>,
    /// Another Secret that the controller will read for the caller, and access to it looked up.
    pub used_secret: Option<String>,
    /// The TalosEtcdBackup to look up.
    pub backup: Option<String>,
    /// Whether all clusters matter.
    pub clusters: bool,
    /// The MachineReclaims that matter.
    pub reclaims: Vec<Selector>,
    /// The TalosMachines that matter.
    pub machines: Vec<Selector>,
    /// The machine that a person calls by some name.
    pub called: Option<Called>,
    /// The TalosOperations that matter.
    pub operations: Vec<Selector>,
    /// The TalosStorages that matter.
    pub storages: Vec<Selector>,
    /// Whether it matters that the namespace is being deleted.
    pub terminating: bool,
}

/// What was found out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Findings {
    /// Whether the caller has the verb.
    pub verb: Answer<Access>,
    /// The cluster that is referred to.
    pub cluster: Answer<ClusterLookup>,
    /// Whether the caller may `get` the Secret that is referred to.
    pub secret_access: Answer<Access>,
    /// The type of that Secret, `None` inside when there is none. Asked only when the caller may get it, and not of a
    /// bundle.
    pub secret_type: Answer<Option<String>>,
    /// What that Secret holds as a secrets bundle. Asked only when the caller may get it.
    pub bundle: Answer<BundleLookup>,
    /// The TalosEtcdBackup, `None` inside when there is none.
    pub backup: Answer<Option<TalosEtcdBackup>>,
    /// All clusters.
    pub clusters: Answer<Vec<Seen<TalosCluster>>>,
    /// The cluster IDs in their bundles, by name of the cluster; where a bundle is not readable, as it was
    /// seen last. Asked only to compare a sound bundle with them.
    pub cluster_ids: Answer<Vec<(String, String)>>,
    /// The MachineReclaims that were asked for, ended ones too.
    pub reclaims: Answer<Vec<Seen<MachineReclaim>>>,
    /// The TalosMachines that were asked for.
    pub machines: Answer<Vec<Seen<TalosMachine>>>,
    /// What a person's name for a machine stands for.
    pub called: Answer<Candidates>,
    /// The TalosOperations that were asked for, completed ones too.
    pub operations: Answer<Vec<Seen<TalosOperation>>>,
    /// The TalosStorages that were asked for.
    pub storages: Answer<Vec<Seen<TalosStorage>>>,
    /// Whether the namespace is being deleted.
    pub terminating: Answer<bool>,
}

/// What was found, where it could be.
#[allow(
    clippy::ref_option,
    reason = "an answer is read as it stands in the findings"
)]
pub(crate) fn known<T>(answer: &Answer<T>) -> Option<&T> {
    answer.as_ref().and_then(|answer| answer.as_ref().ok())
}

/// The items that were found.
#[allow(
    clippy::ref_option,
    reason = "an answer is read as it stands in the findings"
)]
pub(crate) fn found<T>(answer: &Answer<Vec<T>>) -> &[T] {
    known(answer).map_or(&[], Vec::as_slice)
}
