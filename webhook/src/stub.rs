//! Ports that answer from memory: for tests, and for benchmarks that leave the access review out
//! (DESIGN section 17). Behind feature `stub`, so that no released binary can be wired to it.

use crate::ports::{
    Access, AccessQuestion, AccessReviewer, ClusterLookup, LookupError, OtherReclaim, References,
};
use async_trait::async_trait;
use k8s_openapi::api::authentication::v1::UserInfo;
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
/// right type and no reclaim.
#[derive(Debug)]
pub struct Stub {
    /// Answer to verb `reclaim`.
    pub reclaim: Result<Access, LookupError>,
    /// Answer to verb `get` on secrets.
    pub get_secret: Result<Access, LookupError>,
    /// Names of the clusters.
    pub clusters: Vec<String>,
    /// Types of the Secrets by name.
    pub secrets: BTreeMap<String, String>,
    /// The reclaims that have not ended.
    pub reclaims: Vec<OtherReclaim>,
    /// How long each answer takes.
    pub delay: Duration,
    /// Whether each answer panics, to show what a bug does.
    pub panics: bool,
    /// Where the access reviews are written down, if at all: a benchmark would fill its memory.
    pub log: Option<Mutex<Vec<Asked>>>,
}

impl Default for Stub {
    fn default() -> Self {
        let kind = ichor_crds::TALOSCONFIG_SECRET_TYPE.to_owned();
        Self {
            reclaim: Ok(Access::Allowed),
            get_secret: Ok(Access::Allowed),
            clusters: vec!["prod".to_owned()],
            secrets: BTreeMap::from([("pasted".to_owned(), kind)]),
            reclaims: Vec::new(),
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
        if verb == "reclaim" {
            self.reclaim.clone()
        } else {
            self.get_secret.clone()
        }
    }
}

#[async_trait]
impl References for Stub {
    async fn cluster(&self, _: &str, name: &str) -> Result<ClusterLookup, LookupError> {
        self.wait().await;
        if self.clusters.iter().any(|cluster| cluster == name) {
            return Ok(ClusterLookup::Found);
        }
        Ok(ClusterLookup::Missing {
            existing: self.clusters.clone(),
        })
    }

    async fn secret_type(&self, _: &str, name: &str) -> Result<Option<String>, LookupError> {
        self.wait().await;
        Ok(self.secrets.get(name).cloned())
    }

    async fn unfinished_reclaims(&self, _: &str) -> Result<Vec<OtherReclaim>, LookupError> {
        self.wait().await;
        Ok(self.reclaims.clone())
    }
}
