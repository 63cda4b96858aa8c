//! TalosMachine: one machine, named by its SMBIOS UUID.

mod network;
mod status;

pub use network::{MachineAddressing, MachineNetwork, Route};
pub use status::{RebootRecord, TalosMachineStatus};

use crate::{DriftPolicy, LocalReference, MachineIdentity};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A machine, named by its lower-case SMBIOS UUID.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "ichor.maesh.dev",
    version = "v1alpha1",
    kind = "TalosMachine",
    namespaced,
    status = "TalosMachineStatus",
    shortname = "tm",
    selectable = ".spec.clusterRef.name",
    selectable = ".spec.hostname",
    selectable = ".spec.endpoint",
    selectable = ".spec.network.addressing",
    selectable = ".status.observedEndpoint",
    selectable = ".status.nodeName",
    category = "ichor",
    derive = "PartialEq",
    doc = "A machine, named by its lower-case SMBIOS UUID. It does nothing until a person approves it.",
    printcolumn(name = "Hostname", type_ = "string", json_path = ".spec.hostname"),
    printcolumn(name = "Role", type_ = "string", json_path = ".spec.role"),
    printcolumn(name = "Address", type_ = "string", json_path = ".spec.endpoint"),
    printcolumn(name = "Approval", type_ = "string", json_path = ".spec.approval", priority = 1),
    printcolumn(name = "Ready", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].status"),
    printcolumn(name = "Reason", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].reason"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    // Only from now on: an object that was approved under earlier rules stays usable.
    validation = Rule::new("self.spec.approval != 'Approved' || has(self.spec.maintenanceFingerprint) || (has(self.status) && has(self.status.appliedHash)) || (oldSelf.hasValue() && oldSelf.value().spec.approval == 'Approved' && !has(oldSelf.value().spec.maintenanceFingerprint))")
        .message("an approved machine needs maintenanceFingerprint: what status.maintenanceFingerprint shows and the machine's console confirms; \"ichor machine approve\" asks for it")
        .field_path(".spec.maintenanceFingerprint")
        .optional_old_self(true),
    validation = Rule::new(format!("!has(self.status) || !has(self.status.appliedHash) || !has(oldSelf.spec.role) || ({})", crate::rules::same_of_spec("role")))
        .message("the role of a configured machine cannot change; remove it with \"ichor node remove\" and approve it again")
        .field_path(".spec.role"),
    validation = Rule::new("!has(self.status) || !has(self.status.appliedHash) || oldSelf.spec.approval != 'Approved' || self.spec.approval == 'Approved'")
        .message("the approval of a configured machine cannot be taken back; remove it with \"ichor node remove\"")
        .field_path(".spec.approval"),
    validation = Rule::new("self.spec.identity.uuid == self.metadata.name").message("a TalosMachine is named by its lower-case SMBIOS UUID: metadata.name and spec.identity.uuid must be equal")
)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("self.approval != 'Approved' || (has(self.role) && has(self.clusterRef))").message("an approved machine needs role and clusterRef"),
    // Only from now on: an object that was approved under earlier rules stays usable.
    validation = Rule::new("self.approval != 'Approved' || has(self.install) || (oldSelf.hasValue() && oldSelf.value().approval == 'Approved' && !has(oldSelf.value().install))")
        .message("an approved machine needs install: the disk to install Talos to, one of status.hardware.disks")
        .field_path(".install")
        .optional_old_self(true),
    validation = Rule::new("!has(self.network) || !has(self.network.interface) || !has(self.identity.macs) || self.network.interface.lowerAscii() in self.identity.macs || (oldSelf.hasValue() && has(oldSelf.value().network) && has(oldSelf.value().network.interface) && oldSelf.value().network.interface == self.network.interface)")
        .message("network.interface must be one of spec.identity.macs: the link is found by its permanent MAC address")
        .field_path(".network.interface")
        .optional_old_self(true),
    validation = Rule::new("oldSelf.approval != 'Approved' || (has(self.clusterRef) == has(oldSelf.clusterRef) && (!has(self.clusterRef) || self.clusterRef == oldSelf.clusterRef))")
        .message("clusterRef of an approved machine cannot change; remove it with \"ichor node remove\" and approve it in the other cluster")
        .field_path(".clusterRef"),
)]
pub struct TalosMachineSpec {
    /// Cluster the machine belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_ref: Option<LocalReference>,
    /// Whether a person let the machine in: Pending, Approved or Rejected.
    pub approval: Approval,
    /// What the machine is in its cluster: controlplane or worker. Needed when approved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "MachineRole")]
    pub role: Option<MachineRole>,
    /// SMBIOS UUID, serial and MACs: together they are the machine. Never changes.
    #[x_kube(validation = Rule::new("self == oldSelf").message("the identity of a machine cannot change: another identity is another machine"), validation = crate::rules::identity_uuid(), validation = crate::rules::identity_macs())]
    pub identity: MachineIdentity,
    /// Address of the machine's Talos API.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    #[x_kube(validation = Rule::new("isIP(self)").message("must be an IP address such as 10.5.0.7"))]
    pub endpoint: Option<String>,
    /// Host name; also the name of its Kubernetes Node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    #[x_kube(validation = crate::rules::dns_name("worker-7"))]
    pub hostname: Option<String>,
    /// Link and addresses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<MachineNetwork>,
    /// Disk to install to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub install: Option<Install>,
    /// Drift policy of this machine in place of the cluster's: "correct" or "warnOnly".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "DriftPolicy")]
    pub drift_policy: Option<DriftPolicy>,
    /// Why upgrades leave this machine alone; empty or absent for no hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub upgrade_hold: Option<String>,
    /// Labels of the Kubernetes Node.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 64, "additionalProperties" = {"type": "string", "maxLength": 63}))]
    #[x_kube(validation = Rule::new("self.all(key, size(key) <= 317)").message("the key of a label has at most 317 characters"))]
    pub labels: BTreeMap<String, String>,
    /// Taints of the Kubernetes Node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["key".into(), "effect".into()]))]
    pub taints: Vec<Taint>,
    /// Fingerprint of the maintenance certificate the approver saw: base64 of the SHA-256 of its public key info.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    #[x_kube(validation = Rule::new("self.matches('^[A-Za-z0-9+/]{43}=$')").message("must be a fingerprint as the machine's console and status.maintenanceFingerprint show it: 44 characters of base64"))]
    pub maintenance_fingerprint: Option<String>,
}

/// Whether a person let a machine in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Approval {
    /// Nobody has decided yet.
    Pending,
    /// A person let it in.
    Approved,
    /// A person turned it away.
    Rejected,
}

/// What a machine is in its cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MachineRole {
    /// Runs etcd and the Kubernetes control plane.
    ControlPlane,
    /// Runs workloads.
    Worker,
}

/// Disk to install to: by path or by selector.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("has(self.disk) != has(self.diskSelector)").message("exactly one of disk and diskSelector is needed"))]
pub struct Install {
    /// Path of the disk, such as /dev/sda.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    #[x_kube(validation = Rule::new("self.startsWith('/dev/')").message("must be the path of a disk such as /dev/nvme0n1"))]
    pub disk: Option<String>,
    /// Talos disk selector: what the disk has to be, by size, name, model, serial, modalias, uuid, wwid, type or busPath, such as {"size": ">= 100GB"}.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minProperties" = 1, "maxProperties" = 16, "additionalProperties" = {"type": "string", "maxLength": 256}))]
    #[x_kube(validation = Rule::new("self.all(key, key in ['size', 'name', 'model', 'serial', 'modalias', 'uuid', 'wwid', 'type', 'busPath'])").message("a disk selector knows size, name, model, serial, modalias, uuid, wwid, type and busPath"))]
    pub disk_selector: Option<BTreeMap<String, String>>,
}

/// A taint of a Kubernetes Node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Taint {
    /// Key of the taint.
    #[schemars(length(min = 1, max = 317))]
    pub key: String,
    /// Value of the taint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub value: Option<String>,
    /// NoSchedule, PreferNoSchedule or NoExecute.
    #[schemars(length(max = 32))]
    #[x_kube(validation = Rule::new("self in ['NoSchedule', 'PreferNoSchedule', 'NoExecute']").message("must be NoSchedule, PreferNoSchedule or NoExecute"))]
    pub effect: String,
}

impl TalosMachine {
    /// Whether a person approved the machine.
    pub fn is_approved(&self) -> bool {
        self.spec.approval == Approval::Approved
    }

    /// The address to dial (record 0086): the observed one while it was recorded against the present
    /// `spec.endpoint`, else `spec.endpoint`.
    pub fn dial_endpoint(&self) -> Option<&str> {
        let spec = self.spec.endpoint.as_deref();
        let observed = self.status.as_ref().and_then(|status| {
            (status.observed_endpoint_for.as_deref() == spec)
                .then_some(status.observed_endpoint.as_deref())
                .flatten()
        });
        observed.or(spec)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(endpoint: Option<&str>, observed: Option<(&str, Option<&str>)>) -> TalosMachine {
        let mut machine = TalosMachine::new(
            "4c4c4544-0042-3510-8052-b4c04f463133",
            serde_json::from_value(serde_json::json!({
                "approval": "Approved", "identity": {"uuid": "4c4c4544-0042-3510-8052-b4c04f463133"},
            }))
            .expect("a spec"),
        );
        machine.spec.endpoint = endpoint.map(str::to_owned);
        machine.status = observed.map(|(address, instead_of)| TalosMachineStatus {
            observed_endpoint: Some(address.to_owned()),
            observed_endpoint_for: instead_of.map(str::to_owned),
            ..TalosMachineStatus::default()
        });
        machine
    }

    #[test]
    fn record_0086_an_edited_endpoint_overrides_the_observed_one() {
        for (endpoint, observed, want) in [
            (Some("10.0.0.1"), None, Some("10.0.0.1")),
            (
                Some("10.0.0.1"),
                Some(("10.0.0.9", Some("10.0.0.1"))),
                Some("10.0.0.9"),
            ),
            (
                Some("10.0.0.2"),
                Some(("10.0.0.9", Some("10.0.0.1"))),
                Some("10.0.0.2"),
            ),
            (None, None, None),
        ] {
            assert_eq!(machine(endpoint, observed).dial_endpoint(), want);
        }
    }
}
