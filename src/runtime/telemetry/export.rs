//! Spans to an OpenTelemetry collector, over OTLP and gRPC. They are sent in batches from a thread of their own; what a
//! collector that is slow or gone does not take is dropped, and nothing waits for it.

use super::request::ByRequest;
use anyhow::{Context as _, ensure};
use http::Uri;
use opentelemetry::KeyValue;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::{SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use std::time::Duration;
use tracing::{Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::registry::LookupSpan;

/// How long the collector may take for a batch.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Whose spans are sent: those of libraries say how they work, not what Ichor does.
const OURS: [&str; 3] = ["ichor", "ichor_webhook", "ichor_talos"];

/// What sends spans to the collector at `endpoint`.
pub(super) fn provider(endpoint: &str) -> anyhow::Result<SdkTracerProvider> {
    let uri: Uri = endpoint
        .parse()
        .with_context(|| format!("{endpoint:?} is no URL"))?;
    ensure!(
        uri.scheme_str() == Some("http")
            && uri
                .authority()
                .is_some_and(|all| !all.as_str().contains('@')),
        "{endpoint:?} is not like http://HOST:4317: spans are sent over gRPC without TLS, to a collector in the cluster or on the node"
    );
    let exporter = SpanExporter::builder()
        .with_tonic()
        .with_endpoint(endpoint)
        .with_timeout(TIMEOUT)
        .build()?;
    let version = KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
    let mut resource = Resource::builder()
        .with_service_name("ichor")
        .with_attribute(version);
    if let Ok(pod) = std::env::var("POD_NAME") {
        resource = resource.with_attribute(KeyValue::new("service.instance.id", pod));
    }
    let provider = SdkTracerProvider::builder()
        .with_resource(resource.build())
        .with_batch_exporter(exporter);
    Ok(provider.build())
}

/// What makes spans of what is traced.
pub(super) fn layer<S>(provider: &SdkTracerProvider) -> impl Layer<S> + use<S>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    let ours = OURS.map(|target| (target, Level::INFO));
    tracing_opentelemetry::layer()
        .with_tracer(ByRequest(provider.tracer("ichor")))
        .with_location(false)
        .with_threads(false)
        .with_tracked_inactivity(false)
        .with_filter(Targets::new().with_targets(ours))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_collector_is_a_plain_address() {
        for (endpoint, want) in [
            ("http://otel-collector.monitoring:4317", true),
            ("http://[fd00::1]:4317", true),
            ("https://otel-collector.monitoring:4317", false),
            ("http://user:password@collector:4317", false),
            ("collector:4317", false),
            ("/tmp/socket", false),
            ("", false),
        ] {
            assert_eq!(provider(endpoint).is_ok(), want, "{endpoint}");
        }
    }
}
