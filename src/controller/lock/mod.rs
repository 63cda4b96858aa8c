//! The disruption lock: of all that stops or removes machines of one cluster, one thing at a time (DESIGN section 10).
//!
//! [`DisruptionLocks::acquire_disruptive_lock`] is the only way to a cluster's Lease: the type that holds it is private
//! to this module. Before the Lease it looks whether the cluster is being shut down, then whether a control plane is in
//! transition, which also covers the time after a crash in which the Lease of the dead holder has ended and its machine
//! is still on its way.

mod shutdown;
mod transition;

use crate::controller::reclaim::stored::{self, Requests};
use crate::runtime::clock;
use crate::runtime::elector::{Attempt, Holder};
use crate::runtime::fence::Fence;
use crate::runtime::lease::Settings;
use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, Client};
use std::collections::HashMap;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

/// What holds a lock: one request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Purpose {
    /// As people read it, such as `machinereclaim/reclaim-x7k2p`.
    pub name: String,
    /// UID of the object.
    pub uid: String,
}

/// Why the lock was not given.
#[derive(Debug, thiserror::Error)]
pub enum Blocked {
    /// The cluster is being shut down (record 0067, decision 3).
    #[error(
        "{by} shuts cluster {cluster} down, and nothing else acts on it before that is completed; deleting it is the way out of one that cannot finish"
    )]
    ShuttingDown {
        /// The cluster.
        cluster: String,
        /// The operation.
        by: String,
    },
    /// A control plane of the cluster is in the middle of a step.
    #[error("{by} is in the middle of taking a control plane away from cluster {cluster}")]
    Transitioning {
        /// The cluster.
        cluster: String,
        /// What is under way.
        by: String,
    },
    /// Something else holds the lock.
    #[error("{by} holds the disruption lock of cluster {cluster}")]
    Held {
        /// The cluster.
        cluster: String,
        /// The holder.
        by: String,
    },
    /// The API server did not say.
    #[error("the disruption lock cannot be read or written: {0}")]
    Kubernetes(#[from] kube::Error),
}

/// A cluster's Lease as this process holds or wants it. Made here and nowhere else.
#[derive(Debug)]
struct DisruptionLease {
    holder: Holder,
    held: bool,
    /// When it is let go of by itself: its purpose is gone, and what it did may still be under way.
    until: Option<Instant>,
}

/// The locks of this process.
#[derive(Debug)]
pub struct DisruptionLocks {
    client: ClientInNamespace,
    requests: Requests,
    operations: shutdown::Operations,
    process: String,
    settings: Settings,
    leases: Mutex<HashMap<(String, Purpose), DisruptionLease>>,
}

struct ClientInNamespace {
    client: Client,
    namespace: String,
}

impl std::fmt::Debug for ClientInNamespace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.namespace)
    }
}

impl DisruptionLocks {
    /// Locks in the name of the process called `process`.
    pub fn new(client: Client, namespace: String, process: String, settings: Settings) -> Self {
        Self {
            requests: stored::requests(client.clone(), &namespace),
            operations: shutdown::operations(client.clone(), &namespace),
            client: ClientInNamespace { client, namespace },
            process,
            settings,
            leases: Mutex::default(),
        }
    }

    /// Takes the lock of `cluster`, or keeps it where this purpose has it already. The fence says until when its
    /// holder may act; it is renewed until [`DisruptionLocks::release`].
    pub async fn acquire_disruptive_lock(
        &self,
        cluster: &str,
        purpose: &Purpose,
    ) -> Result<Fence, Blocked> {
        if let Some(by) = shutdown::mark(&self.operations, purpose, cluster).await? {
            return Err(Blocked::ShuttingDown {
                cluster: cluster.to_owned(),
                by,
            });
        }
        if let Some(by) = transition::other(&self.requests, purpose, cluster).await? {
            return Err(Blocked::Transitioning {
                cluster: cluster.to_owned(),
                by,
            });
        }
        let mut leases = self.leases.lock().await;
        let other = leases
            .iter()
            .find(|((of, by), lease)| of == cluster && by != purpose && lease.held);
        if let Some(((_, by), _)) = other {
            return Err(Blocked::Held {
                cluster: cluster.to_owned(),
                by: by.name.clone(),
            });
        }
        let lease = leases
            .entry((cluster.to_owned(), purpose.clone()))
            .or_insert_with(|| self.lease(cluster, purpose));
        // Bounded, because the renewal of the other locks waits behind it.
        let attempt = tokio::time::timeout(self.settings.retry, lease.holder.attempt()).await;
        match attempt.unwrap_or(Ok(Attempt::Raced))? {
            Attempt::Held => {
                lease.held = true;
                Ok(lease.holder.fence())
            }
            Attempt::HeldBy(by) => {
                lease.held = false;
                Err(Blocked::Held {
                    cluster: cluster.to_owned(),
                    by,
                })
            }
            Attempt::Raced => {
                lease.held = false;
                Err(Blocked::Held {
                    cluster: cluster.to_owned(),
                    by: "another request".to_owned(),
                })
            }
        }
    }

    /// Whether this purpose holds the lock of `cluster`.
    pub async fn holds(&self, cluster: &str, purpose: &Purpose) -> bool {
        let leases = self.leases.lock().await;
        let lease = leases.get(&(cluster.to_owned(), purpose.clone()));
        lease.is_some_and(|lease| lease.held && lease.holder.fence().deadline().is_ok())
    }

    /// Lets go of every lock of a purpose after a while: it is gone, and what it did may still be under way. The Lease says
    /// how long, so that the end of this process changes nothing.
    pub async fn release_after(&self, purpose: &Purpose, delay: Duration) {
        let until = clock::monotonic() + delay;
        let mut leases = self.leases.lock().await;
        for (_, lease) in leases.iter_mut().filter(|((_, by), _)| by == purpose) {
            lease.until = Some(until);
            lease.holder.last(delay);
            let written = tokio::time::timeout(self.settings.retry, lease.holder.attempt()).await;
            if !matches!(written, Ok(Ok(Attempt::Held))) {
                tracing::warn!(purpose = %purpose.name, "the Lease does not yet say how long it lasts; its renewal will");
            }
        }
    }

    /// Lets go of every lock of a purpose.
    pub async fn release(&self, purpose: &Purpose) {
        let mine: Vec<_> = {
            let mut leases = self.leases.lock().await;
            let keys: Vec<_> = leases
                .keys()
                .filter(|(_, by)| by == purpose)
                .cloned()
                .collect();
            keys.iter()
                .filter_map(|key| leases.remove_entry(key))
                .collect()
        };
        for ((cluster, _), lease) in mine {
            self.let_go(&cluster, lease).await;
        }
    }

    async fn let_go(&self, cluster: &str, mut lease: DisruptionLease) {
        if !lease.held {
            return;
        }
        let released = tokio::time::timeout(self.settings.renew_deadline, lease.holder.release());
        if !matches!(released.await, Ok(Ok(()))) {
            tracing::warn!(%cluster, "a disruption lock could not be released; it ends by itself");
        }
    }

    /// Renews what is held until `stop`, then lets go of it.
    ///
    /// # Errors
    /// None: a lock that is lost closes its fence, which stops its holder before the next call.
    pub async fn renew(&self, stop: CancellationToken) -> anyhow::Result<()> {
        loop {
            tokio::select! {
                () = stop.cancelled() => break,
                () = tokio::time::sleep(self.settings.retry) => {}
            }
            self.renew_once().await;
            self.release_late().await;
        }
        let all: Vec<_> = self.leases.lock().await.drain().collect();
        let ours = all.into_iter().filter(|(_, lease)| lease.until.is_none());
        for ((cluster, _), lease) in ours {
            self.let_go(&cluster, lease).await;
        }
        Ok(())
    }

    async fn renew_once(&self) {
        let mut leases = self.leases.lock().await;
        for ((cluster, by), lease) in leases.iter_mut().filter(|(_, lease)| lease.held) {
            let attempt = tokio::time::timeout(self.settings.retry, lease.holder.attempt()).await;
            match attempt {
                Ok(Ok(Attempt::Held | Attempt::Raced)) => {}
                Ok(Ok(Attempt::HeldBy(other))) => {
                    tracing::warn!(%cluster, purpose = %by.name, %other, "a disruption lock was lost");
                    lease.held = false;
                }
                Ok(Err(error)) => {
                    tracing::warn!(%cluster, %error, "a disruption lock could not be renewed");
                }
                Err(_) => {
                    tracing::warn!(%cluster, "a disruption lock could not be renewed in time");
                }
            }
        }
    }

    async fn release_late(&self) {
        let now = clock::monotonic();
        let late: Vec<Purpose> = {
            let leases = self.leases.lock().await;
            let late = leases
                .iter()
                .filter(|(_, lease)| lease.until.is_some_and(|until| until <= now));
            late.map(|((_, by), _)| by.clone()).collect()
        };
        for purpose in late {
            self.release(&purpose).await;
        }
    }

    fn lease(&self, cluster: &str, purpose: &Purpose) -> DisruptionLease {
        let api: Api<Lease> = Api::namespaced(self.client.client.clone(), &self.client.namespace);
        let identity = format!("{} {}", purpose.name, self.process);
        DisruptionLease {
            holder: Holder::new(api, lease_name(cluster), identity, self.settings),
            held: false,
            until: None,
        }
    }
}

fn lease_name(cluster: &str) -> String {
    format!("ichor-disruption-{cluster}")
}
