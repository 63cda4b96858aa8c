//! The `caBundle` in Ichor's two webhook configurations.

use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration, WebhookClientConfig,
};
use kube::api::PostParams;
use kube::{Api, Client};

/// Name of both.
const NAME: &str = "ichor";

#[derive(Debug)]
pub(super) struct Configurations {
    mutating: Api<MutatingWebhookConfiguration>,
    validating: Api<ValidatingWebhookConfiguration>,
}

/// Both as they were read.
#[derive(Debug, Default)]
pub(super) struct Read {
    mutating: Option<MutatingWebhookConfiguration>,
    validating: Option<ValidatingWebhookConfiguration>,
}

impl Read {
    /// The bundle of each webhook; empty where it has none.
    pub(super) fn bundles(&self) -> impl Iterator<Item = &[u8]> {
        let mutating = self
            .mutating
            .iter()
            .flat_map(|all| all.webhooks.iter().flatten())
            .map(|one| &one.client_config);
        let validating = self
            .validating
            .iter()
            .flat_map(|all| all.webhooks.iter().flatten())
            .map(|one| &one.client_config);
        mutating.chain(validating).map(|config| {
            let bundle = config.ca_bundle.as_ref();
            bundle.map(|bundle| bundle.0.as_slice()).unwrap_or_default()
        })
    }

    /// Whether both are there: without one nobody asks this webhook, and nothing protects the objects.
    pub(super) fn is_complete(&self) -> bool {
        self.mutating.is_some() && self.validating.is_some()
    }
}

impl Configurations {
    pub(super) fn new(client: &Client) -> Self {
        Self {
            mutating: Api::all(client.clone()),
            validating: Api::all(client.clone()),
        }
    }

    pub(super) async fn read(&self) -> Result<Read, kube::Error> {
        let (mutating, validating) =
            tokio::try_join!(self.mutating.get_opt(NAME), self.validating.get_opt(NAME))?;
        Ok(Read {
            mutating,
            validating,
        })
    }

    /// Writes `bundle` where another one stands, and gives what stands there then; nothing when another replica was
    /// faster.
    pub(super) async fn inject(
        &self,
        read: Read,
        bundle: &[u8],
    ) -> Result<Option<Read>, kube::Error> {
        match self.write(read, bundle).await {
            Ok(read) => Ok(Some(read)),
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn write(&self, read: Read, bundle: &[u8]) -> Result<Read, kube::Error> {
        let Read {
            mut mutating,
            mut validating,
        } = read;
        if let Some(all) = &mut mutating {
            let configs = all
                .webhooks
                .iter_mut()
                .flatten()
                .map(|one| &mut one.client_config);
            if set(configs, bundle) {
                *all = self
                    .mutating
                    .replace(NAME, &PostParams::default(), all)
                    .await?;
            }
        }
        if let Some(all) = &mut validating {
            let configs = all
                .webhooks
                .iter_mut()
                .flatten()
                .map(|one| &mut one.client_config);
            if set(configs, bundle) {
                *all = self
                    .validating
                    .replace(NAME, &PostParams::default(), all)
                    .await?;
            }
        }
        Ok(Read {
            mutating,
            validating,
        })
    }
}

/// Sets the bundle everywhere; whether anything changed.
fn set<'a>(configs: impl Iterator<Item = &'a mut WebhookClientConfig>, bundle: &[u8]) -> bool {
    let mut changed = false;
    for config in configs {
        if config.ca_bundle.as_ref().map(|known| known.0.as_slice()) != Some(bundle) {
            config.ca_bundle = Some(ByteString(bundle.to_vec()));
            changed = true;
        }
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_bundle_that_differs_is_written() {
        let mut configs = [
            WebhookClientConfig::default(),
            WebhookClientConfig::default(),
        ];
        assert!(set(configs.iter_mut(), b"one"));
        assert!(!set(configs.iter_mut(), b"one"));
        configs[1].ca_bundle = None;
        assert!(set(configs.iter_mut(), b"one"));
        assert!(
            configs
                .iter()
                .all(|config| config.ca_bundle == Some(ByteString(b"one".to_vec())))
        );
    }
}
