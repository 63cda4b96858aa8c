//! The CRDs as they lie in the repository.

use crate::cluster::Cluster;
use crate::removal::delete_crds;
use anyhow::{Context, Result, ensure};
use ichor_ground::eventually;

/// Applied and applied again, client-side and server-side; then every kind explains itself.
pub async fn apply_twice(cluster: &Cluster) -> Result<()> {
    let kubectl = &cluster.kubectl;
    let folder = ichor_ground::paths::workspace().join("crds/yaml");
    let folder = folder.to_str().context("a path that is UTF-8")?;
    for flags in [
        &["--server-side=false"][..],
        &["--server-side=false"],
        &["--server-side", "--force-conflicts"],
        &["--server-side"],
    ] {
        kubectl
            .run(&[&["apply", "-k", folder], flags].concat())
            .await?;
    }
    for (path, wanted) in [
        ("machinereclaim.spec.confirmUUID", "typed by a person"),
        (
            "talosmachine.spec.approval",
            "Pending, Approved or Rejected",
        ),
        ("taloscluster.spec.kubernetesAccess", "self"),
    ] {
        let said = eventually("kubectl explain", async || {
            let said = kubectl.try_run(&["explain", path]).await?;
            Ok(said.ok.then_some(said.out))
        })
        .await?;
        ensure!(said.contains(wanted), "{path}: {said}");
    }
    delete_crds(cluster).await
}
