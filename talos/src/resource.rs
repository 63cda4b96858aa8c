//! Resources of a node (COSI): got, listed and decoded.

use crate::connection::{Connection, MESSAGE_LIMIT};
use crate::error::{Class, Kind, TalosError};
use crate::proto::cosi::state_client::StateClient;
use crate::proto::cosi::{GetOptions, GetRequest, ListOptions, ListRequest, Resource, Spec};
use futures::TryStreamExt;
use serde::de::DeserializeOwned;

#[cfg(test)]
mod tests;

/// Where a resource type lives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Type {
    pub(crate) namespace: &'static str,
    pub(crate) name: &'static str,
}

/// Most resources of one type that are read: a node that never stops sending must not fill the memory.
const LIST_LIMIT: usize = 4096;

impl Connection {
    fn state(&self) -> StateClient<crate::connection::Wire> {
        StateClient::with_origin(self.wire(), self.origin())
            .max_decoding_message_size(MESSAGE_LIMIT)
    }

    /// One resource; `None` where the node has none, or does not know the type (older Talos).
    pub(crate) async fn get<S>(&self, kind: Type, id: &str) -> Result<Option<S>, TalosError>
    where
        S: prost::Message + Default + DeserializeOwned,
    {
        let request = GetRequest {
            namespace: kind.namespace.to_owned(),
            r#type: kind.name.to_owned(),
            id: id.to_owned(),
            options: Some(GetOptions {}),
        };
        let mut state = self.state();
        let call = self.call(kind.name, self.usual(), async {
            state.get(request).await.map(tonic::Response::into_inner)
        });
        match call.await {
            Ok(answer) => match answer.resource {
                Some(resource) => self.decode(kind, resource).map(|(_, spec)| Some(spec)),
                None => Ok(None),
            },
            Err(fault) if is_absent(&fault) => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    /// All resources of a type with their IDs; empty where the node does not know the type.
    pub(crate) async fn list<S>(&self, kind: Type) -> Result<Vec<(String, S)>, TalosError>
    where
        S: prost::Message + Default + DeserializeOwned,
    {
        let request = ListRequest {
            namespace: kind.namespace.to_owned(),
            r#type: kind.name.to_owned(),
            options: Some(ListOptions {}),
        };
        let mut state = self.state();
        let call = self.call(kind.name, self.usual(), async {
            let mut stream = state.list(request).await?.into_inner();
            let mut resources = Vec::new();
            while let Some(item) = stream.try_next().await? {
                resources.extend(item.resource);
                if resources.len() > LIST_LIMIT {
                    return Err(tonic::Status::data_loss("too many resources"));
                }
            }
            Ok(resources)
        });
        match call.await {
            Ok(resources) => resources
                .into_iter()
                .map(|resource| self.decode(kind, resource))
                .collect(),
            Err(fault) if is_absent(&fault) => Ok(Vec::new()),
            Err(fault) => Err(fault),
        }
    }

    /// The ID and the spec of a resource: its protobuf form, and the YAML form where that is all there is.
    fn decode<S>(&self, kind: Type, resource: Resource) -> Result<(String, S), TalosError>
    where
        S: prost::Message + Default + DeserializeOwned,
    {
        let id = resource.metadata.map(|metadata| metadata.id);
        let spec = resource.spec.unwrap_or_default();
        let decoded = read_spec(&spec);
        decoded
            .map(|spec| (id.unwrap_or_default(), spec))
            .map_err(|fault| self.garbled(kind.name).with_remote(fault))
    }

    /// The node answered something that is no answer to what was asked.
    pub(crate) fn garbled(&self, what: &str) -> TalosError {
        let address = self.address();
        TalosError::new(
            address,
            Class::Invalid,
            Kind::Garbled,
            format!("{address} answered what cannot be understood ({what})"),
        )
        .outcome_unknown()
    }
}

/// The protobuf form; an empty one is also how a spec of zeros looks, and then the YAML form says the same.
fn read_spec<S>(spec: &Spec) -> Result<S, String>
where
    S: prost::Message + Default + DeserializeOwned,
{
    if !spec.proto_spec.is_empty() {
        return S::decode(spec.proto_spec.as_slice()).map_err(|fault| fault.to_string());
    }
    if spec.yaml_spec.trim().is_empty() {
        return Ok(S::default());
    }
    serde_saphyr::from_str(&spec.yaml_spec).map_err(|fault| fault.to_string())
}

fn is_absent(fault: &TalosError) -> bool {
    // An Unsupported method would be an answer of a thing that is no Talos: only the type may be unknown.
    fault.class() == Class::Gone || fault.kind() == Kind::Unsupported
}
