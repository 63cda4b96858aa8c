//! The disruption lock: of all that stops or removes machines of one cluster, one thing at a time (DESIGN section 10).
//!
//! [`DisruptionLocks::acquire_disruptive_lock`] is the only way to a cluster's Lease: the type that holds it is private
//! to this module. Before the Lease it looks whether a control plane is in transition, which also covers the
//! time after a crash in which the Lease of the dead holder has ended and its machine is still on its way.

mod transition;

use crate::runtime::elector::{Attempt, Holder};
use crate::runtime::fence::Fence;
use crate::runtime::lease::Settings;
use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, Client};
use std::collections::HashMap;
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
}

/// The locks of this process.
#[derive(Debug)]
pub struct DisruptionLocks {
    client: ClientInNamespace,
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
            client: ClientInNamespace { client, namespace },
            process,
            settings,
            leases: Mutex::default(),
        }
    }

    /// Takes the lock of `cluster`, or keeps it where this purpose has it already. The fence says until when its
    /// holder may act; it is renewed until [`DisruptionLocks::release`].
    ///
    /// The mark of a cluster's shutdown (record 0067) is looked at here, too, once that operation exists.
    pub async fn acquire_disruptive_lock(
        &self,
        cluster: &str,
        purpose: &Purpose,
    ) -> Result<Fence, Blocked> {
        if let Some(by) = transition::other(self.api(), purpose, cluster).await? {
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
        match lease.holder.attempt().await? {
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

    /// Lets go of every lock of a purpose.
    pub async fn release(&self, purpose: &Purpose) {
        let mut leases = self.leases.lock().await;
        let mine: Vec<_> = leases
            .keys()
            .filter(|(_, by)| by == purpose)
            .cloned()
            .collect();
        for key in mine {
            if let Some(mut lease) = leases.remove(&key)
                && lease.held
                && let Err(error) = lease.holder.release().await
            {
                tracing::warn!(cluster = %key.0, %error, "a disruption lock could not be released; it ends by itself");
            }
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
        }
        let mut leases = self.leases.lock().await;
        for (_, mut lease) in leases.drain().filter(|(_, lease)| lease.held) {
            if let Err(error) = lease.holder.release().await {
                tracing::warn!(%error, "a disruption lock could not be released; it ends by itself");
            }
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
                    tracing::warn!(%cluster, %error, "a disruption lock could not be renewed")
                }
                Err(_) => {
                    tracing::warn!(%cluster, "a disruption lock could not be renewed in time")
                }
            }
        }
    }

    fn lease(&self, cluster: &str, purpose: &Purpose) -> DisruptionLease {
        let api: Api<Lease> = Api::namespaced(self.client.client.clone(), &self.client.namespace);
        let identity = format!("{} {}", purpose.name, self.process);
        DisruptionLease {
            holder: Holder::new(api, lease_name(cluster), identity, self.settings),
            held: false,
        }
    }

    fn api(&self) -> transition::Reclaims {
        Api::namespaced(self.client.client.clone(), &self.client.namespace)
    }
}

fn lease_name(cluster: &str) -> String {
    format!("ichor-disruption-{cluster}")
}
