//! The rules of admission with everything in place that the chart installs: CRDs, policies, webhook, roles.

use crate::cluster::cannot_show;
use crate::release::Release;
use crate::rules::people::{CAROL, EDITOR, accepted, refused};
use crate::rules::{Ask, ask, spec, things, try_all};
use anyhow::{Result, ensure};
use ichor_ground::control_plane::asked_by;
use ichor_ground::{ControlPlane, eventually};
use serde_json::{Value, json};

const ACCOUNT: &str = "system:serviceaccount:ichor-system:ichor-controller";
const KIND: &str = "MachineReclaim";

/// Every row of docs/admission.md, through kubectl. Where a CRD or a policy has the rule as well, it may be the one that
/// answers.
pub async fn every_rule(ichor: &Release<'_>) -> Result<()> {
    for cluster in ["prod", "other"] {
        things::add_cluster(ichor.kubectl(), cluster).await?;
    }
    things::set_up(ichor.kubectl()).await?;
    let wrong = try_all(ichor.kubectl(), |row, said| {
        let webhook = refused(said, row.message);
        webhook.or_else(|error| refused(said, row.first.ok_or(error)?))
    })
    .await?;
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

/// What is asked and what was answered is in the API server's audit log, also of a dry run.
pub async fn audited(ichor: &Release<'_>) -> Result<()> {
    let Some(ground) = &ichor.cluster.ground else {
        cannot_show(
            "audit annotations",
            "the audit log of its API server is out of reach",
        );
        return Ok(());
    };
    let asks = |who, change| Ask::As(who, Box::new(Ask::Create(spec(change))));
    let forced = asks(CAROL, json!({"address": "10.50.1.1", "force": true}));
    accepted(&ask(ichor.kubectl(), KIND, &forced, &[]).await?)?;
    let nowhere = asks(
        CAROL,
        json!({"address": "10.50.1.2", "clusterRef": {"name": "prd"}}),
    );
    refused(
        &ask(ichor.kubectl(), KIND, &nowhere, &[]).await?,
        "Not found",
    )?;
    let unasked = asks(EDITOR, json!({"address": "10.50.1.3"}));
    refused(
        &ask(ichor.kubectl(), KIND, &unasked, &[]).await?,
        "Forbidden",
    )?;

    let plane = &ground.plane;
    for (address, key, want) in [
        ("10.50.1.1", "decision", "allowed"),
        ("10.50.1.1", "cluster", "prod"),
        ("10.50.1.1", "credential-source", "cluster"),
        ("10.50.1.1", "force", "true"),
        ("10.50.1.1", "force-ungraceful", "false"),
        ("10.50.1.2", "decision", "denied: Invalid"),
        ("10.50.1.2", "cluster", "prd"),
    ] {
        annotated(plane, "carol", &[("address", address), (key, want)]).await?;
    }
    // The policy answers before the webhook does, and has an annotation of its own.
    eventually("the policy's refusal in the audit log", async || {
        let failure = "validation.policy.admission.k8s.io/validation_failure";
        let found = plane.audit_events()?.into_iter().any(|event| {
            let said = event["annotations"][failure].as_str();
            said.is_some_and(|said| said.contains("may not reclaim the machine at 10.50.1.3"))
        });
        Ok(found.then_some(()))
    })
    .await
}

/// Waits for an audit event of a request of `user` with these annotations of the webhook.
pub async fn annotated(plane: &ControlPlane, user: &str, wanted: &[(&str, &str)]) -> Result<()> {
    let what = format!("an audit event of {user} with {wanted:?}");
    eventually(&what, async || {
        let found = plane.audit_events()?.into_iter().any(|event| {
            asked_by(&event) == Some(user)
                && wanted.iter().all(|(key, value)| {
                    event["annotations"][format!("machinereclaims.ichor.maesh.dev/{key}")] == *value
                })
        });
        Ok(found.then_some(()))
    })
    .await
}

/// The roles of the chart are what the controller needs: nothing it asked for was forbidden.
pub fn roles(ichor: &Release<'_>) -> Result<()> {
    let Some(ground) = &ichor.cluster.ground else {
        cannot_show(
            "that the controller's role suffices",
            "the audit log of its API server is out of reach",
        );
        return Ok(());
    };
    let events = ground.plane.audit_events()?;
    let own: Vec<&Value> = events
        .iter()
        .filter(|event| event["user"]["username"] == ACCOUNT)
        .collect();
    ensure!(own.len() > 50, "only {} requests of {ACCOUNT}", own.len());
    let forbidden: Vec<_> = own
        .iter()
        .filter(|event| event["annotations"]["authorization.k8s.io/decision"] == "forbid")
        .map(|event| format!("{} {}", event["verb"], event["requestURI"]))
        .collect();
    ensure!(forbidden.is_empty(), "forbidden: {forbidden:?}");
    Ok(())
}
