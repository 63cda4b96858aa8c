//! TalosCluster: one Talos cluster that Ichor manages.

use crate::{CniHandoverStatus, CniSettings, LocalReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A Talos cluster that Ichor manages.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "ichor.maesh.dev",
    version = "v1alpha1",
    kind = "TalosCluster",
    namespaced,
    status = "TalosClusterStatus",
    shortname = "tc",
    category = "ichor",
    derive = "PartialEq",
    doc = "A Talos cluster that Ichor manages: where it is, which versions it runs and which secrets it is made from.",
    validation = Rule::new("size(self.metadata.name) <= 63").message("the name of a cluster has at most 63 characters: Leases and labels carry it"),
    validation = Rule::new(format!("!has(self.status) || !has(self.status.machines) || self.status.machines == 0 || ({})", crate::rules::same_of_spec("network")))
        .message("the networks of a cluster that has machines cannot be set, cleared or changed; make another cluster")
        .field_path(".spec.network"),
    printcolumn(name = "Endpoint", type_ = "string", json_path = ".spec.endpoint"),
    printcolumn(name = "Talos", type_ = "string", json_path = ".spec.talosVersion"),
    printcolumn(
        name = "Kubernetes",
        type_ = "string",
        json_path = ".spec.kubernetesVersion"
    ),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].status"
    ),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].reason",
        priority = 1
    ),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp"
    )
)]
#[serde(rename_all = "camelCase")]
pub struct TalosClusterSpec {
    /// URL of the cluster's Kubernetes API, such as https://10.5.0.2:6443.
    #[schemars(length(max = 512))]
    #[x_kube(validation = Rule::new("isURL(self) && url(self).getScheme() == 'https'").message("must be an https URL such as https://10.5.0.2:6443"))]
    pub endpoint: String,
    /// Talos version the machines should run, such as v1.14.3.
    #[schemars(length(max = 64))]
    #[x_kube(validation = crate::rules::version("v1.14.3"))]
    pub talos_version: String,
    /// Talos version whose configuration is rendered, such as v1.14. Set once from talosVersion, then changed only by an explicit edit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 16))]
    #[x_kube(validation = Rule::new("self.matches('^v[0-9]+[.][0-9]+$')").message("must be a contract such as v1.14"))]
    pub version_contract: Option<String>,
    /// Kubernetes version of the cluster, such as v1.36.1.
    #[schemars(length(max = 64))]
    #[x_kube(validation = crate::rules::version("v1.36.1"))]
    pub kubernetes_version: String,
    /// Secret of this namespace whose key "bundle" holds the cluster's secrets in the format of "talosctl gen secrets". Never changes.
    #[x_kube(validation = Rule::new("self == oldSelf").message("the secrets bundle of a cluster cannot change: its machines are made from it"))]
    pub secrets_bundle_ref: LocalReference,
    /// Installer image for new machines and upgrades.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512))]
    #[x_kube(validation = crate::rules::image())]
    pub install_image: Option<String>,
    /// Further names and addresses of the Kubernetes API's certificate.
    #[serde(default, rename = "certSANs", skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(min = 1, max = 253)))]
    #[x_kube(merge_strategy = ListMerge::Set, validation = Rule::new("self.all(san, isIP(san) || san.matches('^([*][.])?[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?([.][A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*$'))").message("must be DNS names or IP addresses, such as api.prod.example.com"))]
    pub cert_sans: Vec<String>,
    /// Pod and service networks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<Network>,
    /// Whether workloads may run on control planes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allow_scheduling_on_control_planes: Option<bool>,
    /// Limits of the control plane.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control_plane: Option<ControlPlaneSettings>,
    /// What to do when a machine's configuration is not the rendered one: "correct" (default) or "warnOnly".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "DriftPolicy")]
    pub drift_policy: Option<DriftPolicy>,
    /// Who reboots machines that need it: "manual" (default: a person) or "rolling" (Ichor, one at a time).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RebootPolicy")]
    pub reboot_policy: Option<RebootPolicy>,
    /// Where new machines are looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discovery: Option<Discovery>,
    /// The pod network, and how a running cluster moves to Cilium.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cni: Option<CniSettings>,
    /// How Ichor reaches the cluster's Kubernetes API: "self" (it is the one Ichor runs in) or "bundle" (the endpoint, with an administrator's certificate made from the bundle).
    pub kubernetes_access: AccessMode,
}

/// Pod and service networks of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Network {
    /// Networks of pods, in CIDR notation.
    #[serde(default, rename = "podCIDRs", skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 4), inner(length(max = 64)))]
    #[x_kube(validation = Rule::new("self.all(c, isCIDR(c))").message("must be networks such as 10.244.0.0/16"))]
    pub pod_cidrs: Vec<String>,
    /// Networks of services, in CIDR notation.
    #[serde(
        default,
        rename = "serviceCIDRs",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(length(max = 4), inner(length(max = 64)))]
    #[x_kube(validation = Rule::new("self.all(c, isCIDR(c))").message("must be networks such as 10.96.0.0/12"))]
    pub service_cidrs: Vec<String>,
    /// DNS domain of the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    #[x_kube(validation = crate::rules::dns_name("cluster.local"))]
    pub dns_domain: Option<String>,
}

/// Limits of the control plane.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct ControlPlaneSettings {
    /// Largest number of control planes (default 3).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 9))]
    pub max: Option<i32>,
}

/// Where new machines are looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Discovery {
    /// Addresses that are probed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1024), inner(length(max = 64)))]
    #[x_kube(merge_strategy = ListMerge::Set, validation = Rule::new("self.all(a, isIP(a))").message("must be IP addresses such as 10.5.0.7"))]
    pub addresses: Vec<String>,
    /// Networks whose addresses are probed, in CIDR notation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16), inner(length(max = 64)))]
    #[x_kube(merge_strategy = ListMerge::Set, validation = Rule::new("self.all(c, isCIDR(c))").message("must be networks such as 10.5.0.0/24"))]
    pub cidrs: Vec<String>,
    /// Time between two rounds, such as 5m (default).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    #[x_kube(validation = crate::rules::duration("30s", "24h", "5m"))]
    pub interval: Option<String>,
}

/// What to do about drift.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum DriftPolicy {
    /// Apply the rendered configuration again.
    Correct,
    /// Report it and leave the machine alone.
    WarnOnly,
}

/// Who reboots machines that need it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum RebootPolicy {
    /// A person.
    Manual,
    /// Ichor, one machine at a time under the disruption lock.
    Rolling,
}

/// How the cluster's own Kubernetes API is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum AccessMode {
    /// This API server is the cluster's own.
    #[serde(rename = "self")]
    OwnCluster,
    /// Dial `endpoint` with an administrator's certificate minted from the bundle's Kubernetes CA.
    Bundle,
}

/// What Ichor knows of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct TalosClusterStatus {
    /// Generation of the spec that this status describes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Cluster ID of the bundle.
    #[serde(default, rename = "clusterID", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    pub cluster_id: Option<String>,
    /// Approved machines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machines: Option<i32>,
    /// Approved control planes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control_planes: Option<i32>,
    /// Approved machines that are Ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready_machines: Option<i32>,
    /// Machines that wait for approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending_machines: Option<i32>,
    /// Talos versions seen on the machines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16), inner(length(max = 64)))]
    pub talos_versions: Vec<String>,
    /// Kubernetes versions seen on the machines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16), inner(length(max = 64)))]
    pub kubernetes_versions: Vec<String>,
    /// The bootstrap of etcd, recorded before it was sent; a record that is found is never sent again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bootstrap: Option<BootstrapRecord>,
    /// How far the move to Cilium is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cni_handover: Option<CniHandoverStatus>,
    /// Conditions; "Ready" tells whether the cluster can be worked on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
}

/// The record of a bootstrap, written before it is sent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct BootstrapRecord {
    /// TalosMachine that was asked.
    #[schemars(length(min = 1, max = 253))]
    pub machine: String,
    /// Its boot ID at the time of the record.
    #[serde(default, rename = "bootID", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub boot_id: Option<String>,
    /// When the record was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded_at: Option<Time>,
    /// When Talos answered the request; absent when the answer was not seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted_at: Option<Time>,
    /// When etcd was seen healthy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Time>,
}
