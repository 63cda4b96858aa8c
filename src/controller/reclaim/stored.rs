//! Every request as the API server has it now: right before a machine is taken away a cache is not enough (FAULTS 18).
//!
//! A request that this version cannot decode, such as one of a newer version after a rollback, stops nobody (FAULTS 35), unless
//! its reset is recorded and it has not ended: then its machine may be on its way, and who would act on a machine waits.

use ichor_crds::{MachineReclaim, ReclaimPhase};
use kube::api::{ApiResource, DynamicObject, ListParams};
use kube::{Api, Client, ResourceExt};
use serde_json::Value;

/// Objects per page.
const PAGE: u32 = 500;

/// The requests of a namespace, whatever their shape.
pub type Requests = Api<DynamicObject>;

/// A request as it is stored.
#[derive(Debug)]
pub enum Stored {
    /// One that this version knows.
    Known(Box<MachineReclaim>),
    /// One that it cannot decode, and that may be in the middle of a reset.
    Unreadable(String),
}

/// The requests of a namespace.
pub fn requests(client: Client, namespace: &str) -> Requests {
    Api::namespaced_with(
        client,
        namespace,
        &ApiResource::erase::<MachineReclaim>(&()),
    )
}

/// All of them; what cannot be decoded and has no reset under way is left out.
pub async fn all(api: &Requests) -> Result<Vec<Stored>, kube::Error> {
    Ok(list(api).await?.into_iter().filter_map(read).collect())
}

/// All objects of a kind, page by page.
pub async fn list(api: &Api<DynamicObject>) -> Result<Vec<DynamicObject>, kube::Error> {
    let mut page = ListParams::default().limit(PAGE);
    let mut all = Vec::new();
    loop {
        let list = api.list(&page).await?;
        all.extend(list.items);
        match list.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => page.continue_token = Some(token),
            None => return Ok(all),
        }
    }
}

fn read(object: DynamicObject) -> Option<Stored> {
    let (name, acts) = (object.name_any(), may_act(&object.data["status"]));
    match object.try_parse::<MachineReclaim>() {
        Ok(request) => Some(Stored::Known(Box::new(request))),
        Err(_) => acts.then_some(Stored::Unreadable(name)),
    }
}

/// Whether a status of any shape may be that of a request whose reset is under way.
fn may_act(status: &Value) -> bool {
    let phase = serde_json::from_value::<ReclaimPhase>(status["phase"].clone());
    !status["reset"].is_null() && !phase.is_ok_and(ReclaimPhase::is_final)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_cannot_be_decoded_counts_while_its_reset_is_under_way() {
        for (what, status, counts) in [
            ("no status", json!(null), false),
            ("never recorded", json!({"phase": "Pondering"}), false),
            (
                "a phase of a newer version",
                json!({"phase": "Draining", "reset": {}}),
                true,
            ),
            ("no phase", json!({"reset": {"graceful": true}}), true),
            (
                "a phase that is no text",
                json!({"phase": 7, "reset": "yes"}),
                true,
            ),
            (
                "in the middle",
                json!({"phase": "Resetting", "reset": {}}),
                true,
            ),
            ("ended", json!({"phase": "Done", "reset": {}}), false),
        ] {
            let object = json!({
                "apiVersion": "ichor.maesh.dev/v1alpha1", "kind": "MachineReclaim",
                "metadata": {"name": "newer"}, "spec": {"address": 7}, "status": status,
            });
            let object = serde_json::from_value(object).expect("an object");
            let unreadable =
                matches!(read(object), Some(Stored::Unreadable(name)) if name == "newer");
            assert_eq!(unreadable, counts, "{what}");
        }
    }

    #[test]
    fn what_can_be_decoded_is() {
        let object = json!({
            "apiVersion": "ichor.maesh.dev/v1alpha1", "kind": "MachineReclaim",
            "metadata": {"name": "known"}, "spec": {"address": "10.5.0.7"},
        });
        let object = serde_json::from_value(object).expect("an object");
        assert!(matches!(read(object), Some(Stored::Known(_))));
    }
}
