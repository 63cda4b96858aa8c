//! Finds out what the rules need, all at once and within one deadline.

use crate::candidates;
use crate::common::named;
use crate::findings::{Answer, Findings, Questions};
use crate::ports::{
    Access, AccessQuestion, BundleLookup, ClusterLookup, LookupError, References, Selector,
};
use crate::seen::{Guards, Seen};
use crate::state::WebhookState;
use ichor_crds::{GROUP, TalosCluster};
use k8s_openapi::api::authentication::v1::UserInfo;
use kube::ResourceExt;
use kube::core::PartialObjectMeta;
use serde::de::DeserializeOwned;
use tokio::time::{Instant, timeout_at};

/// Names of existing clusters that are read for the text of a refusal.
const EXISTING: u32 = 10;

/// Where objects are asked for, and until when.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) references: &'a dyn References,
    namespace: &'a str,
    until: Instant,
}

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
        used_secret,
        backup,
        clusters,
        reclaims,
        machines,
        called,
        operations,
        storages,
        terminating,
    } = questions;
    let until = Instant::now() + state.0.settings.lookup_deadline;
    let references = state.0.references.as_ref();
    let place = Place {
        references,
        namespace,
        until,
    };
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
        let needed = verb.as_ref()?;
        Some(ask(needed.verb, GROUP, needed.resource, &needed.name).await)
    };
    let cluster = async {
        let name = cluster.as_deref()?;
        Some(within(until, look_up(place, name)).await)
    };
    let secret = async {
        let Some(name) = secret.as_ref().or(bundle.as_ref()).or(used_secret.as_ref()) else {
            return (None, None, None);
        };
        let access = ask("get", "", "secrets", name).await;
        let (kind, bundle) = if access == Ok(Access::Allowed) {
            content(place, name, bundle.is_some()).await
        } else {
            (None, None)
        };
        (Some(access), kind, bundle)
    };
    let backup = async {
        let name = backup.as_deref()?;
        Some(within(until, one(place, "talosetcdbackups", name)).await)
    };
    let all: &[Selector] = if clusters { &[Selector::All] } else { &[] };
    let clusters = list(place, "talosclusters", all);
    let reclaims = list(place, "machinereclaims", &reclaims);
    let machines = list(place, "talosmachines", &machines);
    let called = async {
        let called = called.as_ref()?;
        Some(within(until, candidates::find(place, called)).await)
    };
    let operations = list(place, "talosoperations", &operations);
    let storages = list(place, "talosstorages", &storages);
    let terminating = async {
        let asked = terminating.then(|| references.is_terminating(namespace));
        Some(within(until, asked?).await)
    };
    let subject = async { tokio::join!(verb, cluster, secret, backup, terminating) };
    let others = async { tokio::join!(clusters, reclaims, machines, called, operations, storages) };
    let ((verb, cluster, (secret_access, secret_type, bundle), backup, terminating), others) =
        tokio::join!(subject, others);
    let (clusters, reclaims, machines, called, operations, storages) = others;
    let cluster_ids = match (&bundle, &clusters) {
        (Some(Ok(BundleLookup::Sound { .. })), Some(Ok(clusters))) => {
            Some(within(until, ids(references, namespace, clusters)).await)
        }
        _ => None,
    };
    Findings {
        verb,
        cluster,
        secret_access,
        secret_type,
        bundle,
        backup,
        clusters,
        cluster_ids,
        reclaims,
        machines,
        called,
        operations,
        storages,
        terminating,
    }
}

/// What a Secret holds as a bundle, or else only its type.
async fn content(
    place: Place<'_>,
    name: &str,
    bundle: bool,
) -> (Answer<Option<String>>, Answer<BundleLookup>) {
    let Place {
        references,
        namespace,
        until,
    } = place;
    if bundle {
        let bundle = within(until, references.bundle(namespace, name)).await;
        return (None, Some(bundle));
    }
    let kind = within(until, references.secret_type(namespace, name)).await;
    (Some(kind), None)
}

async fn look_up(place: Place<'_>, name: &str) -> Result<ClusterLookup, LookupError> {
    let resource = "talosclusters";
    if let Some(cluster) = one(place, resource, name).await? {
        return Ok(ClusterLookup::Found(Box::new(cluster)));
    }
    let some = place
        .references
        .list(place.namespace, resource, &Selector::All, Some(EXISTING));
    let some = some.await?;
    let some = some
        .iter()
        .filter_map(|text| serde_json::from_str::<PartialObjectMeta>(text.get()).ok());
    let existing = some.map(|cluster| cluster.name_any()).collect();
    Ok(ClusterLookup::Missing { existing })
}

/// The object of a name. One that a request refers to has to be readable as a whole.
pub(crate) async fn one<K: DeserializeOwned>(
    place: Place<'_>,
    resource: &str,
    name: &str,
) -> Result<Option<K>, LookupError> {
    let named = Selector::name(name);
    let named = place
        .references
        .list(place.namespace, resource, &named, None);
    let named = named.await?;
    let object = named.first().map(|text| serde_json::from_str(text.get()));
    object.transpose().map_err(|error| {
        tracing::warn!(%error, resource, name, "an object cannot be read");
        LookupError::Unreadable
    })
}

/// The IDs of the clusters: from their bundles, else as the controller saw them. There are few.
async fn ids(
    references: &dyn References,
    namespace: &str,
    clusters: &[Seen<TalosCluster>],
) -> Result<Vec<(String, String)>, LookupError> {
    let mut ids = Vec::new();
    for cluster in clusters {
        let bundle = match named(Some(&cluster.spec.secrets_bundle_ref)) {
            Some(secret) => references.bundle(namespace, &secret).await?,
            None => BundleLookup::NoSecret,
        };
        let id = match bundle {
            BundleLookup::Sound { cluster_id } => Some(cluster_id),
            _ => cluster
                .status
                .as_ref()
                .and_then(|status| status.cluster_id.clone()),
        };
        ids.extend(id.map(|id| (cluster.name_any(), id)));
    }
    Ok(ids)
}

/// The objects that any of the selectors selects; nothing asked where there is none.
async fn list<K: Guards>(
    place: Place<'_>,
    resource: &str,
    selectors: &[Selector],
) -> Answer<Vec<Seen<K>>> {
    if selectors.is_empty() {
        return None;
    }
    Some(within(place.until, of_selectors(place, resource, selectors, None)).await)
}

/// The objects that any of the selectors selects, each once; at most `most` of each where that is given.
pub(crate) async fn of_selectors<K: Guards>(
    place: Place<'_>,
    resource: &str,
    selectors: &[Selector],
    most: Option<u32>,
) -> Result<Vec<Seen<K>>, LookupError> {
    let Place {
        references,
        namespace,
        ..
    } = place;
    let lists = selectors
        .iter()
        .map(|selector| references.list(namespace, resource, selector, most));
    let lists = futures::future::try_join_all(lists).await?;
    let all = lists.iter().flatten().map(|text| Seen::read(text.get()));
    let all: Option<Vec<Seen<K>>> = all.collect();
    let mut all = all.ok_or(LookupError::Unreadable)?;
    all.sort_by_key(|object| object.name_any());
    all.dedup_by_key(|object| object.name_any());
    Ok(all)
}

async fn within<T>(
    until: Instant,
    lookup: impl Future<Output = Result<T, LookupError>>,
) -> Result<T, LookupError> {
    timeout_at(until, lookup)
        .await
        .unwrap_or(Err(LookupError::Deadline))
}
