//! "a changed role, cluster or identity after consent is Refused: ask anew" (DESIGN section 18, decision 15): role and cluster. A
//! changed identity is in [`crate::addresses`].

use crate::common::{alice, world};
use crate::has_reason;
use anyhow::{Context, Result, ensure};
use ichor_crds::conditions::reclaim as reason;
use ichor_crds::{ReclaimPhase, TALOSCONFIG_SECRET_TYPE};
use ichor_ground::controller::NAMESPACE;
use ichor_ground::{ClusterSetup, Request, eventually, oracle};
use ichor_simulator::{Role, Stage};
use serde_json::json;

/// Somebody wipes the machine by hand after the inspection and makes a control plane of it.
#[tokio::test]
async fn decision_15_another_role_than_was_inspected_is_refused() -> Result<()> {
    let (world, alice) = (world().await?, alice().await?);
    let cluster = world.cluster(&ClusterSetup::new("other-role")).await?;
    let orphan = cluster.node("orphan-1")?;
    let request = Request::create(&alice, orphan.address(), "other-role").await?;
    request.inspected().await?;

    let credential = tempfile::NamedTempFile::new()?;
    let talosconfig = cluster.fleet.admin_talosconfig("other-role")?;
    std::fs::write(credential.path(), talosconfig)?;
    let path = credential.path().to_str().context("a path")?;
    oracle::dial(&["--talosconfig", path], orphan.address(), &["reset"]).await?;
    eventually("maintenance mode", async || {
        Ok((orphan.in_maintenance() && orphan.serving()).then_some(()))
    })
    .await?;
    let fleet = &cluster.fleet;
    let config = fleet.machine_config("other-role", "other-role-orphan-1", Role::ControlPlane)?;
    oracle::apply(orphan.address(), &config).await?;
    eventually("it to run", async || {
        Ok((orphan.stage() == Stage::Running).then_some(()))
    })
    .await?;

    request.confirm(orphan.uuid()).await?;
    let status = request.reaches(ReclaimPhase::Refused).await?;
    ensure!(
        has_reason(&status, reason::CHANGED_AFTER_CONSENT),
        "{status:?}"
    );
    let text = status.result.unwrap_or_default();
    ensure!(
        text.contains("has another role") && text.contains("Ask anew"),
        "{text}"
    );
    ensure!(
        status.reset.is_none() && cluster.resets() == 1,
        "only by hand"
    );
    Ok(())
}

/// The cluster that was shown is not managed any more: the Node would be left and no lock taken, which nobody consented to.
#[tokio::test]
async fn decision_15_another_cluster_than_was_inspected_is_refused() -> Result<()> {
    let (world, alice) = (world().await?, alice().await?);
    let setup = ClusterSetup {
        control_planes: 0,
        orphans: 2,
        ..ClusterSetup::new("other-cluster")
    };
    let cluster = world.cluster(&setup).await?;
    let (orphan, dark) = (cluster.node("orphan-1")?, cluster.node("orphan-2")?);
    let admin = cluster.kubectl();
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "type": TALOSCONFIG_SECRET_TYPE,
        "metadata": {"name": "opens-other-cluster", "namespace": NAMESPACE},
        "stringData": {"talosconfig": cluster.fleet.admin_talosconfig("other-cluster")?},
    });
    admin.apply(&secret.to_string()).await?;
    let spec = json!({"address": orphan.address().to_string(), "credentialSecretRef": {"name": "opens-other-cluster"}});
    let request = Request::of_spec(admin, &spec).await?;
    let seen = request.inspected().await?;
    ensure!(
        seen.managed_cluster.as_deref() == Some("other-cluster"),
        "{seen:?}"
    );
    dark.power_off();
    let watcher = Request::create(&alice, dark.address(), "other-cluster").await?;
    watcher
        .until("the dark machine to be missed", |status| {
            has_reason(status, reason::UNREACHABLE)
        })
        .await?;
    admin
        .run(&["delete", "taloscluster", "other-cluster", "-n", NAMESPACE])
        .await?;
    watcher
        .until("the controller to know", |status| {
            has_reason(status, reason::CLUSTER_NOT_FOUND)
        })
        .await?;

    request.confirm(orphan.uuid()).await?;
    let status = request.reaches(ReclaimPhase::Refused).await?;
    ensure!(
        has_reason(&status, reason::CHANGED_AFTER_CONSENT),
        "{status:?}"
    );
    let text = status.result.unwrap_or_default();
    ensure!(text.contains("belongs to another cluster"), "{text}");
    ensure!(status.reset.is_none() && cluster.resets() == 0);
    Ok(())
}
