//! Identity of a machine: SMBIOS UUID, serial and MACs together, never an address or a name
//! (DESIGN principle 5 and section 18, decision 9).

use crate::SystemUuid;
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

/// What a machine says it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
pub struct MachineIdentity {
    /// SMBIOS system UUID, lower case.
    #[schemars(length(max = 36))]
    pub uuid: String,
    /// Serial number of the board or chassis; empty where the vendor left it so.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 256))]
    pub serial: String,
    /// Permanent MAC addresses of the physical links, lower case with colons, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(max = 64)))]
    pub macs: Vec<String>,
}

/// How two readings of an identity compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdentityMatch {
    /// The same machine: UUID and serial are equal and the permanent MACs intersect.
    Same,
    /// The UUID is the same, something else is not: two boards share it, or parts were changed.
    Conflict,
    /// Another machine.
    Different,
}

impl MachineIdentity {
    /// The UUID, where the text is one.
    pub fn system_uuid(&self) -> Option<SystemUuid> {
        self.uuid.parse().ok()
    }

    /// Compares two readings (DESIGN section 18, decision 9): equal when UUID and serial are and the
    /// MACs intersect. An empty serial never counts as a match by itself: the MACs must still intersect
    /// and the UUID must be one that tells boards apart, or the serial must be there.
    pub fn compare(&self, other: &Self) -> IdentityMatch {
        let (Some(mine), Some(theirs)) = (self.system_uuid(), other.system_uuid()) else {
            return IdentityMatch::Different;
        };
        if mine != theirs {
            return IdentityMatch::Different;
        }
        let macs = self
            .macs
            .iter()
            .any(|mac| other.macs.iter().any(|m| m.eq_ignore_ascii_case(mac)));
        let serial = self.serial == other.serial;
        let telling = mine.is_distinctive() || !self.serial.is_empty();
        if serial && macs && telling {
            IdentityMatch::Same
        } else {
            IdentityMatch::Conflict
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UUID: &str = "4c4c4544-0042-3510-8052-b4c04f463133";

    fn identity(uuid: &str, serial: &str, macs: &[&str]) -> MachineIdentity {
        MachineIdentity {
            uuid: uuid.to_owned(),
            serial: serial.to_owned(),
            macs: macs.iter().map(|m| (*m).to_owned()).collect(),
        }
    }

    #[test]
    fn identity_is_uuid_and_serial_and_a_common_mac() {
        let known = identity(UUID, "5B5RF13", &["02:00:00:00:00:01", "02:00:00:00:00:02"]);
        for (seen, want) in [
            (
                identity(UUID, "5B5RF13", &["02:00:00:00:00:02"]),
                IdentityMatch::Same,
            ),
            (
                identity(&UUID.to_uppercase(), "5B5RF13", &["02:00:00:00:00:01"]),
                IdentityMatch::Same,
            ),
            (
                identity(UUID, "OTHER", &["02:00:00:00:00:01"]),
                IdentityMatch::Conflict,
            ),
            (
                identity(UUID, "5B5RF13", &["02:00:00:00:00:09"]),
                IdentityMatch::Conflict,
            ),
            (identity(UUID, "5B5RF13", &[]), IdentityMatch::Conflict),
            (
                identity(
                    "4c4c4544-0042-3510-8052-b4c04f463134",
                    "5B5RF13",
                    &["02:00:00:00:00:01"],
                ),
                IdentityMatch::Different,
            ),
            (
                identity("", "5B5RF13", &["02:00:00:00:00:01"]),
                IdentityMatch::Different,
            ),
        ] {
            assert_eq!(known.compare(&seen), want, "{seen:?}");
        }
    }

    #[test]
    fn an_empty_serial_alone_never_matches() {
        let filler = "00000000-0000-0000-0000-000000000000";
        let mac = &["02:00:00:00:00:01"];
        assert_eq!(
            identity(filler, "", mac).compare(&identity(filler, "", mac)),
            IdentityMatch::Conflict
        );
        assert_eq!(
            identity(UUID, "", &[]).compare(&identity(UUID, "", &[])),
            IdentityMatch::Conflict
        );
        assert_eq!(
            identity(UUID, "", mac).compare(&identity(UUID, "", mac)),
            IdentityMatch::Same
        );
    }
}
