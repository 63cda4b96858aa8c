//! Kubernetes Nodes, kept as kubelets would keep them.

use std::sync::Arc;

use anyhow::Result;

use crate::fleet::Shared;
use crate::spec::ClusterSpec;

/// Keeps the Nodes of a cluster's machines while the fleet runs, if a kubeconfig is given.
#[allow(clippy::unused_async)]
pub async fn keep_nodes(_shared: &Arc<Shared>, _cluster: &ClusterSpec, _cluster_id: &str) -> Result<()> {
    Ok(())
}
