//! Annotations for the audit log: who asked is there already, this is for what (DESIGN section 4).

use super::snapshot::{Change, Facts};
use super::verdict::Denial;
use std::collections::BTreeMap;

/// The annotations. Nothing relies on the name, which is empty with generateName (FAULTS 6).
pub(crate) fn annotations(
    facts: &Facts,
    denial: Option<&Denial>,
) -> BTreeMap<&'static str, String> {
    let mut audit = BTreeMap::new();
    let decision = match (denial, &facts.change) {
        (Some(denial), _) => format!("denied: {}", denial.reason()),
        (None, Change::Metadata) => "allowed: metadata only".to_owned(),
        (None, _) => "allowed".to_owned(),
    };
    audit.insert("decision", decision);
    let Some(spec) = facts.spec() else {
        return audit;
    };
    audit.insert("address", spec.address.clone());
    if let Some(cluster) = &spec.cluster_ref {
        audit.insert("cluster", cluster.name.clone());
    }
    let source = match &spec.credential_secret_ref {
        Some(secret) => format!("secret {}", secret.name),
        None if spec.cluster_credentials == Some(true) => "cluster".to_owned(),
        None => "none".to_owned(),
    };
    audit.insert("credential-source", source);
    if let Some(uuid) = &spec.confirm_uuid {
        audit.insert("confirmed-uuid", uuid.clone());
    }
    audit.insert("force", flag(spec.force));
    audit.insert("force-ungraceful", flag(spec.force_ungraceful));
    audit
}

fn flag(value: Option<bool>) -> String {
    value.unwrap_or(false).to_string()
}
