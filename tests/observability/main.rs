//! DESIGN section 15: what can be seen of a controller from outside. One reclaim is done by a real process, and its
//! traces, logs and metrics are looked at after.

#[path = "../common/collector.rs"]
mod collector;
#[path = "../common/mod.rs"]
mod common;

mod exposition;
mod logs;
mod metrics;
mod silent;
mod traces;

use anyhow::{Context, Result};
use collector::Collector;
use ichor_crds::REQUEST_ID;
use ichor_ground::controller::{Controller, tail};
use ichor_ground::{ClusterSetup, GroundCluster, Request, World, eventually};
use kube::ResourceExt;
use opentelemetry_proto::tonic::trace::v1::Span;
use std::path::Path;
use tokio::net::TcpStream;
use tokio::sync::OnceCell;

/// What one reclaim left behind.
#[derive(Debug)]
struct Seen {
    /// The request IDs of the creation and of the confirmation.
    requests: [String; 2],
    spans: Vec<Span>,
    metrics: String,
    log: String,
}

async fn seen() -> Result<&'static Seen> {
    static SEEN: OnceCell<Seen> = OnceCell::const_new();
    SEEN.get_or_try_init(reclaim).await
}

/// Reclaims a machine; from its inspection on the logs are those of a debugger.
async fn reclaim() -> Result<Seen> {
    let (plane, options) = World::without_controller(common::ichor()).await?;
    let collector = Collector::start().await?;
    let mounted = plane.folder().join("logging");
    std::fs::create_dir(&mounted)?;
    let file = mounted.join("filter");
    let options = options
        .with("--log-format", "json")
        .with("--log-filter", "info")
        .with("--log-filter-file", file.to_str().context("UTF-8")?)
        .with("--otlp-endpoint", collector.url());
    let mut controller = Controller::start(&plane, &options).await?;
    // Somebody knocks at the webhook and goes.
    drop(TcpStream::connect(options.webhook).await?);
    let cluster = GroundCluster::start(&plane, &plane, &ClusterSetup::new("seen")).await?;
    let alice = ichor_ground::world::operator(&plane, "alice").await?;
    let orphan = cluster.node("orphan-1")?;

    let request = Request::create(&alice, orphan.address(), &cluster.name).await?;
    let created = request_id(&request).await?;
    request.inspected().await?;
    mount(&mounted, "1", "debug")?;
    says(&controller, "\"filter\":\"debug\"").await?;
    request.confirm(orphan.uuid()).await?;
    let confirmed = request_id(&request).await?;
    request.confirm_again(orphan.uuid(), &confirmed).await?;
    let done = request.reaches(ichor_crds::ReclaimPhase::Done).await;
    done.with_context(|| tail(&controller.log()))?;
    let (_, metrics) = controller.get("/metrics").await?;
    mount(&mounted, "2", "ichor=loudest")?;
    says(&controller, "the filter of the logs stays as it was").await?;
    std::fs::remove_file(&file)?;
    says(&controller, "\"filter\":\"info\"").await?;
    controller.terminate().await?;
    Ok(Seen {
        requests: [created, confirmed],
        spans: collector.spans(),
        metrics,
        log: controller.log(),
    })
}

/// Gives the file another content, as the kubelet does with a ConfigMap: by a link that is swapped.
fn mount(folder: &Path, version: &str, filter: &str) -> Result<()> {
    let content = folder.join(version);
    std::fs::write(&content, format!("{filter}\n"))?;
    let link = folder.join("next");
    std::os::unix::fs::symlink(&content, &link)?;
    std::fs::rename(&link, folder.join("filter"))?;
    Ok(())
}

async fn says(controller: &Controller, what: &str) -> Result<()> {
    eventually(&format!("the log to say {what}"), async || {
        Ok(controller.log().contains(what).then_some(()))
    })
    .await
}

async fn request_id(request: &Request) -> Result<String> {
    let object = request.get().await?;
    let id = object.annotations().get(REQUEST_ID);
    id.cloned().context("no request ID was recorded")
}

trait Again {
    /// Says the same once more: that is no new request.
    async fn confirm_again(&self, uuid: &str, request_id: &str) -> Result<()>;
}

impl Again for Request {
    async fn confirm_again(&self, uuid: &str, id: &str) -> Result<()> {
        self.confirm(&uuid.to_uppercase()).await?;
        anyhow::ensure!(request_id(self).await? == id, "another request ID");
        Ok(())
    }
}
