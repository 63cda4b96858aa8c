//! TalosClusters: whether their secrets bundle can be read, and the cluster ID in it.
//!
//! `observe` is one read of the object and its bundle, `status` is pure.

use crate::controller::clusters::CredentialUnavailable;
use crate::controller::context::Context;
use crate::runtime::clock;
use ichor_crds::conditions::{READY, cluster as reason};
use ichor_crds::{TalosCluster, TalosClusterStatus, condition};
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;
use kube::api::PostParams;
use std::time::Duration;
use tracing::Instrument as _;

/// How often a bundle that is fine is read again: Secrets are not watched, so that no right to list them is needed.
const AGAIN: Duration = Duration::from_mins(10);

/// Reconciles the cluster of a name.
///
/// # Errors
/// What is transient.
pub async fn reconcile(context: &Context, name: &str) -> anyhow::Result<Option<Duration>> {
    let Some(cluster) = context.clusters.named(name) else {
        return Ok(None);
    };
    let request_id = ichor_crds::request_id(&cluster);
    let span = tracing::info_span!("cluster", request_id, cluster = name);
    check(context, cluster).instrument(span).await
}

async fn check(context: &Context, cluster: TalosCluster) -> anyhow::Result<Option<Duration>> {
    let now = clock::now();
    let sound = match context.clusters.managed(cluster.clone()).await {
        Ok(managed) => managed
            .bundle
            .os_ca(now)
            .map(|_| managed.bundle.cluster_id().to_owned())
            .map_err(|defect| format!("Secret {}: {defect}", cluster.spec.secrets_bundle_ref.name)),
        Err(CredentialUnavailable::Kubernetes(error)) => return Err(error.into()),
        Err(error) => Err(error.to_string()),
    };
    let again = if sound.is_ok() {
        AGAIN
    } else {
        context.settings.recheck
    };
    let Some(status) = status(&cluster, &sound, now) else {
        return Ok(Some(again));
    };
    let mut changed = cluster;
    changed.status = Some(status);
    let name = changed.name_any();
    context
        .cluster_statuses
        .replace_status(&name, &PostParams::default(), &changed)
        .await?;
    Ok(Some(again))
}

/// The status to write; `None` when it says nothing new.
fn status(
    cluster: &TalosCluster,
    sound: &Result<String, String>,
    now: Timestamp,
) -> Option<TalosClusterStatus> {
    let old = cluster.status.clone().unwrap_or_default();
    let mut new = old.clone();
    let generation = cluster.metadata.generation;
    new.observed_generation = generation;
    let (ready, reason, message) = match sound {
        Ok(id) => {
            new.cluster_id = Some(id.clone());
            (true, reason::READY, "the secrets bundle is readable")
        }
        Err(why) => (false, reason::SECRETS_BUNDLE_UNAVAILABLE, why.as_str()),
    };
    // A defect that names the time of day is the same defect a moment later.
    let known = old
        .conditions
        .iter()
        .find(|condition| condition.type_ == READY);
    let message = match known {
        Some(known) if known.reason == reason && timeless(&known.message) == timeless(message) => {
            &known.message
        }
        _ => message,
    };
    condition(
        &mut new.conditions,
        READY,
        ready,
        reason,
        message,
        generation,
        now,
    );
    (new != old).then_some(new)
}

fn timeless(message: &str) -> String {
    message.chars().filter(|c| !c.is_ascii_digit()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cluster() -> TalosCluster {
        let spec = serde_json::json!({
            "endpoint": "https://10.5.0.2:6443", "talosVersion": "v1.14.3", "kubernetesVersion": "v1.36.1",
            "secretsBundleRef": {"name": "prod-bundle"}, "kubernetesAccess": "self",
        });
        TalosCluster::new("prod", serde_json::from_value(spec).expect("a spec"))
    }

    #[test]
    fn faults_33_a_steady_state_writes_nothing() {
        let mut cluster = cluster();
        let at = |second| Timestamp::from_second(second).expect("a time");
        for (sound, again) in [
            (Ok("id".to_owned()), Ok("id".to_owned())),
            (
                Err("the CA expired; it is 10:00:01".to_owned()),
                Err("the CA expired; it is 10:00:59".to_owned()),
            ),
        ] {
            let written = status(&cluster, &sound, at(1)).expect("something new");
            assert_eq!(
                written.cluster_id.as_deref(),
                Some("id"),
                "a known ID stays"
            );
            cluster.status = Some(written);
            assert_eq!(status(&cluster, &again, at(99)), None);
        }
    }
}
