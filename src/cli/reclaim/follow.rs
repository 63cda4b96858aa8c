//! Following one request: a watch, and a read every few seconds in case the watch is dead or not allowed.
//! What is lost is read again, so a person sees the end whatever happens to the connection (UX, FAULTS 32).

use crate::actions::error::{ActionError, bounded};
use futures::stream::BoxStream;
use futures::{StreamExt as _, TryStreamExt as _};
use ichor_crds::MachineReclaim;
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Api, Client};
use std::time::Duration;
use tokio::time::{Interval, MissedTickBehavior};

/// Time between two reads beside the watch.
const READ_EVERY: Duration = Duration::from_secs(5);
/// Failed reads in a row before a person is told.
const QUIET_FAILURES: u32 = 2;

/// News of a request.
pub enum News {
    /// A version that is newer than the last one.
    Changed(Box<MachineReclaim>),
    /// It was deleted.
    Gone,
    /// The API server cannot be reached; following goes on.
    Unreachable(ActionError),
}

/// Follows one request.
pub struct Follower {
    requests: Api<MachineReclaim>,
    name: String,
    uid: Option<String>,
    version: Option<u128>,
    watch: Option<BoxStream<'static, Result<Option<MachineReclaim>, watcher::Error>>>,
    reads: Interval,
    failures: u32,
}

impl Follower {
    /// Follows the request from this version on.
    pub fn new(client: &Client, request: &MachineReclaim) -> Self {
        let namespace = request.metadata.namespace.as_deref().unwrap_or_default();
        let requests: Api<MachineReclaim> = Api::namespaced(client.clone(), namespace);
        let name = request.metadata.name.clone().unwrap_or_default();
        let watch = watcher::watch_object(requests.clone(), &name).default_backoff();
        let mut reads = tokio::time::interval(READ_EVERY);
        reads.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            requests,
            name,
            uid: request.metadata.uid.clone(),
            version: version(request),
            watch: Some(watch.boxed()),
            reads,
            failures: 0,
        }
    }

    /// The next news; only an answer that following cannot get over is an error. Dropping the future loses
    /// nothing: what it had not yet handed out is read again.
    pub async fn next(&mut self) -> Result<News, ActionError> {
        loop {
            let seen = tokio::select! {
                seen = watched(&mut self.watch) => seen,
                // Time to read, as after a watch that broke.
                _ = self.reads.tick() => Some(Ok(None)),
            };
            let object = match seen {
                Some(Ok(Some(object))) => Some(object),
                // A deletion, or a watch that broke and is taken up again: the read tells which.
                Some(_) => match self.read().await? {
                    Read::Object(object) => Some(*object),
                    Read::Nothing => return Ok(News::Gone),
                    Read::Unreachable(error) => return Ok(News::Unreachable(error)),
                    Read::TryAgain => None,
                },
                None => {
                    self.watch = None;
                    None
                }
            };
            let Some(object) = object else { continue };
            if object.metadata.uid != self.uid {
                return Ok(News::Gone);
            }
            if self.note(&object) {
                return Ok(News::Changed(Box::new(object)));
            }
        }
    }

    /// Takes note of a version that the caller has; tells whether it is newer than the last one.
    pub fn note(&mut self, object: &MachineReclaim) -> bool {
        let version = version(object);
        let newer = version.is_none() || version > self.version;
        if newer {
            self.version = version;
        }
        newer
    }

    async fn read(&mut self) -> Result<Read, ActionError> {
        match bounded("reading the request", self.requests.get_opt(&self.name)).await {
            Ok(object) => {
                self.failures = 0;
                Ok(object.map_or(Read::Nothing, |object| Read::Object(Box::new(object))))
            }
            Err(error) if error.is_transient() => {
                self.failures += 1;
                if self.failures == QUIET_FAILURES {
                    return Ok(Read::Unreachable(error));
                }
                Ok(Read::TryAgain)
            }
            Err(error) => Err(error),
        }
    }
}

enum Read {
    Object(Box<MachineReclaim>),
    Nothing,
    Unreachable(ActionError),
    TryAgain,
}

/// The next of the watch; one that ended is waited for without end, the reads go on.
async fn watched<S>(watch: &mut Option<S>) -> Option<Result<Option<MachineReclaim>, watcher::Error>>
where
    S: futures::Stream<Item = Result<Option<MachineReclaim>, watcher::Error>> + Unpin,
{
    match watch {
        Some(stream) => stream.try_next().await.transpose(),
        None => std::future::pending().await,
    }
}

/// The resourceVersion as a number, which Kubernetes lets clients compare since 1.35; a read may be newer
/// than what the watch delivers next.
fn version(object: &MachineReclaim) -> Option<u128> {
    object.metadata.resource_version.as_deref()?.parse().ok()
}
