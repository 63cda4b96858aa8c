//! FAULTS 1 (tuppr#93, #95): whatever becomes of the Secret and the webhook configurations, the process stays up, is not
//! ready while what it serves does not verify, and is ready again by itself.

use crate::fleet::{Fleet, Replica, SECRET, first};
use anyhow::{Result, ensure};
use ichor_certs::keys;
use ichor_certs::serving::{Injected, Lifetimes, Step, Wanted, carry_out};
use ichor_ground::eventually;
use ichor_ground::handshake::{Trusts, shake};
use jiff::SignedDuration;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use serde_json::json;
use std::collections::BTreeMap;

/// Waits until a client of the stored bundle gets the stored leaf from a replica that is ready.
async fn served(fleet: &Fleet, replica: &Replica) -> Result<Vec<u8>> {
    let shown = eventually("the stored leaf to be served", async || {
        let trusts = Trusts {
            bundle: fleet.bundle().await?,
            ..Trusts::default()
        };
        let (_, shown) = shake(replica.webhook, &trusts, "h2").await?;
        ensure!(shown == first(&fleet.stored("tls.crt").await?)?);
        Ok(Some(shown))
    })
    .await?;
    replica.controller.ready().await?;
    Ok(shown)
}

fn secret(data: BTreeMap<String, ByteString>) -> Secret {
    let mut secret = Secret {
        type_: Some("kubernetes.io/tls".to_owned()),
        data: Some(data),
        ..Secret::default()
    };
    secret.metadata.name = Some(SECRET.to_owned());
    secret
}

/// What an installation left behind whose CA expired a month ago.
fn expired() -> Result<BTreeMap<String, ByteString>> {
    let wanted = Wanted {
        names: vec![ichor_ground::handshake::NAME.to_owned()],
        lifetimes: Lifetimes::default(),
    };
    let made = ichor::runtime::clock::now() - SignedDuration::from_hours(24 * 395);
    let nothing = Injected {
        bundle: b"",
        settled: b"",
    };
    let old = carry_out(Step::MakeAll, None, nothing, made, &wanted)?.to_data();
    Ok(old
        .into_iter()
        .map(|(key, value)| (key, ByteString(value)))
        .collect())
}

/// At the start: an expired CA, also in the webhook configurations; a half-written Secret; garbage. Two replicas each
/// time, which end with one winner.
#[tokio::test(flavor = "multi_thread")]
async fn faults_1_and_3_an_expired_or_broken_secret_at_the_start() -> Result<()> {
    let fleet = Fleet::start(&[]).await?;
    let old = expired()?;
    let mut torn = old.clone();
    torn.remove("tls.key");
    torn.insert("tls.key".to_owned(), ByteString(Vec::new()));
    let garbage: BTreeMap<_, _> = old
        .keys()
        .map(|key| (key.clone(), ByteString(b"half a write".to_vec())))
        .collect();
    for (what, data) in [("expired", old), ("torn", torn), ("garbage", garbage)] {
        let delete = DeleteParams::default();
        if fleet.secrets().get_opt(SECRET).await?.is_some() {
            fleet.secrets().delete(SECRET, &delete).await?;
        }
        let bundle = data["ca.crt"].0.clone();
        fleet
            .secrets()
            .create(&PostParams::default(), &secret(data.clone()))
            .await?;
        if what == "expired" {
            inject(&fleet, &bundle).await?;
        }
        let replicas = fleet.replicas(2).await?;
        let one = served(&fleet, &replicas[0]).await?;
        let other = served(&fleet, &replicas[1]).await?;
        ensure!(one == other, "{what}: two leaves");
        ensure!(
            !keys::certificates(&fleet.bundle().await?)
                .contains(&first(&bundle).unwrap_or_default())
        );
        for mut replica in replicas {
            ensure!(
                replica.controller.ended()?.is_none(),
                "{what}: a process ended"
            );
            replica.controller.kill().await?;
        }
    }
    Ok(())
}

/// Writes a bundle into every webhook.
pub async fn inject(fleet: &Fleet, bundle: &[u8]) -> Result<()> {
    use base64::Engine;
    let bundle = base64::engine::general_purpose::STANDARD.encode(bundle);
    let kubectl = fleet.plane.kubectl();
    for kind in [
        "mutatingwebhookconfiguration",
        "validatingwebhookconfiguration",
    ] {
        let count = kubectl
            .run(&["get", kind, "ichor", "-o", "jsonpath={.webhooks[*].name}"])
            .await?;
        let operations: Vec<_> = (0..count.split_whitespace().count())
            .map(|number| {
                let path = format!("/webhooks/{number}/clientConfig/caBundle");
                json!({"op": "add", "path": path, "value": bundle})
            })
            .collect();
        let operations = json!(operations).to_string();
        kubectl
            .run(&["patch", kind, "ichor", "--type=json", "-p", &operations])
            .await?;
    }
    Ok(())
}

/// While it runs: the Secret is deleted, overwritten with half of itself, and the bundle is taken away.
#[tokio::test(flavor = "multi_thread")]
async fn faults_1_what_breaks_meanwhile_is_mended() -> Result<()> {
    // The leaf that is served stays until the new CA was known for that long.
    let fleet = Fleet::start(&[("--serving-propagation", "4s")]).await?;
    let replicas = fleet.replicas(2).await?;
    let before = served(&fleet, &replicas[0]).await?;
    let known = first(&fleet.bundle().await?)?;

    fleet
        .secrets()
        .delete(SECRET, &DeleteParams::default())
        .await?;
    eventually("another CA", async || {
        let newest = fleet.bundle().await?;
        Ok(
            (first(&newest)? != known && keys::certificates(&newest).contains(&known))
                .then_some(()),
        )
    })
    .await?;
    // No client has to know the new CA yet.
    let trusts = Trusts {
        bundle: keys::certificate_pem(&known).into_bytes(),
        ..Trusts::default()
    };
    let (_, shown) = shake(replicas[0].webhook, &trusts, "h2").await?;
    ensure!(
        shown == before,
        "the leaf was changed before its CA was known"
    );
    ensure!(replicas[0].controller.get("/readyz").await?.0 == 200);
    let after = served(&fleet, &replicas[0]).await?;
    ensure!(after != before);
    served(&fleet, &replicas[1]).await?;

    let half = json!({"data": {"ca.key": null}});
    fleet
        .secrets()
        .patch(SECRET, &PatchParams::default(), &Patch::Merge(half))
        .await?;
    eventually("a whole Secret", async || {
        Ok((!fleet.stored("ca.key").await?.is_empty()).then_some(()))
    })
    .await?;
    served(&fleet, &replicas[0]).await?;

    let stranger = expired()?["ca.crt"].0.clone();
    inject(&fleet, &stranger).await?;
    served(&fleet, &replicas[0]).await?;
    ensure!(!fleet.bundle().await?.ends_with(&stranger));
    Ok(())
}

/// Without one of the webhook configurations nothing protects the objects: not ready until it is back.
#[tokio::test(flavor = "multi_thread")]
async fn a_missing_configuration_is_not_ready() -> Result<()> {
    let fleet = Fleet::start(&[]).await?;
    let replicas = fleet.replicas(1).await?;
    let kubectl = fleet.plane.kubectl();
    let kept = kubectl
        .run(&[
            "get",
            "validatingwebhookconfiguration",
            "ichor",
            "-o",
            "json",
        ])
        .await?;
    kubectl
        .run(&["delete", "validatingwebhookconfiguration", "ichor"])
        .await?;
    eventually("it not to be ready", async || {
        let (code, why) = replicas[0].controller.get("/readyz").await?;
        Ok((code == 503 && why.contains("webhook configurations")).then_some(()))
    })
    .await?;
    let mut kept: serde_json::Value = serde_json::from_str(&kept)?;
    kept["metadata"] = json!({"name": "ichor", "labels": kept["metadata"]["labels"]});
    kubectl.apply(&kept.to_string()).await?;
    served(&fleet, &replicas[0]).await?;
    Ok(())
}
