//! TalosAccessRequest: a person asks for a certificate of the Talos API (DESIGN section 12).

use crate::LocalReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A request for access to the Talos API of a cluster.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "ichor.maesh.dev",
    version = "v1alpha1",
    kind = "TalosAccessRequest",
    namespaced,
    status = "TalosAccessRequestStatus",
    shortname = "tar",
    category = "ichor",
    derive = "PartialEq",
    doc = "A request for access to the Talos API of a cluster. Another person, who holds verb \"approve\", decides; then Ichor signs the certificate. \"ichor talosconfig\" does all of it. The private key never leaves the person's machine.",
    printcolumn(
        name = "Cluster",
        type_ = "string",
        json_path = ".spec.clusterRef.name"
    ),
    printcolumn(name = "Role", type_ = "string", json_path = ".spec.role"),
    printcolumn(
        name = "Requester",
        type_ = "string",
        json_path = r".metadata.annotations.ichor\.maesh\.dev/requested-by"
    ),
    printcolumn(name = "Approval", type_ = "string", json_path = ".spec.approval"),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].status"
    ),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = ".spec.reason",
        priority = 1
    ),
    printcolumn(
        name = "Expires",
        type_ = "string",
        json_path = ".status.expiresAt",
        priority = 1
    ),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp"
    )
)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = crate::rules::pem("csr", "CERTIFICATE REQUEST", "one certificate signing request"),
    validation = Rule::new("self.clusterRef == oldSelf.clusterRef && self.role == oldSelf.role && self.reason == oldSelf.reason && self.duration == oldSelf.duration && self.csr == oldSelf.csr")
        .message("only approval can change after creation; create another TalosAccessRequest"),
    validation = Rule::new("self.approval == oldSelf.approval || oldSelf.approval == 'Pending'")
        .message("a decision is final; create another TalosAccessRequest")
        .field_path(".approval"),
)]
pub struct TalosAccessRequestSpec {
    /// Cluster to get access to. Never changes.
    pub cluster_ref: LocalReference,
    /// Role in the Talos API: os:reader, os:operator or os:admin. Never changes.
    pub role: TalosRole,
    /// Why it is needed, for whoever decides. Never changes.
    #[schemars(length(max = 1024))]
    #[x_kube(validation = Rule::new("self.trim() != ''").message("must say why the access is needed, for whoever decides"))]
    pub reason: String,
    /// How long the certificate is valid, from 10m to 168h, such as 8h. Never changes.
    #[schemars(length(max = 32))]
    #[x_kube(validation = crate::rules::duration("10m", "168h", "8h"))]
    pub duration: String,
    /// Certificate signing request in PEM; of it only the public key is used. Never changes.
    #[schemars(length(max = 16_384))]
    pub csr: String,
    /// The decision: Pending (default), Approved or Denied. Needs verb "approve", is never the requester's own, and is final.
    #[serde(default)]
    #[x_kube(validation = Rule::new("oldSelf.hasValue() || self == 'Pending'").message("a request begins as Pending: another person decides").optional_old_self(true))]
    pub approval: AccessApproval,
}

/// A role in the Talos API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum TalosRole {
    /// Read what is not secret.
    #[serde(rename = "os:reader")]
    Reader,
    /// Read, and reboot, shut down and upgrade.
    #[serde(rename = "os:operator")]
    Operator,
    /// Everything.
    #[serde(rename = "os:admin")]
    Admin,
}

impl TalosRole {
    /// The role as Talos reads it in the subject of a certificate.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reader => "os:reader",
            Self::Operator => "os:operator",
            Self::Admin => "os:admin",
        }
    }
}

/// What was decided about a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum AccessApproval {
    /// Nobody has decided yet.
    #[default]
    Pending,
    /// The certificate is signed.
    Approved,
    /// It is not.
    Denied,
}

/// What Ichor did for a request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct TalosAccessRequestStatus {
    /// Generation of the spec that this status describes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The signed certificate in PEM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 16_384))]
    pub certificate: Option<String>,
    /// Certificate of the CA of the cluster's Talos API in PEM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 16_384))]
    pub ca: Option<String>,
    /// Addresses of the cluster's control planes, for the talosconfig.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16), inner(length(max = 64)))]
    pub endpoints: Vec<String>,
    /// When the certificate was signed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issued_at: Option<Time>,
    /// When the certificate expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Time>,
    /// Conditions; "Ready" tells whether there is a certificate that is valid.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
}
