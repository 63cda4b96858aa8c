//! Caches of the API server's objects, one per kind and shared by all reconcilers, and the changes that fill
//! the queues.
//!
//! An object that cannot be decoded does not stop the others: it stays in the cache as undecodable, so that rules
//! can tell "not there" from "not readable", and gets an Event (FAULTS 35).

use crate::controller::events::Events;
use crate::runtime::metrics::Metrics;
use futures::{Stream, StreamExt};
use kube::core::DeserializeGuard;
use kube::runtime::reflector::{self, ObjectRef, Store};
use kube::runtime::watcher::{self, Event};
use kube::runtime::{WatchStreamExt, watcher as watch};
use kube::{Api, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// An object, or the metadata of one that cannot be decoded.
pub type Guarded<K> = DeserializeGuard<K>;

/// What a cache asks of a kind.
pub trait Kind:
    Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static
{
}

impl<K> Kind for K where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static
{
}

/// Objects per page of a list: few, so that a long list is never held twice.
const PAGE: u32 = 50;
/// The API server ends a watch after this long. The client's read timeout is longer, so that only a dead connection
/// meets it (FAULTS 32).
pub const WATCH_SECONDS: u32 = 60;

/// A change of an object.
#[derive(Debug)]
pub enum Change<K> {
    /// It is new or different.
    Applied(Arc<K>),
    /// It is gone; this is its last state.
    Gone(Arc<K>),
}

/// The cache of a kind.
#[derive(Clone)]
pub struct Cache<K: Kind>(Store<Guarded<K>>);

impl<K: Kind> Debug for Cache<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Cache").field(&self.0.len()).finish()
    }
}

impl<K: Kind> Cache<K> {
    /// The objects that can be decoded.
    pub fn all(&self) -> Vec<K> {
        let state = self.0.state();
        state
            .iter()
            .filter_map(|object| object.0.as_ref().ok().cloned())
            .collect()
    }

    /// What `pick` makes of each object that can be decoded.
    pub fn collect<T>(&self, pick: impl Fn(&K) -> Option<T>) -> Vec<T> {
        let state = self.0.state();
        state
            .iter()
            .filter_map(|object| object.0.as_ref().ok().and_then(&pick))
            .collect()
    }

    /// The object of a name, if it can be decoded.
    pub fn named(&self, namespace: &str, name: &str) -> Option<K> {
        let found = self.0.get(&ObjectRef::new(name).within(namespace))?;
        found.0.as_ref().ok().cloned()
    }

    /// Waits until the first list is complete.
    ///
    /// # Errors
    /// When the cache's feeder has ended.
    pub async fn filled(&self) -> anyhow::Result<()> {
        self.0.wait_until_ready().await?;
        Ok(())
    }
}

/// Fills the cache of one kind.
pub struct Feeder<K: Kind> {
    api: Api<Guarded<K>>,
    writer: reflector::store::Writer<Guarded<K>>,
    store: Store<Guarded<K>>,
    controller: &'static str,
    events: Events,
    metrics: Metrics,
    /// Undecodable objects that were told about, by UID, in the version that was.
    told: HashMap<String, Option<String>>,
}

impl<K: Kind> Feeder<K> {
    /// A feeder and the cache it fills.
    pub fn new(
        api: Api<Guarded<K>>,
        controller: &'static str,
        events: Events,
        metrics: Metrics,
    ) -> (Self, Cache<K>) {
        let (store, writer) = reflector::store();
        let cache = Cache(store.clone());
        let feeder = Self {
            api,
            writer,
            store,
            controller,
            events,
            metrics,
            told: HashMap::new(),
        };
        (feeder, cache)
    }

    /// Watches until `stop` and tells `on` of every change.
    ///
    /// # Errors
    /// When the watch ends, which it does not by itself.
    pub async fn run(
        mut self,
        on: impl FnMut(Change<K>) + Send,
        stop: CancellationToken,
    ) -> anyhow::Result<()> {
        let config = watch::Config::default()
            .page_size(PAGE)
            .timeout(WATCH_SECONDS);
        let stream = watcher::watcher(self.api.clone(), config).default_backoff();
        self.follow(stream, on, stop).await
    }

    async fn follow(
        &mut self,
        stream: impl Stream<Item = watcher::Result<Event<Guarded<K>>>> + Send,
        mut on: impl FnMut(Change<K>) + Send,
        stop: CancellationToken,
    ) -> anyhow::Result<()> {
        let mut stream = std::pin::pin!(stream);
        let mut before: Vec<Arc<Guarded<K>>> = Vec::new();
        loop {
            let next = tokio::select! {
                () = stop.cancelled() => return Ok(()),
                next = stream.next() => next,
            };
            let event = match next {
                None => anyhow::bail!("the watch of {} ended", self.controller),
                // Listed and watched again by itself, after a pause that grows.
                Some(Err(error)) => {
                    tracing::warn!(controller = self.controller, %error, "a watch failed");
                    continue;
                }
                Some(Ok(event)) => event.modify(|object| object.managed_fields_mut().clear()),
            };
            if matches!(event, Event::Init) {
                before = self.store.state();
            }
            if let Some(old) = self.replaced_by(&event) {
                self.gone((*old).clone(), &mut on);
            }
            self.writer.apply_watcher_event(&event);
            match event {
                Event::Apply(object) | Event::InitApply(object) => {
                    self.applied(object, &mut on).await;
                }
                Event::Delete(object) => self.gone(object, &mut on),
                Event::InitDone => {
                    for object in std::mem::take(&mut before) {
                        if self.store.get(&ObjectRef::from_obj(&*object)).is_none() {
                            self.gone((*object).clone(), &mut on);
                        }
                    }
                }
                Event::Init => {}
            }
        }
    }

    /// What an event's object takes the name of: it went while nothing was heard (a list after a broken watch), and
    /// whoever works on it has to know before its name means another.
    fn replaced_by(&self, event: &Event<Guarded<K>>) -> Option<Arc<Guarded<K>>> {
        let (Event::Apply(new) | Event::InitApply(new)) = event else {
            return None;
        };
        let old = self.store.get(&ObjectRef::from_obj(new))?;
        (old.meta().uid != new.meta().uid).then_some(old)
    }

    async fn applied(&mut self, object: Guarded<K>, on: &mut impl FnMut(Change<K>)) {
        match object.0 {
            Ok(object) => {
                self.forget(object.meta().uid.as_deref());
                on(Change::Applied(Arc::new(object)));
            }
            Err(invalid) => {
                let uid = invalid.metadata.uid.clone().unwrap_or_default();
                let version = invalid.metadata.resource_version.clone();
                if self.told.insert(uid, version.clone()) == Some(version) {
                    return;
                }
                self.metrics.undecodable(self.controller, self.told.len());
                self.events.undecodable::<K>(&invalid.metadata).await;
            }
        }
    }

    fn gone(&mut self, object: Guarded<K>, on: &mut impl FnMut(Change<K>)) {
        match object.0 {
            Ok(object) => on(Change::Gone(Arc::new(object))),
            Err(invalid) => self.forget(invalid.metadata.uid.as_deref()),
        }
    }

    fn forget(&mut self, uid: Option<&str>) {
        if uid.and_then(|uid| self.told.remove(uid)).is_some() {
            self.metrics.undecodable(self.controller, self.told.len());
        }
    }
}

impl<K: Kind> Debug for Feeder<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Feeder")
            .field("controller", &self.controller)
            .finish_non_exhaustive()
    }
}

/// Tells whether an object's spec, life or identity changed since it was last shown: statuses, which the controller
/// writes itself, wake nobody. The UID counts, so that an object made again under an old name is not overlooked.
#[derive(Debug, Default)]
pub struct SpecChanges(HashMap<String, Mark>);

/// UID, generation, and whether it is being deleted.
type Mark = (Option<String>, Option<i64>, bool);

impl SpecChanges {
    /// Notes an object; whether anything but its status changed.
    pub fn note(&mut self, object: &impl ResourceExt) -> bool {
        let meta = object.meta();
        let mark = (
            meta.uid.clone(),
            meta.generation,
            meta.deletion_timestamp.is_some(),
        );
        self.0.insert(object.name_any(), mark.clone()) != Some(mark)
    }

    /// Forgets an object that is gone.
    pub fn forget(&mut self, object: &impl ResourceExt) {
        self.0.remove(&object.name_any());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ichor_crds::{MachineReclaim, MachineReclaimSpec};

    fn request(uid: &str) -> Guarded<MachineReclaim> {
        let mut request = MachineReclaim::new("reclaim-1", MachineReclaimSpec::default());
        request.metadata.namespace = Some("ichor-system".to_owned());
        request.metadata.uid = Some(uid.to_owned());
        DeserializeGuard(Ok(request))
    }

    /// Deleted and created again under its name while the watch was broken: the old one is told as gone, and first.
    #[tokio::test]
    async fn an_object_made_again_under_its_name_is_another_one() {
        rustls::crypto::ring::default_provider()
            .install_default()
            .ok();
        let nowhere = kube::Config::new("https://127.0.0.1:1".parse().expect("a URL"));
        let client = kube::Client::try_from(nowhere).expect("a client");
        let (mut feeder, cache) = Feeder::<MachineReclaim>::new(
            Api::namespaced(client.clone(), "ichor-system"),
            "test",
            Events::new(client, "test".to_owned()),
            Metrics::register(&mut prometheus_client::registry::Registry::default()),
        );
        let listed = |uid| [Event::Init, Event::InitApply(request(uid)), Event::InitDone];
        let events = [
            listed("one").to_vec(),
            listed("one").to_vec(),
            listed("two").to_vec(),
            vec![Event::Apply(request("three"))],
        ];
        let stream = futures::stream::iter(events.concat().into_iter().map(Ok));
        let mut seen = Vec::new();
        let on = |change: Change<MachineReclaim>| {
            seen.push(match change {
                Change::Applied(object) => ("applied", object.metadata.uid.clone()),
                Change::Gone(object) => ("gone", object.metadata.uid.clone()),
            });
        };
        let ended = feeder.follow(stream, on, CancellationToken::new()).await;
        assert!(ended.is_err(), "the stream of the test ends");
        let seen: Vec<String> = seen
            .into_iter()
            .map(|(what, uid)| format!("{what} {}", uid.unwrap_or_default()))
            .collect();
        assert_eq!(
            seen,
            [
                "applied one",
                "applied one",
                "gone one",
                "applied two",
                "gone two",
                "applied three"
            ]
        );
        assert_eq!(cache.all().len(), 1);
    }
}
