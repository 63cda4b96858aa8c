//! The Secret of the serving CA and leaf, which every replica may renew: whoever writes first wins, and the others
//! adopt what was written.

use super::TRIES;
use super::metrics::CertificateMetrics;
use crate::runtime::clock;
use ichor_certs::serving::{Injected, ServingSecret, Step, Wanted, carry_out, plan};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client};

/// Name of the Secret.
const NAME: &str = "ichor-webhook-tls";

#[derive(Debug)]
pub(super) struct SecretStore {
    api: Api<Secret>,
    wanted: Wanted,
    metrics: CertificateMetrics,
}

impl SecretStore {
    pub(super) fn new(
        client: &Client,
        namespace: &str,
        wanted: Wanted,
        metrics: CertificateMetrics,
    ) -> Self {
        Self {
            api: Api::namespaced(client.clone(), namespace),
            wanted,
            metrics,
        }
    }

    /// Takes the steps that are due, and gives what is stored then.
    pub(super) async fn advance(&self, injected: Injected<'_>) -> anyhow::Result<ServingSecret> {
        for _ in 0..TRIES {
            let existing = self.api.get_opt(NAME).await?;
            let stored = existing.as_ref().and_then(read);
            let now = clock::now();
            let step = plan(stored.as_ref(), injected, now, &self.wanted);
            if step == Step::Keep
                && let Some(stored) = stored
            {
                return Ok(stored);
            }
            let fresh = carry_out(step, stored, injected, now, &self.wanted)?;
            match self.write(existing, &fresh).await {
                Ok(()) => {
                    tracing::info!(?step, "the serving certificate is renewed");
                    self.metrics.rotated(step);
                    return Ok(fresh);
                }
                Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => {}
                Err(error) => return Err(error.into()),
            }
        }
        anyhow::bail!("Secret {NAME} is changed by others all the time")
    }

    async fn write(
        &self,
        existing: Option<Secret>,
        fresh: &ServingSecret,
    ) -> Result<(), kube::Error> {
        let data = fresh
            .to_data()
            .into_iter()
            .map(|(key, value)| (key, ByteString(value)))
            .collect();
        let Some(mut secret) = existing else {
            let secret = Secret {
                metadata: ObjectMeta {
                    name: Some(NAME.to_owned()),
                    ..ObjectMeta::default()
                },
                type_: Some("kubernetes.io/tls".to_owned()),
                data: Some(data),
                ..Secret::default()
            };
            return self
                .api
                .create(&PostParams::default(), &secret)
                .await
                .map(|_| ());
        };
        secret.data = Some(data);
        self.api
            .replace(NAME, &PostParams::default(), &secret)
            .await
            .map(|_| ())
    }
}

/// What is stored; a Secret that is half written or damaged is made anew.
fn read(secret: &Secret) -> Option<ServingSecret> {
    let data = secret.data.as_ref()?;
    let data = data
        .iter()
        .map(|(key, value)| (key.clone(), value.0.clone()))
        .collect();
    match ServingSecret::from_data(&data) {
        Ok(stored) => Some(stored),
        Err(error) => {
            tracing::warn!(%error, "Secret {NAME} is not usable and is made anew");
            None
        }
    }
}
