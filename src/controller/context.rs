//! What the reconcilers share.

use crate::controller::clusters::Clusters;
use crate::controller::events::Events;
use crate::controller::kubernetes::KubernetesAccess;
use crate::controller::lock::DisruptionLocks;
use crate::controller::reclaim::Sightings;
use crate::controller::reclaim::decide::Settings;
use crate::controller::reclaim::stored::Requests;
use crate::controller::store::{Cache, Guarded};
use crate::runtime::fence::Fence;
use crate::runtime::metrics::Metrics;
use ichor_crds::{MachineReclaim, TalosCluster, TalosMachine};
use ichor_talos::{Dialer, DialerOptions, Guard, LeaseLost};
use kube::{Api, Client};
use std::sync::Arc;
use std::time::Instant;

/// What the reconcilers share.
#[derive(Debug)]
pub struct Context {
    /// Ichor's requests.
    pub requests: Api<Guarded<MachineReclaim>>,
    /// Ichor's requests, whatever their shape.
    pub requests_raw: Requests,
    /// Since when this process knows of which reset.
    pub sightings: Sightings,
    /// Ichor's requests, for statuses.
    pub statuses: Api<MachineReclaim>,
    /// Clusters, for statuses.
    pub cluster_statuses: Api<TalosCluster>,
    /// Machines, read live.
    pub machines_live: Api<Guarded<TalosMachine>>,
    /// The requests as the cache has them.
    pub reclaims: Cache<MachineReclaim>,
    /// The machines as the cache has them.
    pub machines: Cache<TalosMachine>,
    /// Managed clusters and credentials made from them.
    pub clusters: Clusters,
    /// The Kubernetes API of managed clusters.
    pub kubernetes: KubernetesAccess,
    /// The disruption locks.
    pub locks: DisruptionLocks,
    /// How to dial, bounded by the leader's lease.
    pub dialer: Dialer,
    /// The options of `dialer`.
    pub dialling: DialerOptions,
    /// The leader's lease.
    pub leader: Fence,
    /// Events.
    pub events: Events,
    /// Metrics.
    pub metrics: Metrics,
    /// Times and permissions.
    pub settings: Settings,
    /// Ichor's namespace.
    pub namespace: String,
}

impl Context {
    /// A dialer whose calls end before the leader's lease and before that of `lock`, too.
    pub fn dialer_within(&self, lock: Option<&Fence>) -> Dialer {
        let Some(lock) = lock else {
            return self.dialer.clone();
        };
        let mut options = self.dialling.clone();
        options.guard = guard(vec![self.leader.clone(), lock.clone()]);
        Dialer::new(options)
    }
}

/// No call outlives any of these leases (DESIGN section 18, decision 2).
pub fn guard(fences: Vec<Fence>) -> Arc<dyn Guard> {
    Arc::new(move || deadline(&fences))
}

fn deadline(fences: &[Fence]) -> Result<Instant, LeaseLost> {
    let mut earliest: Option<Instant> = None;
    for fence in fences {
        let until = fence.deadline().map_err(|_| LeaseLost)?;
        earliest = Some(earliest.map_or(until, |known| known.min(until)));
    }
    earliest.ok_or(LeaseLost)
}

/// The APIs of one namespace.
pub fn api<K>(client: &Client, namespace: &str) -> Api<K>
where
    K: kube::Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>,
{
    Api::namespaced(client.clone(), namespace)
}

/// The APIs of one namespace, with objects that may not decode.
pub fn api_guarded<K>(client: &Client, namespace: &str) -> Api<Guarded<K>>
where
    K: kube::Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>,
{
    Api::namespaced(client.clone(), namespace)
}
