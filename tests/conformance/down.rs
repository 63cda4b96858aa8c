//! The webhook is down: what is refused, what goes on, what still judges (DESIGN section 4, "Without the webhook").

use crate::release::Release;
use crate::rules::people::{CAROL, RECORDER, accepted, refused};
use crate::rules::{Ask, ask, table};
use anyhow::Result;
use ichor_ground::kubectl::Said;
use serde_json::json;
use std::collections::BTreeSet;

/// Objects of others, in their own namespaces and in Ichor's.
const OTHERS: &str = r"
apiVersion: v1
kind: Secret
metadata: {name: conformance, namespace: default}
---
apiVersion: v1
kind: Secret
metadata: {name: conformance, namespace: ichor-system}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: conformance, namespace: ichor-system}
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: conformance, namespace: default}
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: conformance, namespace: ichor-system}
---
apiVersion: v1
kind: Node
metadata: {name: conformance}
---
apiVersion: v1
kind: Pod
metadata: {name: conformance, namespace: default}
spec: {containers: [{name: one, image: none}]}
";

/// Every object of Ichor is refused, and everything else is written, changed and deleted as ever.
pub async fn others(ichor: &Release<'_>) -> Result<()> {
    let kubectl = ichor.kubectl();
    every_kind_is_refused(ichor).await?;
    kubectl.apply(OTHERS).await?;
    kubectl
        .apply(&OTHERS.replace("name: conformance", "labels: {a: b}, name: conformance"))
        .await?;
    let delete = ["delete", "--wait=false", "-f", "-"];
    accepted(&kubectl.pipe(&delete, OTHERS).await?)
}

async fn every_kind_is_refused(ichor: &Release<'_>) -> Result<()> {
    let kinds: BTreeSet<_> = table::all().iter().map(|row| row.kind).collect();
    for kind in kinds {
        let example = Ask::Create(json!({}));
        let said = ask(ichor.kubectl(), kind, &example, &[]).await?;
        refused(&said, "failed calling webhook")?;
    }
    Ok(())
}

/// No replica is left: nothing is admitted unjudged, a status is the controller's all the same, and with the replicas
/// admission is back.
pub async fn and_back(ichor: &mut Release<'_>) -> Result<()> {
    ichor.scale(0).await?;
    every_kind_is_refused(ichor).await?;
    let change = Ask::Patch("running", json!({"spec": {"force": true}}));
    let said = ask(ichor.kubectl(), "MachineReclaim", &change, CAROL).await?;
    refused(&said, "failed calling webhook")?;
    let said = forged(ichor, &["--as=editor"]).await?;
    refused(&said, "may not write the status")?;
    accepted(&forged(ichor, RECORDER).await?)?;
    ichor.scale(2).await?;
    ichor.answers().await
}

/// Writes a status, without effect.
async fn forged(ichor: &Release<'_>, who: &[&str]) -> Result<Said> {
    let done = json!({"status": {"phase": "Done"}});
    let how = [&["--subresource=status", "--dry-run=server"], who].concat();
    ichor
        .kubectl()
        .merge("machinereclaim", "running", &done, &how)
        .await
}
