//! A collector that is gone, or there and silent, is nobody's trouble.

use crate::common;
use anyhow::{Result, ensure};
use ichor_ground::{ClusterSetup, Controller, GroundCluster, Request, World};
use std::net::TcpListener;
use std::time::{Duration, Instant};

#[tokio::test]
async fn a_collector_that_does_not_answer_holds_nothing_up() -> Result<()> {
    let (plane, options) = World::without_controller(common::ichor()).await?;
    // Connections to it are accepted by the kernel, and nobody reads them.
    let silent = TcpListener::bind("127.0.0.1:0")?;
    let url = format!("http://{}", silent.local_addr()?);
    let options = options.with("--otlp-endpoint", &url);
    let mut controller = Controller::start(&plane, &options).await?;
    let cluster = GroundCluster::start(&plane, &plane, &ClusterSetup::new("silent")).await?;
    let alice = ichor_ground::world::operator(&plane, "alice").await?;
    let orphan = cluster.node("orphan-1")?;
    let request = Request::create(&alice, orphan.address(), &cluster.name).await?;
    request.confirm_and_finish(orphan.uuid()).await?;
    let asked = Instant::now();
    let ended = controller.terminate().await?;
    ensure!(ended.success(), "{ended}");
    ensure!(
        asked.elapsed() < Duration::from_secs(20),
        "it took {:?} to end",
        asked.elapsed()
    );
    Ok(())
}
