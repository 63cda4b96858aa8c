//! Record 0136, sentence by sentence, on a real API server, under the controller's own role, against simulated
//! nodes. `docs/records.md` lists which sentence each test stands for.

mod common;

use anyhow::{Context, Result, ensure};
use common::{alice, world};
use ichor_crds::{ReclaimPhase, conditions};
use ichor_ground::controller::NAMESPACE;
use ichor_ground::request::has_condition;
use ichor_ground::{ClusterSetup, Request, eventually};
use ichor_simulator::{KubernetesNode, Role};
use serde_json::json;

/// "a machine that carries the configuration of a cluster Ichor manages but has no approved TalosMachine (an orphan
/// …) is no longer refused by reclaim"; "once the machine is back in maintenance mode, deletes its Kubernetes Node".
#[tokio::test]
async fn an_orphan_is_wiped_and_its_node_deleted() -> Result<()> {
    let (world, alice) = (world().await?, alice().await?);
    let cluster = world.cluster(&ClusterSetup::new("orphan")).await?;
    let orphan = cluster.node("orphan-1")?;
    let (old_boot, old_identity) = (orphan.boot_id(), orphan.node_identity());
    wait_for_node(&cluster, "orphan-orphan-1").await?;

    let request = Request::create(&alice, orphan.address(), "orphan").await?;
    let seen = request.inspected().await?;
    ensure!(seen.refusals.is_empty(), "{seen:?}");
    ensure!(
        seen.managed_cluster.as_deref() == Some("orphan") && seen.identity.uuid == orphan.uuid(),
        "{seen:?}"
    );
    ensure!(
        seen.node.as_ref().is_some_and(|node| node.matches),
        "{seen:?}"
    );
    ensure!(
        cluster.resets() == 0,
        "nothing is sent before the UUID is typed"
    );

    request.confirm(orphan.uuid()).await?;
    let done = request.reaches(ReclaimPhase::Done).await?;
    ensure!(
        orphan.in_maintenance()
            && orphan.boot_id() != old_boot
            && orphan.node_identity() != old_identity
    );
    ensure!(cluster.resets() == 1, "exactly one reset");
    ensure!(!node_exists(&cluster, "orphan-orphan-1").await?, "{done:?}");
    ensure!(
        done.result
            .as_deref()
            .is_some_and(|text| text.contains("orphan-orphan-1")),
        "{done:?}"
    );
    ensure!(
        has_condition(&done, conditions::COMPLETE, conditions::reclaim::DONE),
        "{done:?}"
    );
    Ok(())
}

/// "graceful reset of STATE and EPHEMERAL, reboot into maintenance mode"; FAULTS 24: the request is exact.
#[tokio::test]
async fn the_reset_is_graceful_wipes_state_and_ephemeral_and_reboots() -> Result<()> {
    let (world, alice) = (world().await?, alice().await?);
    let cluster = world.cluster(&ClusterSetup::new("exact")).await?;
    let orphan = cluster.node("orphan-1")?;
    let request = Request::create(&alice, orphan.address(), "exact").await?;
    request.confirm_and_finish(orphan.uuid()).await?;
    let calls = orphan.calls_of("Reset");
    ensure!(calls.len() == 1, "{calls:?}");
    let wanted = json!({
        "graceful": true, "reboot": true,
        "system_partitions_to_wipe": [{"label": "STATE", "wipe": true}, {"label": "EPHEMERAL", "wipe": true}],
    });
    ensure!(calls[0].request == wanted, "{}", calls[0].request);
    ensure!(
        orphan.wiped() == ["STATE", "EPHEMERAL"],
        "{:?}",
        orphan.wiped()
    );
    Ok(())
}

/// "the controller dials the node with an os:admin credential built from the cluster's own secrets bundle";
/// "the credential is only used for the one address of the request".
#[tokio::test]
async fn only_the_one_address_is_dialled_as_os_admin() -> Result<()> {
    let (world, alice) = (world().await?, alice().await?);
    let setup = ClusterSetup {
        orphans: 2,
        workers: 1,
        ..ClusterSetup::new("one-address")
    };
    let cluster = world.cluster(&setup).await?;
    let (orphan, other) = (cluster.node("orphan-1")?, cluster.node("orphan-2")?);
    let request = Request::create(&alice, orphan.address(), "one-address").await?;
    request.confirm_and_finish(orphan.uuid()).await?;
    let reset = orphan.calls_of("Reset");
    ensure!(
        reset.len() == 1 && reset[0].subject == ["os:admin"],
        "{reset:?}"
    );
    ensure!(
        other.calls().is_empty(),
        "another orphan was called: {:?}",
        other.calls()
    );
    for short in ["worker-1", "cp-1"] {
        let calls = cluster.node(short)?.calls();
        ensure!(
            calls.iter().all(|call| call.subject != ["os:admin"]),
            "{short}: {calls:?}"
        );
    }
    Ok(())
}

/// "No Secret is written for such a request".
#[tokio::test]
async fn no_secret_is_written_for_cluster_credentials() -> Result<()> {
    let (world, alice) = (world().await?, alice().await?);
    let cluster = world.cluster(&ClusterSetup::new("no-secret")).await?;
    let orphan = cluster.node("orphan-1")?;
    Request::create(&alice, orphan.address(), "no-secret")
        .await?
        .confirm_and_finish(orphan.uuid())
        .await?;
    let names = cluster
        .kubectl()
        .run(&["get", "secrets", "-n", NAMESPACE, "-o", "name"])
        .await?;
    let strangers: Vec<&str> = names
        .lines()
        .filter(|name| {
            !name.ends_with("-bundle")
                && !name.ends_with("/ichor-webhook-tls")
                && !name.contains("pasted")
        })
        .collect();
    ensure!(strangers.is_empty(), "{strangers:?}");
    Ok(())
}

/// "A machine that still has an approved TalosMachine is refused with a pointer to Remove node"; "the approved
/// machine's refusal does not mention adopt".
#[tokio::test]
async fn an_approved_machine_is_refused_with_remove_node() -> Result<()> {
    let (world, alice) = (world().await?, alice().await?);
    let cluster = world
        .cluster(&ClusterSetup {
            workers: 1,
            ..ClusterSetup::new("approved")
        })
        .await?;
    let worker = cluster.node("worker-1")?;
    let request = Request::create(&alice, worker.address(), "approved").await?;
    let status = request.reaches(ReclaimPhase::Refused).await?;
    let text = status.result.clone().unwrap_or_default();
    ensure!(
        text.contains("Use Remove node") && text.contains("ichor node remove approved-worker-1"),
        "{text}"
    );
    ensure!(!format!("{status:?}").contains("adopt"), "{status:?}");
    ensure!(cluster.resets() == 0);
    Ok(())
}

/// "A pending or rejected TalosMachine of the UUID does not count".
#[tokio::test]
async fn pending_and_rejected_machines_do_not_count() -> Result<()> {
    let (world, alice) = (world().await?, alice().await?);
    let cluster = world
        .cluster(&ClusterSetup {
            orphans: 2,
            ..ClusterSetup::new("undecided")
        })
        .await?;
    for (short, approval) in [("orphan-1", "Pending"), ("orphan-2", "Rejected")] {
        cluster.register(short, approval).await?;
        let node = cluster.node(short)?;
        Request::create(&alice, node.address(), "undecided")
            .await?
            .confirm_and_finish(node.uuid())
            .await?;
        ensure!(node.in_maintenance(), "{short} ({approval})");
    }
    Ok(())
}

/// "For an orphan it adds a Warning that names the alternative which keeps the configuration"; "Reclaim never refuses
/// an orphan with a pointer to adopt".
#[tokio::test]
async fn the_warning_names_adopt_and_no_refusal_does() -> Result<()> {
    let (world, alice) = (world().await?, alice().await?);
    let cluster = world.cluster(&ClusterSetup::new("warned")).await?;
    let orphan = cluster.node("orphan-1")?;
    let seen = Request::create(&alice, orphan.address(), "warned")
        .await?
        .inspected()
        .await?;
    let wanted = format!(
        "ichor adopt --cluster warned --add-machine {}",
        orphan.address()
    );
    ensure!(
        seen.warnings
            .iter()
            .any(|warning| warning.contains(&wanted)),
        "{seen:?}"
    );
    ensure!(seen.refusals.is_empty(), "{seen:?}");
    Ok(())
}

/// "A machine that joined with the user's own talosctl apply-config is also an orphan by this definition".
#[tokio::test]
async fn a_machine_that_joined_by_itself_is_an_orphan() -> Result<()> {
    let (world, alice) = (world().await?, alice().await?);
    let setup = ClusterSetup {
        adjust: |node| {
            if node.name.ends_with("orphan-1") {
                node.mode = ichor_simulator::StartMode::Maintenance;
            }
        },
        ..ClusterSetup::new("joined")
    };
    let cluster = world.cluster(&setup).await?;
    let joined = cluster.node("orphan-1")?;
    let config = cluster
        .fleet
        .machine_config("joined", "joined-by-hand", Role::Worker)?;
    ichor_ground::oracle::apply(joined.address(), &config).await?;
    eventually("the machine to run its configuration", async || {
        Ok((joined.stage() == ichor_simulator::Stage::Running).then_some(()))
    })
    .await?;
    let seen = Request::create(&alice, joined.address(), "joined")
        .await?
        .inspected()
        .await?;
    ensure!(
        seen.managed_cluster.as_deref() == Some("joined") && seen.refusals.is_empty(),
        "{seen:?}"
    );
    Ok(())
}

/// "the inspection lists the volumes that are not wiped".
#[tokio::test]
async fn the_inspection_lists_the_volumes_that_are_not_wiped() -> Result<()> {
    let (world, alice) = (world().await?, alice().await?);
    let setup = ClusterSetup {
        adjust: |node| node.user_volumes = vec!["data".to_owned()],
        ..ClusterSetup::new("volumes")
    };
    let cluster = world.cluster(&setup).await?;
    let orphan = cluster.node("orphan-1")?;
    let seen = Request::create(&alice, orphan.address(), "volumes")
        .await?
        .inspected()
        .await?;
    ensure!(seen.wiped == ["STATE", "EPHEMERAL"], "{seen:?}");
    ensure!(
        seen.kept
            .iter()
            .any(|kept| format!("{kept:?}").contains("data")),
        "{seen:?}"
    );
    ensure!(
        seen.kept.iter().any(|kept| kept.name.contains("META")),
        "{seen:?}"
    );
    Ok(())
}

/// "a Node of that name with another UUID is left and the result says kubectl delete node NAME".
#[tokio::test]
async fn a_node_with_another_system_uuid_is_left_and_named() -> Result<()> {
    let (world, alice) = (world().await?, alice().await?);
    let setup = ClusterSetup {
        adjust: |node| {
            node.kubernetes_node = KubernetesNode {
                system_uuid: Some("11111111-2222-4333-8444-555555555555".to_owned()),
                ..KubernetesNode::default()
            };
        },
        ..ClusterSetup::new("stranger")
    };
    let cluster = world.cluster(&setup).await?;
    let orphan = cluster.node("orphan-1")?;
    wait_for_node(&cluster, "stranger-orphan-1").await?;
    let request = Request::create(&alice, orphan.address(), "stranger").await?;
    let done = request.confirm_and_finish(orphan.uuid()).await?;
    ensure!(node_exists(&cluster, "stranger-orphan-1").await?);
    ensure!(
        done.result
            .as_deref()
            .is_some_and(|text| text.contains("kubectl delete node stranger-orphan-1")),
        "{done:?}"
    );
    Ok(())
}

/// "A hostname that differs from the Kubernetes Node name (a custom nodeName) leaves the Node".
#[tokio::test]
async fn a_node_of_another_name_is_left() -> Result<()> {
    let (world, alice) = (world().await?, alice().await?);
    let setup = ClusterSetup {
        adjust: |node| {
            if node.name.ends_with("orphan-1") {
                node.kubernetes_node = KubernetesNode {
                    name: Some("custom-name".to_owned()),
                    ..KubernetesNode::default()
                };
            }
        },
        ..ClusterSetup::new("custom")
    };
    let cluster = world.cluster(&setup).await?;
    let orphan = cluster.node("orphan-1")?;
    wait_for_node(&cluster, "custom-name").await?;
    Request::create(&alice, orphan.address(), "custom")
        .await?
        .confirm_and_finish(orphan.uuid())
        .await?;
    ensure!(node_exists(&cluster, "custom-name").await?);
    Ok(())
}

/// "the controller dials the node only after the cluster named by clusterRef was found".
#[tokio::test]
async fn the_node_is_dialled_only_after_the_cluster_was_found() -> Result<()> {
    let (world, alice) = (world().await?, alice().await?);
    let cluster = world
        .cluster(&ClusterSetup {
            control_planes: 0,
            ..ClusterSetup::new("vanishing")
        })
        .await?;
    let orphan = cluster.node("orphan-1")?;
    cluster.replace_bundle("not a bundle").await?;
    let request = Request::create(&alice, orphan.address(), "vanishing").await?;
    request
        .until("the bundle to be missed", |status| {
            status
                .conditions
                .iter()
                .any(|c| c.reason == conditions::reclaim::SECRETS_BUNDLE_UNAVAILABLE)
        })
        .await?;
    cluster
        .kubectl()
        .run(&["delete", "taloscluster", "vanishing", "-n", NAMESPACE])
        .await?;
    cluster.replace_bundle(&cluster.bundle.yaml()?).await?;
    request
        .until("the cluster to be missed", |status| {
            status
                .conditions
                .iter()
                .any(|c| c.reason == conditions::reclaim::CLUSTER_NOT_FOUND)
        })
        .await?;
    ensure!(orphan.calls().is_empty(), "{:?}", orphan.calls());
    Ok(())
}

/// "A node that does not belong to that cluster cannot be dialled (its certificate is not signed by that CA)".
#[tokio::test]
async fn a_node_of_another_cluster_cannot_be_dialled() -> Result<()> {
    let (world, alice) = (world().await?, alice().await?);
    let cluster = world.cluster(&ClusterSetup::new("mine")).await?;
    let other = world.cluster(&ClusterSetup::new("theirs")).await?;
    let stranger = other.node("orphan-1")?;
    let request = Request::create(&alice, stranger.address(), "mine").await?;
    let status = request.reaches(ReclaimPhase::Refused).await?;
    let text = status.result.clone().unwrap_or_default();
    ensure!(text.contains("did not sign"), "{text}");
    ensure!(status.inspection.is_none(), "{status:?}");
    ensure!(stranger.calls().is_empty() && cluster.resets() == 0);
    Ok(())
}

/// "an orphan control plane still in etcd is assessed like any other: its members are read"; "the reset is graceful
/// when the cluster answers (leave etcd)"; "An orphan that is still a working member of its cluster … is reset gracefully".
#[tokio::test]
async fn an_orphan_control_plane_leaves_etcd_and_is_wiped() -> Result<()> {
    let (world, alice) = (world().await?, alice().await?);
    let setup = ClusterSetup {
        control_planes: 3,
        orphans: 0,
        orphan_control_planes: 1,
        ..ClusterSetup::new("leaving")
    };
    let cluster = world.cluster(&setup).await?;
    let orphan = cluster.node("orphan-cp-1")?;
    let request = Request::create(&alice, orphan.address(), "leaving").await?;
    let seen = request.inspected().await?;
    ensure!(
        seen.etcd_members.len() == 4 && seen.etcd_members.iter().all(|member| member.healthy),
        "{seen:?}"
    );
    request.confirm(orphan.uuid()).await?;
    request.reaches(ReclaimPhase::Done).await?;
    let members = cluster.fleet.etcd_members("leaving")?;
    ensure!(members.len() == 3, "the member left: {members:?}");
    ensure!(orphan.in_maintenance());
    Ok(())
}

/// "a removal that would break quorum … is refused unless --force and the typed cluster name"; FAULTS 17
/// (CACPPT#193, #179; omni#1995): a healthy member of three with one down.
#[tokio::test]
async fn faults_17_breaking_quorum_is_refused_unless_forced_by_name() -> Result<()> {
    let (world, alice) = (world().await?, alice().await?);
    let setup = ClusterSetup {
        control_planes: 2,
        orphans: 0,
        orphan_control_planes: 1,
        ..ClusterSetup::new("quorum")
    };
    let cluster = world.cluster(&setup).await?;
    let orphan = cluster.node("orphan-cp-1")?;
    cluster.node("cp-2")?.power_off();
    let refused = Request::create(&alice, orphan.address(), "quorum").await?;
    let status = refused.reaches(ReclaimPhase::Refused).await?;
    ensure!(
        status
            .result
            .as_deref()
            .is_some_and(|text| text.contains("quorum") && text.contains("--force")),
        "{status:?}"
    );

    let spec = json!({"address": orphan.address().to_string(), "clusterRef": {"name": "quorum"}, "clusterCredentials": true, "force": true});
    let forced = Request::of_spec(&alice, &spec).await?;
    forced.inspected().await?;
    forced.confirm(orphan.uuid()).await?;
    forced
        .until("the cluster's name to be asked for", |status| {
            format!("{status:?}").contains("confirmClusterName")
        })
        .await?;
    ensure!(cluster.resets() == 0, "force alone wipes nothing");
    let said = forced
        .patch(json!({"confirmClusterName": "quorum"}))
        .await?;
    ensure!(said.ok, "{said:?}");
    // etcd lets no member go that its quorum needs, and without leaving there is no graceful reset.
    let failed = forced.reaches(ReclaimPhase::Failed).await?;
    let text = failed.result.unwrap_or_default();
    ensure!(text.contains("forceUngraceful"), "{text}");
    ensure!(!orphan.in_maintenance() && cluster.resets() == 1);

    let spec = json!({"address": orphan.address().to_string(), "clusterRef": {"name": "quorum"}, "clusterCredentials": true,
        "force": true, "forceUngraceful": true});
    let forced = Request::of_spec(&alice, &spec).await?;
    forced.inspected().await?;
    let said = forced
        .patch(json!({"confirmUUID": orphan.uuid(), "confirmClusterName": "quorum"}))
        .await?;
    ensure!(said.ok, "{said:?}");
    let done = forced.reaches(ReclaimPhase::Done).await?;
    let result = done.result.unwrap_or_default();
    ensure!(result.contains("talosctl etcd remove-member"), "{result}");
    ensure!(orphan.in_maintenance() && cluster.resets() == 2);
    Ok(())
}

/// "a removal that would … remove the last control plane is refused unless --force and the typed cluster name".
#[tokio::test]
async fn the_last_control_plane_is_refused_unless_forced_by_name() -> Result<()> {
    let (world, alice) = (world().await?, alice().await?);
    let setup = ClusterSetup {
        control_planes: 0,
        orphans: 0,
        orphan_control_planes: 1,
        ..ClusterSetup::new("last")
    };
    let cluster = world.cluster(&setup).await?;
    let orphan = cluster.node("orphan-cp-1")?;
    let status = Request::create(&alice, orphan.address(), "last")
        .await?
        .reaches(ReclaimPhase::Refused)
        .await?;
    ensure!(
        status
            .result
            .as_deref()
            .is_some_and(|text| text.contains("last control plane") && text.contains("--force")),
        "{status:?}"
    );

    let spec = json!({"address": orphan.address().to_string(), "clusterRef": {"name": "last"}, "clusterCredentials": true, "force": true});
    let forced = Request::of_spec(&alice, &spec).await?;
    forced.inspected().await?;
    let said = forced
        .patch(json!({"confirmUUID": orphan.uuid(), "confirmClusterName": "last"}))
        .await?;
    ensure!(said.ok, "{said:?}");
    forced.reaches(ReclaimPhase::Done).await?;
    ensure!(orphan.in_maintenance() && cluster.resets() == 1);
    Ok(())
}

/// FAULTS 17: the dead may go. Record 0136: "A control plane whose cluster does not answer needs --force-ungraceful";
/// DESIGN section 11: the result names the member that stays and how to remove it.
#[tokio::test]
async fn a_control_plane_whose_cluster_does_not_answer_needs_force_ungraceful() -> Result<()> {
    let (world, alice) = (world().await?, alice().await?);
    let setup = ClusterSetup {
        control_planes: 3,
        orphans: 0,
        orphan_control_planes: 1,
        ..ClusterSetup::new("silent")
    };
    let cluster = world.cluster(&setup).await?;
    let orphan = cluster.node("orphan-cp-1")?;
    let member = orphan.etcd_member_id().context("a member")?;
    orphan.stop_etcd();
    let status = Request::create(&alice, orphan.address(), "silent")
        .await?
        .reaches(ReclaimPhase::Refused)
        .await?;
    ensure!(
        status
            .result
            .as_deref()
            .is_some_and(|text| text.contains("--force-ungraceful")),
        "{status:?}"
    );

    let spec = json!({"address": orphan.address().to_string(), "clusterRef": {"name": "silent"}, "clusterCredentials": true, "forceUngraceful": true});
    let done = Request::of_spec(&alice, &spec)
        .await?
        .confirm_and_finish(orphan.uuid())
        .await?;
    let result = done.result.clone().unwrap_or_default();
    ensure!(
        result.contains(&format!("{member:x}")) && result.contains("talosctl etcd remove-member"),
        "{result}"
    );
    let reset = orphan.calls_of("Reset");
    ensure!(
        reset.len() == 1 && reset[0].request.get("graceful").is_none(),
        "{reset:?}"
    );
    Ok(())
}

/// "Both kinds of credentials": a pasted talosconfig goes through "the same inspection, assessment, confirmation and
/// reset code"; the Node is deleted for "any reclaim whose inspected cluster ID is a managed cluster's, whichever
/// credential dialled it".
#[tokio::test]
async fn a_pasted_talosconfig_reclaims_the_same_and_deletes_the_node() -> Result<()> {
    let (world, alice) = (world().await?, alice().await?);
    let cluster = world.cluster(&ClusterSetup::new("pasted")).await?;
    let orphan = cluster.node("orphan-1")?;
    wait_for_node(&cluster, "pasted-orphan-1").await?;
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "ichor.maesh.dev/talosconfig",
        "metadata": {"name": "pasted", "namespace": NAMESPACE},
        "stringData": {"talosconfig": cluster.fleet.admin_talosconfig("pasted")?},
    });
    let admin = cluster.kubectl();
    admin.apply(&secret.to_string()).await?;
    let spec =
        json!({"address": orphan.address().to_string(), "credentialSecretRef": {"name": "pasted"}});
    let refused = Request::try_create(&alice, &spec).await?;
    ensure!(
        !refused.ok && refused.err.contains("get"),
        "alice may not get the Secret: {refused:?}"
    );
    admin
        .run(&[
            "create",
            "role",
            "get-pasted",
            "--verb=get",
            "--resource=secrets",
            "--resource-name=pasted",
            "-n",
            NAMESPACE,
        ])
        .await?;
    admin
        .run(&[
            "create",
            "rolebinding",
            "get-pasted",
            "--role=get-pasted",
            "--user=alice",
            "-n",
            NAMESPACE,
        ])
        .await?;
    let request = eventually("the right to take effect", async || {
        Ok(Request::of_spec(&alice, &spec).await.ok())
    })
    .await?;
    request.confirm_and_finish(orphan.uuid()).await?;
    ensure!(orphan.in_maintenance() && !node_exists(&cluster, "pasted-orphan-1").await?);
    Ok(())
}

/// "Who may ask is unchanged: the reclaim verb on machinereclaims, judged by the webhook"; "creates the request as the
/// user (the webhook checks the audit annotations)".
#[tokio::test]
async fn the_requester_is_recorded_and_cannot_be_forged() -> Result<()> {
    let (world, alice) = (world().await?, alice().await?);
    let cluster = world.cluster(&ClusterSetup::new("requester")).await?;
    let request = Request::create(&alice, cluster.node("orphan-1")?.address(), "requester").await?;
    let forged = format!("{}=mallory", ichor_crds::REQUESTED_BY);
    alice
        .run(&[
            "annotate",
            "--overwrite",
            "machinereclaim",
            &request.name,
            "-n",
            NAMESPACE,
            &forged,
        ])
        .await?;
    let annotations = request
        .get()
        .await?
        .metadata
        .annotations
        .unwrap_or_default();
    ensure!(
        annotations
            .get(ichor_crds::REQUESTED_BY)
            .map(String::as_str)
            == Some("alice"),
        "{annotations:?}"
    );
    Ok(())
}

/// "the request, its inspection and its audit stay in MachineReclaim status and Events as before"; DESIGN section 15: an
/// Event for what a person would want to know, each transition once.
#[tokio::test]
async fn the_inspection_and_the_events_stay() -> Result<()> {
    let (world, alice) = (world().await?, alice().await?);
    let cluster = world.cluster(&ClusterSetup::new("told")).await?;
    let orphan = cluster.node("orphan-1")?;
    let request = Request::create(&alice, orphan.address(), "told").await?;
    let done = request.confirm_and_finish(orphan.uuid()).await?;
    ensure!(
        done.inspection
            .is_some_and(|seen| seen.identity.uuid == orphan.uuid()),
        "the inspection is gone"
    );
    ensure!(done.reset.is_some() && done.completed_at.is_some());
    let wanted = [
        conditions::reclaim::INSPECTING,
        conditions::reclaim::AWAITING_CONFIRMATION,
        conditions::reclaim::RESETTING,
        conditions::reclaim::AWAITING_MAINTENANCE,
        conditions::reclaim::DONE,
    ];
    let get = ["get", "events.events.k8s.io", "-n", NAMESPACE, "-o", "json"];
    eventually("an Event for each transition", async || {
        let events: serde_json::Value = serde_json::from_str(&alice.run(&get).await?)?;
        let items = events["items"].as_array().cloned().unwrap_or_default();
        let of_it = items
            .iter()
            .filter(|event| event["regarding"]["name"] == request.name);
        let reasons: Vec<&str> = of_it.filter_map(|event| event["reason"].as_str()).collect();
        let each_once = |reason| reasons.iter().filter(|one| *one == reason).count() == 1;
        Ok(wanted.iter().all(each_once).then_some(()))
    })
    .await
}

/// DESIGN section 3, `kubernetesAccess: bundle`: the Node is deleted in another control plane, reached with an
/// administrator's certificate minted from the bundle's Kubernetes CA.
#[tokio::test]
async fn the_node_of_a_cluster_reached_by_its_bundle_is_deleted() -> Result<()> {
    let (world, alice) = (world().await?, alice().await?);
    let second =
        ichor_ground::ControlPlane::start(ichor_ground::pki::KubernetesCa::generate()?).await?;
    let setup = ClusterSetup {
        access: "bundle",
        ..ClusterSetup::new("remote")
    };
    let cluster = ichor_ground::GroundCluster::start(&world.plane, &second, &setup).await?;
    let orphan = cluster.node("orphan-1")?;
    eventually("the Node in the other control plane", async || {
        Ok(second
            .kubectl()
            .run(&["get", "node", "remote-orphan-1"])
            .await
            .ok())
    })
    .await?;
    Request::create(&alice, orphan.address(), "remote")
        .await?
        .confirm_and_finish(orphan.uuid())
        .await?;
    let left = second
        .kubectl()
        .run(&["get", "nodes", "-o", "name"])
        .await?;
    ensure!(
        left.contains("remote-cp-1") && !left.contains("remote-orphan-1"),
        "{left}"
    );
    Ok(())
}

/// DESIGN section 18, decision 12: `self` is refused when the API server's root CA is not the bundle's.
#[tokio::test]
async fn self_access_is_refused_when_the_root_ca_is_not_the_bundles() -> Result<()> {
    let (world, alice) = (world().await?, alice().await?);
    let second =
        ichor_ground::ControlPlane::start(ichor_ground::pki::KubernetesCa::generate()?).await?;
    let setup = ClusterSetup {
        access: "self",
        orphans: 2,
        ..ClusterSetup::new("not-self")
    };
    let cluster = ichor_ground::GroundCluster::start(&world.plane, &second, &setup).await?;
    let nodes = [cluster.node("orphan-1")?, cluster.node("orphan-2")?];
    let mut requests = Vec::new();
    for orphan in &nodes {
        // A Node of the same name and system UUID here, where the cluster is not, must survive.
        cluster
            .kubectl()
            .create_node(orphan.name(), orphan.uuid())
            .await?;
        let request = Request::create(&alice, orphan.address(), "not-self").await?;
        let seen = request.inspected().await?;
        ensure!(seen.node.is_none(), "{seen:?}");
        let warned = |warning: &String| warning.contains("kubernetesAccess");
        ensure!(seen.warnings.iter().any(warned), "{seen:?}");
        request.confirm(orphan.uuid()).await?;
        requests.push(request);
    }
    for request in &requests {
        request
            .until("the Node to be missed", |status| {
                let mut all = status.conditions.iter();
                all.any(|one| one.reason == conditions::reclaim::KUBERNETES_UNAVAILABLE)
            })
            .await?;
    }
    // Configured anew before its Node could be looked at: it was wiped all the same.
    let config = cluster
        .fleet
        .machine_config("not-self", "not-self-orphan-2", Role::Worker)?;
    ichor_ground::oracle::apply(nodes[1].address(), &config).await?;
    for (request, orphan) in requests.iter().zip(&nodes) {
        let done = request.reaches(ReclaimPhase::Done).await?;
        let wanted = format!("kubectl delete node {}", orphan.name());
        let result = done.result.unwrap_or_default();
        ensure!(result.contains(&wanted), "{result}");
        ensure!(node_exists(&cluster, orphan.name()).await?);
    }
    ensure!(cluster.resets() == 2 && !nodes[1].in_maintenance());
    Ok(())
}

async fn node_exists(cluster: &ichor_ground::GroundCluster, name: &str) -> Result<bool> {
    let said = cluster
        .kubectl()
        .try_run(&["get", "node", name, "-o", "name"])
        .await?;
    ensure!(said.ok || said.err.contains("NotFound"), "{said:?}");
    Ok(said.ok)
}

async fn wait_for_node(cluster: &ichor_ground::GroundCluster, name: &str) -> Result<()> {
    eventually(&format!("Node {name}"), async || {
        Ok(node_exists(cluster, name).await?.then_some(()))
    })
    .await
}
