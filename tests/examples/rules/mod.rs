//! Every rule of the CRDs: an object that it refuses, with its message, and one beside it that it lets pass.

mod access;
mod backup;
mod case;
mod cluster;
mod machine;
mod operation;
mod patch;
mod reclaim;
mod storage;

use crate::ground::Ground;
use anyhow::{Result, ensure};
use case::Case;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    JSONSchemaProps, JSONSchemaPropsOrArray,
};
use std::collections::BTreeSet;

#[tokio::test]
async fn every_rule_refuses_and_lets_pass() -> Result<()> {
    let ground = Ground::start().await?;
    let mut shown = BTreeSet::new();
    let mut wrong = Vec::new();
    for (number, case) in cases().iter().enumerate() {
        match case.judge(&ground, number).await {
            Ok(seen) => shown.extend(seen),
            Err(error) => wrong.push(format!("{error:#}")),
        }
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    let rules = rules();
    let unshown: Vec<_> = rules.difference(&shown).collect();
    ensure!(unshown.is_empty(), "rules without a case: {unshown:#?}");
    println!("{} rules shown by {} cases", rules.len(), cases().len());
    Ok(())
}

fn cases() -> Vec<Case> {
    [
        cluster::cases(),
        machine::cases(),
        patch::cases(),
        operation::cases(),
        backup::cases(),
        storage::cases(),
        reclaim::cases(),
        access::cases(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The kind, place and message of every rule.
fn rules() -> BTreeSet<(String, String)> {
    let mut rules = BTreeSet::new();
    for (_, crd) in ichor_crds::all_crds() {
        let kind = &crd.spec.names.kind;
        for version in &crd.spec.versions {
            let schema = version.schema.as_ref();
            if let Some(schema) = schema.and_then(|s| s.open_api_v3_schema.as_ref()) {
                collect(kind, schema, &mut rules);
            }
        }
    }
    rules
}

fn collect(kind: &str, schema: &JSONSchemaProps, rules: &mut BTreeSet<(String, String)>) {
    for rule in schema.x_kubernetes_validations.iter().flatten() {
        rules.insert((kind.to_owned(), rule.message.clone().unwrap_or_default()));
    }
    for property in schema.properties.iter().flatten() {
        collect(kind, property.1, rules);
    }
    if let Some(JSONSchemaPropsOrArray::Schema(items)) = &schema.items {
        collect(kind, items, rules);
    }
}
