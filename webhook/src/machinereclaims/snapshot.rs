//! What a request is judged from: the change, the caller, and what was found out for it.

use crate::ports::{Access, ClusterLookup, LookupError, OtherReclaim};
use ichor_crds::{MachineReclaimSpec, MachineReclaimStatus};

/// What the request does to the object.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// It is created.
    Create {
        /// The spec as given.
        spec: MachineReclaimSpec,
    },
    /// Its spec changes.
    Spec {
        /// The spec as it would be.
        spec: MachineReclaimSpec,
        /// The spec as it is.
        old: MachineReclaimSpec,
        /// The status as it is.
        status: Box<MachineReclaimStatus>,
    },
    /// Only metadata changes.
    Metadata,
}

/// What is known of the request without asking anyone.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// User name of the caller.
    pub caller: String,
    /// Namespace of the object.
    pub namespace: String,
    /// Name of the object; empty with generateName.
    pub name: String,
    /// What the request does.
    pub change: Change,
    /// The requester annotation as it would be.
    pub requested_by: Option<String>,
    /// The requester annotation as it is.
    pub old_requested_by: Option<String>,
    /// The namespace that Ichor works in.
    pub ichor_namespace: String,
    /// Whether loopback and link-local addresses may be dialled.
    pub allow_local_addresses: bool,
}

/// What was found out; `None` is what nobody had to ask.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Whether the caller has verb `reclaim`.
    pub reclaim: Option<Result<Access, LookupError>>,
    /// The cluster that `clusterRef` names.
    pub cluster: Option<Result<ClusterLookup, LookupError>>,
    /// Whether the caller may `get` the Secret that `credentialSecretRef` names.
    pub secret_access: Option<Result<Access, LookupError>>,
    /// The type of that Secret, `None` inside when there is none. Asked only when the caller may get it.
    pub secret_type: Option<Result<Option<String>, LookupError>>,
    /// The other reclaims that have not ended.
    pub others: Option<Result<Vec<OtherReclaim>, LookupError>>,
}

/// Everything a request is judged from.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// What is known of the request.
    pub facts: Facts,
    /// What was found out.
    pub findings: Findings,
}

/// What has to be found out for a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Questions {
    /// Whether the caller has verb `reclaim`.
    pub reclaim: bool,
    /// The cluster to look up.
    pub cluster: Option<String>,
    /// The Secret whose type and access are looked up.
    pub secret: Option<String>,
    /// Whether other reclaims matter.
    pub others: bool,
}

impl Facts {
    /// The spec as it would be, where the request touches it.
    pub fn spec(&self) -> Option<&MachineReclaimSpec> {
        match &self.change {
            Change::Create { spec } | Change::Spec { spec, .. } => Some(spec),
            Change::Metadata => None,
        }
    }

    /// What to find out. Nothing for a change of metadata: a finalizer must come off although the
    /// references are gone (DESIGN section 4, step 1; FAULTS 5).
    pub fn questions(&self) -> Questions {
        let Some(spec) = self.spec() else {
            return Questions::default();
        };
        if self.namespace != self.ichor_namespace {
            return Questions::default();
        }
        let named = |reference: &Option<ichor_crds::LocalReference>| {
            let name = reference.as_ref().map(|r| r.name.clone());
            name.filter(|name| is_object_name(name))
        };
        Questions {
            reclaim: true,
            cluster: named(&spec.cluster_ref),
            secret: named(&spec.credential_secret_ref),
            others: match &self.change {
                Change::Create { .. } => true,
                Change::Spec { old, .. } => spec.confirm_uuid != old.confirm_uuid,
                Change::Metadata => false,
            },
        }
    }
}

/// Whether `name` can name an object. Anything else is never put into the path of a request.
pub(crate) fn is_object_name(name: &str) -> bool {
    let label = |part: &str| {
        let bytes = part.as_bytes();
        let end = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
        end(bytes.first())
            && end(bytes.last())
            && bytes
                .iter()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || *b == b'-')
    };
    name.len() <= 253 && name.split('.').all(label)
}
