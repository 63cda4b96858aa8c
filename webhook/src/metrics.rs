//! Metrics of the webhook. Where controller-runtime counts the same thing, the name is its (DESIGN
//! section 15).

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use std::time::Duration;

/// Labels of a decision. Every value is one of a fixed set, so that no caller can make series.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(crate) struct DecisionLabels {
    pub(crate) resource: &'static str,
    pub(crate) operation: &'static str,
    pub(crate) decision: &'static str,
    pub(crate) reason: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct WebhookLabels {
    webhook: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RequestLabels {
    webhook: &'static str,
    code: u16,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ConnectionLabels {
    outcome: &'static str,
}

/// The metrics of the webhook; a clone counts into the same families.
#[derive(Clone, Debug)]
pub struct Metrics {
    decisions: Family<DecisionLabels, Counter>,
    requests: Family<RequestLabels, Counter>,
    latency: Family<WebhookLabels, Histogram, fn() -> Histogram>,
    panics: Counter,
    in_flight: Family<WebhookLabels, Gauge>,
    open: Gauge,
    connections: Family<ConnectionLabels, Counter>,
}

/// The API server waits 5 s, so what is slower has failed.
fn latency_histogram() -> Histogram {
    Histogram::new([
        0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0,
    ])
}

impl Metrics {
    /// Registers the families in `registry`.
    pub fn register(registry: &mut Registry) -> Self {
        let metrics = Self {
            decisions: Family::default(),
            requests: Family::default(),
            latency: Family::new_with_constructor(latency_histogram),
            panics: Counter::default(),
            in_flight: Family::default(),
            open: Gauge::default(),
            connections: Family::default(),
        };
        registry.register(
            "ichor_admission_decisions",
            "Admission requests by resource, operation, decision and reason",
            metrics.decisions.clone(),
        );
        registry.register(
            "controller_runtime_webhook_requests",
            "Admission requests by HTTP status code",
            metrics.requests.clone(),
        );
        registry.register(
            "controller_runtime_webhook_latency_seconds",
            "How long admission requests took, in seconds",
            metrics.latency.clone(),
        );
        registry.register(
            "controller_runtime_webhook_panics",
            "Admission requests at which a rule panicked",
            metrics.panics.clone(),
        );
        registry.register(
            "controller_runtime_webhook_requests_in_flight",
            "Admission requests being answered",
            metrics.in_flight.clone(),
        );
        registry.register(
            "ichor_webhook_connections_open",
            "Open connections to the webhook",
            metrics.open.clone(),
        );
        registry.register(
            "ichor_webhook_connections",
            "Connections to the webhook by how they ended",
            metrics.connections.clone(),
        );
        metrics
    }

    pub(crate) fn decided(&self, labels: &DecisionLabels) {
        self.decisions.get_or_create(labels).inc();
    }

    pub(crate) fn panicked(&self) {
        self.panics.inc();
    }

    /// Counts a request in flight until the guard is dropped.
    pub(crate) fn start(&self, webhook: &'static str) -> InFlight {
        let gauge = self
            .in_flight
            .get_or_create(&WebhookLabels { webhook })
            .clone();
        gauge.inc();
        InFlight(gauge)
    }

    pub(crate) fn answered(&self, webhook: &'static str, code: u16, took: Duration) {
        self.requests
            .get_or_create(&RequestLabels { webhook, code })
            .inc();
        let labels = WebhookLabels { webhook };
        self.latency
            .get_or_create(&labels)
            .observe(took.as_secs_f64());
    }

    /// Counts an open connection until the guard is dropped.
    pub(crate) fn connected(&self) -> InFlight {
        self.open.inc();
        InFlight(self.open.clone())
    }

    pub(crate) fn disconnected(&self, outcome: &'static str) {
        self.connections
            .get_or_create(&ConnectionLabels { outcome })
            .inc();
    }
}

/// Something that goes on until this is dropped.
pub(crate) struct InFlight(Gauge);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.dec();
    }
}
