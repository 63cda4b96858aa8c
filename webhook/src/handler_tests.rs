//! The webhook configurations that are installed say of each resource what the routes answer.

use super::*;
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, RuleWithOperations, ValidatingWebhookConfiguration,
    WebhookClientConfig,
};
use serde::de::DeserializeOwned;

const MANIFEST: &str = include_str!("../../manifests/base/admission/webhooks.yaml");

fn configuration<T: DeserializeOwned>(kind: &str) -> T {
    let marker = format!("kind: {kind}\n");
    let text = MANIFEST
        .split("\n---\n")
        .find(|text| text.contains(&marker));
    serde_saphyr::from_str(text.expect(kind)).expect("a configuration")
}

/// What both kinds say of a webhook.
#[derive(Debug, PartialEq)]
struct Entry {
    name: String,
    path: String,
    resource: String,
    operations: Vec<String>,
    failure_policy: Option<String>,
    match_policy: Option<String>,
    side_effects: String,
    timeout: Option<i32>,
    versions: Vec<String>,
}

fn read(
    client: &WebhookClientConfig,
    rules: Option<&Vec<RuleWithOperations>>,
) -> (String, String, Vec<String>) {
    let service = client.service.as_ref().expect("a service");
    assert_eq!(
        (service.name.as_str(), service.port),
        ("ichor-webhook", Some(443))
    );
    let [rule] = rules.expect("rules").as_slice() else {
        panic!("one rule");
    };
    // Ichor's own group only, and no subresource (FAULTS 4).
    assert_eq!(
        rule.api_groups.as_deref(),
        Some(&["ichor.maesh.dev".to_owned()][..])
    );
    assert_eq!(
        rule.api_versions.as_deref(),
        Some(&["v1alpha1".to_owned()][..])
    );
    assert_eq!(rule.scope.as_deref(), Some("Namespaced"));
    let [resource] = rule.resources.as_deref().expect("resources") else {
        panic!("one resource");
    };
    let path = service.path.clone().expect("a path");
    (
        path,
        resource.clone(),
        rule.operations.clone().unwrap_or_default(),
    )
}

/// Five seconds, refusing when nobody answers, for any version of the objects, and without effects (DESIGN section 4).
fn wanted(resource: &str, verb: &str, name: String, operations: &[&str]) -> Entry {
    Entry {
        name,
        path: format!("/{verb}/{resource}"),
        resource: resource.to_owned(),
        operations: operations.iter().map(ToString::to_string).collect(),
        failure_policy: Some("Fail".to_owned()),
        match_policy: Some("Equivalent".to_owned()),
        side_effects: "None".to_owned(),
        timeout: Some(5),
        versions: vec!["v1".to_owned()],
    }
}

#[test]
fn each_resource_has_both_webhooks_as_the_design_wants_them() {
    let mutating: MutatingWebhookConfiguration = configuration("MutatingWebhookConfiguration");
    let mutating: Vec<Entry> = mutating
        .webhooks
        .iter()
        .flatten()
        .map(|one| {
            let (path, resource, operations) = read(&one.client_config, one.rules.as_ref());
            assert_eq!(
                one.reinvocation_policy.as_deref(),
                Some("IfNeeded"),
                "{path}"
            );
            Entry {
                name: one.name.clone(),
                path,
                resource,
                operations,
                failure_policy: one.failure_policy.clone(),
                match_policy: one.match_policy.clone(),
                side_effects: one.side_effects.clone(),
                timeout: one.timeout_seconds,
                versions: one.admission_review_versions.clone(),
            }
        })
        .collect();
    let validating: ValidatingWebhookConfiguration =
        configuration("ValidatingWebhookConfiguration");
    let validating: Vec<Entry> = validating
        .webhooks
        .iter()
        .flatten()
        .map(|one| {
            let (path, resource, operations) = read(&one.client_config, one.rules.as_ref());
            Entry {
                name: one.name.clone(),
                path,
                resource,
                operations,
                failure_policy: one.failure_policy.clone(),
                match_policy: one.match_policy.clone(),
                side_effects: one.side_effects.clone(),
                timeout: one.timeout_seconds,
                versions: one.admission_review_versions.clone(),
            }
        })
        .collect();
    let paths = paths();
    assert_eq!(
        (mutating.len(), validating.len()),
        (paths.len(), paths.len())
    );
    for Paths { mutate, validate } in paths {
        let resource = mutate.trim_start_matches("/mutate/");
        let name = format!("{resource}.mutate.ichor.maesh.dev");
        assert!(
            mutating.contains(&wanted(resource, "mutate", name, &["CREATE", "UPDATE"])),
            "{mutate}"
        );
        let name = format!("{resource}.ichor.maesh.dev");
        let found = validating
            .iter()
            .find(|entry| entry.path == validate)
            .expect(validate);
        let operations: Vec<&str> = found.operations.iter().map(String::as_str).collect();
        assert!(operations.starts_with(&["CREATE", "UPDATE"]), "{validate}");
        assert_eq!(found, &wanted(resource, "validate", name, &operations));
    }
}

fn paths() -> Vec<Paths> {
    vec![
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
