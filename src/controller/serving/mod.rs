//! The admission webhook as this process serves it, on every replica: its certificate, its `caBundle` in the webhook
//! configurations, and readiness, which is true only while what is served verifies against what is stored there
//! (DESIGN sections 4 and 5; FAULTS 1 to 3).

mod args;
mod configurations;
mod metrics;
mod secret;
mod server;
mod trust;

pub use args::ServingArgs;
pub use server::serve;

use crate::controller::WebhookArgs;
use crate::runtime::clock;
use configurations::{Configurations, Read};
use ichor_certs::serving::{FilePair, Offer, ServedCertificate, Wanted};
use ichor_webhook::ClientAuthorities;
use kube::Client;
use metrics::CertificateMetrics;
use prometheus_client::registry::Registry;
use secret::SecretStore;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use trust::Trust;

/// Longest time between two looks. The wall clock is read at each, so a clock that is set and a machine that was
/// suspended are noticed; a timer until the end of a certificate would miss both.
const PAUSE: Duration = Duration::from_secs(5);
/// Shortest time between two looks.
const SHORTEST_PAUSE: Duration = Duration::from_millis(200);
/// Between two looks while the process is not ready.
const PAUSE_UNREADY: Duration = Duration::from_secs(1);
/// For one look, so that a slow API server is reported and not waited for.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often a lost race against another replica is run again at once.
const TRIES: usize = 8;

/// Why the process is not ready; `Ok` when it is.
pub type Readiness = Result<(), String>;

/// Keeps the served certificate, the Secret and the webhook configurations in agreement.
#[derive(Debug)]
pub struct Certificates {
    served: Arc<ServedCertificate>,
    source: Source,
    client_ca: Option<ClientCa>,
    configurations: Configurations,
    trust: Trust,
    pause: Duration,
    metrics: CertificateMetrics,
    ready: watch::Sender<Readiness>,
}

/// Where the pair comes from.
#[derive(Debug)]
enum Source {
    /// Ichor's own CA.
    Own(Box<SecretStore>),
    /// Mounted files, which somebody else renews.
    Files { certificate: PathBuf, key: PathBuf },
}

#[derive(Debug)]
struct ClientCa {
    file: PathBuf,
    authorities: Arc<ClientAuthorities>,
}

impl Certificates {
    /// As the flags say. The receiver tells why the process is not ready.
    ///
    /// # Errors
    /// When the flags do not fit together.
    pub fn new(
        client: &Client,
        args: &WebhookArgs,
        registry: &mut Registry,
    ) -> anyhow::Result<(Self, watch::Receiver<Readiness>)> {
        let wanted = Wanted {
            names: vec![format!("{}.{}.svc", args.webhook_service, args.namespace)],
            lifetimes: args.serving.lifetimes()?,
        };
        let metrics = CertificateMetrics::register(registry);
        let flags = &args.serving;
        let source = match flags.tls_cert_file.clone().zip(flags.tls_key_file.clone()) {
            Some((certificate, key)) => Source::Files { certificate, key },
            None => Source::Own(Box::new(SecretStore::new(
                client,
                &args.namespace,
                wanted.clone(),
                metrics.clone(),
            ))),
        };
        let client_ca = flags.client_ca_file.clone().map(|file| ClientCa {
            file,
            authorities: Arc::new(ClientAuthorities::named(flags.client_name.clone())),
        });
        let (ready, receiver) = watch::channel(Err("no certificate is served yet".to_owned()));
        let certificates = Self {
            served: Arc::new(ServedCertificate::new(wanted)),
            source,
            client_ca,
            configurations: Configurations::new(client),
            trust: Trust::new(flags.serving_propagation),
            pause: (flags.serving_propagation / 4).clamp(SHORTEST_PAUSE, PAUSE),
            metrics,
            ready,
        };
        Ok((certificates, receiver))
    }

    /// What is served.
    pub fn served(&self) -> Arc<ServedCertificate> {
        Arc::clone(&self.served)
    }

    /// Whose clients are let in, where not everybody is.
    pub fn client_authorities(&self) -> Option<Arc<ClientAuthorities>> {
        let client_ca = self.client_ca.as_ref()?;
        Some(Arc::clone(&client_ca.authorities))
    }

    /// Looks again and again until `stop`, and is not ready from then on. A Secret that is missing or broken, or an API
    /// server that does not answer, makes the process unready and does not end it (FAULTS 1).
    ///
    /// # Errors
    /// None.
    pub async fn keep(mut self, stop: CancellationToken) -> anyhow::Result<()> {
        let mut trouble = None;
        loop {
            let looked = tokio::time::timeout(PATIENCE, self.look());
            let looked = tokio::select! {
                () = stop.cancelled() => break,
                looked = looked => looked.unwrap_or_else(|_| Err(anyhow::anyhow!("the API server does not answer"))),
            };
            let failed = looked.err().map(|error| format!("{error:#}"));
            if let Some(why) = &failed
                && trouble != failed
            {
                tracing::warn!(%why, "the serving certificate cannot be looked after");
            }
            let ready = self.report(failed.as_deref());
            trouble = failed;
            let pause = if ready {
                self.pause
            } else {
                self.pause.min(PAUSE_UNREADY)
            };
            tokio::select! {
                () = stop.cancelled() => break,
                () = tokio::time::sleep(pause) => {}
            }
        }
        self.ready
            .send_modify(|known| *known = Err("the process is ending".to_owned()));
        Ok(())
    }

    /// Tells the probes and the metrics how things stand after a look. A look that failed says nothing about the
    /// certificate: what was read last is judged until it is too old.
    fn report(&self, failed: Option<&str>) -> bool {
        let now = clock::now();
        self.metrics.expires("leaf", self.served.not_after());
        let known = self.trust.known(clock::monotonic());
        let signer = self.served.signer_not_after(known.injected().bundle, now);
        self.metrics.expires("ca", signer);
        let state = self
            .trust
            .accepts(&self.served, now, clock::monotonic())
            .map_err(|why| match failed {
                Some(failed) => format!("{why}: {failed}"),
                None => why.to_owned(),
            });
        self.ready.send_if_modified(|known| {
            match (&*known, &state) {
                (Ok(()), Err(why)) => tracing::warn!(%why, "not ready"),
                (Err(_), Ok(())) => tracing::info!(
                    "ready: the served certificate verifies against the stored caBundle"
                ),
                _ => {}
            }
            let changed = *known != state;
            known.clone_from(&state);
            changed
        });
        state.is_ok()
    }

    async fn look(&mut self) -> anyhow::Result<()> {
        for _ in 0..TRIES {
            if self.agree().await? {
                return Ok(());
            }
        }
        anyhow::bail!("the webhook configurations are changed by others all the time")
    }

    /// One step towards agreement; false when another replica was faster.
    async fn agree(&mut self) -> anyhow::Result<bool> {
        // The configurations are read before the Secret: what is then written into them is at least as new as what
        // stood there, and a PUT bound to the version read fails where another replica was faster.
        let read = self.configurations.read().await?;
        self.trust.saw(&read, clock::monotonic());
        self.reload_client_ca()?;
        if let Source::Files { certificate, key } = &self.source {
            let pair = FilePair::read(certificate, key)?;
            self.offer(&pair.certificate, &pair.key)?;
            return Ok(true);
        }
        self.rotate(read).await
    }

    /// Ichor's own CA and leaf: one step of the rotation, then the bundle, then the leaf.
    async fn rotate(&mut self, read: Read) -> anyhow::Result<bool> {
        let Source::Own(secret) = &self.source else {
            return Ok(true);
        };
        let known = self.trust.known(clock::monotonic());
        let stored = secret.advance(known.injected()).await?;
        let Some(read) = self
            .configurations
            .inject(read, &stored.ca_bundle())
            .await?
        else {
            return Ok(false);
        };
        self.trust.saw(&read, clock::monotonic());
        anyhow::ensure!(
            read.is_complete(),
            "the webhook configurations do not exist"
        );
        self.offer(
            stored.certificate_pem().as_bytes(),
            stored.key_pem().as_bytes(),
        )?;
        Ok(true)
    }

    fn offer(&self, certificate: &[u8], key: &[u8]) -> anyhow::Result<()> {
        let known = self.trust.known(clock::monotonic());
        match self
            .served
            .offer(certificate, key, known.injected(), clock::now())
        {
            Ok(Offer::Served) => {
                self.metrics.reloaded("served");
                tracing::info!("a new certificate is served");
                Ok(())
            }
            Ok(Offer::Known | Offer::Waits) => Ok(()),
            Err(error) => {
                self.metrics.reloaded("refused");
                Err(error.into())
            }
        }
    }

    fn reload_client_ca(&self) -> anyhow::Result<()> {
        let Some(ClientCa { file, authorities }) = &self.client_ca else {
            return Ok(());
        };
        let text = std::fs::read(file)
            .map_err(|error| anyhow::anyhow!("{} cannot be read: {error}", file.display()))?;
        let changed = authorities
            .replace(ichor_certs::keys::certificates(&text))
            .map_err(|error| anyhow::anyhow!("{}: {error}", file.display()))?;
        if changed {
            tracing::info!("clients of another CA are let in");
        }
        Ok(())
    }
}
