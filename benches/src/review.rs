//! The reviews that are sent: as an API server sends them for `kubectl create machinereclaim` of an operator.

use ichor_webhook::MUTATE_MACHINERECLAIMS;
use serde_json::{Value, json};

/// Who asks; the live run gives her the operator's role.
pub const CALLER: &str = "alice";
/// The cluster that is asked about.
pub const CLUSTER: &str = "prod";

/// The body of a creation's review for the webhook at `path`, about 2 kB.
pub fn body(path: &str) -> Vec<u8> {
    let kind = json!({"group": "ichor.maesh.dev", "version": "v1alpha1", "kind": "MachineReclaim"});
    let resource =
        json!({"group": "ichor.maesh.dev", "version": "v1alpha1", "resource": "machinereclaims"});
    json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
            "kind": kind, "resource": resource, "requestKind": kind, "requestResource": resource,
            "name": "reclaim-x7k2p",
            "namespace": "ichor-system",
            "operation": "CREATE",
            "userInfo": {
                "username": CALLER,
                "uid": "5a0c1a2e-64bb-4f3f-8d25-2f0d3b0f7a11",
                "groups": ["platform-operators", "oncall", "system:authenticated"],
                "extra": {"authentication.kubernetes.io/credential-id": ["X509SHA256=0f3c9a7be1d24c6f8a55"]},
            },
            "object": object(path == MUTATE_MACHINERECLAIMS),
            "oldObject": null,
            "dryRun": false,
            "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1", "fieldManager": "kubectl-create"},
        },
    })
    .to_string()
    .into_bytes()
}

/// A request; one that was not mutated yet has no creator, so that there is something to patch.
fn object(raw: bool) -> Value {
    let mut object = json!({
        "apiVersion": "ichor.maesh.dev/v1alpha1",
        "kind": "MachineReclaim",
        "metadata": {
            "name": "reclaim-x7k2p",
            "generateName": "reclaim-",
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
                    "f:metadata": {"f:generateName": {}, "f:labels": {".": {}, "f:team": {}, "f:ticket": {}},
                        "f:annotations": {".": {}, "f:example.org/reason": {}}},
                    "f:spec": {".": {}, "f:address": {}, "f:clusterCredentials": {},
                        "f:clusterRef": {".": {}, "f:name": {}}},
                },
            }],
        },
        "spec": {"address": "10.5.0.7", "clusterRef": {"name": CLUSTER}, "clusterCredentials": true},
    });
    if !raw {
        object["metadata"]["annotations"][ichor_crds::REQUESTED_BY] = json!(CALLER);
    }
    object
}
