//! The rights of the controller against what it did in the whole test run (DESIGN section 5, "least privilege"): no
//! request of its account was forbidden, and no right of its role was left unused.
//!
//! The last step of `scripts/test`: the other tests leave the audit logs of their API servers in the folder that
//! `ICHOR_AUDIT_DIR` names. Tests that act as that account themselves keep theirs apart (`ControlPlane::start_apart`).

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;

const ACCOUNT: &str = "system:serviceaccount:ichor-system:ichor-controller";
const NAMESPACE: &str = "ichor-system";

/// What is looked at of an event of the audit log.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Event {
    verb: String,
    user: User,
    impersonated_user: Option<User>,
    #[serde(rename = "requestURI")]
    request_uri: String,
    object_ref: Option<ObjectRef>,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct User {
    username: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct ObjectRef {
    api_group: String,
    resource: String,
    subresource: String,
    namespace: String,
    name: String,
}

/// One verb on one resource, as a rule of a role gives it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Right {
    role: String,
    namespaced: bool,
    group: String,
    resource: String,
    verb: String,
    names: Vec<String>,
}

impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            role,
            group,
            resource,
            verb,
            names,
            ..
        } = self;
        let dot = if group.is_empty() { "" } else { "." };
        write!(f, "{role}: {verb} {resource}{dot}{group}")?;
        if names.is_empty() {
            Ok(())
        } else {
            write!(f, " {}", names.join(", "))
        }
    }
}

impl Right {
    fn covers(&self, event: &Event) -> bool {
        let Some(object) = &event.object_ref else {
            return false;
        };
        let resource = match object.subresource.as_str() {
            "" => object.resource.clone(),
            sub => format!("{}/{sub}", object.resource),
        };
        self.verb == event.verb
            && self.group == object.api_group
            && self.resource == resource
            && (!self.namespaced || object.namespace == NAMESPACE)
            && (self.names.is_empty() || self.names.contains(&object.name))
    }
}

/// A document of the manifests, as far as it is a role.
#[derive(Deserialize)]
struct Document {
    kind: String,
    #[serde(default)]
    rules: Vec<Rule>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Rule {
    api_groups: Vec<String>,
    resources: Vec<String>,
    verbs: Vec<String>,
    #[serde(default)]
    resource_names: Vec<String>,
}

/// Every right of the Role and the ClusterRole, one by one.
fn rights() -> Result<Vec<Right>> {
    let path = ichor_ground::paths::workspace().join("manifests/base/rbac/controller.yaml");
    let text = std::fs::read_to_string(&path)?;
    let mut rights = Vec::new();
    for document in text.split("\n---\n") {
        let document: Document = serde_saphyr::from_str(document)?;
        for rule in &document.rules {
            for group in &rule.api_groups {
                for resource in &rule.resources {
                    for verb in &rule.verbs {
                        rights.push(Right {
                            role: document.kind.clone(),
                            namespaced: document.kind == "Role",
                            group: group.clone(),
                            resource: resource.clone(),
                            verb: verb.clone(),
                            names: rule.resource_names.clone(),
                        });
                    }
                }
            }
        }
    }
    ensure!(rights.len() > 10, "no roles found in {}", path.display());
    Ok(rights)
}

/// The logs of the run.
fn logs() -> Result<Vec<PathBuf>> {
    let folder = std::env::var_os("ICHOR_AUDIT_DIR").context(
        "ICHOR_AUDIT_DIR names no folder: this test judges the logs of the others, run it with `make test`",
    )?;
    let mut logs = Vec::new();
    for entry in std::fs::read_dir(&folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|kind| kind == "log") {
            logs.push(path);
        }
    }
    ensure!(!logs.is_empty(), "no audit log in {}", folder.display());
    Ok(logs)
}

/// The events of the controller's account itself, not of others who impersonate it.
fn by_the_controller(mut each: impl FnMut(Event)) -> Result<()> {
    for log in logs()? {
        let file = std::fs::File::open(&log)?;
        for line in BufReader::new(file).lines() {
            let line = line?;
            // Most lines are other people's, and the last one may be cut off where a test ended.
            if !line.contains(ACCOUNT) {
                continue;
            }
            let Ok(event) = serde_json::from_str::<Event>(&line) else {
                continue;
            };
            if event.user.username == ACCOUNT && event.impersonated_user.is_none() {
                each(event);
            }
        }
    }
    Ok(())
}

#[test]
fn no_request_of_the_controller_was_forbidden_and_every_right_was_used() -> Result<()> {
    let mut unused: BTreeSet<Right> = rights()?.into_iter().collect();
    let (mut forbidden, mut count) = (BTreeMap::<String, u32>::new(), 0_u64);
    by_the_controller(|event| {
        count += 1;
        let decision = event.annotations.get("authorization.k8s.io/decision");
        if decision.map(String::as_str) == Some("forbid") {
            let request = format!("{} {}", event.verb, event.request_uri);
            *forbidden.entry(request).or_default() += 1;
            return;
        }
        unused.retain(|right| !right.covers(&event));
    })?;
    ensure!(
        count > 100,
        "only {count} requests of {ACCOUNT} in the logs"
    );
    ensure!(
        forbidden.is_empty(),
        "the controller needs rights it does not have; times and requests: {forbidden:#?}"
    );
    let unused: Vec<String> = unused.iter().map(ToString::to_string).collect();
    ensure!(
        unused.is_empty(),
        "the controller has rights it never used: {unused:#?}"
    );
    Ok(())
}
