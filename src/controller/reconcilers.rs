//! What only the leader runs: caches, queues and workers.

use crate::controller::clusters::Clusters;
use crate::controller::context::{self, Context};
use crate::controller::events::Events;
use crate::controller::kubernetes::KubernetesAccess;
use crate::controller::lock::DisruptionLocks;
use crate::controller::reclaim::decide::Settings;
use crate::controller::run::{GRACE, LEADER_LEASE};
use crate::controller::store::{Cache, Change, Feeder, Kind, SpecChanges};
use crate::controller::workers::{self, Crew};
use crate::controller::{ControllerArgs, cluster, reclaim};
use crate::runtime::clock;
use crate::runtime::fence::Fence;
use crate::runtime::lease;
use crate::runtime::metrics::Metrics;
use crate::runtime::queue::Queue;
use crate::runtime::supervisor::Supervisor;
use ichor_crds::{MachineReclaim, TalosCluster, TalosMachine};
use ichor_talos::{Dialer, DialerOptions};
use kube::{Client, ResourceExt};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

/// Clusters worked on at the same moment.
const CLUSTER_WORKERS: u16 = 2;

/// What only the leader runs.
pub(super) struct Reconcilers {
    /// The API server that Ichor's objects are in.
    pub(super) client: Client,
    /// The CAs it is verified by, DER.
    pub(super) roots: Vec<Vec<u8>>,
    /// The flags.
    pub(super) args: ControllerArgs,
    pub(super) lease: lease::Settings,
    /// Who this process is in a Lease.
    pub(super) process: String,
    /// Metrics.
    pub(super) metrics: Metrics,
    /// The leader's lease.
    pub(super) leader: Fence,
    /// Cancelled when everything that was under way is finished.
    pub(super) drained: CancellationToken,
}

impl Reconcilers {
    /// Waits to lead, then works until `stop`.
    pub(super) async fn run(
        self,
        mut led: watch::Receiver<bool>,
        stop: CancellationToken,
    ) -> anyhow::Result<()> {
        let _drained = self.drained.clone().drop_guard();
        self.metrics.leading(LEADER_LEASE, false);
        tokio::select! {
            () = stop.cancelled() => return Ok(()),
            led = led.wait_for(|leading| *leading) => { led?; }
        }
        self.metrics.leading(LEADER_LEASE, true);
        let mut inner = Supervisor::default();
        let context = self.start(&mut inner);
        // Renewed until the workers have finished: a lock that is lost stops its holder in the middle of a step.
        let locks_end = CancellationToken::new();
        let renewal = tokio::spawn({
            let (context, end) = (Arc::clone(&context), locks_end.clone());
            async move { context.locks.renew(end).await }
        });
        let mut renewal = std::pin::pin!(renewal);
        let ended = tokio::select! {
            ended = inner.run(async { stop.cancelled().await }, GRACE) => ended,
            ended = &mut renewal => { ended??; anyhow::bail!("the renewal of disruption locks ended") }
        };
        locks_end.cancel();
        renewal.await??;
        ended
    }

    /// Starts caches, queues and workers.
    fn start(&self, inner: &mut Supervisor) -> Arc<Context> {
        let (client, namespace) = (&self.client, self.args.webhook.namespace.as_str());
        let events = Events::new(client.clone(), self.process.clone());
        let feeder = |name| (name, events.clone(), self.metrics.clone());
        let (reclaim_feed, reclaims) =
            new_feeder::<MachineReclaim>(client, namespace, feeder("machinereclaim"));
        let (cluster_feed, clusters) =
            new_feeder::<TalosCluster>(client, namespace, feeder("taloscluster"));
        let (machine_feed, machines) =
            new_feeder::<TalosMachine>(client, namespace, feeder("talosmachine"));
        let dialling = dialling(&self.args, &self.leader, &self.metrics);
        self.metrics.reclaims({
            let reclaims = reclaims.clone();
            move || reclaim::by_phase(&reclaims)
        });
        let context = Arc::new(Context {
            requests: context::api_guarded(client, namespace),
            requests_raw: reclaim::stored::requests(client.clone(), namespace),
            sightings: reclaim::Sightings::default(),
            statuses: context::api(client, namespace),
            cluster_statuses: context::api(client, namespace),
            machines_live: context::api_guarded(client, namespace),
            reclaims: reclaims.clone(),
            machines: machines.clone(),
            clusters: Clusters::new(client.clone(), namespace.to_owned(), clusters.clone()),
            kubernetes: KubernetesAccess::new(
                client.clone(),
                self.roots.clone(),
                self.args.webhook.allow_local_addresses,
            ),
            locks: DisruptionLocks::new(
                client.clone(),
                namespace.to_owned(),
                self.process.clone(),
                self.lease,
            ),
            dialer: Dialer::new(dialling.clone()),
            dialling,
            leader: self.leader.clone(),
            events,
            metrics: self.metrics.clone(),
            settings: reclaim_settings(&self.args),
            namespace: namespace.to_owned(),
        });
        let crew = |name, size| Crew {
            name,
            size,
            queue: Arc::new(Queue::default()),
            metrics: self.metrics.clone(),
        };
        let reclaim_crew = crew("machinereclaim", self.args.concurrency);
        let cluster_crew = crew("taloscluster", CLUSTER_WORKERS);
        let stop = inner.stop();

        let (gone, farewells) = mpsc::unbounded_channel();
        inner.spawn(
            "watch machinereclaims",
            reclaim_feed.run(
                on_reclaim(Arc::clone(&reclaim_crew.queue), gone),
                stop.clone(),
            ),
        );
        inner.spawn(
            "watch talosclusters",
            cluster_feed.run(
                on_cluster(&context, &cluster_crew, &reclaim_crew),
                stop.clone(),
            ),
        );
        inner.spawn(
            "watch talosmachines",
            machine_feed.run(|_| {}, stop.clone()),
        );
        inner.spawn(
            "farewells",
            say_farewell(Arc::clone(&context), farewells, stop.clone()),
        );
        inner.spawn("workers", {
            let context = Arc::clone(&context);
            async move {
                // Rules are judged on whole caches only.
                tokio::select! {
                    () = stop.cancelled() => return Ok(()),
                    filled = async { tokio::try_join!(reclaims.filled(), clusters.filled(), machines.filled()) } => { filled?; }
                }
                let reclaim_work = work(Arc::clone(&context), |context, name| Box::pin(async move { reclaim::reconcile(&context, &name).await }));
                let cluster_work = work(context, |context, name| Box::pin(async move { cluster::reconcile(&context, &name).await }));
                tokio::try_join!(
                    workers::run(reclaim_crew, reclaim_work, stop.clone()),
                    workers::run(cluster_crew, cluster_work, stop),
                )?;
                Ok(())
            }
        });
        context
    }
}

type Work = std::pin::Pin<Box<dyn Future<Output = anyhow::Result<Option<Duration>>> + Send>>;

/// A reconcile function that carries its context.
fn work(
    context: Arc<Context>,
    reconcile: impl Fn(Arc<Context>, String) -> Work + Clone + Send + Sync + 'static,
) -> impl Fn(String) -> Work + Clone + Send + Sync + 'static {
    move |name| reconcile(Arc::clone(&context), name)
}

fn new_feeder<K>(
    client: &Client,
    namespace: &str,
    (name, events, metrics): (&'static str, Events, Metrics),
) -> (Feeder<K>, Cache<K>)
where
    K: Kind + kube::Resource<Scope = k8s_openapi::NamespaceResourceScope>,
{
    Feeder::new(
        context::api_guarded(client, namespace),
        name,
        events,
        metrics,
    )
}

fn on_reclaim(
    queue: Arc<Queue<String>>,
    gone: mpsc::UnboundedSender<Arc<MachineReclaim>>,
) -> impl FnMut(Change<MachineReclaim>) {
    let mut changes = SpecChanges::default();
    move |change| match change {
        Change::Applied(request) => {
            if changes.note(&*request) {
                queue.add(request.name_any());
            }
        }
        Change::Gone(request) => {
            changes.forget(&*request);
            queue.forget(&request.name_any());
            // The receiver ends only with the process.
            gone.send(request).ok();
        }
    }
}

/// A changed cluster wakes the requests that wait for it.
fn on_cluster(
    context: &Arc<Context>,
    own: &Crew,
    reclaims: &Crew,
) -> impl FnMut(Change<TalosCluster>) + use<> {
    let (context, own, reclaims) = (
        Arc::clone(context),
        Arc::clone(&own.queue),
        Arc::clone(&reclaims.queue),
    );
    let mut changes = SpecChanges::default();
    move |change| {
        let name = match &change {
            Change::Applied(cluster) => {
                if !changes.note(&**cluster) {
                    return;
                }
                let name = cluster.name_any();
                own.add(name.clone());
                name
            }
            Change::Gone(cluster) => {
                changes.forget(&**cluster);
                let name = cluster.name_any();
                own.forget(&name);
                name
            }
        };
        for request in context
            .reclaims
            .collect(|request| reclaim::waits_for(request, &name))
        {
            reclaims.add(request);
        }
    }
}

async fn say_farewell(
    context: Arc<Context>,
    mut gone: mpsc::UnboundedReceiver<Arc<MachineReclaim>>,
    stop: CancellationToken,
) -> anyhow::Result<()> {
    loop {
        tokio::select! {
            () = stop.cancelled() => return Ok(()),
            request = gone.recv() => match request {
                Some(request) => reclaim::deleted(&context, &request).await,
                None => return Ok(()),
            }
        }
    }
}

fn dialling(args: &ControllerArgs, leader: &Fence, metrics: &Metrics) -> DialerOptions {
    let mut options = DialerOptions::new(Arc::new(clock::now));
    options.allow_local_addresses = args.webhook.allow_local_addresses;
    options.guard = context::guard(vec![leader.clone()]);
    options.observer = Arc::new(metrics.talos());
    options
}

fn reclaim_settings(args: &ControllerArgs) -> Settings {
    Settings {
        allow_local_addresses: args.webhook.allow_local_addresses,
        recheck: args.recheck_interval,
        watch: args.watch_interval,
        observe_timeout: args.observe_timeout,
        overdue: args.overdue,
        history: args.reclaim_history,
    }
}
