//! COSI resources, computed from a machine's state whenever somebody reads them.
//!
//! Each has both specs: protobuf with the field numbers of talos-api.md section 6, and YAML spelled as Talos spells it.

mod cluster;
mod network;
mod runtime;
mod storage;
pub mod types;

pub use network::mac_text;
pub use runtime::services;
pub use storage::volume_labels;

use std::collections::HashMap;

use prost::Message;
use prost_types::Timestamp;

use crate::lock;
use crate::node::Node;
use crate::proto::cosi as pb;

/// One resource before it has a version.
pub(crate) struct Draft {
    namespace: &'static str,
    kind: &'static str,
    id: String,
    owner: &'static str,
    labels: Vec<(&'static str, String)>,
    annotations: Vec<(&'static str, String)>,
    proto: Vec<u8>,
    yaml: String,
}

impl Draft {
    fn new(
        namespace: &'static str,
        kind: &'static str,
        id: &str,
        owner: &'static str,
        spec: &impl Message,
        yaml: String,
    ) -> Self {
        Self {
            namespace,
            kind,
            id: id.to_owned(),
            owner,
            labels: Vec::new(),
            annotations: Vec::new(),
            proto: spec.encode_to_vec(),
            yaml,
        }
    }
}

/// Version, times and last contents of each resource a machine has shown.
#[derive(Default)]
pub struct Versions(HashMap<(String, String), Shown>);

struct Shown {
    version: u64,
    created: Timestamp,
    updated: Timestamp,
    proto: Vec<u8>,
    yaml: String,
}

/// One resource, if the machine has it now.
pub fn get(node: &Node, namespace: &str, kind: &str, id: &str) -> Option<pb::Resource> {
    list(node, namespace, kind).into_iter().find(|resource| {
        resource
            .metadata
            .as_ref()
            .is_some_and(|metadata| metadata.id == id)
    })
}

/// All resources of a type, ordered by ID.
pub fn list(node: &Node, namespace: &str, kind: &str) -> Vec<pb::Resource> {
    let mut drafts: Vec<Draft> = match kind.split_once('.').map(|(plural, _)| plural) {
        Some(
            "SystemInformations" | "LinkStatuses" | "HardwareAddresses" | "NodeAddresses"
            | "AddressStatuses" | "HostnameStatuses",
        ) => network::drafts(node, kind),
        Some(
            "MachineConfigs" | "MachineTypes" | "Infos" | "Identities" | "Members" | "EtcdMembers"
            | "Nodenames" | "OSRootSecrets",
        ) => cluster::drafts(node, kind),
        Some("Disks" | "SystemDisks" | "DiscoveredVolumes" | "VolumeStatuses") => {
            storage::drafts(node, kind)
        }
        _ => runtime::drafts(node, kind),
    };
    drafts.retain(|draft| draft.namespace == namespace && draft.kind == kind);
    drafts.sort_by(|a, b| a.id.cmp(&b.id));
    drafts
        .into_iter()
        .map(|draft| publish(node, draft))
        .collect()
}

fn publish(node: &Node, draft: Draft) -> pb::Resource {
    let now = timestamp();
    let mut versions = lock(&node.versions);
    let shown = versions
        .0
        .entry((draft.kind.to_owned(), draft.id.clone()))
        .or_insert_with(|| Shown {
            version: 1,
            created: now,
            updated: now,
            proto: draft.proto.clone(),
            yaml: draft.yaml.clone(),
        });
    if shown.proto != draft.proto || shown.yaml != draft.yaml {
        shown.version += 1;
        shown.updated = now;
        shown.proto.clone_from(&draft.proto);
        shown.yaml.clone_from(&draft.yaml);
    }
    let texts = |pairs: Vec<(&str, String)>| {
        pairs
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value))
            .collect()
    };
    pb::Resource {
        metadata: Some(pb::Metadata {
            namespace: draft.namespace.to_owned(),
            r#type: draft.kind.to_owned(),
            id: draft.id,
            version: shown.version.to_string(),
            owner: draft.owner.to_owned(),
            phase: "running".to_owned(),
            created: Some(shown.created),
            updated: Some(shown.updated),
            finalizers: Vec::new(),
            labels: texts(draft.labels),
            annotations: texts(draft.annotations),
        }),
        spec: Some(pb::Spec {
            proto_spec: draft.proto,
            yaml_spec: draft.yaml,
        }),
    }
}

/// Now.
pub fn timestamp() -> Timestamp {
    let now = crate::clock::now();
    Timestamp {
        seconds: now.as_second(),
        nanos: now.subsec_nanosecond(),
    }
}
