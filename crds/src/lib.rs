//! The API types of Ichor: objects of group `ichor.maesh.dev/v1alpha1`, their rules in CEL, and the
//! identities they carry (DESIGN section 3).
//!
//! Nothing here talks to a server. Shapes are checked by the API server through the CRDs that
//! [`all_crds`] makes; what needs other objects or the caller is the webhook's.

// The documentation of fields is what `kubectl explain` prints: plain words, without Markdown. An optional enum says
// `schemars(with = ...)`, because the documentation of its type would otherwise take the place of the field's.
#![allow(rustdoc::bare_urls)]

mod access;
mod address;
mod backup;
mod cluster;
mod cni;
pub mod conditions;
mod hardware;
mod identity;
mod machine;
mod meta;
mod operation;
mod patch;
mod reclaim;
mod rules;
mod storage;
mod target;
mod uuid;

pub use access::{
    AccessApproval, TalosAccessRequest, TalosAccessRequestSpec, TalosAccessRequestStatus, TalosRole,
};
pub use address::{AddressError, NodeAddress};
pub use backup::{
    ActiveSnapshot, BackupDestination, BackupEncryption, BackupRetention, S3Destination, Snapshot,
    SnapshotCause, TalosEtcdBackup, TalosEtcdBackupSpec, TalosEtcdBackupStatus, VolumeDestination,
};
pub use cluster::{
    AccessMode, BootstrapRecord, ControlPlaneSettings, Discovery, DriftPolicy, Network,
    RebootPolicy, TalosCluster, TalosClusterSpec, TalosClusterStatus,
};
pub use cni::{
    CiliumSettings, CniHandover, CniHandoverPhase, CniHandoverStatus, CniProvider, CniSettings,
};
pub use hardware::{Hardware, HardwareDisk, HardwareLink};
pub use identity::{IdentityMatch, MachineIdentity};
pub use machine::{
    Approval, Install, MachineAddressing, MachineNetwork, MachineRole, RebootRecord, Route, Taint,
    TalosMachine, TalosMachineSpec, TalosMachineStatus,
};
pub use meta::{LocalReference, condition};
pub use operation::{
    CiliumUpgrade, EtcdRestore, KubernetesUpgrade, MachineOperationPhase, MachineOperationStatus,
    NodeOperation, OperationKind, OperationPhase, ReplaceControlPlane, TalosOperation,
    TalosOperationSpec, TalosOperationStatus, TalosUpgrade,
};
pub use patch::{TalosConfigPatch, TalosConfigPatchSpec, TalosConfigPatchStatus};
pub use reclaim::{
    EtcdMemberView, MachineReclaim, MachineReclaimSpec, MachineReclaimStatus, NodeView,
    ReclaimInspection, ReclaimPhase, ReclaimProgress, ResetRecord, VolumeView,
};
pub use storage::{
    MachineVolume, MachineVolumes, TalosStorage, TalosStorageSpec, TalosStorageStatus, UserVolume,
    VolumeDiskSelector, VolumeEncryption, VolumeFilesystem, VolumeKey, VolumePhase,
};
pub use target::{LabelOperator, LabelRequirement, MachineSelector, MachineTarget};
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
/// Annotation with the uid of whoever created an object, beside [`REQUESTED_BY`]: a name may be given to another
/// person. Absent where the API server knew none.
pub const REQUESTED_BY_UID: &str = "ichor.maesh.dev/requested-by-uid";
/// Annotation with the ID of the request that last created the object or changed its spec, set by admission and by nobody
/// else: the UID of the admission review, by which logs and traces of all that follows are found (DESIGN section 15).
pub const REQUEST_ID: &str = "ichor.maesh.dev/request-id";
/// Annotation with the user name of whoever decided about a TalosAccessRequest, set by admission and by nobody else.
pub const DECIDED_BY: &str = "ichor.maesh.dev/decided-by";
/// Annotation that lets a TalosCluster or an approved TalosMachine be deleted with the machines left as they are.
pub const ABANDON: &str = "ichor.maesh.dev/abandon";
/// Annotation that runs the failed step of a TalosOperation once more (record 0095).
pub const RETRY: &str = "ichor.maesh.dev/retry";
/// Annotation that takes a snapshot at once (DESIGN section 12).
pub const BACKUP_NOW: &str = "ichor.maesh.dev/backup-now";
/// The only value of [`ABANDON`], [`RETRY`] and [`BACKUP_NOW`] that counts.
pub const YES: &str = "true";
/// Type of a Secret that holds a pasted talosconfig (record 0136, DESIGN section 4).
pub const TALOSCONFIG_SECRET_TYPE: &str = "ichor.maesh.dev/talosconfig";
/// Key of the talosconfig inside a Secret of [`TALOSCONFIG_SECRET_TYPE`].
pub const TALOSCONFIG_KEY: &str = "talosconfig";
/// Key of the secrets bundle inside the Secret that `spec.secretsBundleRef` names.
pub const BUNDLE_KEY: &str = "bundle";

/// Keys inside the Secret that `credentialsSecretRef` of an S3 destination names.
pub const S3_KEYS: [&str; 2] = ["accessKeyID", "secretAccessKey"];
/// Key of the age identity inside the Secret that `identitySecretRef` of an etcdRestore names.
pub const AGE_IDENTITY_KEY: &str = "identity";

/// The ID of the request that last created the object or changed its spec, where admission recorded one.
pub fn request_id(object: &impl kube::ResourceExt) -> Option<&str> {
    let id = object.annotations().get(REQUEST_ID)?;
    is_request_id(id).then_some(id)
}

/// Whether a text is a request ID: a UUID, as every review has one. What else somebody stored is not passed on.
pub fn is_request_id(text: &str) -> bool {
    let hex = |byte: u8| byte.is_ascii_hexdigit() || byte == b'-';
    text.len() == 36 && text.bytes().all(hex)
}

/// The CRDs of every kind, in the order they are applied, with their file names.
///
/// Optional fields are not nullable: the API server then drops an explicit null, so that `has()` in the
/// rules means "is there" (a null would pass for a value).
pub fn all_crds() -> Vec<(&'static str, CustomResourceDefinition)> {
    [
        ("talosclusters.yaml", TalosCluster::crd()),
        ("talosmachines.yaml", TalosMachine::crd()),
        ("talosconfigpatches.yaml", TalosConfigPatch::crd()),
        ("talosoperations.yaml", TalosOperation::crd()),
        ("talosetcdbackups.yaml", TalosEtcdBackup::crd()),
        ("talosstorages.yaml", TalosStorage::crd()),
        ("machinereclaims.yaml", MachineReclaim::crd()),
        ("talosaccessrequests.yaml", TalosAccessRequest::crd()),
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
