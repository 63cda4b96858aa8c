//! Memory of the controller with many objects, and how soon it is ready with them.

use crate::process::{Memory, memory};
use anyhow::{Context, Result, ensure};
use futures::{StreamExt, TryStreamExt, stream};
use ichor_crds::{MachineReclaim, TalosMachine};
use ichor_ground::controller::NAMESPACE;
use ichor_ground::wait::within;
use ichor_ground::{Controller, World, eventually};
use kube::api::{ListParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// How many objects there are.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Size {
    /// TalosMachines of the controller's measurement.
    #[arg(long, default_value_t = 10_000)]
    pub machines: u16,
    /// Its MachineReclaims, whose machines do not answer.
    #[arg(long, default_value_t = 1_000)]
    pub reclaims: u16,
}

/// What was measured.
pub struct Scale {
    /// The objects.
    pub size: Size,
    /// Before the objects.
    pub empty: Memory,
    /// With them, after a restart.
    pub full: Memory,
    /// From the start of the process to readiness, with the objects there.
    pub ready: Duration,
    /// From the start to the first request that is worked on: the lease is taken and everything is read.
    pub working: Duration,
}

/// Creates the objects and restarts the controller with them.
pub async fn measure(world: &mut World, cluster: &str, size: Size) -> Result<Scale> {
    let empty = memory_of(&world.controller)?;
    let client = world.plane.client().await?;
    create(&client, (0..size.machines).map(|n| machine(n, cluster))).await?;
    create_reclaims(&client, cluster, size.reclaims).await?;
    tried(&client).await?;
    let ended = world.controller.terminate().await?;
    ensure!(ended.success(), "the controller ended with {ended}");
    world.controller = Controller::spawn(&world.plane, &world.options).await?;
    let begin = Instant::now();
    world.controller.ready().await?;
    let ready = begin.elapsed();
    works(&world.controller).await?;
    let working = begin.elapsed();
    Ok(Scale {
        size,
        empty,
        full: settled(&world.controller).await?,
        ready,
        working,
    })
}

/// Memory of a controller.
pub fn memory_of(controller: &Controller) -> Result<Memory> {
    memory(u32::try_from(controller.pid()?)?)
}

async fn create(client: &Client, machines: impl Iterator<Item = Value>) -> Result<()> {
    let api: &Api<TalosMachine> = &Api::namespaced(client.clone(), NAMESPACE);
    stream::iter(machines)
        .map(|machine| async move {
            let machine: TalosMachine = serde_json::from_value(machine)?;
            api.create(&PostParams::default(), &machine).await?;
            anyhow::Ok(())
        })
        .buffer_unordered(32)
        .try_collect()
        .await
        .context("create the TalosMachines")
}

/// Few at a time, and again where the webhook had no time: it reads every unfinished request for each new one.
async fn create_reclaims(client: &Client, cluster: &str, count: u16) -> Result<()> {
    let api: &Api<MachineReclaim> = &Api::namespaced(client.clone(), NAMESPACE);
    stream::iter(0..count)
        .map(|n| async move {
            let request: &MachineReclaim = &serde_json::from_value(reclaim(n, cluster))?;
            eventually("a MachineReclaim to be created", async || {
                match api.create(&PostParams::default(), request).await {
                    // One whose answer was lost is there already.
                    Err(kube::Error::Api(status)) if status.is_already_exists() => {}
                    created => drop(created?),
                }
                Ok(Some(()))
            })
            .await
        })
        .buffer_unordered(2)
        .try_collect()
        .await
}

/// Waits until every request was tried once: its condition says that the machine does not answer.
async fn tried(client: &Client) -> Result<()> {
    let api: Api<MachineReclaim> = Api::namespaced(client.clone(), NAMESPACE);
    within(
        Duration::from_mins(3),
        "every request to be tried",
        async || {
            let list = api.list(&ListParams::default()).await?;
            let waiting = |one: &MachineReclaim| {
                let status = one.status.as_ref();
                status.is_none_or(|status| status.conditions.is_empty())
            };
            Ok((!list.items.iter().any(waiting)).then_some(()))
        },
    )
    .await
}

/// Waits until a request was worked on, by the controller's own metrics.
async fn works(controller: &Controller) -> Result<()> {
    eventually("the controller to work", async || {
        let (_, metrics) = controller.get("/metrics").await?;
        let begun = metrics
            .lines()
            .any(|line| line.starts_with("controller_runtime_reconcile_total"));
        Ok(begun.then_some(()))
    })
    .await
}

/// Memory once it has not grown for ten seconds, or after a minute.
async fn settled(controller: &Controller) -> Result<Memory> {
    let begin = Instant::now();
    let (mut most, mut since) = (memory_of(controller)?, begin);
    while since.elapsed() < Duration::from_secs(10) && begin.elapsed() < Duration::from_mins(1) {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let now = memory_of(controller)?;
        if now.now > most.now + 0.5 {
            (most, since) = (now, Instant::now());
        }
    }
    memory_of(controller)
}

fn machine(number: u16, cluster: &str) -> Value {
    let uuid = format!("7c4c4544-{number:04x}-4310-8052-b4c04f463133");
    let [high, low] = number.to_be_bytes();
    json!({
        "apiVersion": "ichor.maesh.dev/v1alpha1", "kind": "TalosMachine",
        "metadata": {
            "name": uuid, "namespace": NAMESPACE,
            "labels": {"topology.kubernetes.io/zone": "eu-1a", "rack": format!("r{high}")},
            "annotations": {ichor_crds::REQUESTED_BY: "alice"},
        },
        "spec": {
            "clusterRef": {"name": cluster}, "approval": "Approved", "role": "worker",
            "identity": {
                "uuid": uuid, "serial": format!("SN{number:08}"),
                "macs": [format!("52:54:00:00:{high:02x}:{low:02x}"), format!("52:54:01:00:{high:02x}:{low:02x}")],
            },
            "endpoint": format!("10.8.{high}.{low}"), "hostname": format!("worker-{number}"),
            "install": {"disk": "/dev/sda"},
            "maintenanceFingerprint": "5MyYvGEYNLhaDCqSeI9zIZPmSsO3a7hQnaMsmcjM2aU=",
        },
    })
}

/// A request for an address below those of simulated nodes, where nobody listens.
fn reclaim(number: u16, cluster: &str) -> Value {
    let [high, low] = number.to_be_bytes();
    json!({
        "apiVersion": "ichor.maesh.dev/v1alpha1", "kind": "MachineReclaim",
        "metadata": {"name": format!("scale-{number}"), "namespace": NAMESPACE},
        "spec": {
            "address": format!("127.8.{high}.{low}"), "clusterRef": {"name": cluster}, "clusterCredentials": true,
        },
    })
}
