//! The examples apply, list and explain themselves.

use crate::ground::{Ground, examples, folder};
use anyhow::{Context, Result, ensure};
use ichor_ground::eventually;

/// FAULTS 8 (kubebuilder#3370, kubernetes#121162): twice client-side and twice server-side; the second time changes nothing.
#[tokio::test]
async fn faults_8_every_example_applies_twice_both_ways() -> Result<()> {
    let ground = Ground::start().await?;
    let folder = folder("manifests/examples");
    let folder = folder.to_str().context("a path that is UTF-8")?;
    for (flags, changes) in [
        (&["--server-side=false"][..], "created"),
        (&["--server-side=false"], "unchanged"),
        (
            &["--server-side", "--force-conflicts"],
            "serverside-applied",
        ),
        (&["--server-side"], "serverside-applied"),
    ] {
        let apply = ["apply", "--recursive", "-f", folder];
        let said = ground.kubectl.run(&[&apply[..], flags].concat()).await?;
        ensure!(
            said.lines().all(|line| line.ends_with(changes)),
            "{flags:?}: {said}"
        );
    }
    listed(&ground).await?;
    explained(&ground).await?;
    selected(&ground).await
}

/// Every kind has an example, and its columns are those a person would choose.
async fn listed(ground: &Ground) -> Result<()> {
    for (short, columns) in [
        ("tc", "NAME ENDPOINT TALOS KUBERNETES READY AGE"),
        ("tm", "NAME HOSTNAME ROLE ADDRESS READY REASON AGE"),
        ("tcp", "NAME CLUSTER PRIORITY ROLE MACHINES READY AGE"),
        ("to", "NAME CLUSTER KIND MACHINE VERSION PHASE AGE"),
        (
            "teb",
            "NAME CLUSTER SCHEDULE SUSPEND LAST SUCCESS READY AGE",
        ),
        ("ts", "NAME CLUSTER PROVISIONED WAITING FAILED READY AGE"),
        ("mr", "NAME ADDRESS CLUSTER MACHINE PHASE AGE"),
        ("tar", "NAME CLUSTER ROLE REQUESTER APPROVAL READY AGE"),
    ] {
        let said = ground
            .kubectl
            .run(&["get", short, "-n", crate::ground::NAMESPACE])
            .await?;
        let header = said.lines().next().unwrap_or_default();
        let header: Vec<&str> = header.split_whitespace().collect();
        ensure!(header.join(" ") == columns, "{short}: {said}");
    }
    let all = ["get", "ichor", "-n", crate::ground::NAMESPACE, "-o", "name"];
    let said = ground.kubectl.run(&all).await?;
    ensure!(said.lines().count() == examples()?.len(), "{said}");
    let upgrades = ["get", "to", "-n", crate::ground::NAMESPACE];
    let said = ground.kubectl.run(&upgrades).await?;
    ensure!(
        said.contains("v1.14.3") && said.contains("v1.36.1"),
        "{said}"
    );
    Ok(())
}

/// `kubectl explain` says of a field what the field is, also where its type has a text of its own.
async fn explained(ground: &Ground) -> Result<()> {
    for (path, wanted) in [
        (
            "taloscluster.spec.driftPolicy",
            r#""correct" (default) or "warnOnly""#,
        ),
        ("taloscluster.spec.cni.handover", "node by node"),
        (
            "talosmachine.spec.maintenanceFingerprint",
            "the approver saw",
        ),
        ("talosconfigpatch.spec.patch", "strategic merge"),
        (
            "talosconfigpatch.spec.target.selector",
            "carries these labels",
        ),
        ("talosoperation.spec.kind", "replaceControlPlane"),
        ("talosoperation.spec.node.confirm", "the consent to wipe it"),
        ("talosoperation.status.machines.bootID", "another boot"),
        ("talosetcdbackup.spec.schedule", "five fields of cron"),
        (
            "talosstorage.spec.volumes.filesystem",
            "xfs (default) or ext4",
        ),
        ("machinereclaim.spec.confirmUUID", "typed by a person"),
        ("talosaccessrequest.spec.csr", "only the public key is used"),
    ] {
        let said = eventually("kubectl explain", async || {
            let said = ground.kubectl.try_run(&["explain", path]).await?;
            Ok(said.ok.then_some(said.out))
        })
        .await?;
        let words: Vec<&str> = said.split_whitespace().collect();
        ensure!(words.join(" ").contains(wanted), "{path}: {said}");
    }
    Ok(())
}

/// What admission asks for a few objects instead of all, such as a second reclaim of an address or UUID (DESIGN section 18,
/// decision 11).
async fn selected(ground: &Ground) -> Result<()> {
    for (kind, selector, found) in [
        ("mr", "spec.address=10.5.0.19", "old-worker-9"),
        (
            "mr",
            "spec.confirmUUID=4c4c4544-0042-3510-8052-b4c04f463133",
            "",
        ),
        (
            "tm",
            "spec.hostname=worker-7",
            "4c4c4544-0042-3510-8052-b4c04f463137",
        ),
        (
            "tm",
            "spec.endpoint=10.5.1.18",
            "4c4c4544-0042-3510-8052-b4c04f463138",
        ),
        ("tm", "spec.clusterRef.name=other", ""),
        ("to", "spec.clusterRef.name=other", ""),
    ] {
        let selector = format!("--field-selector={selector}");
        let list = [
            "get",
            kind,
            "-n",
            crate::ground::NAMESPACE,
            "-o",
            "name",
            &selector,
        ];
        let said = ground.kubectl.run(&list).await?;
        let name = said.trim().rsplit('/').next().unwrap_or_default();
        ensure!(name == found, "{kind} {selector}: {said}");
    }
    Ok(())
}
