//! FAULTS 32 (kube#1524, #1882): lists of many pages are whole, and a watch that breaks or is too old goes on.

use crate::{PATIENT, replicas};
use anyhow::{Result, ensure};
use futures::{StreamExt, TryStreamExt};
use ichor_crds::{ReclaimPhase, TalosCluster};
use ichor_ground::cluster::UNSEEN;
use ichor_ground::controller::NAMESPACE;
use ichor_ground::wait::within;
use ichor_ground::{ClusterSetup, Request, eventually};
use kube::Api;
use kube::api::{DeleteParams, ListParams, PostParams};
use serde_json::json;
use std::time::Duration;

/// Connections are cut, then every watch that is begun again is answered with 410 Expired: new requests are still seen.
#[tokio::test]
async fn faults_32_a_cut_or_expired_watch_goes_on() -> Result<()> {
    let turn = replicas(&PATIENT).await?;
    let alice = turn.operator("alice").await?;
    let leader = turn.replica().await?;
    leader.leads().await?;
    let setup = ClusterSetup {
        orphans: 3,
        ..ClusterSetup::new("cut")
    };
    let cluster = turn.cluster(&setup).await?;
    for (short, expired) in [("orphan-1", 0), ("orphan-2", 0), ("orphan-3", 3)] {
        if short != "orphan-1" {
            leader.trap.expire_watches(expired);
            leader.cut();
        }
        let node = cluster.node(short)?;
        let request = Request::create(&alice, node.address(), "cut").await?;
        request.inspected().await?;
    }
    ensure!(
        leader.trap.watches_to_expire() == 0,
        "three watches were told that they are too old"
    );
    ensure!(leader.controller.leads().await?);
    Ok(())
}

/// A dead connection: every watch is open and says nothing, not even that it ends. What happens meanwhile is seen once the
/// client has waited longer than the API server lets a watch be.
#[tokio::test]
async fn faults_32_watches_that_say_nothing_are_begun_again() -> Result<()> {
    let turn = replicas(&PATIENT).await?;
    let alice = turn.operator("alice").await?;
    let leader = turn.replica().await?;
    leader.leads().await?;
    let cluster = turn.cluster(&ClusterSetup::new("dead")).await?;
    leader.trap.silence_watches(true);
    leader.cut();
    eventually("every watch to be silent", async || {
        Ok((leader.trap.silent_watches() >= 3).then_some(()))
    })
    .await?;
    leader.trap.silence_watches(false);
    let orphan = cluster.node("orphan-1")?;
    let request = Request::create(&alice, orphan.address(), "dead").await?;
    ensure!(request.status().await?.phase == ReclaimPhase::Pending);
    // The API server ends a watch after a minute, and the client waits 15 seconds longer.
    within(
        Duration::from_mins(2),
        "the request to be seen",
        async || {
            let phase = request.status().await?.phase;
            Ok((phase == ReclaimPhase::AwaitingConfirmation).then_some(()))
        },
    )
    .await?;
    ensure!(leader.controller.leads().await?);
    Ok(())
}

/// 1,200 clusters, stored before there was a webhook, are there when the controller starts: each of them gets its status, so
/// no page was left out.
#[tokio::test]
async fn faults_32_a_list_of_1200_objects_is_whole() -> Result<()> {
    const COUNT: usize = 1200;
    let turn = replicas(&[&PATIENT[..], &[("--recheck-interval", "1h")]].concat()).await?;
    let clusters: Api<TalosCluster> = Api::namespaced(turn.plane.client().await?, NAMESPACE);
    crate::leave_out_unseen(&turn.plane.kubectl(), true).await?;
    let store = |number: usize| {
        let clusters = clusters.clone();
        async move {
            let cluster = serde_json::from_value(json!({
                "apiVersion": "ichor.maesh.dev/v1alpha1", "kind": "TalosCluster",
                "metadata": {"name": format!("many-{number}"), "namespace": NAMESPACE, "labels": {"many": "yes", UNSEEN: "yes"}},
                "spec": {
                    "endpoint": "https://127.0.0.1:6443", "talosVersion": "v1.14.0", "kubernetesVersion": "v1.37.2",
                    "secretsBundleRef": {"name": "none"}, "kubernetesAccess": "bundle",
                },
            }))?;
            clusters.create(&PostParams::default(), &cluster).await?;
            anyhow::Ok(())
        }
    };
    // The first one is let through when the API server has seen the change of the webhooks.
    eventually("the webhooks to be left out", async || {
        Ok(store(0).await.ok())
    })
    .await?;
    futures::stream::iter((1..COUNT).map(store))
        .buffer_unordered(16)
        .try_collect::<()>()
        .await?;

    let leader = turn.replica().await?;
    let many = ListParams::default().labels("many=yes");
    within(Duration::from_mins(5), "1,200 statuses", async || {
        // Listing them all is work for everybody here.
        tokio::time::sleep(Duration::from_secs(2)).await;
        let seen = clusters.list(&many).await?;
        let judged = seen.items.iter().filter(|one| one.status.is_some()).count();
        Ok((judged == COUNT).then_some(()))
    })
    .await?;
    ensure!(leader.controller.leads().await?);
    clusters
        .delete_collection(&DeleteParams::default(), &many)
        .await?;
    eventually("them to be gone", async || {
        Ok(clusters.list(&many).await?.items.is_empty().then_some(()))
    })
    .await?;
    crate::leave_out_unseen(&turn.plane.kubectl(), false).await
}

/// FAULTS 18 (CACPPT e0041f6, k0smotron#1535, omni 5c67c7c9): the caches lag by five seconds. A machine that was approved
/// a moment ago is no orphan any more, and one that is reclaimed is reset once.
#[tokio::test]
async fn faults_18_nothing_is_decided_on_a_cache_that_lags() -> Result<()> {
    let turn = replicas(&PATIENT).await?;
    let alice = turn.operator("alice").await?;
    let leader = turn.replica().await?;
    leader.leads().await?;
    let setup = ClusterSetup {
        orphans: 2,
        ..ClusterSetup::new("lagging")
    };
    let cluster = turn.cluster(&setup).await?;
    let (one, two) = (cluster.node("orphan-1")?, cluster.node("orphan-2")?);
    let wiped = Request::create(&alice, one.address(), "lagging").await?;
    let kept = Request::create(&alice, two.address(), "lagging").await?;
    wiped.inspected().await?;
    kept.inspected().await?;

    leader.trap.lag_watches(Duration::from_secs(5));
    leader.cut();
    // Admission refuses it while a reclaim acts; without the webhook it is stored.
    let kubectl = turn.plane.kubectl();
    crate::leave_out_unseen(&kubectl, true).await?;
    eventually("it to be stored", async || {
        cluster.approve_unseen("orphan-2", "worker").await.map(Some)
    })
    .await?;
    crate::leave_out_unseen(&kubectl, false).await?;
    kept.confirm(two.uuid()).await?;
    wiped.confirm(one.uuid()).await?;
    let refused = kept.reaches(ReclaimPhase::Refused).await?;
    let text = refused.result.unwrap_or_default();
    ensure!(text.contains("Remove node"), "{text}");
    wiped.reaches(ReclaimPhase::Done).await?;
    ensure!(cluster.resets() == 1 && one.in_maintenance());
    Ok(())
}
