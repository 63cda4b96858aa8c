//! Puts the process together: what every replica runs; `reconcilers` has what only the leader does.

use crate::controller::context;
use crate::controller::reconcilers::Reconcilers;
use crate::controller::serving::{self, Certificates};
use crate::controller::store::WATCH_SECONDS;
use crate::controller::{ControllerArgs, WebhookArgs};
use crate::runtime::admin::{self, Admin};
use crate::runtime::elector::Holder;
use crate::runtime::metrics::Metrics;
use crate::runtime::supervisor::Supervisor;
use crate::runtime::telemetry::LogFilter;
use crate::runtime::{lease, shutdown};
use anyhow::Context as _;
use kube::client::ClientBuilder;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use prometheus_client::registry::Registry;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Name of the leader's Lease.
pub(super) const LEADER_LEASE: &str = "ichor-controller";
/// How long tasks may take to finish: less than the Deployment's grace period.
pub(super) const GRACE: Duration = Duration::from_secs(45);
/// How much longer than a watch the client waits for a word, so that only a dead connection meets it.
const SILENCE: Duration = Duration::from_secs(15);

/// Runs the webhook, and the reconcilers where there are flags for them, until the process is told to stop.
///
/// # Errors
/// When something that has to run ended.
pub async fn run(
    args: &WebhookArgs,
    controller: Option<&ControllerArgs>,
    filter: LogFilter,
) -> anyhow::Result<()> {
    let lease = controller.map(lease_settings).transpose()?;
    let mut registry = Registry::default();
    let metrics = Metrics::register(&mut registry);
    let (client, roots) = client(args, &metrics).await?;
    let webhook_metrics = ichor_webhook::Metrics::register(&mut registry);
    let mut supervisor = Supervisor::default();
    let stop = supervisor.stop();
    supervisor.spawn("log filter", filter.follow(stop.clone()));

    let (certificates, ready) = Certificates::new(&client, args, &mut registry)?;
    let listener = bind(args.webhook_address, "--webhook-address").await?;
    let served = CancellationToken::new();
    supervisor.spawn(
        "webhook",
        serving::serve(
            listener,
            client.clone(),
            args.clone(),
            &certificates,
            webhook_metrics,
            stop.clone(),
            served.clone(),
        ),
    );
    supervisor.spawn("certificates", certificates.keep(stop.clone()));

    let listener = bind(args.admin_address, "--admin-address").await?;
    let admin = Admin {
        registry: Arc::new(registry),
        metrics: metrics.clone(),
        ready,
    };
    // The probes say that the process is not ready while the webhook drains.
    supervisor.spawn("admin", admin::serve(listener, admin, served));

    if let Some((controller, lease)) = controller.zip(lease) {
        let process = identity();
        let leases = context::api(&client, &args.namespace);
        let holder = Holder::new(leases, LEADER_LEASE.to_owned(), process.clone(), lease);
        let leader = holder.fence();
        let (leading, led) = watch::channel(false);
        // The lease is renewed until the reconcilers have finished what is under way.
        let drained = CancellationToken::new();
        supervisor.spawn("leader", holder.lead(leading, drained.clone()));
        let reconcilers = Reconcilers {
            client,
            roots,
            args: controller.clone(),
            lease,
            process,
            metrics,
            leader,
            drained,
        };
        supervisor.spawn("reconcilers", reconcilers.run(led, stop));
    }
    supervisor.run(shutdown::requested()?, GRACE).await
}

/// The client of the API server that Ichor's objects are in, and the CAs it verifies it by.
async fn client(args: &WebhookArgs, metrics: &Metrics) -> anyhow::Result<(Client, Vec<Vec<u8>>)> {
    let mut config = match &args.kubeconfig {
        Some(file) => {
            let read = Kubeconfig::read_from(file)
                .with_context(|| format!("{} cannot be read", file.display()))?;
            Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await?
        }
        None => Config::infer().await?,
    };
    config.read_timeout = Some(Duration::from_secs(u64::from(WATCH_SECONDS)) + SILENCE);
    let roots = match (&config.root_cert, &config.root_cert_file) {
        (Some(roots), _) => roots.clone(),
        (None, Some(file)) => ichor_certs::keys::certificates(&std::fs::read(file)?),
        (None, None) => Vec::new(),
    };
    let counted = ClientBuilder::try_from(config)?.with_layer(&metrics.requests());
    Ok((counted.build(), roots))
}

async fn bind(address: std::net::SocketAddr, flag: &str) -> anyhow::Result<TcpListener> {
    let listener = TcpListener::bind(address)
        .await
        .with_context(|| format!("{flag} {address} cannot be listened on"))?;
    // With port 0 only this line tells which one it is.
    tracing::info!(flag, address = %listener.local_addr()?, "listening");
    Ok(listener)
}

/// Who this process is in a Lease: the name of its Pod or host, and something no other process has.
fn identity() -> String {
    let host =
        std::env::var("POD_NAME").or_else(|_| std::fs::read_to_string("/proc/sys/kernel/hostname"));
    let host = host.unwrap_or_default();
    format!("{}_{:016x}", host.trim(), rand::random::<u64>())
}

fn lease_settings(args: &ControllerArgs) -> anyhow::Result<lease::Settings> {
    anyhow::ensure!(
        args.lease_retry < args.lease_renew_deadline
            && args.lease_renew_deadline < args.lease_duration,
        "--lease-retry has to be shorter than --lease-renew-deadline, and that shorter than --lease-duration"
    );
    Ok(lease::Settings {
        duration: args.lease_duration,
        renew_deadline: args.lease_renew_deadline,
        retry: args.lease_retry,
    })
}
