//! What no patch may change: who the cluster is and who it trusts (DESIGN section 4, FAULTS 10).

use crate::config::{Config, Document};
use crate::meaning;
use serde_json::Value;

/// Fields of the main document: keys, CAs, tokens, identity, and who is let at the Talos API.
const MAIN: [&str; 17] = [
    "machine.ca",
    "machine.acceptedCAs",
    "machine.token",
    "machine.features.rbac",
    "machine.features.apidCheckExtKeyUsage",
    "machine.features.kubernetesTalosAPIAccess",
    "cluster.id",
    "cluster.secret",
    "cluster.token",
    "cluster.aescbcEncryptionSecret",
    "cluster.secretboxEncryptionSecret",
    "cluster.ca",
    "cluster.acceptedCAs",
    "cluster.aggregatorCA",
    "cluster.serviceAccount",
    "cluster.etcd.ca",
    "cluster.etcd.extraArgs.trusted-ca-file",
];

/// Documents that carry nothing else.
const DOCUMENTS: [&str; 6] = [
    "DiscoveryIdentityConfig",
    "KubeAPIServerCAConfig",
    "KubeAggregatorCAConfig",
    "KubeEtcdEncryptionConfig",
    "KubeServiceAccountConfig",
    "KubeTalosAPIAccessConfig",
];

/// Arguments that point a component at another CA or key, by the documents and fields that give it arguments.
const ARGUMENTS: [(&str, &str, &[&str]); 6] = [
    ("v1alpha1", "cluster.apiServer.extraArgs", &API_SERVER),
    ("v1alpha1", "cluster.controllerManager.extraArgs", &MANAGER),
    ("v1alpha1", "machine.kubelet.extraArgs", &KUBELET),
    ("KubeAPIServerConfig", "extraArgs", &API_SERVER),
    ("KubeControllerManagerConfig", "extraArgs", &MANAGER),
    ("KubeletConfig", "extraArgs", &KUBELET),
];
const API_SERVER: [&str; 8] = [
    "client-ca-file",
    "encryption-provider-config",
    "etcd-cafile",
    "kubelet-certificate-authority",
    "requestheader-client-ca-file",
    "service-account-key-file",
    "service-account-signing-key-file",
    "token-auth-file",
];
const MANAGER: [&str; 4] = [
    "cluster-signing-cert-file",
    "cluster-signing-key-file",
    "root-ca-file",
    "service-account-private-key-file",
];
const KUBELET: [&str; 2] = ["client-ca-file", "bootstrap-kubeconfig"];

/// The protected fields that differ between two configurations: paths, never values. A patch that gives any is refused.
pub fn protected_changes(before: &Config, after: &Config) -> Vec<String> {
    let (before, after) = (Meanings::of(before), Meanings::of(after));
    let main = MAIN.map(|path| (crate::schema::MAIN, path.to_owned()));
    let arguments = ARGUMENTS.iter().flat_map(|(kind, path, names)| {
        let paths = names.iter().map(move |name| format!("{path}.{name}"));
        paths.map(move |path| (*kind, path))
    });
    let documents = DOCUMENTS.map(|kind| (kind, String::new()));
    let all = main.into_iter().chain(documents).chain(arguments);
    let changed = all.filter(|(kind, path)| before.at(kind, path) != after.at(kind, path));
    changed
        .map(|(kind, path)| match (kind, path.as_str()) {
            (crate::schema::MAIN, path) => path.to_owned(),
            (kind, "") => kind.to_owned(),
            (kind, path) => format!("{kind}: {path}"),
        })
        .collect()
}

/// The documents by kind, without what says nothing.
struct Meanings(Vec<(String, Value)>);

impl Meanings {
    fn of(config: &Config) -> Self {
        let read = |it: &Document| (it.kind().to_owned(), meaning::of(it));
        Self(config.documents().iter().map(read).collect())
    }

    /// Every value at a path in documents of a kind.
    fn at(&self, kind: &str, path: &str) -> Vec<&Value> {
        let documents = self.0.iter().filter(|(it, _)| it == kind);
        let found = documents.filter_map(|(_, value)| {
            let parts = path.split('.').filter(|part| !part.is_empty());
            parts.fold(Some(value), |value, part| value?.get(part))
        });
        found.collect()
    }
}
