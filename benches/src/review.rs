//! The reviews that are sent: as an API server sends them for a creation of each kind by a person.

use anyhow::{Context, Result};
use serde_json::{Map, Value, json};

/// Who asks; the live run gives her the roles she needs.
pub const CALLER: &str = "alice";
/// The cluster that is asked about.
pub const CLUSTER: &str = "prod";
/// The worker of the cluster, which is there already.
pub const WORKER: &str = "4c4c4544-0042-3510-8052-b4c04f463137";
/// The Secret with the bundle of the cluster that is created.
pub const BUNDLE: &str = "edge-bundle";
/// The Secret with the credentials of the bucket.
pub const BUCKET: &str = "backup-s3";

const REQUEST: &str = "
-----BEGIN CERTIFICATE REQUEST-----
MIGPMEMCAQAwEDEOMAwGA1UEAwwFYWxpY2UwKjAFBgMrZXADIQBv94ROUROzCiJ5
mqC06b64C8wSoJlF//LYeMkKXVfAXaAAMAUGAytlcANBAISmAIP9EUTw5EQ+F3+q
U6HhbFi3GEVKQ33zFJYQ3q8T67TKK6cDWA2L60dAAeMKQMbbYwBpf6IWaliRHvO5
nwA=
-----END CERTIFICATE REQUEST-----
";
const PATCH: &str = "machine:
  kubelet:
    extraConfig:
      maxPods: 200
  sysctls:
    vm.max_map_count: \"262144\"
";

/// A kind whose creations are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Its name.
    pub name: &'static str,
    /// Its resource.
    pub resource: &'static str,
    /// The name of the object.
    object: &'static str,
}

/// All eight, the one with most rules first.
pub const KINDS: [Kind; 8] = [
    Kind::new("MachineReclaim", "machinereclaims", "reclaim-x7k2p"),
    Kind::new(
        "TalosMachine",
        "talosmachines",
        "4c4c4544-0042-3510-8052-b4c04f463139",
    ),
    Kind::new("TalosOperation", "talosoperations", "reset-worker-7"),
    Kind::new("TalosCluster", "talosclusters", "edge"),
    Kind::new("TalosConfigPatch", "talosconfigpatches", "worker-kubelet"),
    Kind::new("TalosEtcdBackup", "talosetcdbackups", "nightly"),
    Kind::new("TalosStorage", "talosstorages", "data"),
    Kind::new("TalosAccessRequest", "talosaccessrequests", "worker-7-disk"),
];

impl Kind {
    const fn new(name: &'static str, resource: &'static str, object: &'static str) -> Self {
        Self {
            name,
            resource,
            object,
        }
    }

    /// The paths of the reviews of one creation: the mutating webhook's, then the validating one's.
    pub fn paths(&self) -> [String; 2] {
        ["mutate", "validate"].map(|webhook| format!("/{webhook}/{}", self.resource))
    }
}

/// The body of a creation's review for the webhook at `path`, 2 to 3 kB.
pub fn body(path: &str) -> Result<Vec<u8>> {
    Ok(review(path)?.to_string().into_bytes())
}

/// The same with so many annotations that it has about `bytes`, and never more.
pub fn padded(path: &str, bytes: usize) -> Result<Vec<u8>> {
    let mut review = review(path)?;
    let key = |number: usize| format!("example.org/note-{number:06}");
    let value = "x".repeat(200);
    // Quotes, colon and comma of an entry.
    let entry = key(0).len() + value.len() + 6;
    let count = bytes.saturating_sub(review.to_string().len()) / entry;
    let annotations = &mut review["request"]["object"]["metadata"]["annotations"];
    for number in 0..count {
        annotations[key(number)] = json!(value);
    }
    Ok(review.to_string().into_bytes())
}

fn review(path: &str) -> Result<Value> {
    let (webhook, resource) = path
        .trim_start_matches('/')
        .split_once('/')
        .unwrap_or_default();
    let kind = KINDS.iter().find(|kind| kind.resource == resource);
    let kind = kind.with_context(|| format!("there is no review for {path}"))?;
    let raw = webhook == "mutate";
    let (group, version) = ("ichor.maesh.dev", "v1alpha1");
    let is = json!({"group": group, "version": version, "kind": kind.name});
    let of = json!({"group": group, "version": version, "resource": kind.resource});
    Ok(json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
            "kind": is, "resource": of, "requestKind": is, "requestResource": of,
            "name": kind.object,
            "namespace": "ichor-system",
            "operation": "CREATE",
            "userInfo": {
                "username": CALLER,
                "uid": "5a0c1a2e-64bb-4f3f-8d25-2f0d3b0f7a11",
                "groups": ["platform-operators", "oncall", "system:authenticated"],
                "extra": {"authentication.kubernetes.io/credential-id": ["X509SHA256=0f3c9a7be1d24c6f8a55"]},
            },
            "object": object(kind, raw),
            "oldObject": null,
            "dryRun": false,
            "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1", "fieldManager": "kubectl-create"},
        },
    }))
}

/// An object; one that was not mutated yet (`raw`) has no creator, so that there is something to patch.
fn object(kind: &Kind, raw: bool) -> Value {
    let spec = spec(kind.name, raw);
    let mut object = json!({
        "apiVersion": "ichor.maesh.dev/v1alpha1",
        "kind": kind.name,
        "metadata": {
            "name": kind.object,
            "namespace": "ichor-system",
            "uid": "e1f0c6ce-2cb5-4f0e-9a8b-7f3f1f6f7d2a",
            "creationTimestamp": "2026-11-29T08:15:30Z",
            "generation": 1,
            "labels": {"team": "platform", "ticket": "ops-4711"},
            "annotations": {"example.org/reason": "left over after the rebuild of rack 12"},
            "managedFields": [{
                "manager": "kubectl-create", "operation": "Update", "apiVersion": "ichor.maesh.dev/v1alpha1",
                "time": "2026-11-29T08:15:30Z", "fieldsType": "FieldsV1",
                "fieldsV1": {
                    "f:metadata": {"f:labels": {".": {}, "f:team": {}, "f:ticket": {}},
                        "f:annotations": {".": {}, "f:example.org/reason": {}}},
                    "f:spec": owned(&spec),
                },
            }],
        },
        "spec": spec,
    });
    if !raw {
        object["metadata"]["annotations"][ichor_crds::REQUESTED_BY] = json!(CALLER);
    }
    object
}

/// The fields of `value` as their manager owns them.
fn owned(value: &Value) -> Value {
    let Value::Object(fields) = value else {
        return json!({});
    };
    let fields = fields.iter();
    let mut all: Map<String, Value> = fields
        .map(|(key, value)| (format!("f:{key}"), owned(value)))
        .collect();
    all.insert(".".to_owned(), json!({}));
    all.into()
}

/// What is asked for: as in `manifests/examples`.
fn spec(kind: &str, raw: bool) -> Value {
    let cluster = json!({"name": CLUSTER});
    match kind {
        "MachineReclaim" => {
            json!({"address": "10.5.0.7", "clusterRef": cluster, "clusterCredentials": true})
        }
        "TalosMachine" => json!({
            "clusterRef": cluster, "approval": "Approved", "role": "worker",
            "identity": {
                "uuid": "4c4c4544-0042-3510-8052-b4c04f463139", "serial": "5B5RF19",
                "macs": ["02:00:0a:05:00:19", "02:00:0a:05:01:19"],
            },
            "endpoint": "10.5.0.19", "hostname": "worker-9",
            "network": {
                "interface": "02:00:0a:05:00:19", "addressing": "static", "addresses": ["10.5.0.19/24"],
                "routes": [{"gateway": "10.5.0.1"}],
            },
            "install": {"disk": "/dev/nvme0n1"},
            "labels": {"topology.kubernetes.io/zone": "eu-1a"},
            "maintenanceFingerprint": "5MyYvGEYNLhaDCqSeI9zIZPmSsO3a7hQnaMsmcjM2aU=",
        }),
        "TalosOperation" => {
            let mut node = json!({"name": "worker-7", "confirm": "worker-7"});
            if !raw {
                node["machine"] = json!(WORKER);
            }
            json!({"clusterRef": cluster, "kind": "reset", "node": node})
        }
        "TalosCluster" => {
            let mut spec = json!({
                "endpoint": "https://10.5.1.10:6443", "talosVersion": "v1.13.5", "kubernetesVersion": "v1.35.4",
                "secretsBundleRef": {"name": BUNDLE}, "certSANs": ["api.edge.example.com"],
                "network": {"podCIDRs": ["10.244.0.0/16"], "serviceCIDRs": ["10.96.0.0/12"], "dnsDomain": "cluster.local"},
                "controlPlane": {"max": 3}, "driftPolicy": "correct", "rebootPolicy": "manual",
                "discovery": {"addresses": ["10.5.1.31"], "cidrs": ["10.5.2.0/24"], "interval": "5m"},
                "cni": {"provider": "cilium", "handover": "disabled", "cilium": {"version": "v1.18.2"}},
                "kubernetesAccess": "bundle",
            });
            if !raw {
                spec["versionContract"] = json!("v1.13");
            }
            spec
        }
        "TalosConfigPatch" => json!({
            "clusterRef": cluster, "target": {"role": "worker", "selector": {"matchLabels": {"rack": "r7"}}},
            "priority": 10, "patch": PATCH,
        }),
        "TalosEtcdBackup" => json!({
            "clusterRef": cluster, "schedule": "15 3 * * *", "timeZone": "Europe/Berlin",
            "retention": {"count": 14, "maxAge": "720h"},
            "destination": {"s3": {
                "endpoint": "https://s3.example.com", "bucket": "etcd-snapshots", "prefix": "prod/",
                "region": "eu-central-1", "credentialsSecretRef": {"name": BUCKET},
            }},
            "encryption": {"recipients": ["age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"]},
        }),
        "TalosStorage" => json!({
            "clusterRef": cluster,
            "target": {"role": "worker", "selector": {"matchExpressions": [
                {"key": "rack", "operator": "In", "values": ["r7", "r8"]},
            ]}},
            "volumes": [{
                "name": "data", "diskSelector": {"match": "disk.transport == \"nvme\" && !system_disk"},
                "minSize": "100GiB", "maxSize": "80%", "grow": true, "filesystem": "xfs", "encryption": {"key": "tpm"},
            }],
        }),
        _ => json!({
            "clusterRef": cluster, "role": "os:reader", "reason": "look into the slow disk of worker-7",
            "duration": "8h", "csr": REQUEST.trim_start(), "approval": "Pending",
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_padded_review_has_the_size_that_was_asked_for() {
        for bytes in [100_000, 7 << 20] {
            let padded = padded("/validate/machinereclaims", bytes).expect("a review");
            assert!(
                (bytes - 300..=bytes).contains(&padded.len()),
                "{}",
                padded.len()
            );
        }
    }

    #[test]
    fn every_kind_has_reviews_and_nothing_else_does() {
        for kind in KINDS {
            for path in kind.paths() {
                let body = body(&path).expect("a review");
                assert!(
                    (1_500..4_000).contains(&body.len()),
                    "{path}: {}",
                    body.len()
                );
            }
        }
        assert!(body("/validate/pods").is_err());
    }
}
