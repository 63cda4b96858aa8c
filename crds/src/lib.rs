//! The API types of Ichor: objects of group `ichor.maesh.dev/v1alpha1`, their rules in CEL, and the
//! identities they carry (DESIGN section 3).
//!
//! Nothing here talks to a server. Shapes are checked by the API server through the CRDs that
//! [`all_crds`] makes; what needs other objects or the caller is the webhook's.

// The documentation of fields is what `kubectl explain` prints: plain words, without Markdown.
#![allow(rustdoc::bare_urls)]

mod address;
mod cluster;
pub mod conditions;
mod identity;
mod machine;
mod meta;
mod reclaim;
mod uuid;

pub use address::{AddressError, NodeAddress};
pub use cluster::{
    AccessMode, ControlPlaneSettings, Discovery, DriftPolicy, Network, RebootPolicy, TalosCluster,
    TalosClusterSpec, TalosClusterStatus,
};
pub use identity::{IdentityMatch, MachineIdentity};
pub use machine::{
    Approval, Install, MachineAddressing, MachineNetwork, MachineRole, Route, Taint, TalosMachine,
    TalosMachineSpec, TalosMachineStatus,
};
pub use meta::{LocalReference, condition};
pub use reclaim::{
    EtcdMemberView, MachineReclaim, MachineReclaimSpec, MachineReclaimStatus, NodeView,
    ReclaimInspection, ReclaimPhase, ReclaimProgress, ResetRecord, VolumeView,
};
pub use uuid::{SystemUuid, UuidError};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray,
};
use kube::CustomResourceExt;
use std::collections::BTreeMap;

/// API group of every kind of Ichor.
pub const GROUP: &str = "ichor.maesh.dev";
/// Version of every kind of Ichor.
pub const VERSION: &str = "v1alpha1";
/// Annotation with the user name of whoever created an object, set by admission and by nobody else.
pub const REQUESTED_BY: &str = "ichor.maesh.dev/requested-by";
/// Type of a Secret that holds a pasted talosconfig (record 0136, DESIGN section 4).
pub const TALOSCONFIG_SECRET_TYPE: &str = "ichor.maesh.dev/talosconfig";
/// Key of the talosconfig inside a Secret of [`TALOSCONFIG_SECRET_TYPE`].
pub const TALOSCONFIG_KEY: &str = "talosconfig";
/// Key of the secrets bundle inside the Secret that `spec.secretsBundleRef` names.
pub const BUNDLE_KEY: &str = "bundle";

/// The CRDs of every kind, in the order they are applied, with their file names.
///
/// Optional fields are not nullable: the API server then drops an explicit null, so that `has()` in the
/// rules means "is there" (a null would pass for a value).
pub fn all_crds() -> Vec<(&'static str, CustomResourceDefinition)> {
    [
        ("talosclusters.yaml", TalosCluster::crd()),
        ("talosmachines.yaml", TalosMachine::crd()),
        ("machinereclaims.yaml", MachineReclaim::crd()),
    ]
    .into_iter()
    .map(|(file, mut crd)| {
        for version in &mut crd.spec.versions {
            if let Some(schema) = version
                .schema
                .as_mut()
                .and_then(|schema| schema.open_api_v3_schema.as_mut())
            {
                forbid_null(schema);
            }
        }
        (file, crd)
    })
    .collect()
}

/// Takes `nullable` from a schema and from all below it.
fn forbid_null(schema: &mut JSONSchemaProps) {
    schema.nullable = None;
    for property in schema.properties.iter_mut().flat_map(BTreeMap::values_mut) {
        forbid_null(property);
    }
    if let Some(JSONSchemaPropsOrArray::Schema(items)) = schema.items.as_mut() {
        forbid_null(items);
    }
}
