//! An address is where a machine was, not who it is.

use crate::common::{alice, world};
use crate::has_reason;
use anyhow::{Context, Result, ensure};
use ichor_crds::conditions::reclaim as reason;
use ichor_crds::{ReclaimPhase, TalosMachine};
use ichor_ground::controller::NAMESPACE;
use ichor_ground::{ClusterSetup, GroundCluster, Request, eventually};
use ichor_simulator::{Action, Fault, NodeHandle, NodeSpec, Stage, StartMode};
use ichor_talos::{Dialer, DialerOptions};
use serde_json::json;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

/// An address of the cluster's subnet that no node has.
fn spare(node: &NodeHandle, last: u8) -> IpAddr {
    match node.address() {
        IpAddr::V4(address) => {
            let [a, b, c, _] = address.octets();
            IpAddr::V4(Ipv4Addr::new(a, b, c, last))
        }
        v6 @ IpAddr::V6(_) => v6,
    }
}

/// FAULTS 11 (omni#888): two machines swap addresses between inspection and consent. Nothing is sent to either.
#[tokio::test]
async fn faults_11_swapped_addresses_between_look_and_consent_send_nothing() -> Result<()> {
    let (world, alice) = (world().await?, alice().await?);
    let setup = ClusterSetup {
        orphans: 2,
        ..ClusterSetup::new("swapped")
    };
    let cluster = world.cluster(&setup).await?;
    let (one, two) = (cluster.node("orphan-1")?, cluster.node("orphan-2")?);
    let (first, second) = (one.address(), two.address());
    let request = Request::create(&alice, first, "swapped").await?;
    request.inspected().await?;
    one.move_to(spare(&one, 100)).await?;
    two.move_to(first).await?;
    one.move_to(second).await?;
    request.confirm(one.uuid()).await?;
    let status = request.reaches(ReclaimPhase::Refused).await?;
    ensure!(
        has_reason(&status, reason::CHANGED_AFTER_CONSENT),
        "{status:?}"
    );
    ensure!(cluster.resets() == 0, "no reset was sent");
    Ok(())
}

/// FAULTS 11: the identity is read on the very connection that would act, each part of it counts, and no call that
/// changes anything is sent when it differs.
#[tokio::test]
async fn faults_11_another_identity_on_the_same_connection_sends_nothing() -> Result<()> {
    let (world, alice) = (world().await?, alice().await?);
    let setup = ClusterSetup {
        orphans: 3,
        ..ClusterSetup::new("answers-as")
    };
    let cluster = world.cluster(&setup).await?;
    let answers = [
        Action::AnswerAs {
            uuid: Some("11111111-2222-4333-8444-555555555555".to_owned()),
            serial: None,
            macs: None,
        },
        Action::AnswerAs {
            uuid: None,
            serial: Some("SN-ANOTHER".to_owned()),
            macs: None,
        },
        Action::AnswerAs {
            uuid: None,
            serial: None,
            macs: Some(vec!["02:00:00:00:00:99".to_owned()]),
        },
    ];
    for (short, answer) in ["orphan-1", "orphan-2", "orphan-3"]
        .into_iter()
        .zip(answers)
    {
        let node = cluster.node(short)?;
        let request = Request::create(&alice, node.address(), "answers-as").await?;
        request.inspected().await?;
        node.fault(Fault::always(answer));
        request.confirm(node.uuid()).await?;
        let status = request.reaches(ReclaimPhase::Refused).await?;
        ensure!(
            has_reason(&status, reason::CHANGED_AFTER_CONSENT),
            "{short}: {status:?}"
        );
        ensure!(status.reset.is_none() && cluster.resets() == 0, "{short}");
    }
    Ok(())
}

/// FAULTS 15 (CABPT 0044f9b, talos-operator#53, talos#13403): the whole story of a machine at an IPv6 address.
#[tokio::test]
async fn faults_15_a_machine_at_an_ipv6_address_is_reclaimed() -> Result<()> {
    let (world, alice) = (world().await?, alice().await?);
    let setup = ClusterSetup {
        adjust: |node| {
            if node.name.ends_with("orphan-1") {
                node.address = IpAddr::V6(std::net::Ipv6Addr::LOCALHOST);
            }
        },
        ..ClusterSetup::new("six")
    };
    let cluster = world.cluster(&setup).await?;
    let orphan = cluster.node("orphan-1")?;
    let request = Request::create(&alice, "::1", "six").await?;
    let seen = request.inspected().await?;
    ensure!(
        seen.warnings.iter().any(|text| text.contains("::1")),
        "{seen:?}"
    );
    request.confirm(orphan.uuid()).await?;
    request.reaches(ReclaimPhase::Done).await?;
    ensure!(orphan.in_maintenance() && cluster.resets() == 1);
    Ok(())
}

/// DESIGN section 18, decision 15: "A machine that returns at another address completes it when discovery sees the
/// same identity". FAULTS 16: a stranger that takes the old address meanwhile completes nothing.
#[tokio::test]
async fn decision_15_a_machine_that_returns_elsewhere_completes_it() -> Result<()> {
    let (world, alice) = (world().await?, alice().await?);
    let mut cluster = world.cluster(&ClusterSetup::new("moved")).await?;
    let orphan = cluster.node("orphan-1")?;
    let (old, new) = (orphan.address(), spare(&orphan, 101));
    let request = Request::create(&alice, old, "moved").await?;
    request.inspected().await?;
    request.confirm(orphan.uuid()).await?;
    while orphan.stage() == Stage::Running {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    orphan.move_to(new).await?;
    let stranger = cluster
        .fleet
        .add(NodeSpec {
            name: "moved-stranger".to_owned(),
            address: old,
            mode: StartMode::Maintenance,
            ..NodeSpec::default()
        })
        .await?;
    eventually(
        "the machine to be back and the stranger looked at",
        async || Ok((orphan.in_maintenance() && stranger.calls().len() > 4).then_some(())),
    )
    .await?;
    let status = request.status().await?;
    ensure!(
        status.phase == ReclaimPhase::AwaitingMaintenance,
        "the stranger is not the machine: {status:?}"
    );

    discover(&cluster, &orphan, new).await?;
    let done = request.reaches(ReclaimPhase::Done).await?;
    let result = done.result.unwrap_or_default();
    ensure!(result.contains(&new.to_string()), "{result}");
    ensure!(cluster.resets() == 1 && stranger.calls_of("Reset").is_empty());
    Ok(())
}

/// What discovery does when it sees a machine in maintenance mode: a pending TalosMachine with the fingerprint it saw.
async fn discover(cluster: &GroundCluster, node: &NodeHandle, address: IpAddr) -> Result<()> {
    let mut options = DialerOptions::new(std::sync::Arc::new(ichor::runtime::clock::now));
    options.allow_local_addresses = true;
    let connection = Dialer::new(options)
        .connect_maintenance(address, None)
        .await?;
    let fingerprint = connection
        .fingerprint()
        .context("a fingerprint")?
        .to_string();
    let uuid = node.uuid().to_lowercase();
    let machine = json!({
        "apiVersion": "ichor.maesh.dev/v1alpha1", "kind": "TalosMachine",
        "metadata": {"name": uuid, "namespace": NAMESPACE},
        "spec": {
            "approval": "Pending", "endpoint": address.to_string(),
            "identity": {"uuid": uuid, "serial": node.serial(), "macs": node.macs()},
        },
    });
    cluster.kubectl().apply(&machine.to_string()).await?;
    // Only the controller's account writes a status; discovery is part of it.
    let status = json!({"status": {"maintenanceFingerprint": fingerprint}});
    serde_json::from_value::<TalosMachine>(machine)?;
    let patch = [
        "patch",
        "talosmachine",
        &uuid,
        "-n",
        NAMESPACE,
        "--subresource=status",
        "--type=merge",
        "-p",
        &status.to_string(),
        "--as=system:serviceaccount:ichor-system:ichor-controller",
        "--as-group=system:masters",
    ];
    cluster.kubectl().run(&patch).await.map(drop)
}
