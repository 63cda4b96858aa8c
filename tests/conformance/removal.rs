//! The end, as docs/install.md says: the release goes and the objects stay, then the namespace, then the CRDs.

use crate::cluster::Cluster;
use crate::release::Release;
use anyhow::{Result, ensure};
use ichor_ground::controller::NAMESPACE;
use ichor_ground::{Kubectl, eventually};
use std::collections::BTreeSet;

const LABEL: &str = "app.kubernetes.io/name=ichor";
/// What the chart makes in its namespace.
const INSIDE: &str = "deployments,replicasets,pods,services,configmaps,serviceaccounts,roles,rolebindings,\
                      networkpolicies,poddisruptionbudgets";
/// What anybody could make outside it.
const OUTSIDE: &str = "namespaces,customresourcedefinitions,clusterroles,clusterrolebindings,\
                       mutatingwebhookconfigurations,validatingwebhookconfigurations,validatingadmissionpolicies,\
                       validatingadmissionpolicybindings,priorityclasses,apiservices";

/// What is there of Ichor outside its namespace, and the namespace.
pub async fn left(cluster: &Cluster) -> Result<Vec<String>> {
    let all = names(&cluster.kubectl, &["get", OUTSIDE, "-o", "name"]).await?;
    Ok(all
        .into_iter()
        .filter(|name| name.contains("ichor"))
        .collect())
}

async fn names(kubectl: &Kubectl, args: &[&str]) -> Result<BTreeSet<String>> {
    let out = kubectl.run(args).await?;
    Ok(out.lines().map(str::to_owned).collect())
}

/// Takes Ichor away and looks for what is left at each step.
pub async fn removed(mut ichor: Release<'_>) -> Result<()> {
    let cluster = ichor.cluster;
    let kubectl = &cluster.kubectl;
    let objects = ["get", "ichor", "-n", NAMESPACE, "-o", "name"];
    let before = names(kubectl, &objects).await?;
    ichor.uninstall().await?;
    let now = names(kubectl, &objects).await?;
    ensure!(
        now == before,
        "the objects stay: {before:?}, and not {now:?}"
    );
    eventually("the release's own objects to go", async || {
        let inside = ["get", INSIDE, "-n", NAMESPACE, "-l", LABEL, "-o", "name"];
        let inside = names(kubectl, &inside).await?;
        ensure!(inside.is_empty(), "left in the namespace: {inside:?}");
        let kept = ["customresourcedefinition", "namespace", "apiservice"];
        let mut outside = left(cluster).await?;
        outside.retain(|name| !kept.iter().any(|kind| name.starts_with(kind)));
        ensure!(outside.is_empty(), "left outside it: {outside:?}");
        Ok(Some(()))
    })
    .await?;
    let crds = names(kubectl, &["get", "crd", "-l", LABEL, "-o", "name"]).await?;
    ensure!(crds.len() == 8, "the CRDs stay: {crds:?}");

    let namespace = ["delete", "namespace", NAMESPACE, "--timeout=2m"];
    kubectl.run(&namespace).await?;
    delete_crds(cluster).await?;
    eventually("nothing to be left", async || {
        let left = left(cluster).await?;
        ensure!(left.is_empty(), "{left:?}");
        Ok(Some(()))
    })
    .await
}

/// Deletes the CRDs and all objects with them.
pub async fn delete_crds(cluster: &Cluster) -> Result<()> {
    let kubectl = &cluster.kubectl;
    let all = left(cluster).await?;
    let crds = all
        .iter()
        .filter(|name| name.starts_with("customresourcedefinition"));
    let crds: Vec<&str> = crds.map(String::as_str).collect();
    // An API server that nobody has asked for a kind yet may leave its CRD for minutes: it lists the objects while it
    // is still starting their storage, fails, and does not notice that it has to try again.
    let kinds = crds.iter().filter_map(|name| name.rsplit('/').next());
    let kinds = kinds.collect::<Vec<_>>().join(",");
    eventually("every kind to be served", async || {
        let get = ["get", &kinds, "--all-namespaces", "-o", "name"];
        kubectl.run(&get).await.map(Some)
    })
    .await?;
    let delete = ["delete", "--timeout=2m"];
    if let Err(error) = kubectl.run(&[&delete, &crds[..]].concat()).await {
        let conditions =
            "jsonpath={range .items[*]}{.metadata.name}: {.status.conditions}{\"\\n\"}{end}";
        let left = kubectl.run(&["get", "crd", "-o", conditions]).await?;
        return Err(error.context(left));
    }
    Ok(())
}
