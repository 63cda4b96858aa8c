//! The YAML spelling of fields whose protobuf form is a number or bytes: the fallback where a resource has no
//! protobuf spec. The generated messages name these functions (`build.rs`).

use crate::model::Stage;
use serde::{Deserialize, Deserializer};

/// A MAC address as text, as bytes.
pub(crate) fn mac<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    let text = String::deserialize(deserializer)?;
    Ok(text
        .split(':')
        .map_while(|part| u8::from_str_radix(part, 16).ok())
        .collect())
}

/// The stage of a machine.
pub(crate) fn stage<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i32, D::Error> {
    Ok(Stage::number_of(&String::deserialize(deserializer)?))
}

/// The type of a link, as numbered in `if_arp.h`; others than these do not matter here.
pub(crate) fn link_type<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i32, D::Error> {
    Ok(match String::deserialize(deserializer)?.as_str() {
        "ether" => 1,
        "loopback" => 772,
        _ => 0,
    })
}

/// The phase of a volume.
pub(crate) fn phase<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i32, D::Error> {
    let name = String::deserialize(deserializer)?;
    let at = crate::reads::PHASES.iter().position(|known| *known == name);
    Ok(at.and_then(|at| i32::try_from(at).ok()).unwrap_or_default())
}

impl<'de> Deserialize<'de> for crate::proto::specs::MachineType {
    /// The YAML form is the bare word.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let machine_type = match String::deserialize(deserializer)?.as_str() {
            "init" => 1,
            "controlplane" => 2,
            "worker" => 3,
            _ => 0,
        };
        Ok(Self { machine_type })
    }
}
