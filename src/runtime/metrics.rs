//! Metrics of the process. Where controller-runtime counts the same thing, the name is its (DESIGN section 15).

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;
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

/// A final phase of a reclaim.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct EndLabels {
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
    depth: Family<ControllerLabels, Gauge>,
    leading: Family<LeaseLabels, Gauge>,
    resets: Counter,
    ended: Family<EndLabels, Counter>,
    undecodable: Family<ControllerLabels, Gauge>,
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
            depth: Family::default(),
            leading: Family::default(),
            resets: Counter::default(),
            ended: Family::default(),
            undecodable: Family::default(),
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
            "workqueue_depth",
            "Objects that wait to be reconciled, due or not",
            self.depth.clone(),
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

    /// A reconcile begins.
    pub fn begin(&self, controller: &'static str, waiting: usize) {
        let labels = ControllerLabels { controller };
        self.active.get_or_create(&labels).inc();
        self.depth
            .get_or_create(&labels)
            .set(i64::try_from(waiting).unwrap_or(i64::MAX));
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
        self.ended.get_or_create(&EndLabels { phase }).inc();
    }

    /// How many objects of a controller's kind cannot be decoded.
    pub fn undecodable(&self, controller: &'static str, number: usize) {
        self.undecodable
            .get_or_create(&ControllerLabels { controller })
            .set(i64::try_from(number).unwrap_or(i64::MAX));
    }
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
        metrics.begin("machinereclaim", 3);
        metrics.end("machinereclaim", "error", Duration::from_millis(5));
        metrics.leading("ichor-controller", true);
        let text = text(&registry).expect("text");
        for line in [
            "controller_runtime_reconcile_total{controller=\"machinereclaim\",result=\"error\"} 1",
            "controller_runtime_reconcile_errors_total{controller=\"machinereclaim\"} 1",
            "controller_runtime_max_concurrent_reconciles{controller=\"machinereclaim\"} 8",
            "controller_runtime_active_workers{controller=\"machinereclaim\"} 0",
            "leader_election_master_status{name=\"ichor-controller\"} 1",
        ] {
            assert!(text.contains(line), "{line} is missing in\n{text}");
        }
    }
}
