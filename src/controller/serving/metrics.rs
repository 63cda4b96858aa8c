//! Metrics of the serving certificate.

use ichor_certs::serving::Step;
use jiff::Timestamp;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct CertificateLabels {
    certificate: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct StepLabels {
    step: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ResultLabels {
    result: &'static str,
}

#[derive(Clone, Debug, Default)]
pub(super) struct CertificateMetrics {
    expiry: Family<CertificateLabels, Gauge>,
    rotations: Family<StepLabels, Counter>,
    reloads: Family<ResultLabels, Counter>,
}

impl CertificateMetrics {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        registry.register(
            "ichor_serving_certificate_expiry_timestamp_seconds",
            "When the served certificate (leaf) and the CA by which clients accept it (ca) end, in Unix time",
            metrics.expiry.clone(),
        );
        registry.register(
            "ichor_serving_certificate_rotations",
            "Steps of the rotation of Ichor's own serving CA and certificate that this process wrote",
            metrics.rotations.clone(),
        );
        registry.register(
            "ichor_serving_certificate_reloads",
            "Certificates that this process began to serve (served) or would not serve (refused)",
            metrics.reloads.clone(),
        );
        metrics
    }

    pub(super) fn expires(&self, certificate: &'static str, at: Option<Timestamp>) {
        let gauge = self
            .expiry
            .get_or_create(&CertificateLabels { certificate });
        gauge.set(at.map_or(0, Timestamp::as_second));
    }

    pub(super) fn rotated(&self, step: Step) {
        let step = match step {
            Step::MakeAll => "make_all",
            Step::AddAuthority => "add_ca",
            Step::IssueLeaf => "issue_leaf",
            Step::DropExpired => "drop_expired",
            Step::Keep => return,
        };
        self.rotations.get_or_create(&StepLabels { step }).inc();
    }

    pub(super) fn reloaded(&self, result: &'static str) {
        self.reloads.get_or_create(&ResultLabels { result }).inc();
    }
}
