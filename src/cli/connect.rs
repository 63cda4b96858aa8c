//! The connection to the API server, as kubectl would make it: the person's kubeconfig, so that Kubernetes
//! RBAC and audit apply to everything a command does.

use super::warnings::Warnings;
use anyhow::{Context as _, anyhow};
use kube::client::ClientBuilder;
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};
use std::path::PathBuf;
use std::sync::Arc;
use tower::util::MapResponseLayer;

/// Flags of every command that talks to the API server.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Connection")]
pub struct ConnectArgs {
    /// Namespace that Ichor runs in; requests and clusters live there, whatever the kubeconfig's namespace is.
    #[arg(
        short,
        long,
        env = "ICHOR_NAMESPACE",
        value_name = "NAMESPACE",
        default_value = "ichor-system"
    )]
    pub namespace: String,
    /// Kubeconfig file to use [default: $KUBECONFIG, then ~/.kube/config].
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// User to impersonate.
    #[arg(long = "as", value_name = "USER")]
    pub as_user: Option<String>,
    /// Group to impersonate; may be given several times.
    #[arg(long, value_name = "GROUP", requires = "as_user")]
    pub as_group: Vec<String>,
    /// UID to impersonate.
    #[arg(long, value_name = "UID", requires = "as_user")]
    pub as_uid: Option<String>,
}

impl ConnectArgs {
    /// A client for the context of that name, or the current one.
    pub async fn client(&self, context: Option<&str>) -> anyhow::Result<Client> {
        let config = self.impersonating(context).await?;
        Client::try_from(config).context("the kubeconfig cannot be used")
    }

    /// A client that prints the warnings of admission, as kubectl does.
    pub async fn warning_client(&self, context: Option<&str>) -> anyhow::Result<Client> {
        let config = self.impersonating(context).await?;
        let builder = ClientBuilder::try_from(config).context("the kubeconfig cannot be used")?;
        let warnings = Arc::new(Warnings::default());
        let layer = MapResponseLayer::new(move |response| warnings.print(response));
        Ok(builder.with_layer(&layer).build())
    }

    async fn impersonating(&self, context: Option<&str>) -> anyhow::Result<Config> {
        let mut config = self.config(context).await?;
        config.default_namespace.clone_from(&self.namespace);
        if let Some(user) = &self.as_user {
            config.auth_info.impersonate = Some(user.clone());
            config.auth_info.impersonate_uid.clone_from(&self.as_uid);
            config.auth_info.impersonate_groups =
                (!self.as_group.is_empty()).then(|| self.as_group.clone());
        }
        Ok(config)
    }

    async fn config(&self, context: Option<&str>) -> anyhow::Result<Config> {
        let options = KubeConfigOptions {
            context: context.map(str::to_owned),
            ..KubeConfigOptions::default()
        };
        if let Some(file) = &self.kubeconfig {
            let kubeconfig = Kubeconfig::read_from(file).map_err(|error| explain(&error))?;
            let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
            return config.map_err(|error| explain(&error));
        }
        match Config::from_kubeconfig(&options).await {
            // Without any kubeconfig the command may run in a Pod, as kubectl does.
            Err(KubeconfigError::ReadConfig(..) | KubeconfigError::FindPath)
                if context.is_none() =>
            {
                Config::incluster().context(
                    "no kubeconfig was found: give one with --kubeconfig FILE or in KUBECONFIG",
                )
            }
            other => other.map_err(|error| explain(&error)),
        }
    }
}

/// What is wrong with a kubeconfig, without a line of it: it may hold keys and tokens.
fn explain(error: &KubeconfigError) -> anyhow::Error {
    match error {
        KubeconfigError::ReadConfig(cause, file) => {
            anyhow!("the kubeconfig {} cannot be read: {cause}", file.display())
        }
        KubeconfigError::Parse(_) => {
            anyhow!("the kubeconfig is not valid YAML, or not a kubeconfig")
        }
        KubeconfigError::LoadContext(name) => anyhow!("context \"{name}\" does not exist"),
        KubeconfigError::CurrentContextNotSet => {
            anyhow!(
                "the kubeconfig has no current context: choose one (kubectl config use-context NAME)"
            )
        }
        other => anyhow!("the kubeconfig cannot be used: {other}"),
    }
}
