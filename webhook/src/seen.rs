//! Objects as far as they can be read. What a newer version stored may hold something that this one does not know: such
//! an object hides no other (FAULTS 35), and nothing is allowed because it cannot be read (DESIGN section 4). Of it counts
//! what can be read, and as the worst it may be what cannot.

use ichor_crds::{MachineReclaim, TalosCluster, TalosMachine, TalosOperation, TalosStorage};
use kube::{Resource, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::ops::Deref;

/// An object that was looked up.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen<K> {
    object: K,
    whole: bool,
}

/// A kind whose objects may decide that something is refused.
pub trait Guards: DeserializeOwned + Resource<DynamicType = ()> {
    /// How one counts of which nothing can be read.
    fn doubt() -> Value;
    /// The same in words, where there are any to say.
    const COUNTS_AS: &'static str = "";
}

impl<K> Deref for Seen<K> {
    type Target = K;

    fn deref(&self) -> &K {
        &self.object
    }
}

impl<K> From<K> for Seen<K> {
    fn from(object: K) -> Self {
        Self {
            object,
            whole: true,
        }
    }
}

impl<K> Seen<K> {
    /// Whether all of it could be read.
    pub fn is_whole(&self) -> bool {
        self.whole
    }
}

impl<K: Guards> Seen<K> {
    /// The object in `text`; `None` where even its name cannot be read.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let error = match serde_json::from_str::<K>(text) {
            Ok(object) => return Some(object.into()),
            Err(error) => error,
        };
        let stored: Value = serde_json::from_str(text).ok()?;
        let object: K = in_part(&stored)?;
        let (kind, name) = (K::kind(&()), object.name_any());
        tracing::warn!(%error, %kind, name, "an object cannot be read as a whole");
        Some(Self {
            object,
            whole: false,
        })
    }

    /// What a refusal adds because of an object of which a part is not known; empty for any other.
    pub(crate) fn note(&self) -> String {
        if self.whole {
            return String::new();
        }
        let (kind, plural, name) = (K::kind(&()), K::plural(&()), self.name_any());
        let at = self.namespace().map(|namespace| format!(" -n {namespace}"));
        let at = at.unwrap_or_default();
        let counts_as: Cow<'_, str> = match K::COUNTS_AS {
            "" => "".into(),
            it => format!(" and counts as {it}").into(),
        };
        format!(
            "; {kind} {name:?} is stored in a form that this version of Ichor cannot read{counts_as}: upgrade Ichor, or correct it with kubectl edit {plural} {name}{at}"
        )
    }
}

/// What can be read of `stored`, field by field, in place of what counts where nothing can.
fn in_part<K: Guards>(stored: &Value) -> Option<K> {
    let mut part = K::doubt();
    part["metadata"] = json!({"name": stored["metadata"]["name"].as_str()?});
    for half in ["metadata", "spec", "status"] {
        for (key, value) in stored[half].as_object().into_iter().flatten() {
            let mut with = part.clone();
            with[half][key] = value.clone();
            if K::deserialize(&with).is_ok() {
                part = with;
            }
        }
    }
    K::deserialize(&part).ok()
}

impl Guards for TalosMachine {
    const COUNTS_AS: &'static str = "approved";

    fn doubt() -> Value {
        json!({"spec": {"approval": "Approved", "identity": {"uuid": ""}}})
    }
}

impl Guards for TalosOperation {
    const COUNTS_AS: &'static str = "not finished";

    fn doubt() -> Value {
        json!({"spec": {"clusterRef": {"name": ""}, "kind": "reboot"}})
    }
}

impl Guards for MachineReclaim {
    const COUNTS_AS: &'static str = "not finished";

    fn doubt() -> Value {
        json!({"spec": {"address": ""}})
    }
}

impl Guards for TalosCluster {
    fn doubt() -> Value {
        json!({"spec": {
            "endpoint": "", "talosVersion": "", "kubernetesVersion": "", "secretsBundleRef": {"name": ""},
            "kubernetesAccess": "bundle",
        }})
    }
}

impl Guards for TalosStorage {
    fn doubt() -> Value {
        json!({"spec": {"clusterRef": {"name": ""}, "volumes": []}})
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ichor_crds::{Approval, OperationPhase};

    fn read<K: Guards>(stored: &Value) -> Seen<K> {
        Seen::read(&stored.to_string()).expect("a part of it")
    }

    #[test]
    fn what_can_be_read_counts_and_the_rest_as_the_worst_it_may_be() {
        let stored = |approval: &str| {
            json!({
                "apiVersion": "ichor.maesh.dev/v1alpha1", "kind": "TalosMachine",
                "metadata": {"name": "m-1", "namespace": "ichor-system"},
                "spec": {"approval": approval, "role": "witness", "hostname": "worker-7", "identity": {"uuid": "m-1"}},
                "status": {"stage": 7, "nodeName": "node-7"},
            })
        };
        for (approval, want) in [
            ("Approved", Approval::Approved),
            ("Pending", Approval::Pending),
            ("Quarantined", Approval::Approved),
        ] {
            let machine: Seen<TalosMachine> = read(&stored(approval));
            assert_eq!(machine.spec.approval, want);
            assert_eq!(machine.spec.hostname.as_deref(), Some("worker-7"));
            let status = machine.status.clone().expect("a status");
            assert_eq!(status.node_name.as_deref(), Some("node-7"));
            assert!(!machine.is_whole() && machine.spec.role.is_none());
            assert!(machine.note().contains(
                "TalosMachine \"m-1\" is stored in a form that this version of Ichor cannot read and counts as approved: upgrade Ichor, or correct it with kubectl edit talosmachines m-1"
            ));
        }
        let operation: Seen<TalosOperation> = read(&json!({
            "metadata": {"name": "op-1"},
            "spec": {"clusterRef": {"name": "prod"}, "kind": "defragment"}, "status": {"phase": "Thinking"},
        }));
        assert_eq!(operation.spec.cluster_ref.name, "prod");
        let phase = operation.status.as_ref().map(|status| status.phase);
        assert_ne!(phase, Some(OperationPhase::Completed));
    }

    #[test]
    fn of_every_kind_something_counts_where_nothing_can_be_read() {
        let nothing = json!({"metadata": {"name": "x"}, "spec": "?", "status": []});
        assert!(!read::<TalosMachine>(&nothing).is_whole());
        assert!(!read::<TalosOperation>(&nothing).is_whole());
        assert!(!read::<MachineReclaim>(&nothing).is_whole());
        assert!(!read::<TalosCluster>(&nothing).is_whole());
        assert!(!read::<TalosStorage>(&nothing).is_whole());
        assert!(Seen::<TalosMachine>::read("{\"spec\": 1}").is_none());
        assert!(Seen::<TalosMachine>::read("?").is_none());
    }
}
