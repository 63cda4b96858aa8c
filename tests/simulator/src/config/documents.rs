//! What the simulator needs to know from a machine configuration.

use serde_json::Value;

use crate::pki::Authority;
use crate::spec::Role;

/// A complete (v1alpha1-bearing) configuration.
#[derive(Clone)]
pub struct MachineConfig {
    /// Exactly as submitted.
    pub text: String,
    /// `machine.type`.
    pub role: Role,
    /// `machine.ca`, the key only on control planes.
    pub ca: Option<Authority>,
    /// `machine.ca.crt` and `machine.acceptedCAs`, PEM.
    pub accepted_cas: Vec<String>,
    /// `machine.certSANs`.
    pub cert_sans: Vec<String>,
    /// Hostname, if one is set.
    pub hostname: Option<String>,
    /// Cluster ID.
    pub cluster_id: String,
    /// Cluster name.
    pub cluster_name: String,
    /// `skipNodeRegistration`.
    pub skip_node_registration: bool,
}

impl MachineConfig {
    /// Reads the meaning out of decoded documents; `None` when there is no v1alpha1 document.
    pub(super) fn read(text: &str, documents: &[Value]) -> Option<Self> {
        let main = documents
            .iter()
            .find(|document| document.get("kind").is_none())?;
        let kind = |name: &str| {
            documents
                .iter()
                .find(|document| document["kind"] == name)
                .unwrap_or(&Value::Null)
        };
        let machine = &main["machine"];
        let ca_certificate = pem(&machine["ca"]["crt"]);
        let accepted = machine["acceptedCAs"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default();
        let accepted = accepted.iter().filter_map(|ca| pem(&ca["crt"]));
        let role = if machine["type"] == "worker" {
            Role::Worker
        } else {
            Role::ControlPlane
        };
        let node = kind("KubeNodeConfig");
        Some(Self {
            text: text.to_owned(),
            role,
            ca: ca_certificate.clone().map(|certificate| Authority {
                certificate,
                key: pem(&machine["ca"]["key"]).unwrap_or_default(),
            }),
            accepted_cas: ca_certificate.into_iter().chain(accepted).collect(),
            cert_sans: strings(&machine["certSANs"]),
            hostname: first_text(&[
                &machine["network"]["hostname"],
                &kind("HostnameConfig")["hostname"],
            ]),
            cluster_id: first_text(&[
                &main["cluster"]["id"],
                &kind("DiscoveryIdentityConfig")["clusterID"],
            ])
            .unwrap_or_default(),
            cluster_name: first_text(&[
                &main["cluster"]["clusterName"],
                &kind("KubeClusterConfig")["clusterName"],
            ])
            .unwrap_or_default(),
            skip_node_registration: [&machine["kubelet"], node]
                .iter()
                .any(|source| source["skipNodeRegistration"] == Value::Bool(true)),
        })
    }
}

/// A certificate or key: base64 of PEM, or PEM itself in the newer documents.
pub(super) fn pem(value: &Value) -> Option<String> {
    let text = value.as_str().filter(|text| !text.is_empty())?;
    if text.contains("-----BEGIN") {
        Some(text.to_owned())
    } else {
        crate::pki::decode_pem(text).ok()
    }
}

fn first_text(candidates: &[&Value]) -> Option<String> {
    candidates
        .iter()
        .find_map(|value| value.as_str())
        .filter(|text| !text.is_empty())
        .map(str::to_owned)
}

fn strings(value: &Value) -> Vec<String> {
    value
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}
