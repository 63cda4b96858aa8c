//! Ports that answer from memory: for tests, and for benchmarks that leave the access review out
//! (DESIGN section 17). Behind feature `stub`, so that no released binary can be wired to it.

use crate::ports::{
    Access, AccessQuestion, AccessReviewer, BundleLookup, LookupError, References, Selector,
};
use async_trait::async_trait;
use k8s_openapi::api::authentication::v1::UserInfo;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// A question that was asked, as owned text.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// The whole caller.
    pub user: UserInfo,
    /// Verb, group, resource, namespace and name, with spaces between.
    pub what: String,
}

/// An API server in memory. The default allows everything and holds cluster `prod`, Secret `pasted` of the
/// right type and nothing else.
#[derive(Debug)]
pub struct Stub {
    /// Answer to every verb on Ichor's own resources.
    pub verb: Result<Access, LookupError>,
    /// Answer to verb `get` on secrets.
    pub get_secret: Result<Access, LookupError>,
    /// What every lookup of an object comes to.
    pub lookup: Result<(), LookupError>,
    /// Ichor's objects by resource.
    pub objects: BTreeMap<&'static str, Vec<Value>>,
    /// Types of the Secrets by name.
    pub secrets: BTreeMap<String, String>,
    /// The bundles in Secrets by name.
    pub bundles: BTreeMap<String, BundleLookup>,
    /// System UUIDs of the Kubernetes Nodes by name.
    pub nodes: BTreeMap<String, String>,
    /// Whether the namespace is being deleted.
    pub terminating: bool,
    /// How long each answer takes.
    pub delay: Duration,
    /// Whether each answer panics, to show what a bug does.
    pub panics: bool,
    /// Where the access reviews are written down, if at all: a benchmark would fill its memory.
    pub log: Option<Mutex<Vec<Asked>>>,
}

/// A TalosCluster as it is stored.
pub fn cluster(name: &str) -> Value {
    json!({
        "apiVersion": "ichor.maesh.dev/v1alpha1", "kind": "TalosCluster",
        "metadata": {"name": name, "namespace": "ichor-system"},
        "spec": {
            "endpoint": "https://10.5.0.2:6443", "talosVersion": "v1.13.5", "kubernetesVersion": "v1.35.4",
            "versionContract": "v1.13", "secretsBundleRef": {"name": format!("{name}-bundle")},
            "kubernetesAccess": "self",
        },
    })
}

impl Default for Stub {
    fn default() -> Self {
        let kind = ichor_crds::TALOSCONFIG_SECRET_TYPE.to_owned();
        Self {
            verb: Ok(Access::Allowed),
            get_secret: Ok(Access::Allowed),
            lookup: Ok(()),
            objects: BTreeMap::from([("talosclusters", vec![cluster("prod")])]),
            secrets: BTreeMap::from([("pasted".to_owned(), kind)]),
            bundles: BTreeMap::new(),
            nodes: BTreeMap::new(),
            terminating: false,
            delay: Duration::ZERO,
            panics: false,
            log: None,
        }
    }
}

impl Stub {
    /// The access reviews in the log, in order.
    pub fn asked(&self) -> Vec<Asked> {
        let log = self.log.as_ref().map(Mutex::lock);
        log.map(|log| log.unwrap_or_else(PoisonError::into_inner).clone())
            .unwrap_or_default()
    }

    async fn wait(&self) {
        assert!(!self.panics, "the stub was told to panic");
        if !self.delay.is_zero() {
            tokio::time::sleep(self.delay).await;
        }
    }

    async fn look(&self) -> Result<(), LookupError> {
        self.wait().await;
        self.lookup.clone()
    }
}

#[async_trait]
impl AccessReviewer for Stub {
    async fn review(&self, question: AccessQuestion<'_>) -> Result<Access, LookupError> {
        let AccessQuestion {
            user,
            verb,
            group,
            resource,
            namespace,
            name,
        } = question;
        if let Some(log) = &self.log {
            log.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(Asked {
                    user: user.clone(),
                    what: format!("{verb} {group} {resource} {namespace} {name}"),
                });
        }
        self.wait().await;
        if resource == "secrets" {
            self.get_secret.clone()
        } else {
            self.verb.clone()
        }
    }
}

#[async_trait]
impl References for Stub {
    async fn list(
        &self,
        _: &str,
        resource: &str,
        selector: &Selector,
        most: Option<u32>,
    ) -> Result<Vec<Box<RawValue>>, LookupError> {
        self.look().await?;
        let all = self.objects.get(resource).into_iter().flatten();
        let selected = all.filter(|object| match selector {
            Selector::All => true,
            Selector::Field(field, value) => {
                let pointer = format!("/{}", field.replace('.', "/"));
                object.pointer(&pointer).and_then(Value::as_str) == Some(value)
            }
        });
        let most = most.map_or(usize::MAX, |most| most as usize);
        let texts = selected.take(most).map(to_raw_value);
        texts
            .collect::<Result<_, _>>()
            .map_err(|_| LookupError::Unreadable)
    }

    async fn secret_type(&self, _: &str, name: &str) -> Result<Option<String>, LookupError> {
        self.look().await?;
        Ok(self.secrets.get(name).cloned())
    }

    async fn bundle(&self, _: &str, name: &str) -> Result<BundleLookup, LookupError> {
        self.look().await?;
        Ok(self
            .bundles
            .get(name)
            .cloned()
            .unwrap_or(BundleLookup::NoSecret))
    }

    async fn node_system_uuid(&self, name: &str) -> Result<Option<String>, LookupError> {
        self.look().await?;
        Ok(self.nodes.get(name).cloned())
    }

    async fn is_terminating(&self, _: &str) -> Result<bool, LookupError> {
        self.look().await?;
        Ok(self.terminating)
    }
}
