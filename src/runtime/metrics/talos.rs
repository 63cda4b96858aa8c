//! Calls of the Talos API. No label names a machine: there may be ten thousand.

use ichor_talos::{Class, Observer};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;
use std::time::Duration;

/// A method and how its call ended.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct CallLabels {
    method: &'static str,
    class: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct MethodLabels {
    method: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ClassLabels {
    class: &'static str,
}

/// The metrics of the Talos API; a clone counts into the same families.
#[derive(Clone, Debug)]
pub struct TalosMetrics {
    calls: Family<CallLabels, Counter>,
    took: Family<MethodLabels, Histogram, fn() -> Histogram>,
    dials: Family<ClassLabels, Histogram, fn() -> Histogram>,
}

/// From a millisecond to the ten seconds after which a call is given up.
fn histogram() -> Histogram {
    Histogram::new(exponential_buckets(0.001, 2.5, 12))
}

impl TalosMetrics {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let metrics = Self {
            calls: Family::default(),
            took: Family::new_with_constructor(histogram),
            dials: Family::new_with_constructor(histogram),
        };
        registry.register(
            "ichor_talos_calls",
            "Calls of the Talos API by method and class: ok, or the class of the error",
            metrics.calls.clone(),
        );
        registry.register(
            "ichor_talos_call_duration_seconds",
            "How long calls of the Talos API took, in seconds",
            metrics.took.clone(),
        );
        registry.register(
            "ichor_talos_dial_duration_seconds",
            "How long connecting to machines took, in seconds, by class: ok, or the class of the error",
            metrics.dials.clone(),
        );
        metrics
    }
}

impl Observer for TalosMetrics {
    fn call(&self, method: &'static str, error: Option<Class>, took: Duration) {
        let class = Class::name(error);
        self.calls
            .get_or_create(&CallLabels { method, class })
            .inc();
        self.took
            .get_or_create(&MethodLabels { method })
            .observe(took.as_secs_f64());
    }

    fn dial(&self, error: Option<Class>, took: Duration) {
        let class = Class::name(error);
        self.dials
            .get_or_create(&ClassLabels { class })
            .observe(took.as_secs_f64());
    }
}
