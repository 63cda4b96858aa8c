//! Small shapes that several kinds share.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use k8s_openapi::jiff::Timestamp;
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

/// The name of an object of the same namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
pub struct LocalReference {
    /// Name of the object.
    #[schemars(length(min = 1, max = 253))]
    #[x_kube(validation = crate::rules::object_name())]
    pub name: String,
}

impl LocalReference {
    /// A reference to the object called `name`.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into() }
    }
}

/// Sets a condition in a list kept by type, and moves `lastTransitionTime` only when the status of the
/// condition changes, as Kubernetes asks of conditions. Returns whether anything but a time changed.
pub fn condition(
    conditions: &mut Vec<Condition>,
    kind: &str,
    status: bool,
    reason: &str,
    message: &str,
    generation: Option<i64>,
    now: Timestamp,
) -> bool {
    let status = if status { "True" } else { "False" };
    let mut fresh = Condition {
        type_: kind.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: message.to_owned(),
        observed_generation: generation,
        last_transition_time: Time(now),
    };
    let Some(existing) = conditions.iter_mut().find(|c| c.type_ == kind) else {
        conditions.push(fresh);
        return true;
    };
    if existing.status == fresh.status {
        fresh.last_transition_time = existing.last_transition_time.clone();
    }
    let changed = *existing != fresh;
    *existing = fresh;
    changed
}
