//! Admission with everything in place: rules, policies, webhook, and a controller that inspects.

use crate::bare::{CAROL, EDITOR, WEBHOOK, accepted, audited, create, people, refused};
use crate::common::{alice, world};
use anyhow::{Context, Result, ensure};
use ichor_ground::controller::NAMESPACE;
use ichor_ground::{ClusterSetup, Request};
use serde_json::json;

/// With everything in place the answers are no less clear, whoever of the three gives them.
#[tokio::test]
async fn with_policies_and_rules_in_place_the_answers_are_as_clear() -> Result<()> {
    let world = world().await?;
    let admin = world.plane.kubectl();
    people(&admin).await?;
    let cluster = world.cluster(&ClusterSetup::new("judged")).await?;
    let address = cluster.node("orphan-1")?.address().to_string();
    let spec =
        json!({"address": address, "clusterRef": {"name": "judged"}, "clusterCredentials": true});
    let said = create(&admin, "judged", &spec, EDITOR).await?;
    refused(&said, "Error from server (Forbidden)")?;
    refused(&said, "verb \"reclaim\" on machinereclaims.ichor.maesh.dev")?;
    refused(&said, "ichor-operator")?;
    for (extra, why) in [
        (
            json!({"credentialSecretRef": {"name": "x"}}),
            "exactly one of credentialSecretRef and clusterCredentials",
        ),
        (
            json!({"clusterCredentials": null}),
            "exactly one of credentialSecretRef and clusterCredentials",
        ),
        (
            json!({"clusterRef": null}),
            "clusterCredentials needs clusterRef",
        ),
        (
            json!({"clusterRef": {"name": "jugded"}}),
            "Not found: \"jugded\"",
        ),
        (
            json!({"confirmUUID": "4c4c4544-0042-3510-8052-b4c04f463133"}),
            "consent follows inspection",
        ),
    ] {
        let mut changed = spec.clone();
        for (key, value) in extra.as_object().context("an object")? {
            changed[key] = value.clone();
        }
        refused(&create(&admin, "judged", &changed, CAROL).await?, why)?;
    }
    ensure!(
        cluster.node("orphan-1")?.calls().is_empty(),
        "a refused request dials nothing"
    );
    accepted(&create(&admin, "judged", &spec, CAROL).await?)
}

/// DESIGN section 4: `confirmUUID` follows the inspection, in any spelling of case; it "and the force flags are
/// immutable once they matched"; audit annotations carry the confirmed UUID.
#[tokio::test]
async fn consent_is_written_in_lower_case_audited_and_stands() -> Result<()> {
    let (world, alice) = (world().await?, alice().await?);
    let cluster = world.cluster(&ClusterSetup::new("consent")).await?;
    let orphan = cluster.node("orphan-1")?;
    // While the machine is not inspected there is nothing to consent to.
    orphan.power_off();
    let request = Request::create(&alice, orphan.address(), "consent").await?;
    let early = request.patch(json!({"confirmUUID": orphan.uuid()})).await?;
    refused(&early, "inspected")?;
    orphan.power_on();
    request.inspected().await?;
    let junk = request.patch(json!({"confirmUUID": "yes"})).await?;
    refused(
        &junk,
        "spec.confirmUUID: Invalid value: \"yes\": is not a UUID",
    )?;
    let wrong = request
        .patch(json!({"confirmUUID": "4c4c4544-0042-3510-8052-b4c04f463133"}))
        .await?;
    accepted(&wrong)?;
    ensure!(
        wrong.err.contains("is not the UUID of the machine"),
        "{wrong:?}"
    );
    // Frozen, so that the request stands still between consent and its end.
    orphan.fault(ichor_simulator::Fault::on(
        "Reset",
        ichor_simulator::Action::Hold,
    ));
    request.confirm(&orphan.uuid().to_uppercase()).await?;
    let spec = request.get().await?.spec;
    ensure!(
        spec.confirm_uuid.as_deref() == Some(orphan.uuid().to_lowercase().as_str()),
        "{spec:?}"
    );
    for (change, path) in [
        (
            json!({"confirmUUID": null}),
            "confirmUUID cannot change any more",
        ),
        (json!({"force": true}), "force cannot change any more"),
        (
            json!({"forceUngraceful": true}),
            "forceUngraceful cannot change any more",
        ),
    ] {
        refused(&request.patch(change).await?, path)?;
    }
    // What the CRD refuses, the webhook is not asked about: its last word is the consent.
    let audit = audited(world, "alice", &orphan.address().to_string()).await?;
    ensure!(
        audit[format!("{WEBHOOK}/decision")] == "allowed"
            && audit[format!("{WEBHOOK}/confirmed-uuid")] == orphan.uuid().to_lowercase(),
        "{audit}"
    );
    orphan.clear_faults();
    Ok(())
}

/// A machine has one volume of a name: a second TalosStorage for the same machines does not give it another.
#[tokio::test]
async fn a_machine_has_one_volume_of_a_name() -> Result<()> {
    let world = world().await?;
    let admin = world.plane.kubectl();
    let _cluster = world.cluster(&ClusterSetup::new("stores")).await?;
    let storage = |name: &str| {
        json!({
            "apiVersion": "ichor.maesh.dev/v1alpha1", "kind": "TalosStorage",
            "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": {
                "clusterRef": {"name": "stores"},
                "volumes": [{"name": "data", "diskSelector": {"match": "!system_disk"}, "minSize": "1GiB"}],
            },
        })
        .to_string()
    };
    accepted(&admin.pipe(&["create", "-f", "-"], &storage("one")).await?)?;
    let said = admin.pipe(&["create", "-f", "-"], &storage("two")).await?;
    refused(&said, "spec.volumes[0].name")
}

/// DESIGN section 4: what is in use is not deleted by mistake, and a restore names a backup that is there.
#[tokio::test]
async fn what_is_in_use_is_not_deleted_and_a_restore_names_a_backup() -> Result<()> {
    let world = world().await?;
    let admin = world.plane.kubectl();
    let cluster = world.cluster(&ClusterSetup::new("kept")).await?;
    let uuid = cluster.node("cp-1")?.uuid().to_lowercase();
    for (kind, name, why) in [
        (
            "talosmachine",
            uuid.as_str(),
            "is an approved machine of cluster kept and is not deleted: use ichor node remove",
        ),
        ("taloscluster", "kept", "has approved machines"),
    ] {
        let said = admin
            .try_run(&["delete", kind, name, "-n", NAMESPACE, "--dry-run=server"])
            .await?;
        refused(&said, why)?;
    }
    let abandon = [
        "annotate",
        "taloscluster",
        "kept",
        "-n",
        NAMESPACE,
        "ichor.maesh.dev/abandon=true",
    ];
    admin.run(&abandon).await?;
    let delete = [
        "delete",
        "taloscluster",
        "kept",
        "-n",
        NAMESPACE,
        "--dry-run=server",
    ];
    accepted(&admin.try_run(&delete).await?)?;
    let restore = json!({
        "apiVersion": "ichor.maesh.dev/v1alpha1", "kind": "TalosOperation",
        "metadata": {"generateName": "restore-", "namespace": NAMESPACE},
        "spec": {
            "clusterRef": {"name": "kept"}, "kind": "etcdRestore",
            "etcdRestore": {"backupRef": {"name": "nightly"}, "snapshot": "s1", "confirm": "kept"},
        },
    });
    let said = admin
        .pipe(&["create", "-f", "-"], &restore.to_string())
        .await?;
    refused(
        &said,
        "spec.etcdRestore.backupRef.name: Not found: \"nightly\"",
    )
}
