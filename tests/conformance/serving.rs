//! What the Service shows, as an API server sees it (DESIGN section 5).

use crate::pods::SERVICE;
use crate::release::Release;
use anyhow::{Context, Result, ensure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ichor_certs::keys;
use ichor_ground::controller::NAMESPACE;
use ichor_ground::pki::KubernetesCa;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ProtocolVersion, RootCertStore, SupportedProtocolVersion};
use serde_json::Value;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// The caBundle of every webhook, by its name, PEM. Fails where one does not name the chart's Service.
pub async fn bundles(ichor: &Release<'_>) -> Result<BTreeMap<String, Vec<u8>>> {
    let kinds = "mutatingwebhookconfigurations,validatingwebhookconfigurations";
    let get = [
        "get",
        kinds,
        "-l",
        "app.kubernetes.io/name=ichor",
        "-o",
        "json",
    ];
    let found: Value = serde_json::from_str(&ichor.kubectl().run(&get).await?)?;
    let items = found["items"].as_array().context("a list")?;
    let webhooks = items.iter().filter_map(|item| item["webhooks"].as_array());
    let mut bundles = BTreeMap::new();
    for webhook in webhooks.flatten() {
        let config = &webhook["clientConfig"];
        let service = &config["service"];
        ensure!(
            service["name"] == SERVICE
                && service["namespace"] == NAMESPACE
                && service["port"] == 443,
            "a webhook asks another Service: {webhook}"
        );
        let bundle = config["caBundle"].as_str().unwrap_or_default();
        let name = webhook["name"].as_str().context("a name")?;
        bundles.insert(name.to_owned(), STANDARD.decode(bundle)?);
    }
    ensure!(
        bundles.len() == 16,
        "two webhooks for each of the eight kinds, not {:?}",
        bundles.keys()
    );
    Ok(bundles)
}

/// Shakes hands with whoever trusts `bundle` and knows the webhook by its Service's name; gives the leaf.
pub async fn shake(
    webhook: SocketAddr,
    bundle: &[u8],
    version: &'static SupportedProtocolVersion,
) -> Result<Vec<u8>> {
    let mut roots = RootCertStore::empty();
    for ca in keys::certificates(bundle) {
        roots.add(CertificateDer::from(ca))?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[version])?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from(format!("{SERVICE}.{NAMESPACE}.svc"))?;
    let stream = TcpStream::connect(webhook).await?;
    let stream = TlsConnector::from(Arc::new(config))
        .connect(name, stream)
        .await?;
    let session = stream.get_ref().1;
    ensure!(session.protocol_version() == Some(ProtocolVersion::TLSv1_3));
    let leaf = session.peer_certificates().and_then(<[_]>::first);
    Ok(leaf.context("no leaf")?.to_vec())
}

/// What is stored in every webhook configuration verifies what every replica shows, in TLS 1.3 and in nothing older.
pub async fn trusted(ichor: &Release<'_>) -> Result<()> {
    let reached = ichor.reach().await?;
    let bundles = bundles(ichor).await?;
    for (webhook, bundle) in &bundles {
        // Connections go to the replicas in turn.
        for _ in 0..2 {
            shake(reached.address, bundle, &rustls::version::TLS13)
                .await
                .with_context(|| {
                    format!("what is served does not verify with the caBundle of {webhook}")
                })?;
        }
    }
    let bundle = bundles.values().next().context("a bundle")?;
    fails(
        &reached.address,
        bundle,
        &rustls::version::TLS12,
        "ProtocolVersion",
    )
    .await?;
    let stranger = KubernetesCa::generate()?.certificate.into_bytes();
    fails(
        &reached.address,
        &stranger,
        &rustls::version::TLS13,
        "UnknownIssuer",
    )
    .await
}

async fn fails(
    webhook: &SocketAddr,
    bundle: &[u8],
    version: &'static SupportedProtocolVersion,
    why: &str,
) -> Result<()> {
    let shown = shake(*webhook, bundle, version).await;
    let said = shown.err().map(|error| format!("{error:#}"));
    ensure!(
        said.as_ref().is_some_and(|said| said.contains(why)),
        "wanted a handshake that fails with {why}, got {said:?}"
    );
    Ok(())
}
