//! Both forms of a spec say the same: checked with what real machines answered (`tests/golden/resources.jsonl`,
//! taken from recordings of Talos 1.14).

use super::*;
use crate::proto::specs;
use base64::Engine;
use serde::Deserialize;
use std::fmt::Debug;

#[derive(Deserialize)]
struct Recorded {
    r#type: String,
    id: String,
    proto: String,
    yaml: String,
}

fn both<S>(recorded: &Recorded)
where
    S: prost::Message + Default + DeserializeOwned + PartialEq + Debug,
{
    let proto_spec = base64::engine::general_purpose::STANDARD
        .decode(&recorded.proto)
        .expect("base64");
    let proto: S = S::decode(proto_spec.as_slice()).expect("protobuf");
    let yaml: S = read_spec(&Spec {
        proto_spec: Vec::new(),
        yaml_spec: recorded.yaml.clone(),
    })
    .expect("YAML");
    assert_eq!(proto, yaml, "{} {}", recorded.r#type, recorded.id);
}

#[test]
fn the_yaml_form_stands_in_for_the_protobuf_form() {
    let text = include_str!("../../tests/golden/resources.jsonl");
    let mut count = 0;
    for line in text.lines() {
        let recorded: Recorded = serde_saphyr::from_str(line).expect(line);
        match recorded.r#type.split('.').next().expect("a type") {
            "BootIDs" => both::<specs::BootId>(&recorded),
            "EtcdMembers" => both::<specs::EtcdMember>(&recorded),
            "HostnameStatuses" => both::<specs::HostnameStatus>(&recorded),
            "Infos" => both::<specs::ClusterInfo>(&recorded),
            "LinkStatuses" => both::<specs::LinkStatus>(&recorded),
            "MachineStatuses" => both::<specs::MachineStatus>(&recorded),
            "MachineTypes" => both::<specs::MachineType>(&recorded),
            "Nodenames" => both::<specs::Nodename>(&recorded),
            "SystemInformations" => both::<specs::SystemInformation>(&recorded),
            "VolumeStatuses" => both::<specs::VolumeStatus>(&recorded),
            other => panic!("{other} is recorded and not checked"),
        }
        count += 1;
    }
    assert!(count > 20, "{count} recorded specs");
}

#[test]
fn an_empty_spec_is_all_zeros_and_garbage_is_an_error() {
    let spec = |proto: &[u8], yaml: &str| Spec {
        proto_spec: proto.to_vec(),
        yaml_spec: yaml.to_owned(),
    };
    assert_eq!(
        read_spec::<specs::MachineStatus>(&spec(b"", "")),
        Ok(specs::MachineStatus::default())
    );
    assert!(read_spec::<specs::MachineStatus>(&spec(b"\xff\xff", "")).is_err());
    assert!(read_spec::<specs::MachineStatus>(&spec(b"", "stage: [")).is_err());
}
