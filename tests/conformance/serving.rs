//! What the Service shows, as an API server sees it (DESIGN section 5).

use crate::pods::SERVICE;
use crate::release::Release;
use anyhow::{Context, Result, ensure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ichor_ground::controller::NAMESPACE;
use ichor_ground::handshake::{self, Trusts};
use ichor_ground::pki::KubernetesCa;
use rustls::ProtocolVersion;
use serde_json::Value;
use std::collections::BTreeMap;
use std::net::SocketAddr;

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

/// Shakes hands as whoever trusts `bundle`, in TLS 1.3 or in the `old` 1.2; gives the leaf.
pub async fn shake(webhook: SocketAddr, bundle: &[u8], old: bool) -> Result<Vec<u8>> {
    let trusts = Trusts {
        bundle: bundle.to_vec(),
        old,
        ..Trusts::default()
    };
    let (stream, leaf) = handshake::shake(webhook, &trusts, "h2").await?;
    ensure!(stream.get_ref().1.protocol_version() == Some(ProtocolVersion::TLSv1_3));
    Ok(leaf)
}

/// What is stored in every webhook configuration verifies what every replica shows, in TLS 1.3 and in nothing older.
pub async fn trusted(ichor: &Release<'_>) -> Result<()> {
    let reached = ichor.reach().await?;
    let bundles = bundles(ichor).await?;
    for (webhook, bundle) in &bundles {
        // Connections go to the replicas in turn.
        for _ in 0..2 {
            shake(reached.address, bundle, false)
                .await
                .with_context(|| {
                    format!("what is served does not verify with the caBundle of {webhook}")
                })?;
        }
    }
    let bundle = bundles.values().next().context("a bundle")?;
    fails(&reached.address, bundle, true, "ProtocolVersion").await?;
    let stranger = KubernetesCa::generate()?.certificate.into_bytes();
    fails(&reached.address, &stranger, false, "UnknownIssuer").await
}

async fn fails(webhook: &SocketAddr, bundle: &[u8], old: bool, why: &str) -> Result<()> {
    let shown = shake(*webhook, bundle, old).await;
    let said = shown.err().map(|error| format!("{error:#}"));
    ensure!(
        said.as_ref().is_some_and(|said| said.contains(why)),
        "wanted a handshake that fails with {why}, got {said:?}"
    );
    Ok(())
}
