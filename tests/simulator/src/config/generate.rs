//! A machine configuration for a node that begins configured.

use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use crate::pki::Bundle;
use crate::spec::Role;

/// Configuration of one node; a worker's holds no CA key.
pub fn generate(
    bundle: &Bundle,
    cluster: &str,
    endpoint: &str,
    hostname: &str,
    role: Role,
) -> Result<String> {
    let os = bundle.os_ca()?;
    let kubernetes = bundle.kubernetes_ca()?;
    let key = |key: &str| {
        if role == Role::ControlPlane {
            STANDARD.encode(key)
        } else {
            String::new()
        }
    };
    let mut config = json!({
        "version": "v1alpha1",
        "debug": false,
        "persist": true,
        "machine": {
            "type": role,
            "token": bundle.machine_token(),
            "ca": { "crt": STANDARD.encode(&os.certificate), "key": key(&os.key) },
            "certSANs": [],
            "network": { "hostname": hostname },
            "install": { "disk": "/dev/sda" },
        },
        "cluster": {
            "id": bundle.cluster_id(),
            "secret": bundle.cluster_secret(),
            "clusterName": cluster,
            "controlPlane": { "endpoint": endpoint },
            "token": bundle.bootstrap_token(),
            "ca": { "crt": STANDARD.encode(&kubernetes.certificate), "key": key(&kubernetes.key) },
        },
    });
    if role == Role::ControlPlane {
        let etcd = bundle.etcd_ca()?;
        config["cluster"]["etcd"] = json!({ "ca": { "crt": STANDARD.encode(&etcd.certificate), "key": STANDARD.encode(&etcd.key) } });
    }
    serde_saphyr::to_string(&config).context("writing a machine configuration")
}
