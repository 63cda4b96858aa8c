//! What no patch may change: who the cluster is and who it trusts (DESIGN section 4, FAULTS 10).

use crate::config::{Config, Document};
use crate::{Error, Patch, meaning, schema};
use serde_json::Value;

/// Fields of the main document: keys, CAs, tokens, identity, and who is let at the Talos API.
const MAIN: [&str; 16] = [
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
const ARGUMENTS: [(&str, &str, &[&str]); 7] = [
    ("v1alpha1", "cluster.apiServer.extraArgs", &API_SERVER),
    ("v1alpha1", "cluster.controllerManager.extraArgs", &MANAGER),
    ("v1alpha1", "cluster.etcd.extraArgs", &ETCD),
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
const ETCD: [&str; 2] = ["peer-trusted-ca-file", "trusted-ca-file"];
const KUBELET: [&str; 2] = ["client-ca-file", "bootstrap-kubeconfig"];

/// The protected fields that differ between two configurations: paths, never values. A patch that gives any is refused.
pub fn protected_changes(before: &Config, after: &Config) -> Vec<String> {
    let (before, after) = (Meanings::of(before), Meanings::of(after));
    let changed = protected().filter(|(kind, path)| before.at(kind, path) != after.at(kind, path));
    changed
        .map(|(kind, path)| match (kind, path.as_str()) {
            (schema::MAIN, path) => path.to_owned(),
            (kind, "") => kind.to_owned(),
            (kind, path) => format!("{kind}: {path}"),
        })
        .collect()
}

impl Patch {
    /// Applies the patch to a configuration that stands for others of its shape (such as a [`sample`](crate::sample)),
    /// and gives the protected fields that it changes there or would change with any other secrets: a patch that writes
    /// just what the sample has is no less a change to a cluster.
    pub fn try_on(&self, base: &Config) -> Result<Vec<String>, Error> {
        let mut changes = protected_changes(base, &self.apply(base)?);
        let other = with_other_secrets(base);
        // Values that only the other configuration lacks may be tested for or moved: that it fails is no change.
        let elsewhere = self.apply(&other);
        for change in elsewhere.map_or_else(|_| Vec::new(), |it| protected_changes(&other, &it)) {
            if !changes.contains(&change) {
                changes.push(change);
            }
        }
        Ok(changes)
    }
}

fn protected() -> impl Iterator<Item = (&'static str, String)> {
    let main = MAIN.map(|path| (schema::MAIN, path.to_owned()));
    let arguments = ARGUMENTS.iter().flat_map(|(kind, path, names)| {
        let paths = names.iter().map(move |name| format!("{path}.{name}"));
        paths.map(move |path| (*kind, path))
    });
    let documents = DOCUMENTS.map(|kind| (kind, String::new()));
    main.into_iter().chain(documents).chain(arguments)
}

/// The configuration with a text of its own in place of every protected one.
fn with_other_secrets(config: &Config) -> Config {
    let mut config = config.clone();
    let mut number = 0;
    for (kind, path) in protected() {
        for document in &mut config.documents {
            let parts = path.split('.').filter(|part| !part.is_empty());
            let start = (document.id.kind == kind).then_some(&mut document.value);
            let found = start
                .and_then(|start| { parts }.try_fold(start, |value, part| value.get_mut(part)));
            if let Some(value) = found {
                replace(value, &mut number);
            }
        }
    }
    config
}

fn replace(value: &mut Value, number: &mut u32) {
    match value {
        Value::String(text) => {
            *number += 1;
            *text = format!("{number:08}"); // base64 as well, which keys are
        }
        Value::Array(items) => items.iter_mut().for_each(|it| replace(it, number)),
        Value::Object(fields) => {
            let fields = fields.iter_mut();
            let fields = fields.filter(|(key, _)| *key != "kind" && *key != "apiVersion");
            fields.for_each(|(_, it)| replace(it, number));
        }
        _ => {}
    }
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
            { parts }.try_fold(value, |value, part| value.get(part))
        });
        found.collect()
    }
}
