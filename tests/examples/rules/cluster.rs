//! The rules of a TalosCluster.

use super::case::{Case, rule};
use serde_json::{Value, json};

const FIXED_NETWORK: &str = "the networks of a cluster that has machines cannot be set, cleared or changed; make another cluster";

pub fn cases() -> Vec<Case> {
    [shape(), discovery_and_cni(), fixed()]
        .into_iter()
        .flatten()
        .collect()
}

fn shape() -> Vec<Case> {
    vec![
        rule(
            "prod",
            "the name of a cluster has at most 63 characters: Leases and labels carry it",
            json!({}),
            json!({}),
        )
        .named("n".repeat(64)),
        rule(
            "prod",
            "must be an https URL such as https://10.5.0.2:6443",
            json!({"endpoint": "http://10.5.0.10:6443"}),
            json!({"endpoint": "https://[fd00:5::10]:6443"}),
        ),
        rule(
            "prod",
            "must be a version such as v1.14.3",
            json!({"talosVersion": "1.14.3"}),
            json!({"talosVersion": "v1.15.0-alpha.1"}),
        ),
        rule(
            "prod",
            "must be a version such as v1.36.1",
            json!({"kubernetesVersion": "v1.36"}),
            json!({"kubernetesVersion": "v1.36.0"}),
        ),
        rule(
            "prod",
            "must be a contract such as v1.14",
            json!({"versionContract": "v1.14.3"}),
            json!({"versionContract": "v1.14"}),
        ),
        rule(
            "prod",
            "is not the name of an object: lower-case letters, digits, \"-\" and \".\", at most 253",
            json!({"secretsBundleRef": {"name": "../prod"}}),
            json!({"secretsBundleRef": {"name": "prod.secrets-1"}}),
        ),
        rule(
            "prod",
            "must be the reference of an image, such as ghcr.io/siderolabs/installer:v1.14.3",
            json!({"installImage": "installer v1.14.3"}),
            json!({"installImage": "[fd00::5]:5000/installer@sha256:0a1b"}),
        ),
        rule(
            "prod",
            "must be DNS names or IP addresses, such as api.prod.example.com",
            json!({"certSANs": ["https://api.example.com"]}),
            json!({"certSANs": ["*.prod.example.com", "fd00:5::10", "API"]}),
        ),
        rule(
            "prod",
            "must be networks such as 10.244.0.0/16",
            json!({"network": {"podCIDRs": ["10.244.0.0"]}}),
            json!({"network": {"podCIDRs": ["10.244.0.0/16", "fd00:244::/56"]}}),
        ),
        rule(
            "prod",
            "must be networks such as 10.96.0.0/12",
            json!({"network": {"serviceCIDRs": ["services"]}}),
            json!({"network": {"serviceCIDRs": ["fd00:96::/112"]}}),
        ),
        rule(
            "prod",
            "must be a name of lower-case letters, digits, dashes and dots, such as cluster.local",
            json!({"network": {"dnsDomain": "cluster_local"}}),
            json!({"network": {"dnsDomain": "prod.cluster.local"}}),
        ),
    ]
}

fn discovery_and_cni() -> Vec<Case> {
    vec![
        rule(
            "prod",
            "must be IP addresses such as 10.5.0.7",
            json!({"discovery": {"addresses": ["worker-7"]}}),
            json!({"discovery": {"addresses": ["fd00:5::7"]}}),
        ),
        rule(
            "prod",
            "must be networks such as 10.5.0.0/24",
            json!({"discovery": {"cidrs": ["10.5.0.7"]}}),
            json!({"discovery": {"cidrs": ["10.6.0.0/24"]}}),
        ),
        rule(
            "prod",
            "must be a duration from 30s to 24h in hours, minutes and seconds, such as 5m",
            json!({"discovery": {"interval": "often"}}),
            json!({"discovery": {"interval": "1h30m"}}),
        ),
        rule(
            "prod",
            "a handover moves a cluster to Cilium: set provider to cilium, or handover to disabled",
            json!({"cni": {"provider": "flannel", "handover": "manual"}}),
            json!({"cni": {"provider": "cilium", "handover": "manual"}}),
        ),
        rule(
            "prod",
            "provider cilium needs cilium.version: the Cilium to install, such as v1.18.2",
            json!({"cni": {"cilium": null}}),
            json!({"cni": {"provider": "none", "cilium": null}}),
        ),
        rule(
            "prod",
            "must be a version such as v1.18.2",
            json!({"cni": {"cilium": {"version": "latest"}}}),
            json!({"cni": {"cilium": {"version": "v1.19.0"}}}),
        ),
    ]
}

fn fixed() -> Vec<Case> {
    let with_machines = json!({"machines": 3});
    vec![
        rule(
            "prod",
            "the secrets bundle of a cluster cannot change: its machines are made from it",
            json!({"secretsBundleRef": {"name": "other"}}),
            json!({"talosVersion": "v1.14.3"}),
        )
        .of_stored(json!({}), Value::Null),
        rule(
            "prod",
            FIXED_NETWORK,
            json!({"network": {"podCIDRs": ["10.245.0.0/16"]}}),
            json!({"driftPolicy": "warnOnly"}),
        )
        .of_stored(json!({}), with_machines.clone()),
        rule("prod", FIXED_NETWORK, json!({"network": null}), json!({}))
            .of_stored(json!({}), with_machines.clone()),
        rule(
            "prod",
            FIXED_NETWORK,
            json!({"network": {"dnsDomain": "other.local"}}),
            json!({}),
        )
        .of_stored(json!({"network": null}), with_machines),
    ]
}
