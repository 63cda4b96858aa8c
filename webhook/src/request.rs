//! What a request is judged from: the change, the caller, and what was found out for it. Everything a
//! resource has to say for itself is in its implementation of [`Judged`].

use crate::denial::Denial;
use crate::field::FieldError;
use crate::findings::{Findings, Questions};
use crate::handler::Paths;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

/// A rule about fields: what is wrong, and nothing where all is well.
pub type Rule<R> = fn(&Snapshot<R>) -> Vec<FieldError>;
/// Something that may be legal and not meant.
pub type Warning<R> = fn(&Snapshot<R>) -> Option<String>;

/// A resource that admission judges: what its rules are and what they need to know.
pub trait Judged: Clone + Debug + PartialEq + 'static {
    /// The kind, such as `MachineReclaim`.
    const KIND: &'static str;
    /// The resource, in the plural.
    const RESOURCE: &'static str;
    /// The paths of its webhooks.
    const PATHS: Paths;
    /// Whether judging may take so long that other requests must not wait behind it.
    const TAKES_LONG: bool = false;
    /// Its spec.
    type Spec: DeserializeOwned + Clone + Debug + PartialEq + Send + Sync;
    /// Its status.
    type Status: DeserializeOwned + Default + Clone + Debug + PartialEq + Send + Sync;

    /// All are asked, so that a person sees every error at once.
    const RULES: &'static [Rule<Self>];
    /// What draws a warning.
    const WARNINGS: &'static [Warning<Self>];

    /// What has to be found out before the request can be judged.
    fn questions(facts: &Facts<Self>) -> Questions;

    /// Why the object may not be deleted, and what to do instead.
    fn keeps(_: &Snapshot<Self>) -> Option<String> {
        None
    }

    /// What the mutating webhook needs to know; most need nothing.
    fn filling(_: &Facts<Self>) -> Questions {
        Questions::default()
    }

    /// Whether the request is a decision, whose maker is recorded.
    fn decides(_: &Facts<Self>) -> bool {
        false
    }

    /// What admission fills into the spec: JSON pointers below it, and the values there.
    fn fill(_: &Snapshot<Self>) -> Vec<(&'static str, Value)> {
        Vec::new()
    }

    /// What the audit log shall keep besides the decision.
    fn audit(facts: &Facts<Self>) -> Vec<(&'static str, String)>;
}

/// What the request does to the object.
#[derive(Clone, Debug, PartialEq)]
pub enum Change<R: Judged> {
    /// It is created.
    Create {
        /// The spec as given.
        spec: R::Spec,
    },
    /// Its spec changes.
    Spec {
        /// The spec as it would be.
        spec: R::Spec,
        /// The spec as it is.
        old: R::Spec,
        /// The status as it is.
        status: Box<R::Status>,
    },
    /// Only metadata changes.
    Metadata,
    /// It is deleted.
    Delete {
        /// The spec as it is, where it can be read: what cannot be read can still go.
        old: Option<R::Spec>,
    },
}

/// What is known of the request without asking anyone.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts<R: Judged> {
    /// User name of the caller.
    pub caller: String,
    /// UID of the review.
    pub review: String,
    /// Uid of the caller, where the API server knows one.
    pub caller_uid: Option<String>,
    /// Namespace of the object.
    pub namespace: String,
    /// Name of the object; empty with generateName.
    pub name: String,
    /// What the request does.
    pub change: Change<R>,
    /// Ichor's annotations as they would be; at a deletion, as they are.
    pub annotations: BTreeMap<String, String>,
    /// Ichor's annotations as they are.
    pub old_annotations: BTreeMap<String, String>,
    /// Those of Ichor's annotations that come from a file that is applied.
    pub applied_annotations: BTreeSet<String>,
    /// The namespace that Ichor works in.
    pub ichor_namespace: String,
    /// Whether loopback and link-local addresses may be dialled.
    pub allow_local_addresses: bool,
}

/// Everything a request is judged from.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot<R: Judged> {
    /// What is known of the request.
    pub facts: Facts<R>,
    /// What was found out.
    pub findings: Findings,
}

/// Allowed or not, and what goes with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Why not, if not.
    pub denial: Option<Denial>,
    /// What is legal and probably not meant.
    pub warnings: Vec<String>,
    /// What the audit log shall keep.
    pub audit: BTreeMap<&'static str, String>,
}

impl<R: Judged> Facts<R> {
    /// The spec as it would be, where the request touches it.
    pub fn spec(&self) -> Option<&R::Spec> {
        match &self.change {
            Change::Create { spec } | Change::Spec { spec, .. } => Some(spec),
            Change::Metadata | Change::Delete { .. } => None,
        }
    }

    /// The spec as it would be and as it is, where it changes.
    pub fn change_of_spec(&self) -> Option<(&R::Spec, &R::Spec)> {
        match &self.change {
            Change::Spec { spec, old, .. } => Some((spec, old)),
            _ => None,
        }
    }

    /// The status as it is, where the request changes the spec.
    pub fn status(&self) -> Option<&R::Status> {
        match &self.change {
            Change::Spec { status, .. } => Some(status),
            _ => None,
        }
    }

    /// Whether the object is in the namespace that Ichor reads.
    pub fn is_ichors(&self) -> bool {
        self.namespace == self.ichor_namespace
    }

    /// Whether the controller asks, by the account that is installed for it.
    pub fn is_by_the_controller(&self) -> bool {
        let account = format!(
            "system:serviceaccount:{}:ichor-controller",
            self.ichor_namespace
        );
        self.caller == account
    }

    /// Whether the annotation `key` is `true` now.
    pub fn is_annotated(&self, key: &str) -> bool {
        self.annotations
            .get(key)
            .is_some_and(|value| value == "true")
    }

    /// Whether this request sets the annotation `key` to `true`.
    pub fn annotates(&self, key: &str) -> bool {
        let was = self
            .old_annotations
            .get(key)
            .is_some_and(|value| value == "true");
        self.is_annotated(key) && !was
    }
}
