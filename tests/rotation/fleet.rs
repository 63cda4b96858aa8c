//! Replicas as a Deployment runs them behind a Service, on a control plane of their own.

use crate::common;
use anyhow::{Context, Result, ensure};
use ichor_certs::keys;
use ichor_ground::controller::{NAMESPACE, free_address, install};
use ichor_ground::pki::KubernetesCa;
use ichor_ground::{Balancer, ControlPlane, Controller, ControllerOptions};
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Name of the Secret of the serving certificate.
pub const SECRET: &str = "ichor-webhook-tls";

pub struct Fleet {
    pub plane: ControlPlane,
    pub options: ControllerOptions,
    pub client: kube::Client,
    /// Where the API server finds the webhook.
    pub service: SocketAddr,
    balancer: Balancer,
    started: AtomicUsize,
}

pub struct Replica {
    pub controller: Controller,
    pub webhook: SocketAddr,
}

impl Fleet {
    /// A control plane with Ichor installed and no replica, which will be started with these flags.
    pub async fn start(flags: &[(&str, &str)]) -> Result<Self> {
        let plane = ControlPlane::start(KubernetesCa::generate()?).await?;
        let service = TcpListener::bind("127.0.0.1:0")?;
        install(&plane.kubectl(), service.local_addr()?.port()).await?;
        let mut options = ControllerOptions::new(common::ichor(), free_address()?)
            // The tests are not about leases, so a busy computer ends none.
            .with("--lease-duration", "60s")
            .with("--lease-renew-deadline", "50s")
            .with("--lease-retry", "2s");
        for (flag, value) in flags {
            options = options.with(flag, value);
        }
        Ok(Self {
            client: plane.client().await?,
            plane,
            options,
            service: service.local_addr()?,
            balancer: Balancer::start(service)?,
            started: AtomicUsize::new(0),
        })
    }

    /// Starts a replica, which need not become ready.
    pub async fn spawn(&self) -> Result<Replica> {
        let number = self.started.fetch_add(1, Ordering::SeqCst);
        let options = ControllerOptions {
            webhook: free_address()?,
            name: format!("controller-{number}"),
            ..self.options.clone()
        };
        let controller = Controller::spawn(&self.plane, &options).await?;
        self.balancer.add(options.webhook, controller.admin());
        Ok(Replica {
            controller,
            webhook: options.webhook,
        })
    }

    /// Starts replicas and waits until all are ready.
    pub async fn replicas(&self, number: usize) -> Result<Vec<Replica>> {
        let mut replicas = Vec::new();
        for _ in 0..number {
            replicas.push(self.spawn().await?);
        }
        for replica in &replicas {
            replica.controller.ready().await?;
        }
        Ok(replicas)
    }

    pub fn secrets(&self) -> Api<Secret> {
        Api::namespaced(self.client.clone(), NAMESPACE)
    }

    /// A value of the Secret; empty where there is none.
    pub async fn stored(&self, key: &str) -> Result<Vec<u8>> {
        let secret = self.secrets().get_opt(SECRET).await?;
        let data = secret.and_then(|secret| secret.data).unwrap_or_default();
        Ok(data
            .get(key)
            .map(|value| value.0.clone())
            .unwrap_or_default())
    }

    /// The one bundle of all webhooks of both configurations; fails while they differ.
    pub async fn bundle(&self) -> Result<Vec<u8>> {
        bundle(&self.client).await
    }
}

/// The one bundle of all webhooks of both configurations; fails while they differ.
pub async fn bundle(client: &kube::Client) -> Result<Vec<u8>> {
    let mutating: Api<MutatingWebhookConfiguration> = Api::all(client.clone());
    let validating: Api<ValidatingWebhookConfiguration> = Api::all(client.clone());
    let (mutating, validating) = tokio::try_join!(mutating.get("ichor"), validating.get("ichor"))?;
    let mutating = mutating.webhooks.into_iter().flatten();
    let validating = validating.webhooks.into_iter().flatten();
    let configs = mutating
        .map(|one| one.client_config)
        .chain(validating.map(|one| one.client_config));
    let mut bundles = configs.map(|config| config.ca_bundle.map(|b| b.0).unwrap_or_default());
    let first = bundles.next().context("a webhook")?;
    ensure!(bundles.all(|other| other == first), "the webhooks differ");
    Ok(first)
}

/// The first certificate of a PEM text, DER.
pub fn first(pem: &[u8]) -> Result<Vec<u8>> {
    let all = keys::certificates(pem);
    all.into_iter().next().context("no certificate in the text")
}

/// Whether the first certificate of a PEM text is one of this CA (DER).
pub fn is_signed_by(leaf: &[u8], ca: &[u8]) -> Result<bool> {
    let leaf = first(leaf)?;
    let (_, leaf) = x509_parser::parse_x509_certificate(&leaf)?;
    let (_, ca) = x509_parser::parse_x509_certificate(ca)?;
    Ok(leaf.verify_signature(Some(ca.public_key())).is_ok())
}
