//! Finds out what the rules need, all at once and within one deadline.

use crate::findings::{Answer, Findings, Questions, Verb};
use crate::ports::{Access, AccessQuestion, ClusterLookup, LookupError, References, Selector};
use crate::state::WebhookState;
use ichor_crds::GROUP;
use k8s_openapi::api::authentication::v1::UserInfo;
use kube::{Resource, ResourceExt};
use serde::de::DeserializeOwned;
use tokio::time::{Instant, timeout_at};

/// Names of existing clusters that are read for the text of a refusal.
const EXISTING: u32 = 10;

/// Asks `questions` about objects of `namespace`, for the caller `user`.
pub(crate) async fn observe(
    state: &WebhookState,
    questions: Questions,
    namespace: &str,
    user: &UserInfo,
) -> Findings {
    let Questions {
        verb,
        cluster,
        secret,
        bundle,
        clusters,
        reclaims,
        machines,
        terminating,
    } = questions;
    let until = Instant::now() + state.0.settings.lookup_deadline;
    let references = state.0.references.as_ref();
    let ask = |verb, group, resource, name| {
        let question = AccessQuestion {
            user,
            verb,
            group,
            resource,
            namespace,
            name,
        };
        within(until, state.0.reviewer.review(question))
    };
    let verb = async {
        let Verb {
            verb,
            resource,
            name,
            ..
        } = verb.as_ref()?;
        Some(ask(verb, GROUP, resource, name).await)
    };
    let cluster = async {
        let name = cluster.as_deref()?;
        Some(within(until, look_up(references, namespace, name)).await)
    };
    let secret = async {
        let Some(name) = secret.as_deref().or(bundle.as_deref()) else {
            return (None, None, None);
        };
        let access = ask("get", "", "secrets", name).await;
        if access != Ok(Access::Allowed) {
            return (Some(access), None, None);
        }
        if secret.is_some() {
            let kind = within(until, references.secret_type(namespace, name)).await;
            (Some(access), Some(kind), None)
        } else {
            let bundle = within(until, references.bundle(namespace, name)).await;
            (Some(access), None, Some(bundle))
        }
    };
    let all = if clusters {
        vec![Selector::All]
    } else {
        Vec::new()
    };
    let clusters = within_answer(until, list(references, namespace, "talosclusters", &all));
    let reclaims = within_answer(
        until,
        list(references, namespace, "machinereclaims", &reclaims),
    );
    let machines = within_answer(
        until,
        list(references, namespace, "talosmachines", &machines),
    );
    let terminating = async {
        if terminating {
            Some(within(until, references.is_terminating(namespace)).await)
        } else {
            None
        }
    };
    let (
        verb,
        cluster,
        (secret_access, secret_type, bundle),
        clusters,
        reclaims,
        machines,
        terminating,
    ) = tokio::join!(
        verb,
        cluster,
        secret,
        clusters,
        reclaims,
        machines,
        terminating
    );
    Findings {
        verb,
        cluster,
        secret_access,
        secret_type,
        bundle,
        clusters,
        reclaims,
        machines,
        terminating,
    }
}

async fn look_up(
    references: &dyn References,
    namespace: &str,
    name: &str,
) -> Result<ClusterLookup, LookupError> {
    let resource = "talosclusters";
    let named = Selector::name(name);
    let named = references.list(namespace, resource, &named, None).await?;
    if let Some(text) = named.first() {
        return match serde_json::from_str(text.get()) {
            Ok(cluster) => Ok(ClusterLookup::Found(Box::new(cluster))),
            Err(error) => {
                tracing::warn!(%error, name, "a TalosCluster cannot be read");
                Err(LookupError::Unreadable)
            }
        };
    }
    let some = references.list(namespace, resource, &Selector::All, Some(EXISTING));
    let some: Vec<kube::core::PartialObjectMeta> = readable(&some.await?);
    let existing = some.iter().map(ResourceExt::name_any).collect();
    Ok(ClusterLookup::Missing { existing })
}

/// The objects that any of the selectors selects, each once; nothing asked where there is none.
async fn list<K: DeserializeOwned + Resource>(
    references: &dyn References,
    namespace: &str,
    resource: &str,
    selectors: &[Selector],
) -> Answer<Vec<K>> {
    if selectors.is_empty() {
        return None;
    }
    let lists = selectors
        .iter()
        .map(|selector| references.list(namespace, resource, selector, None));
    let lists = match futures::future::try_join_all(lists).await {
        Ok(lists) => lists,
        Err(error) => return Some(Err(error)),
    };
    let mut all: Vec<K> = lists.iter().flat_map(|list| readable(list)).collect();
    all.sort_by_key(ResourceExt::name_any);
    all.dedup_by_key(|object| object.name_any());
    Some(Ok(all))
}

/// Each is decoded by itself, so that one that is broken hides no other (FAULTS 35).
fn readable<K: DeserializeOwned>(texts: &[Box<serde_json::value::RawValue>]) -> Vec<K> {
    let objects = texts
        .iter()
        .filter_map(|text| match serde_json::from_str(text.get()) {
            Ok(object) => Some(object),
            Err(error) => {
                tracing::warn!(%error, "an object cannot be read and does not count");
                None
            }
        });
    objects.collect()
}

async fn within<T>(
    until: Instant,
    lookup: impl Future<Output = Result<T, LookupError>>,
) -> Result<T, LookupError> {
    timeout_at(until, lookup)
        .await
        .unwrap_or(Err(LookupError::Deadline))
}

async fn within_answer<T>(until: Instant, lookup: impl Future<Output = Answer<T>>) -> Answer<T> {
    timeout_at(until, lookup)
        .await
        .unwrap_or(Some(Err(LookupError::Deadline)))
}
