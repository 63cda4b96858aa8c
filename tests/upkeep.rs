//! What the controller does by itself at its start and later on: it mends its serving Secret, and prunes old requests.

mod common;

use anyhow::{Result, ensure};
use common::ichor;
use ichor_crds::ReclaimPhase;
use ichor_ground::controller::NAMESPACE;
use ichor_ground::world::operator;
use ichor_ground::{ClusterSetup, Controller, GroundCluster, Request, World, eventually};
use serde_json::json;

/// FAULTS 1 (tuppr#93, #95): a half written serving Secret does not keep the controller from becoming ready.
#[tokio::test]
async fn faults_1_a_half_written_serving_secret_is_made_anew() -> Result<()> {
    let (plane, options) = World::without_controller(ichor()).await?;
    let half = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls",
        "metadata": {"name": "ichor-webhook-tls", "namespace": NAMESPACE},
        "stringData": {"tls.crt": "half", "tls.key": ""},
    });
    plane.kubectl().apply(&half.to_string()).await?;
    // Ready means that what is served verifies against the stored caBundle.
    let _controller = Controller::start(&plane, &options).await?;
    let cluster = GroundCluster::start(&plane, &plane, &ClusterSetup::new("mended")).await?;
    let alice = operator(&plane, "alice").await?;
    Request::create(&alice, cluster.node("orphan-1")?.address(), "mended").await?;
    Ok(())
}

/// DESIGN section 11: requests that ended are kept, and pruned after `--reclaim-history`; those that go on are not.
#[tokio::test]
async fn ended_requests_are_pruned_after_the_history() -> Result<()> {
    let (plane, mut options) = World::without_controller(ichor()).await?;
    options.flags.push("--reclaim-history=2s".to_owned());
    let _controller = Controller::start(&plane, &options).await?;
    let setup = ClusterSetup {
        workers: 1,
        ..ClusterSetup::new("pruned")
    };
    let cluster = GroundCluster::start(&plane, &plane, &setup).await?;
    let alice = operator(&plane, "alice").await?;
    let waits = Request::create(&alice, cluster.node("orphan-1")?.address(), "pruned").await?;
    waits.inspected().await?;
    let ends = Request::create(&alice, cluster.node("worker-1")?.address(), "pruned").await?;
    let name = ends.name.clone();
    eventually("the refused request to be pruned", async || {
        let get = ["get", "machinereclaim", &name, "-n", NAMESPACE];
        Ok(alice
            .try_run(&get)
            .await?
            .err
            .contains("NotFound")
            .then_some(()))
    })
    .await?;
    ensure!(waits.status().await?.phase == ReclaimPhase::AwaitingConfirmation);
    Ok(())
}

/// DESIGN section 2: `ichor webhook` answers admission and keeps its certificate, and leaves what is admitted to others.
#[tokio::test]
async fn the_webhook_alone_judges_and_reconciles_nothing() -> Result<()> {
    let (plane, mut options) = World::without_controller(ichor()).await?;
    options.role = "webhook";
    // These are of the reconcilers, and refused here.
    let flags = [
        "lease",
        "recheck",
        "watch",
        "observe",
        "overdue",
        "reclaim-history",
        "concurrency",
    ];
    options.flags.retain(|flag| {
        let name = flag.trim_start_matches('-');
        !flags.iter().any(|of| name.starts_with(of))
    });
    let webhook = Controller::start(&plane, &options).await?;
    let cluster = GroundCluster::start(&plane, &plane, &ClusterSetup::new("judged")).await?;
    let orphan = cluster.node("orphan-1")?;
    let alice = operator(&plane, "alice").await?;
    let request = Request::create(&alice, orphan.address(), "judged").await?;
    let unknown = Request::create(&alice, orphan.address(), "unknown").await;
    ensure!(unknown.is_err_and(|error| format!("{error:#}").contains("Not found: \"unknown\"")));
    let kubectl = plane.kubectl();
    let leases = kubectl.run(&["get", "lease", "-n", NAMESPACE]).await?;
    ensure!(!leases.contains("ichor"), "nobody leads");
    let (_, metrics) = webhook.get("/metrics").await?;
    ensure!(metrics.contains("ichor_admission_decisions_total{") && orphan.calls().is_empty());

    options.role = "controller";
    options.name = "controller".to_owned();
    options.webhook = ichor_ground::controller::free_address()?;
    let _controller = Controller::start(&plane, &options).await?;
    request.inspected().await?;
    Ok(())
}
