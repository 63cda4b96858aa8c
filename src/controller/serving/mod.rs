//! The admission webhook as this process serves it, on every replica: its certificate, its `caBundle` in the webhook
//! configurations, and readiness, which is true only while what is served verifies against what is stored there
//! (DESIGN sections 4 and 5; FAULTS 1 to 3).

mod configurations;
mod secret;

use crate::controller::ControllerArgs;
use crate::runtime::clock;
use configurations::Configurations;
use ichor_certs::serving::{FilePair, ServedCertificate, ServingSecret};
use ichor_webhook::{LiveCluster, Metrics, ServeOptions, Settings, WebhookState};
use kube::Client;
use secret::SecretStore;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Between two looks while the process is ready: the wall clock counts, not a timer of months.
const PAUSE: Duration = Duration::from_secs(5);
/// Between two looks while it is not.
const PAUSE_UNREADY: Duration = Duration::from_secs(1);
/// For one look, so that a slow API server is reported and not waited for.
const PATIENCE: Duration = Duration::from_secs(30);

/// Keeps the served certificate, the Secret and the webhook configurations in agreement.
#[derive(Debug)]
pub struct Certificates {
    served: Arc<ServedCertificate>,
    names: Vec<String>,
    files: Option<(PathBuf, PathBuf)>,
    secret: SecretStore,
    configurations: Configurations,
    ready: watch::Sender<Result<(), String>>,
}

impl Certificates {
    /// As the flags say. The receiver tells why the process is not ready.
    pub fn new(
        client: &Client,
        args: &ControllerArgs,
    ) -> (Self, watch::Receiver<Result<(), String>>) {
        let names = vec![format!("{}.{}.svc", args.webhook_service, args.namespace)];
        let (ready, receiver) = watch::channel(Err("no certificate is served yet".to_owned()));
        let certificates = Self {
            served: Arc::new(ServedCertificate::new(names.clone())),
            names,
            files: args.tls_cert_file.clone().zip(args.tls_key_file.clone()),
            secret: SecretStore::new(client, &args.namespace),
            configurations: Configurations::new(client),
            ready,
        };
        (certificates, receiver)
    }

    /// What is served.
    pub fn served(&self) -> Arc<ServedCertificate> {
        Arc::clone(&self.served)
    }

    /// Looks again and again until `stop`. A Secret that is missing or broken, or an API server that does not answer,
    /// makes the process unready and does not end it (FAULTS 1).
    ///
    /// # Errors
    /// None.
    pub async fn keep(self, stop: CancellationToken) -> anyhow::Result<()> {
        let mut ready = false;
        loop {
            let looked = tokio::time::timeout(PATIENCE, self.look());
            let state = tokio::select! {
                () = stop.cancelled() => return Ok(()),
                looked = looked => looked.unwrap_or_else(|_| Err(anyhow::anyhow!("the API server does not answer"))),
            };
            let state = state.map_err(|error| format!("{error:#}"));
            if let Err(why) = &state
                && ready
            {
                tracing::warn!(%why, "not ready");
            }
            if state.is_ok() && !ready {
                tracing::info!(
                    "ready: the served certificate verifies against the stored caBundle"
                );
            }
            ready = state.is_ok();
            self.ready.send_if_modified(|known| {
                let changed = *known != state;
                *known = state;
                changed
            });
            let pause = if ready { PAUSE } else { PAUSE_UNREADY };
            tokio::select! {
                () = stop.cancelled() => return Ok(()),
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    async fn look(&self) -> anyhow::Result<()> {
        // The configurations are read before the Secret: what is then written into them is at least as new as what
        // stood there, and a PUT bound to the version read fails where another replica was faster.
        let read = self.configurations.read().await?;
        let read = match &self.files {
            Some((certificate, key)) => {
                let pair = FilePair::read(certificate, key)?;
                self.offer(&pair.certificate, &pair.key, read.shortest())?;
                read
            }
            None => self.own(read).await?,
        };
        let now = clock::now();
        let refused = read
            .bundles()
            .find(|bundle| !self.served.is_accepted_by(bundle, now));
        match refused {
            None if read.is_empty() => anyhow::bail!("the webhook configurations do not exist"),
            None => Ok(()),
            Some(_) => {
                anyhow::bail!("the served certificate does not verify against the stored caBundle")
            }
        }
    }

    /// Ichor's own CA and leaf: one step of the rotation, then the bundle, then the leaf.
    async fn own(&self, read: configurations::Read) -> anyhow::Result<configurations::Read> {
        let stored: ServingSecret = self.secret.advance(read.shortest(), &self.names).await?;
        let bundle = stored.ca_bundle();
        let read = self.configurations.inject(read, &bundle).await?;
        self.offer(
            stored.certificate_pem().as_bytes(),
            stored.key_pem().as_bytes(),
            &bundle,
        )?;
        Ok(read)
    }

    fn offer(&self, certificate: &[u8], key: &[u8], bundle: &[u8]) -> anyhow::Result<()> {
        if self.served.offer(certificate, key, bundle, clock::now())? {
            tracing::info!("a new certificate is served");
        }
        Ok(())
    }
}

/// Serves the webhook until `stop`.
///
/// # Errors
/// When the listener or a connection's task fails.
pub async fn serve(
    listener: TcpListener,
    client: Client,
    args: ControllerArgs,
    served: Arc<ServedCertificate>,
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
    let roots = args.client_ca_file.as_deref().map(client_ca).transpose()?;
    let tls = ichor_webhook::server_config(served, roots)?;
    let router = ichor_webhook::router(state);
    ichor_webhook::serve(
        listener,
        tls,
        router,
        ServeOptions::default(),
        metrics,
        stop,
    )
    .await?;
    Ok(())
}

/// The CA of `--client-ca-file`.
fn client_ca(file: &std::path::Path) -> anyhow::Result<rustls::RootCertStore> {
    let text = std::fs::read(file)
        .map_err(|error| anyhow::anyhow!("{} cannot be read: {error}", file.display()))?;
    let mut roots = rustls::RootCertStore::empty();
    for certificate in ichor_certs::keys::certificates(&text) {
        roots.add(certificate.into()).map_err(|error| {
            anyhow::anyhow!(
                "a certificate of {} cannot be used as a CA: {error}",
                file.display()
            )
        })?;
    }
    anyhow::ensure!(
        !roots.is_empty(),
        "{} has no certificate in it",
        file.display()
    );
    Ok(roots)
}
