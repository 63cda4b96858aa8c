//! The flags of `ichor controller` and `ichor webhook`.

use crate::controller::serving::ServingArgs;
use crate::runtime::{duration, telemetry};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Flags of `ichor webhook`, and of `ichor controller`, which serves the webhook as well.
#[derive(Clone, Debug, clap::Args)]
pub struct WebhookArgs {
    /// Namespace of Ichor's objects, Secrets and Leases.
    #[arg(long, env = "ICHOR_NAMESPACE", default_value = "ichor-system")]
    pub namespace: String,
    /// Kubeconfig file to use; without it the Pod's service account, or else the usual kubeconfig.
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Address on which the admission webhook is served over TLS.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "[::]:9443")]
    pub webhook_address: SocketAddr,
    /// Address of /livez, /readyz and /metrics over plain HTTP.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "[::]:8080")]
    pub admin_address: SocketAddr,
    /// DNS name of the webhook's Service, which its certificate carries.
    #[arg(long, value_name = "NAME", default_value = "ichor-webhook")]
    pub webhook_service: String,
    /// Flags of the serving certificate and of the webhook's end.
    #[command(flatten)]
    pub serving: ServingArgs,
    /// Dial loopback and link-local addresses, too. For tests and demonstrations only.
    #[arg(long)]
    pub allow_local_addresses: bool,
    /// Format of the logs.
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = LogFormat::Json)]
    pub log_format: LogFormat,
    /// Which logs are written: a level, or targets with levels such as "info,ichor=debug".
    #[arg(long, value_name = "FILTER", env = "ICHOR_LOG", default_value = "info")]
    pub log_filter: String,
    /// File with a filter that counts in place of --log-filter while it is there; read again every 5 s.
    #[arg(long, value_name = "FILE")]
    pub log_filter_file: Option<PathBuf>,
    /// OpenTelemetry collector that traces are sent to over gRPC, such as http://otel-collector.monitoring:4317.
    #[arg(long, value_name = "URL", env = "OTEL_EXPORTER_OTLP_ENDPOINT")]
    pub otlp_endpoint: Option<String>,
}

/// Flags of `ichor controller`.
#[derive(Clone, Debug, clap::Args)]
pub struct ControllerArgs {
    /// Those of the webhook.
    #[command(flatten)]
    pub webhook: WebhookArgs,
    /// How long a leader's lease lasts without renewal.
    #[arg(long, value_name = "DURATION", default_value = "15s", value_parser = duration::parse)]
    pub lease_duration: Duration,
    /// How long after its last renewal a leader still acts; shorter than --lease-duration.
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = duration::parse)]
    pub lease_renew_deadline: Duration,
    /// Time between two tries to take or renew the lease.
    #[arg(long, value_name = "DURATION", default_value = "2s", value_parser = duration::parse)]
    pub lease_retry: Duration,
    /// Time between two tries of what time can fix, such as a node that does not answer.
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = duration::parse)]
    pub recheck_interval: Duration,
    /// Time between two looks at a machine that is being wiped.
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = duration::parse)]
    pub watch_interval: Duration,
    /// How long a machine may keep running after its reset was recorded before the reclaim fails.
    #[arg(long, value_name = "DURATION", default_value = "2m", value_parser = duration::parse)]
    pub observe_timeout: Duration,
    /// How long a wipe may take before its request is marked Overdue; waiting goes on.
    #[arg(long, value_name = "DURATION", default_value = "30m", value_parser = duration::parse)]
    pub overdue: Duration,
    /// How long an ended MachineReclaim is kept as a record.
    #[arg(long, value_name = "DURATION", default_value = "90d", value_parser = duration::parse)]
    pub reclaim_history: Duration,
    /// Most reclaims worked on at the same moment.
    #[arg(long, value_name = "NUMBER", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub concurrency: u16,
}

impl WebhookArgs {
    /// What is logged and traced.
    pub(super) fn telemetry(&self) -> telemetry::Settings {
        telemetry::Settings {
            json: self.log_format == LogFormat::Json,
            filter: self.log_filter.clone(),
            filter_file: self.log_filter_file.clone(),
            otlp_endpoint: self.otlp_endpoint.clone().filter(|url| !url.is_empty()),
        }
    }
}

/// Format of the logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// One JSON object a line.
    Json,
    /// Lines for people.
    Text,
}
