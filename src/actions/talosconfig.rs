//! A pasted talosconfig as a Secret: only the context that is used, and of it only what dials the one
//! machine. A person's talosconfig holds the keys of many clusters; none of the others leaves it.

use super::error::{ActionError, bounded};
use super::reclaim::FIELD_MANAGER;
use ichor_crds::{GROUP, MachineReclaim, TALOSCONFIG_KEY, TALOSCONFIG_SECRET_TYPE, VERSION};
use ichor_talos::{Talosconfig, TalosconfigError};
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};
use k8s_openapi::api::core::v1::Secret;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use kube::{Api, Client};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;

/// A talosconfig as text: [`Talosconfig`] reads one for use, and does not give its keys out again.
#[derive(Deserialize, Serialize)]
struct Config<C> {
    context: Option<String>,
    contexts: BTreeMap<String, C>,
}

/// What of a context dials a machine. Not its endpoints: the machine of the request is the only one dialled.
#[derive(Deserialize, Serialize)]
struct Context {
    ca: String,
    crt: String,
    key: String,
}

/// The talosconfig with the named context alone (the current one when none is named), once it is known to make a
/// credential.
pub fn only_context(text: &str, name: Option<&str>) -> Result<String, TalosconfigError> {
    Talosconfig::parse(text)?.context(name)?;
    narrow(text, name).ok_or(TalosconfigError::NotATalosconfig { line: None })
}

/// The text with one context, chosen as [`Talosconfig`] chooses; nothing when the text has no such context.
fn narrow(text: &str, name: Option<&str>) -> Option<String> {
    // The others may sign in in ways of their own: only the chosen one has to have the three parts.
    let config: Config<serde_json::Value> = serde_saphyr::from_str(text).ok()?;
    let current = config.context.filter(|name| !name.is_empty());
    let mut contexts = config.contexts;
    let name = match (name.map(str::to_owned).or(current), contexts.len()) {
        (Some(name), _) => name,
        (None, 1) => contexts.keys().next()?.clone(),
        (None, _) => return None,
    };
    let context: Context = serde_json::from_value(contexts.remove(&name)?).ok()?;
    let narrowed = Config {
        context: Some(name.clone()),
        contexts: BTreeMap::from([(name, context)]),
    };
    serde_saphyr::to_string(&narrowed).ok()
}

/// The Secret; nobody may change what it holds.
fn secret(namespace: &str, talosconfig: String) -> Secret {
    let mut secret = Secret {
        type_: Some(TALOSCONFIG_SECRET_TYPE.to_owned()),
        string_data: Some(BTreeMap::from([(TALOSCONFIG_KEY.to_owned(), talosconfig)])),
        immutable: Some(true),
        ..Secret::default()
    };
    secret.metadata.generate_name = Some("reclaim-talosconfig-".to_owned());
    secret.metadata.namespace = Some(namespace.to_owned());
    secret
}

/// Rights on Secrets that a talosconfig needs: admission asks for `get` (no confused deputy), `patch` ties the
/// Secret to the request, `delete` takes it back when the request is refused.
const RIGHTS: [&str; 4] = ["create", "get", "patch", "delete"];

/// Refuses before anything is stored when the person could not take the Secret back again.
pub async fn may_store(client: &Client, namespace: &str) -> Result<(), ActionError> {
    let mut missing = Vec::new();
    for verb in RIGHTS {
        if !may(client, namespace, verb).await? {
            missing.push(verb);
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    Err(ActionError::NotAllowed(format!(
        "you may not {} Secrets in namespace {namespace}, which keeping a talosconfig there needs. Ask an administrator to store it:\n  \
         kubectl create secret generic NAME -n {namespace} --type={TALOSCONFIG_SECRET_TYPE} --from-file={TALOSCONFIG_KEY}=FILE\n\
         and to let you get that one Secret; then use --credential-secret NAME instead of --talosconfig",
        missing.join(", ")
    )))
}

async fn may(client: &Client, namespace: &str, verb: &str) -> Result<bool, ActionError> {
    let review = SelfSubjectAccessReview {
        spec: SelfSubjectAccessReviewSpec {
            resource_attributes: Some(ResourceAttributes {
                namespace: Some(namespace.to_owned()),
                verb: Some(verb.to_owned()),
                version: Some("v1".to_owned()),
                resource: Some("secrets".to_owned()),
                ..ResourceAttributes::default()
            }),
            ..SelfSubjectAccessReviewSpec::default()
        },
        ..SelfSubjectAccessReview::default()
    };
    let reviews: Api<SelfSubjectAccessReview> = Api::all(client.clone());
    let params = PostParams::default();
    let answer = bounded("asking for your rights", reviews.create(&params, &review)).await?;
    Ok(answer.status.is_some_and(|status| status.allowed))
}

/// Stores the talosconfig; the answer's name and UID are what is kept of it.
pub async fn store(
    client: &Client,
    namespace: &str,
    talosconfig: String,
) -> Result<StoredSecret, ActionError> {
    let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
    let params = PostParams {
        dry_run: false,
        field_manager: Some(FIELD_MANAGER.to_owned()),
    };
    let secret = secret(namespace, talosconfig);
    let stored = bounded("storing the talosconfig", secrets.create(&params, &secret)).await?;
    Ok(StoredSecret {
        secrets,
        name: stored.metadata.name.unwrap_or_default(),
        uid: stored.metadata.uid,
    })
}

/// A Secret that this command made, and no other of the same name.
pub struct StoredSecret {
    secrets: Api<Secret>,
    /// Its name.
    pub name: String,
    uid: Option<String>,
}

impl StoredSecret {
    /// Makes the request its owner, so that it goes with the request.
    pub async fn tie_to(&self, request: &MachineReclaim) -> Result<(), ActionError> {
        let patch = json!({
            "metadata": {
                "uid": self.uid,
                "ownerReferences": [{
                    "apiVersion": format!("{GROUP}/{VERSION}"),
                    "kind": "MachineReclaim",
                    "name": request.metadata.name,
                    "uid": request.metadata.uid,
                }],
            },
        });
        let params = PatchParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PatchParams::default()
        };
        let patch = Patch::Merge(patch);
        let patched = self.secrets.patch_metadata(&self.name, &params, &patch);
        bounded("tying the Secret to the request", patched).await?;
        Ok(())
    }

    /// Takes it back.
    pub async fn delete(&self) -> Result<(), ActionError> {
        let params = DeleteParams {
            preconditions: Some(Preconditions {
                uid: self.uid.clone(),
                ..Preconditions::default()
            }),
            ..DeleteParams::default()
        };
        bounded(
            "deleting the Secret",
            self.secrets.delete(&self.name, &params),
        )
        .await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str = "context: prod\ncontexts:\n  prod:\n    endpoints: [10.5.0.2]\n    nodes: [10.5.0.2]\n    \
        ca: Q0EtUFJPRA==\n    crt: Q1JULVBST0Q=\n    key: S0VZLVBST0Q=\n  lab:\n    ca: Q0EtTEFC\n    \
        crt: Q1JULUxBQg==\n    key: S0VZLUxBQg==\n  omni:\n    endpoints: [https://omni.example]\n    \
        auth:\n      siderov1:\n        identity: alice\n";

    #[test]
    fn only_the_chosen_context_is_kept() {
        let current = narrow(TWO, None).expect("current context");
        assert!(current.contains("S0VZLVBST0Q="), "{current}");
        assert!(!current.contains("S0VZLUxBQg=="), "{current}");
        let lab = narrow(TWO, Some("lab")).expect("named context");
        assert!(
            lab.contains("S0VZLUxBQg==") && !lab.contains("S0VZLVBST0Q="),
            "{lab}"
        );
        assert!(
            lab.contains("context: lab") && !lab.contains("endpoints"),
            "{lab}"
        );
        assert_eq!(narrow(&lab, None).as_deref(), Some(lab.as_str()));
        let only = "contexts: {a: {ca: QQ==, crt: Qg==, key: Qw==}}";
        assert!(narrow(only, None).is_some_and(|text| text.contains("context: a")));
        assert_eq!(narrow(TWO, Some("prd")), None);
        assert_eq!(narrow(TWO, Some("omni")), None);
    }

    #[test]
    fn what_is_no_use_is_refused_and_shown_nowhere() {
        for (text, name, want) in [
            ("", None, "has no contexts"),
            ("- S0VZLVBST0Q=", None, "not a talosconfig"),
            (TWO, Some("prd"), "no context \"prd\""),
            (TWO, Some("omni"), "has no ca"),
            // What looks like one and holds no certificate.
            (TWO, None, "context \"prod\""),
        ] {
            let said = only_context(text, name).expect_err(text).to_string();
            assert!(said.contains(want), "{text}: {said}");
            assert!(!said.contains("S0VZ") && !said.contains("KEY-"), "{said}");
        }
    }

    #[test]
    fn the_secret_is_of_the_type_that_admission_asks_for() {
        let secret = secret("ichor-system", "text".to_owned());
        assert_eq!(secret.type_.as_deref(), Some("ichor.maesh.dev/talosconfig"));
        assert_eq!(secret.immutable, Some(true));
        assert_eq!(secret.metadata.name, None);
    }
}
