//! The webhook configurations that are installed say of each resource what the routes answer.

use super::*;
use serde_json::{Value, json};

const MANIFEST: &str = include_str!("../../manifests/base/admission/webhooks.yaml");

/// The webhooks of a configuration, without their match conditions.
fn webhooks(kind: &str) -> Vec<Value> {
    let marker = format!("kind: {kind}\n");
    let mut documents = MANIFEST.split("\n---\n");
    let text = documents.find(|text| text.contains(&marker)).expect(kind);
    let configuration: Value = serde_saphyr::from_str(text).expect("a configuration");
    let mut all = configuration["webhooks"]
        .as_array()
        .expect("webhooks")
        .clone();
    for webhook in &mut all {
        webhook
            .as_object_mut()
            .expect("a map")
            .remove("matchConditions");
    }
    all
}

/// Five seconds, refusing when nobody answers, for any version of the objects, without effects, Ichor's own group and no
/// subresource (DESIGN section 4, FAULTS 4).
fn wanted(path: &str, name: &str, operations: &Value) -> Value {
    let resource = path.rsplit('/').next();
    json!({
        "name": name, "admissionReviewVersions": ["v1"],
        "clientConfig": {"service": {"namespace": "ichor-system", "name": "ichor-webhook", "path": path, "port": 443}},
        "rules": [{
            "apiGroups": ["ichor.maesh.dev"], "apiVersions": ["v1alpha1"], "resources": [resource],
            "operations": operations, "scope": "Namespaced",
        }],
        "failurePolicy": "Fail", "matchPolicy": "Equivalent", "sideEffects": "None", "timeoutSeconds": 5,
    })
}

#[test]
fn each_resource_has_both_webhooks_as_the_design_wants_them() {
    let mutating = webhooks("MutatingWebhookConfiguration");
    let validating = webhooks("ValidatingWebhookConfiguration");
    let paths = paths();
    assert_eq!(
        (mutating.len(), validating.len()),
        (paths.len(), paths.len())
    );
    for Paths { mutate, validate } in paths {
        let resource = mutate.trim_start_matches("/mutate/");
        let name = format!("{resource}.mutate.ichor.maesh.dev");
        let mut webhook = wanted(mutate, &name, &json!(["CREATE", "UPDATE"]));
        webhook["reinvocationPolicy"] = json!("IfNeeded");
        assert!(mutating.contains(&webhook), "{mutate}");

        let at = |webhook: &&Value| webhook["clientConfig"]["service"]["path"] == validate;
        let found = validating.iter().find(at).expect(validate);
        let operations = &found["rules"][0]["operations"];
        assert_eq!(
            (&operations[0], &operations[1]),
            (&json!("CREATE"), &json!("UPDATE"))
        );
        let name = format!("{resource}.ichor.maesh.dev");
        assert_eq!(found, &wanted(validate, &name, operations));
    }
}

fn paths() -> [Paths; 8] {
    [
        MachineReclaim::PATHS,
        TalosAccessRequest::PATHS,
        TalosCluster::PATHS,
        TalosConfigPatch::PATHS,
        TalosEtcdBackup::PATHS,
        TalosMachine::PATHS,
        TalosOperation::PATHS,
        TalosStorage::PATHS,
    ]
}
