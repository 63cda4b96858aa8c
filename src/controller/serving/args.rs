//! The flags of the serving certificate and of the webhook's end.

use crate::runtime::duration;
use anyhow::Context as _;
use ichor_certs::serving::Lifetimes;
use jiff::SignedDuration;
use std::path::PathBuf;
use std::time::Duration;

/// Longest `--shutdown-delay`: connections still have to drain before the Pod's grace period is over.
const LONGEST_DELAY: Duration = Duration::from_secs(30);

/// Flags of the serving certificate and of the webhook's end.
#[derive(Clone, Debug, clap::Args)]
pub struct ServingArgs {
    /// Certificate the webhook serves in place of Ichor's own, such as one of cert-manager; re-read when it changes.
    #[arg(long, value_name = "FILE", requires = "tls_key_file")]
    pub tls_cert_file: Option<PathBuf>,
    /// Private key of --tls-cert-file.
    #[arg(long, value_name = "FILE", requires = "tls_cert_file")]
    pub tls_key_file: Option<PathBuf>,
    /// CA whose client certificates the webhook asks of the API server, re-read when it changes; without it any client
    /// may connect.
    #[arg(long, value_name = "FILE")]
    pub client_ca_file: Option<PathBuf>,
    /// Common name or DNS name that a client's certificate needs, such as kube-apiserver; may be given several times. Without
    /// it every certificate of --client-ca-file will do.
    #[arg(long, value_name = "NAME", requires = "client_ca_file")]
    pub client_name: Vec<String>,
    /// How long Ichor's own serving CA lives.
    #[arg(long, value_name = "DURATION", default_value = "365d", value_parser = duration::parse)]
    pub serving_ca_lifetime: Duration,
    /// How long before its end the serving CA gets a successor.
    #[arg(long, value_name = "DURATION", default_value = "120d", value_parser = duration::parse)]
    pub serving_ca_renew_before: Duration,
    /// How long a serving certificate of Ichor's own CA lives.
    #[arg(long, value_name = "DURATION", default_value = "90d", value_parser = duration::parse)]
    pub serving_cert_lifetime: Duration,
    /// How long before its end the serving certificate gets a successor.
    #[arg(long, value_name = "DURATION", default_value = "30d", value_parser = duration::parse)]
    pub serving_cert_renew_before: Duration,
    /// How long a new CA stands in the webhook configurations before a certificate of it is served, so that every API
    /// server has seen it.
    #[arg(long, value_name = "DURATION", default_value = "2m", value_parser = duration::parse)]
    pub serving_propagation: Duration,
    /// How long the webhook goes on after SIGTERM while the process is not ready any more, so that API servers learn to
    /// ask other replicas; at most 30s.
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = duration::parse)]
    pub shutdown_delay: Duration,
}

impl ServingArgs {
    /// The lifetimes, if a rotation works with them.
    ///
    /// # Errors
    /// When it does not, or when --shutdown-delay is too long.
    pub fn lifetimes(&self) -> anyhow::Result<Lifetimes> {
        anyhow::ensure!(
            self.shutdown_delay <= LONGEST_DELAY,
            "--shutdown-delay is longer than 30s"
        );
        let lifetimes = Lifetimes {
            authority: SignedDuration::try_from(self.serving_ca_lifetime)?,
            authority_renew_before: SignedDuration::try_from(self.serving_ca_renew_before)?,
            leaf: SignedDuration::try_from(self.serving_cert_lifetime)?,
            leaf_renew_before: SignedDuration::try_from(self.serving_cert_renew_before)?,
            propagation: SignedDuration::try_from(self.serving_propagation)?,
        };
        lifetimes
            .check()
            .context("the flags --serving-… do not fit together")?;
        Ok(lifetimes)
    }
}
