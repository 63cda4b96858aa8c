//! What the controller does not do, why, and that it goes on by itself once the reason is gone (DESIGN sections 4, 5,
//! 6, 11 and 18; record 0060 in kind). Refusals of admission are in `admission.rs`, those of record 0136's sentences
//! (an approved machine, quorum, the last control plane) in `record_0136.rs`.

mod common;

use anyhow::{Result, ensure};
use common::{alice, ichor, world};
use ichor_crds::{MachineReclaimStatus, ReclaimPhase, conditions};
use ichor_ground::controller::NAMESPACE;
use ichor_ground::request::has_condition;
use ichor_ground::world::operator;
use ichor_ground::{ClusterSetup, Controller, GroundCluster, Request, World, eventually};
use ichor_simulator::pki::Algorithm;
use ichor_simulator::{Action, Defect, Fault, Timings};
use serde_json::json;

/// The message of the condition "Waiting", when its reason is `reason`.
fn waiting<'a>(status: &'a MachineReclaimStatus, reason: &str) -> Option<&'a str> {
    let mut conditions = status.conditions.iter();
    conditions
        .find(|c| c.type_ == conditions::WAITING && c.status == "True" && c.reason == reason)
        .map(|c| c.message.as_str())
}

/// Waits until the request waits for `reason` with all of `words` in the message.
async fn waits_for(
    request: &Request,
    reason: &str,
    words: &[&str],
) -> Result<MachineReclaimStatus> {
    let what = format!("the condition Waiting with {reason} and {words:?}");
    let says = |status: &MachineReclaimStatus| {
        waiting(status, reason).is_some_and(|text| words.iter().all(|word| text.contains(word)))
    };
    request.until(&what, says).await
}

/// FAULTS 29 and DESIGN section 5: each defect of a bundle is named, nothing is dialled, and the mended bundle is taken
/// up without anybody's help.
#[tokio::test]
async fn each_defect_of_a_bundle_is_named_and_mending_it_is_enough() -> Result<()> {
    let (world, alice) = (world().await?, alice().await?);
    let cluster = world
        .cluster(&ClusterSetup {
            control_planes: 0,
            ..ClusterSetup::new("defects")
        })
        .await?;
    let orphan = cluster.node("orphan-1")?;
    let part = "Talos API CA (certs.os)";
    let defects: [(Defect, &[&str]); 7] = [
        (Defect::NoCa, &[part, "has no"]),
        (
            Defect::CertificateAsKey,
            &[part, "is a certificate, not a private key"],
        ),
        (
            Defect::ExpiredCa,
            &[part, "expired at", "talosctl rotate-ca"],
        ),
        (
            Defect::FutureCa,
            &[part, "valid only from", "set the clock"],
        ),
        (
            Defect::KeyMismatch,
            &[part, "does not match the certificate"],
        ),
        (Defect::NotBase64, &[part, "is not base64"]),
        (Defect::NotPem, &[part, "is not PEM"]),
    ];
    cluster
        .replace_bundle(&cluster.bundle.with_defect(Defect::NoCa)?)
        .await?;
    let request = Request::create(&alice, orphan.address(), "defects").await?;
    for (defect, words) in defects {
        cluster
            .replace_bundle(&cluster.bundle.with_defect(defect)?)
            .await?;
        let status = waits_for(
            &request,
            conditions::reclaim::SECRETS_BUNDLE_UNAVAILABLE,
            words,
        )
        .await?;
        ensure!(
            format!("{status:?}").contains("defects-bundle"),
            "{status:?}"
        );
        ensure!(
            status.inspection.is_none() && !status.phase.is_final(),
            "{status:?}"
        );
    }
    cluster
        .kubectl()
        .run(&["delete", "secret", "defects-bundle", "-n", NAMESPACE])
        .await?;
    waits_for(
        &request,
        conditions::reclaim::SECRETS_BUNDLE_UNAVAILABLE,
        &["defects-bundle", "does not exist"],
    )
    .await?;
    ensure!(orphan.calls().is_empty(), "{:?}", orphan.calls());

    cluster.replace_bundle(&cluster.bundle.yaml()?).await?;
    request.inspected().await?;
    Ok(())
}

/// DESIGN section 5 and FAULTS 29 (talos#10668): ECDSA and RSA CAs work from the mint to the wiped machine.
#[tokio::test]
async fn clusters_with_ecdsa_and_rsa_authorities_are_reclaimed() -> Result<()> {
    let (world, alice) = (world().await?, alice().await?);
    for (name, os_ca) in [("ecdsa", Algorithm::Ecdsa), ("rsa", Algorithm::Rsa)] {
        let setup = ClusterSetup {
            os_ca,
            ..ClusterSetup::new(name)
        };
        let cluster = world.cluster(&setup).await?;
        let orphan = cluster.node("orphan-1")?;
        let request = Request::create(&alice, orphan.address(), name).await?;
        request.confirm_and_finish(orphan.uuid()).await?;
        ensure!(orphan.in_maintenance() && cluster.resets() == 1, "{name}");
    }
    Ok(())
}

/// DESIGN section 18, decision 15: a wrong UUID stays in `AwaitingConfirmation` with condition `UUIDMismatch`; so does
/// the same board's UUID in the other byte order (decision 9), and the right one goes on.
#[tokio::test]
async fn a_wrong_uuid_wipes_nothing_and_the_right_one_goes_on() -> Result<()> {
    let (world, alice) = (world().await?, alice().await?);
    let cluster = world.cluster(&ClusterSetup::new("typed")).await?;
    let orphan = cluster.node("orphan-1")?;
    let request = Request::create(&alice, orphan.address(), "typed").await?;
    request.inspected().await?;
    let swapped = orphan
        .uuid()
        .parse::<ichor_crds::SystemUuid>()?
        .swapped()
        .to_string();
    let wrong = ["4c4c4544-0042-3510-8052-b4c04f463133", &swapped];
    for (generation, wrong) in (2..).zip(wrong) {
        request.confirm(wrong).await?;
        let status = request
            .until("the mismatch to be told", |status| {
                has_condition(
                    status,
                    conditions::UUID_MISMATCH,
                    conditions::reclaim::UUID_MISMATCH,
                ) && status.observed_generation >= Some(generation)
            })
            .await?;
        ensure!(
            status.phase == ReclaimPhase::AwaitingConfirmation && status.reset.is_none(),
            "{status:?}"
        );
    }
    ensure!(cluster.resets() == 0, "a wrong UUID wiped something");
    request.confirm(orphan.uuid()).await?;
    let done = request.reaches(ReclaimPhase::Done).await?;
    ensure!(
        !has_condition(
            &done,
            conditions::UUID_MISMATCH,
            conditions::reclaim::UUID_MISMATCH
        ),
        "{done:?}"
    );
    ensure!(cluster.resets() == 1);
    Ok(())
}

/// DESIGN section 11: "other managed cluster's node refused". With the cluster's own credentials it cannot even be
/// dialled; a talosconfig that opens it does not help.
#[tokio::test]
async fn a_node_of_another_managed_cluster_is_refused_whatever_opens_it() -> Result<()> {
    let (world, alice) = (world().await?, alice().await?);
    let mine = world.cluster(&ClusterSetup::new("this")).await?;
    let other = world.cluster(&ClusterSetup::new("that")).await?;
    let stranger = other.node("orphan-1")?;
    let admin = mine.kubectl();
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "type": ichor_crds::TALOSCONFIG_SECRET_TYPE,
        "metadata": {"name": "opens-that", "namespace": NAMESPACE},
        "stringData": {"talosconfig": other.fleet.admin_talosconfig("that")?},
    });
    admin.apply(&secret.to_string()).await?;
    let spec = json!({"address": stranger.address().to_string(), "clusterRef": {"name": "this"}, "credentialSecretRef": {"name": "opens-that"}});
    let request = Request::of_spec(admin, &spec).await?;
    let refused = request.reaches(ReclaimPhase::Refused).await?;
    let text = refused.result.clone().unwrap_or_default();
    ensure!(
        text.contains("is a machine of cluster that, not of this")
            && text.contains("ichor machine reclaim")
            && text.contains("--cluster that"),
        "{text}"
    );

    let request = Request::create(&alice, stranger.address(), "this").await?;
    let refused = request.reaches(ReclaimPhase::Refused).await?;
    ensure!(refused.inspection.is_none(), "it was read: {refused:?}");
    ensure!(
        refused
            .result
            .is_some_and(|text| text.contains("did not sign"))
    );
    ensure!(other.resets() == 0 && mine.resets() == 0);
    Ok(())
}

/// DESIGN section 18, decision 15: unreachable before the record is tried again.
#[tokio::test]
async fn a_machine_without_power_is_waited_for() -> Result<()> {
    let (world, alice) = (world().await?, alice().await?);
    let cluster = world.cluster(&ClusterSetup::new("dark")).await?;
    let orphan = cluster.node("orphan-1")?;
    orphan.power_off();
    let request = Request::create(&alice, orphan.address(), "dark").await?;
    waits_for(
        &request,
        conditions::reclaim::UNREACHABLE,
        &[&orphan.address().to_string(), "port 50000"],
    )
    .await?;
    orphan.power_on();
    request.inspected().await?;
    // Also between the inspection and the reset.
    orphan.power_off();
    request.confirm(orphan.uuid()).await?;
    waits_for(&request, conditions::reclaim::UNREACHABLE, &["port 50000"]).await?;
    ensure!(cluster.resets() == 0);
    orphan.power_on();
    request.reaches(ReclaimPhase::Done).await?;
    ensure!(cluster.resets() == 1);
    Ok(())
}

/// DESIGN section 5: a cluster whose bundle cannot be read vouches for nobody. Its control plane is no stranger for that, which
/// would be wiped without the lock and with its Node left: it is waited for.
#[tokio::test]
async fn a_machine_of_a_cluster_whose_bundle_cannot_be_read_is_no_stranger() -> Result<()> {
    let world = world().await?;
    let setup = ClusterSetup {
        control_planes: 3,
        orphans: 0,
        orphan_control_planes: 1,
        ..ClusterSetup::new("unread")
    };
    let cluster = world.cluster(&setup).await?;
    let (admin, orphan) = (cluster.kubectl(), cluster.node("orphan-cp-1")?);
    let ready = [
        "wait",
        "taloscluster/unread",
        "-n",
        NAMESPACE,
        "--for=condition=Ready",
        "--timeout=60s",
    ];
    admin.run(&ready).await?;
    cluster.replace_bundle("garbage").await?;
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "type": ichor_crds::TALOSCONFIG_SECRET_TYPE,
        "metadata": {"name": "opens-unread", "namespace": NAMESPACE},
        "stringData": {"talosconfig": cluster.fleet.admin_talosconfig("unread")?},
    });
    admin.apply(&secret.to_string()).await?;
    let address = orphan.address().to_string();
    let pasted = json!({"address": address, "credentialSecretRef": {"name": "opens-unread"}});
    let request = Request::of_spec(admin, &pasted).await?;
    let unread = conditions::reclaim::SECRETS_BUNDLE_UNAVAILABLE;
    let status = waits_for(&request, unread, &["may belong to cluster unread"]).await?;
    ensure!(
        status.inspection.is_none() && cluster.resets() == 0,
        "{status:?}"
    );
    cluster.replace_bundle(&cluster.bundle.yaml()?).await?;
    let seen = request.inspected().await?;
    ensure!(
        seen.managed_cluster.as_deref() == Some("unread"),
        "{seen:?}"
    );
    Ok(())
}

/// DESIGN section 6: every call has a deadline, the handshake as well.
#[tokio::test]
async fn a_machine_that_hangs_is_given_up_and_tried_again() -> Result<()> {
    let (world, alice) = (world().await?, alice().await?);
    let cluster = world
        .cluster(&ClusterSetup {
            orphans: 2,
            ..ClusterSetup::new("hanging")
        })
        .await?;
    let (silent, stuck) = (cluster.node("orphan-1")?, cluster.node("orphan-2")?);
    silent.fault(Fault::always(Action::BlackHole));
    stuck.fault(Fault::always(Action::Hang));
    let first = Request::create(&alice, silent.address(), "hanging").await?;
    let second = Request::create(&alice, stuck.address(), "hanging").await?;
    waits_for(
        &first,
        conditions::reclaim::NOT_READY,
        &["accepted the connection and said nothing"],
    )
    .await?;
    let gave_up = |status: &MachineReclaimStatus| {
        [
            conditions::reclaim::NOT_READY,
            conditions::reclaim::UNREACHABLE,
        ]
        .iter()
        .any(|reason| waiting(status, reason).is_some())
    };
    second
        .until("the hanging call to be given up", gave_up)
        .await?;
    silent.clear_faults();
    stuck.clear_faults();
    first.inspected().await?;
    second.inspected().await?;
    Ok(())
}

/// FAULTS 28 (topf#27, talos#2889): certificates are backdated, so that minutes do not matter, and where hours do the
/// error names the clocks.
#[tokio::test]
async fn faults_28_a_clock_behind_or_ahead_is_named() -> Result<()> {
    let (world, alice) = (world().await?, alice().await?);
    let cluster = world.cluster(&ClusterSetup::new("clocks")).await?;
    let orphan = cluster.node("orphan-1")?;
    orphan.set_clock_offset(-3600).await?;
    let request = Request::create(&alice, orphan.address(), "clocks").await?;
    let words = [
        "the clock here is at",
        "compare the clocks",
        "talosctl time",
    ];
    waits_for(&request, conditions::reclaim::TALOS_CONNECT_FAILED, &words).await?;
    orphan.set_clock_offset(3 * 86_400).await?;
    let words = [
        "shows a certificate that is not valid now",
        "the node dated its own certificate",
        "compare the clocks",
    ];
    waits_for(&request, conditions::reclaim::TALOS_CONNECT_FAILED, &words).await?;
    // Eight minutes behind is within the ten by which a certificate is backdated.
    orphan.set_clock_offset(-480).await?;
    request.inspected().await?;
    Ok(())
}

/// FAULTS 17 (CACPPT#193): one of two members is refused although both are healthy.
#[tokio::test]
async fn faults_17_one_of_two_members_is_refused() -> Result<()> {
    let (world, alice) = (world().await?, alice().await?);
    let setup = ClusterSetup {
        orphans: 0,
        orphan_control_planes: 1,
        ..ClusterSetup::new("two")
    };
    let cluster = world.cluster(&setup).await?;
    let orphan = cluster.node("orphan-cp-1")?;
    let request = Request::create(&alice, orphan.address(), "two").await?;
    let refused = request.reaches(ReclaimPhase::Refused).await?;
    let text = refused.result.unwrap_or_default();
    ensure!(
        text.contains("--force") && text.contains("\"two\""),
        "{text}"
    );
    ensure!(cluster.resets() == 0);
    Ok(())
}

/// Record 0136, "The Kubernetes Node": an orphan that calls itself as another machine does has no Node of its own, and
/// the other's stays.
#[tokio::test]
async fn the_node_of_another_machine_with_the_same_hostname_stays() -> Result<()> {
    let (world, alice) = (world().await?, alice().await?);
    let setup = ClusterSetup {
        workers: 1,
        adjust: |node| {
            if node.name.ends_with("orphan-1") {
                node.hostname = Some("namesake-worker-1".to_owned());
                node.kubernetes_node.skip = true;
            }
        },
        ..ClusterSetup::new("namesake")
    };
    let cluster = world.cluster(&setup).await?;
    let orphan = cluster.node("orphan-1")?;
    let name = "namesake-worker-1";
    eventually("the worker's Node", async || {
        Ok(cluster.kubectl().run(&["get", "node", name]).await.ok())
    })
    .await?;
    let request = Request::create(&alice, orphan.address(), "namesake").await?;
    let seen = request.inspected().await?;
    ensure!(
        seen.node
            .as_ref()
            .is_some_and(|node| node.name == name && !node.matches),
        "{seen:?}"
    );
    let done = request.confirm_and_finish(orphan.uuid()).await?;
    ensure!(
        done.result
            .as_deref()
            .is_some_and(|text| text.contains("kubectl delete node namesake-worker-1")),
        "{done:?}"
    );
    cluster.kubectl().run(&["get", "node", name]).await?;
    ensure!(!cluster.node("worker-1")?.in_maintenance());
    Ok(())
}

/// DESIGN section 18, decision 3: "a reset is sent only at stage `running`".
#[tokio::test]
async fn a_reset_is_sent_only_at_stage_running() -> Result<()> {
    let (world, alice) = (world().await?, alice().await?);
    let timings = Timings {
        ready: 5000,
        ..Timings::default()
    };
    let cluster = world
        .cluster(&ClusterSetup {
            timings,
            ..ClusterSetup::new("booting")
        })
        .await?;
    let orphan = cluster.node("orphan-1")?;
    let request = Request::create(&alice, orphan.address(), "booting").await?;
    request.inspected().await?;
    orphan.power_off();
    request.confirm(orphan.uuid()).await?;
    waits_for(&request, conditions::reclaim::UNREACHABLE, &[]).await?;
    orphan.power_on();
    waits_for(
        &request,
        conditions::reclaim::NOT_READY,
        &["at stage booting", "only at stage running"],
    )
    .await?;
    ensure!(cluster.resets() == 0);
    request.reaches(ReclaimPhase::Done).await?;
    ensure!(cluster.resets() == 1);
    Ok(())
}

/// DESIGN section 18, decision 15 and FAULTS 11 (omni#888): who answers at the address after the consent is another
/// machine: nothing is sent.
#[tokio::test]
async fn faults_11_another_machine_at_the_address_after_consent_is_refused() -> Result<()> {
    let (world, alice) = (world().await?, alice().await?);
    let cluster = world
        .cluster(&ClusterSetup {
            orphans: 2,
            ..ClusterSetup::new("swapped")
        })
        .await?;
    let (orphan, other) = (cluster.node("orphan-1")?, cluster.node("orphan-2")?);
    let request = Request::create(&alice, orphan.address(), "swapped").await?;
    request.inspected().await?;
    let (first, second) = (orphan.address(), other.address());
    orphan.power_off();
    other.move_to(first).await?;
    orphan.move_to(second).await?;
    orphan.power_on();
    request.confirm(orphan.uuid()).await?;
    let refused = request.reaches(ReclaimPhase::Refused).await?;
    ensure!(
        has_condition(
            &refused,
            conditions::COMPLETE,
            conditions::reclaim::CHANGED_AFTER_CONSENT
        ),
        "{refused:?}"
    );
    ensure!(refused.result.is_some_and(
        |text| text.contains("answers as another machine") && text.contains("nothing was sent")
    ));
    ensure!(cluster.resets() == 0);
    Ok(())
}

/// DESIGN section 5: loopback addresses need `--allow-local-addresses`, for the webhook and for the controller.
#[tokio::test]
async fn local_addresses_are_not_dialled_unless_allowed() -> Result<()> {
    let (plane, mut options) = World::without_controller(ichor()).await?;
    options
        .flags
        .retain(|flag| flag != "--allow-local-addresses");
    let _controller = Controller::start(&plane, &options).await?;
    // An approved machine at such an address would be refused, too.
    let setup = ClusterSetup {
        control_planes: 0,
        ..ClusterSetup::new("local")
    };
    let cluster = GroundCluster::start(&plane, &plane, &setup).await?;
    let orphan = cluster.node("orphan-1")?;
    let alice = operator(&plane, "alice").await?;
    let refused = Request::create(&alice, orphan.address(), "local").await;
    let text = refused
        .err()
        .map(|error| error.to_string())
        .unwrap_or_default();
    ensure!(
        text.contains("spec.address: Invalid value") && text.contains("--allow-local-addresses"),
        "{text}"
    );

    for kind in [
        "validatingwebhookconfiguration",
        "mutatingwebhookconfiguration",
    ] {
        plane.kubectl().run(&["delete", kind, "ichor"]).await?;
    }
    let request = eventually("the webhook to be gone", async || {
        Ok(Request::create(&alice, orphan.address(), "local")
            .await
            .ok())
    })
    .await?;
    let refused = request.reaches(ReclaimPhase::Refused).await?;
    ensure!(
        has_condition(
            &refused,
            conditions::COMPLETE,
            conditions::reclaim::LOCAL_ADDRESS
        ),
        "{refused:?}"
    );
    ensure!(orphan.calls().is_empty());
    Ok(())
}
