//! Metrics of the process. Where controller-runtime counts the same thing, the name is its (DESIGN section 15). Every
//! label has few values, whatever people and machines do; docs/operations.md explains each metric, and a test compares.

mod live;
mod process;
mod queues;
mod requests;
mod talos;

pub use requests::CountRequests;
pub use talos::TalosMetrics;

use crate::runtime::queue::Queue;
use live::Live;
use process::ProcessMetrics;
use queues::QueueMetrics;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;
use std::sync::Arc;
use std::time::Duration;

/// A controller.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ControllerLabels {
    controller: &'static str,
}

/// A controller and how a reconcile ended.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ResultLabels {
    controller: &'static str,
    result: &'static str,
}

/// A lease.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct LeaseLabels {
    name: String,
}

/// A phase of a reclaim.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct PhaseLabels {
    phase: String,
}

/// The metrics of the reconcilers; a clone counts into the same families.
#[derive(Clone, Debug)]
pub struct Metrics {
    reconciles: Family<ResultLabels, Counter>,
    errors: Family<ControllerLabels, Counter>,
    time: Family<ControllerLabels, Histogram, fn() -> Histogram>,
    active: Family<ControllerLabels, Gauge>,
    concurrency: Family<ControllerLabels, Gauge>,
    leading: Family<LeaseLabels, Gauge>,
    resets: Counter,
    ended: Family<PhaseLabels, Counter>,
    reclaims: Family<PhaseLabels, Gauge>,
    undecodable: Family<ControllerLabels, Gauge>,
    queues: QueueMetrics,
    requests: CountRequests,
    talos: TalosMetrics,
    process: ProcessMetrics,
    live: Live,
}

fn reconcile_histogram() -> Histogram {
    Histogram::new(exponential_buckets(0.005, 2.0, 14))
}

impl Metrics {
    /// Registers the families in `registry`.
    pub fn register(registry: &mut Registry) -> Self {
        let metrics = Self {
            reconciles: Family::default(),
            errors: Family::default(),
            time: Family::new_with_constructor(reconcile_histogram),
            active: Family::default(),
            concurrency: Family::default(),
            leading: Family::default(),
            resets: Counter::default(),
            ended: Family::default(),
            reclaims: Family::default(),
            undecodable: Family::default(),
            queues: QueueMetrics::register(registry),
            requests: CountRequests::register(registry),
            talos: TalosMetrics::register(registry),
            process: ProcessMetrics::register(registry),
            live: Live::default(),
        };
        metrics.announce(registry);
        metrics
    }

    fn announce(&self, registry: &mut Registry) {
        registry.register(
            "controller_runtime_reconcile",
            "Reconciles by controller and result",
            self.reconciles.clone(),
        );
        registry.register(
            "controller_runtime_reconcile_errors",
            "Reconciles that ended with an error, by controller",
            self.errors.clone(),
        );
        registry.register(
            "controller_runtime_reconcile_time_seconds",
            "How long reconciles took, in seconds",
            self.time.clone(),
        );
        registry.register(
            "controller_runtime_active_workers",
            "Workers that reconcile right now",
            self.active.clone(),
        );
        registry.register(
            "controller_runtime_max_concurrent_reconciles",
            "Most reconciles at the same moment",
            self.concurrency.clone(),
        );
        registry.register(
            "leader_election_master_status",
            "Whether this process holds the lease",
            self.leading.clone(),
        );
        registry.register(
            "ichor_resets_sent",
            "Resets sent to machines",
            self.resets.clone(),
        );
        registry.register(
            "ichor_reclaims_ended",
            "Reclaims that ended, by phase",
            self.ended.clone(),
        );
        registry.register(
            "ichor_reclaims",
            "MachineReclaims that are stored, by phase; told by the leader",
            self.reclaims.clone(),
        );
        registry.register(
            "ichor_undecodable_objects",
            "Objects of the API server that cannot be decoded",
            self.undecodable.clone(),
        );
    }

    /// How many workers a controller has.
    pub fn workers(&self, controller: &'static str, number: u16) {
        let labels = ControllerLabels { controller };
        self.concurrency
            .get_or_create(&labels)
            .set(i64::from(number));
        self.active.get_or_create(&labels).set(0);
    }

    /// Where a controller's keys wait.
    pub fn queue(&self, controller: &'static str, queue: Arc<Queue<String>>) {
        let queues = self.queues.clone();
        self.live.add(move || queues.look(controller, &queue));
    }

    /// What counts requests to the API server.
    pub fn requests(&self) -> CountRequests {
        self.requests.clone()
    }

    /// What counts calls of the Talos API.
    pub fn talos(&self) -> TalosMetrics {
        self.talos.clone()
    }

    /// A reconcile begins, of an object that was due `waited` ago.
    pub fn begin(&self, controller: &'static str, waited: Duration) {
        self.active
            .get_or_create(&ControllerLabels { controller })
            .inc();
        self.queues.taken(controller, waited);
    }

    /// A reconcile ended; `result` is `success`, `requeue_after` or `error`.
    pub fn end(&self, controller: &'static str, result: &'static str, took: Duration) {
        let labels = ControllerLabels { controller };
        self.active.get_or_create(&labels).dec();
        self.time.get_or_create(&labels).observe(took.as_secs_f64());
        self.reconciles
            .get_or_create(&ResultLabels { controller, result })
            .inc();
        if result == "error" {
            self.errors.get_or_create(&labels).inc();
            self.queues.retried(controller);
        }
    }

    /// Whether this process holds a lease.
    pub fn leading(&self, lease: &str, held: bool) {
        let name = lease.to_owned();
        self.leading
            .get_or_create(&LeaseLabels { name })
            .set(i64::from(held));
    }

    /// A reset goes out.
    pub fn reset_sent(&self) {
        self.resets.inc();
    }

    /// A reclaim ended.
    pub fn reclaim_ended(&self, phase: &str) {
        let phase = phase.to_owned();
        self.ended.get_or_create(&PhaseLabels { phase }).inc();
    }

    /// How to count the reclaims by phase.
    pub fn reclaims(&self, count: impl Fn() -> Vec<(String, usize)> + Send + Sync + 'static) {
        let reclaims = self.reclaims.clone();
        self.live.add(move || {
            for (phase, number) in count() {
                reclaims
                    .get_or_create(&PhaseLabels { phase })
                    .set(gauge(number));
            }
        });
    }

    /// Looks up what is told only when it is asked for.
    pub fn refresh(&self) {
        self.process.look();
        self.live.look();
    }

    /// How many objects of a controller's kind cannot be decoded.
    pub fn undecodable(&self, controller: &'static str, number: usize) {
        self.undecodable
            .get_or_create(&ControllerLabels { controller })
            .set(gauge(number));
    }
}

fn gauge(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// All metrics in the text format that Prometheus scrapes.
pub fn text(registry: &Registry) -> Result<String, std::fmt::Error> {
    let mut text = String::new();
    encode(&mut text, registry)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_controller_runtime_where_the_meaning_is() {
        let mut registry = Registry::default();
        let metrics = Metrics::register(&mut registry);
        metrics.workers("machinereclaim", 8);
        metrics.begin("machinereclaim", Duration::from_millis(3));
        metrics.end("machinereclaim", "error", Duration::from_millis(5));
        metrics.leading("ichor-controller", true);
        let text = text(&registry).expect("text");
        for line in [
            "controller_runtime_reconcile_total{controller=\"machinereclaim\",result=\"error\"} 1",
            "controller_runtime_reconcile_errors_total{controller=\"machinereclaim\"} 1",
            "controller_runtime_max_concurrent_reconciles{controller=\"machinereclaim\"} 8",
            "controller_runtime_active_workers{controller=\"machinereclaim\"} 0",
            "leader_election_master_status{name=\"ichor-controller\"} 1",
            "workqueue_retries_total{controller=\"machinereclaim\",name=\"machinereclaim\"} 1",
            "workqueue_queue_duration_seconds_count{controller=\"machinereclaim\",name=\"machinereclaim\"} 1",
        ] {
            assert!(text.contains(line), "{line} is missing in\n{text}");
        }
    }
}
