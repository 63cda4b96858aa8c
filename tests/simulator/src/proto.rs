//! The generated messages, and their descriptors for turning requests and answers into JSON.

use std::sync::LazyLock;

use prost_reflect::{DescriptorPool, DynamicMessage, MethodDescriptor, SerializeOptions};

#[allow(missing_docs, clippy::pedantic)]
pub mod common {
    include!(concat!(env!("OUT_DIR"), "/common.rs"));
}
#[allow(missing_docs, clippy::pedantic)]
pub mod machine {
    include!(concat!(env!("OUT_DIR"), "/machine.rs"));
}
#[allow(missing_docs, clippy::pedantic)]
pub mod storage {
    include!(concat!(env!("OUT_DIR"), "/storage.rs"));
}
#[allow(missing_docs, clippy::pedantic)]
pub mod cosi {
    include!(concat!(env!("OUT_DIR"), "/cosi.resource.rs"));
}
#[allow(missing_docs, clippy::pedantic)]
pub mod specs {
    include!(concat!(env!("OUT_DIR"), "/specs.rs"));
}

/// Descriptors of everything in `proto/`.
///
/// An empty pool is used should the embedded bytes not decode, which a unit test rules out.
pub static POOL: LazyLock<DescriptorPool> = LazyLock::new(|| {
    DescriptorPool::decode(&include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"))[..])
        .unwrap_or_default()
});

/// The method called by an HTTP path `/package.Service/Method`, if the simulator's subset has it.
pub fn method(path: &str) -> Option<MethodDescriptor> {
    let (service, method) = path.trim_start_matches('/').split_once('/')?;
    POOL.get_service_by_name(service)?
        .methods()
        .find(|candidate| candidate.name() == method)
}

/// The request bytes of a method as protobuf JSON with proto field names, as the recordings have them.
pub fn request_json(method: &MethodDescriptor, bytes: &[u8]) -> Option<serde_json::Value> {
    to_json(&DynamicMessage::decode(method.input(), bytes).ok()?)
}

/// One message of an answer as protobuf JSON with proto field names.
pub fn response_json(method: &MethodDescriptor, bytes: &[u8]) -> Option<serde_json::Value> {
    to_json(&DynamicMessage::decode(method.output(), bytes).ok()?)
}

fn to_json(message: &DynamicMessage) -> Option<serde_json::Value> {
    let options = SerializeOptions::new().use_proto_field_name(true);
    message
        .serialize_with_options(serde_json::value::Serializer, &options)
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_decode() {
        assert!(method("/machine.MachineService/Reset").is_some());
        assert!(method("/cosi.resource.State/Watch").is_some());
        assert!(method("/machine.MachineService/Nope").is_none());
    }
}
