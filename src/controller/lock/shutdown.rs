//! The mark of a cluster's shutdown (record 0067, decision 3): derived, not stored, so that nothing can leave it stale, and
//! deleting the operation is the way out of a shutdown that cannot finish. Read live, and whatever its shape: an operation of
//! a newer version is a mark all the same.

use super::Purpose;
use crate::controller::reclaim::stored;
use ichor_crds::{OperationPhase, TalosOperation};
use kube::api::{ApiResource, DynamicObject};
use kube::{Api, Client, ResourceExt};
use serde_json::json;

/// The operations of a namespace, whatever their shape.
pub(super) type Operations = Api<DynamicObject>;

pub(super) fn operations(client: Client, namespace: &str) -> Operations {
    Api::namespaced_with(
        client,
        namespace,
        &ApiResource::erase::<TalosOperation>(&()),
    )
}

/// The shutdown of `cluster` that has not completed, if there is one and it is not `purpose` itself.
pub(super) async fn mark(
    api: &Operations,
    purpose: &Purpose,
    cluster: &str,
) -> Result<Option<String>, kube::Error> {
    let all = stored::list(api).await?;
    let found = all.iter().find(|operation| {
        operation.metadata.uid.as_deref() != Some(purpose.uid.as_str())
            && is_mark(operation, cluster)
    });
    Ok(found.map(|operation| format!("talosoperation/{}", operation.name_any())))
}

/// "a TalosOperation of kind shutdown on the cluster whose phase is not Completed".
fn is_mark(operation: &DynamicObject, cluster: &str) -> bool {
    let (spec, status) = (&operation.data["spec"], &operation.data["status"]);
    spec["kind"] == "shutdown"
        && spec["clusterRef"]["name"] == cluster
        && status["phase"] != json!(OperationPhase::Completed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn record_0067_a_shutdown_that_is_not_completed_is_the_mark() {
        let of = |kind: &str, cluster: &str, status: Value| {
            json!({
                "apiVersion": "ichor.maesh.dev/v1alpha1", "kind": "TalosOperation", "metadata": {"name": "stop"},
                "spec": {"kind": kind, "clusterRef": {"name": cluster}}, "status": status,
            })
        };
        for (what, operation, want) in [
            ("not begun", of("shutdown", "prod", json!(null)), true),
            (
                "under way",
                of("shutdown", "prod", json!({"phase": "InProgress"})),
                true,
            ),
            (
                "paused",
                of("shutdown", "prod", json!({"phase": "Paused"})),
                true,
            ),
            (
                "stopped",
                of("shutdown", "prod", json!({"phase": "ShutDown"})),
                true,
            ),
            (
                "of a newer version",
                of("shutdown", "prod", json!({"phase": "Waking"})),
                true,
            ),
            (
                "completed",
                of("shutdown", "prod", json!({"phase": "Completed"})),
                false,
            ),
            (
                "another cluster's",
                of("shutdown", "stage", json!(null)),
                false,
            ),
            (
                "another kind",
                of("talosUpgrade", "prod", json!(null)),
                false,
            ),
        ] {
            let operation = serde_json::from_value(operation).expect("an object");
            assert_eq!(is_mark(&operation, "prod"), want, "{what}");
        }
    }
}
