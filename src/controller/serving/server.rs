//! Serving the webhook, and its end.

use super::Certificates;
use crate::controller::WebhookArgs;
use ichor_certs::serving::ServedCertificate;
use ichor_webhook::{
    ClientAuthorities, LiveCluster, Metrics, ServeOptions, Settings, WebhookState,
};
use kube::Client;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// Serves the webhook until `stop` and the drain after it; `drained` is cancelled at its very end, so that the probes
/// can say until then that the process is not ready.
pub fn serve(
    listener: TcpListener,
    client: Client,
    args: WebhookArgs,
    certificates: &Certificates,
    metrics: Metrics,
    stop: CancellationToken,
    drained: CancellationToken,
) -> impl Future<Output = anyhow::Result<()>> + use<> {
    let (served, clients) = (certificates.served(), certificates.client_authorities());
    async move {
        let _drained = drained.drop_guard();
        run(listener, client, args, served, clients, metrics, stop).await
    }
}

async fn run(
    listener: TcpListener,
    client: Client,
    args: WebhookArgs,
    served: Arc<ServedCertificate>,
    clients: Option<Arc<ClientAuthorities>>,
    metrics: Metrics,
    stop: CancellationToken,
) -> anyhow::Result<()> {
    let mut settings = Settings::new(args.namespace.clone());
    settings.allow_local_addresses = args.allow_local_addresses;
    let cluster = Arc::new(LiveCluster::new(client));
    let state = WebhookState::new(
        settings,
        Arc::clone(&cluster) as _,
        cluster,
        metrics.clone(),
    );
    let tls = ichor_webhook::server_config(served, clients)?;
    let router = ichor_webhook::router(state);
    let options = ServeOptions {
        shutdown_grace: args.serving.shutdown_delay,
        ..ServeOptions::default()
    };
    ichor_webhook::serve(listener, tls, router, options, metrics, stop).await?;
    Ok(())
}
