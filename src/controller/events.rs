//! Kubernetes Events of Ichor: for what a person would want to know, repeated ones counted as a series.

use k8s_openapi::api::core::v1::ObjectReference;
use kube::api::ObjectMeta;
use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use kube::{Client, Resource};

/// Longest note the API server takes.
const NOTE_MAX: usize = 1000;

/// Writes Events. One that cannot be written is logged: an Event never stops the work it tells of.
#[derive(Clone)]
pub struct Events(Recorder);

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Events")
    }
}

impl Events {
    /// Events in the name of the process called `instance`.
    pub fn new(client: Client, instance: String) -> Self {
        let reporter = Reporter {
            controller: "ichor-controller".to_owned(),
            instance: Some(instance),
        };
        Self(Recorder::new(client, reporter))
    }

    /// Writes one Event about `regarding`.
    pub async fn publish(
        &self,
        regarding: &ObjectReference,
        warning: bool,
        reason: &str,
        note: &str,
    ) {
        let event = Event {
            type_: if warning {
                EventType::Warning
            } else {
                EventType::Normal
            },
            reason: reason.to_owned(),
            note: Some(note[..note.floor_char_boundary(NOTE_MAX)].to_owned()),
            action: reason.to_owned(),
            secondary: None,
        };
        if let Err(error) = self.0.publish(&event, regarding).await {
            tracing::warn!(%error, reason, "an Event could not be written");
        }
    }

    /// Tells that an object cannot be decoded.
    pub async fn undecodable<K: Resource<DynamicType = ()>>(&self, metadata: &ObjectMeta) {
        let name = metadata.name.clone().unwrap_or_default();
        let kind = K::kind(&()).into_owned();
        tracing::warn!(%kind, %name, "an object cannot be decoded");
        let regarding = ObjectReference {
            api_version: Some(K::api_version(&()).into_owned()),
            kind: Some(kind.clone()),
            name: Some(name.clone()),
            namespace: metadata.namespace.clone(),
            uid: metadata.uid.clone(),
            ..ObjectReference::default()
        };
        let note = format!(
            "this {kind} does not have the shape that this version of Ichor knows, so nothing is done for it; compare it with kubectl explain {kind}"
        );
        self.publish(&regarding, true, "Undecodable", &note).await;
    }
}
