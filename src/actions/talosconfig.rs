//! A pasted talosconfig as a Secret: only the context that is used, and of it only what dials the one
//! machine. A person's talosconfig holds the keys of many clusters; none of the others leaves it.

use super::error::{ActionError, bounded};
use super::reclaim::FIELD_MANAGER;
use ichor_crds::{GROUP, MachineReclaim, TALOSCONFIG_KEY, TALOSCONFIG_SECRET_TYPE, VERSION};
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};
use k8s_openapi::api::core::v1::Secret;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use kube::{Api, Client};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;

/// Why a talosconfig is of no use. No text of the file is in any of these.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TalosconfigError {
    /// It is not the YAML of a talosconfig.
    #[error(
        "is not a talosconfig: a YAML file with \"context\" and \"contexts\" is needed, as talosctl writes it"
    )]
    NotATalosconfig,
    /// No context was named, neither by the person nor by the file.
    #[error("names no current context: choose one with --context ({0})")]
    NoCurrentContext(String),
    /// The context is not in it.
    #[error("has no context {name:?}; it has {known}")]
    NoSuchContext {
        /// The context that was asked for.
        name: String,
        /// The contexts that are there.
        known: String,
    },
    /// The context has no client certificate.
    #[error(
        "has no {what} in context {name:?}: only a context with ca, crt and key can dial a machine"
    )]
    Incomplete {
        /// The context.
        name: String,
        /// The field that is missing.
        what: &'static str,
    },
}

#[derive(Deserialize, Serialize)]
struct Config {
    #[serde(default)]
    context: String,
    #[serde(default)]
    contexts: BTreeMap<String, Context>,
}

#[derive(Deserialize, Serialize)]
struct Context {
    #[serde(default)]
    ca: String,
    #[serde(default)]
    crt: String,
    #[serde(default)]
    key: String,
}

/// The talosconfig with the named context alone (the current one when none is named), without its endpoints:
/// the machine of the request is the only one that is dialled.
pub fn only_context(text: &str, name: Option<&str>) -> Result<String, TalosconfigError> {
    let mut config: Config =
        serde_saphyr::from_str(text).map_err(|_| TalosconfigError::NotATalosconfig)?;
    if config.contexts.is_empty() {
        return Err(TalosconfigError::NotATalosconfig);
    }
    let known = config
        .contexts
        .keys()
        .cloned()
        .collect::<Vec<_>>()
        .join(", ");
    let name = name.unwrap_or(&config.context).to_owned();
    if name.is_empty() {
        return Err(TalosconfigError::NoCurrentContext(known));
    }
    let Some(context) = config.contexts.remove(&name) else {
        return Err(TalosconfigError::NoSuchContext { name, known });
    };
    for (what, value) in [
        ("ca", &context.ca),
        ("crt", &context.crt),
        ("key", &context.key),
    ] {
        if value.trim().is_empty() {
            return Err(TalosconfigError::Incomplete { name, what });
        }
    }
    let narrowed = Config {
        context: name.clone(),
        contexts: BTreeMap::from([(name, context)]),
    };
    serde_saphyr::to_string(&narrowed).map_err(|_| TalosconfigError::NotATalosconfig)
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
        let current = only_context(TWO, None).expect("current context");
        assert!(
            current.contains("S0VZLVBST0Q=") && !current.contains("S0VZLUxBQg=="),
            "{current}"
        );
        let lab = only_context(TWO, Some("lab")).expect("named context");
        assert!(
            lab.contains("S0VZLUxBQg==") && !lab.contains("S0VZLVBST0Q="),
            "{lab}"
        );
        assert!(
            lab.contains("context: lab") && !lab.contains("endpoints"),
            "{lab}"
        );
        assert_eq!(only_context(&lab, None).as_deref(), Ok(lab.as_str()));
    }

    #[test]
    fn what_is_no_use_says_why_and_shows_nothing_of_it() {
        for (text, name, want) in [
            ("", None, "is not a talosconfig"),
            ("key: S0VZLVBST0Q=", None, "is not a talosconfig"),
            ("- S0VZLVBST0Q=", None, "is not a talosconfig"),
            (
                "contexts: {a: {key: [S0VZLVBST0Q=]}}",
                None,
                "is not a talosconfig",
            ),
            (
                "contexts: {a: {key: S0VZLVBST0Q=}}",
                None,
                "choose one with --context (a)",
            ),
            (
                TWO,
                Some("prd"),
                "has no context \"prd\"; it has lab, omni, prod",
            ),
            (TWO, Some("omni"), "has no ca in context \"omni\""),
            (
                "contexts: {a: {ca: x, crt: y}}",
                Some("a"),
                "has no key in context \"a\"",
            ),
        ] {
            let said = only_context(text, name).expect_err(text).to_string();
            assert!(said.contains(want), "{text}: {said}");
            assert!(!said.contains("S0VZ"), "{said}");
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
