//! The queues of the controllers, by the names of client-go.

use super::gauge;
use crate::runtime::queue::Queue;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// A queue, named as controller-runtime does: it gives both, and dashboards use either.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct QueueLabels {
    controller: &'static str,
    name: &'static str,
}

/// The metrics of the queues.
#[derive(Clone, Debug)]
pub(super) struct QueueMetrics {
    depth: Family<QueueLabels, Gauge>,
    adds: Family<QueueLabels, Counter>,
    retries: Family<QueueLabels, Counter>,
    waited: Family<QueueLabels, Histogram, fn() -> Histogram>,
}

fn wait_histogram() -> Histogram {
    Histogram::new(exponential_buckets(0.001, 4.0, 9))
}

fn labels(name: &'static str) -> QueueLabels {
    QueueLabels {
        controller: name,
        name,
    }
}

impl QueueMetrics {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let metrics = Self {
            depth: Family::default(),
            adds: Family::default(),
            retries: Family::default(),
            waited: Family::new_with_constructor(wait_histogram),
        };
        registry.register(
            "workqueue_depth",
            "Objects that are due and that no worker has taken yet",
            metrics.depth.clone(),
        );
        registry.register(
            "workqueue_adds",
            "Times that an object which did not wait was put into the queue, for now or for later",
            metrics.adds.clone(),
        );
        registry.register(
            "workqueue_retries",
            "Times that an object was put back into the queue after an error",
            metrics.retries.clone(),
        );
        registry.register(
            "workqueue_queue_duration_seconds",
            "How long objects that were due waited for a worker, in seconds",
            metrics.waited.clone(),
        );
        metrics
    }

    /// Tells what the queue itself counts.
    pub(super) fn look(&self, name: &'static str, queue: &Queue<String>) {
        let labels = labels(name);
        self.depth.get_or_create(&labels).set(gauge(queue.due()));
        self.adds
            .get_or_create(&labels)
            .inner()
            .store(queue.added(), Ordering::Relaxed);
    }

    pub(super) fn taken(&self, name: &'static str, waited: Duration) {
        let waited = waited.as_secs_f64();
        self.waited.get_or_create(&labels(name)).observe(waited);
    }

    pub(super) fn retried(&self, name: &'static str) {
        self.retries.get_or_create(&labels(name)).inc();
    }
}
