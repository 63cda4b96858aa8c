//! A MachineReclaim as it stands in a review or a list: decoded only as far as it is looked at.

use crate::ports::OtherReclaim;
use ichor_crds::{MachineReclaimSpec, MachineReclaimStatus, SystemUuid};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// The object; spec and status are still text.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct StoredReclaim<'a> {
    #[serde(default)]
    metadata: Metadata,
    #[serde(borrow, default)]
    spec: Option<&'a RawValue>,
    #[serde(borrow, default)]
    status: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
struct Metadata {
    #[serde(default)]
    name: String,
    #[serde(default)]
    annotations: Option<BTreeMap<String, String>>,
}

impl<'a> StoredReclaim<'a> {
    pub(crate) fn decode(text: &'a RawValue) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text.get())
    }

    /// Its annotations, `None` where there is no map to add to.
    pub(crate) fn annotations(&self) -> Option<&BTreeMap<String, String>> {
        self.metadata.annotations.as_ref()
    }

    pub(crate) fn annotation(&self, key: &str) -> Option<&str> {
        self.annotations()?.get(key).map(String::as_str)
    }

    pub(crate) fn spec(&self) -> Result<MachineReclaimSpec, serde_json::Error> {
        serde_json::from_str(self.spec.map_or("{}", RawValue::get))
    }

    /// The status, empty before the controller wrote one.
    pub(crate) fn status(&self) -> Result<MachineReclaimStatus, serde_json::Error> {
        match self.status {
            Some(text) => serde_json::from_str(text.get()),
            None => Ok(MachineReclaimStatus::default()),
        }
    }

    /// Whether both specs say the same, also in fields that this version does not know: what a newer
    /// version's field means is not for an older one to wave through.
    pub(crate) fn same_spec(&self, other: &Self) -> bool {
        let (mine, theirs) = (self.spec.map(RawValue::get), other.spec.map(RawValue::get));
        if mine == theirs {
            return true;
        }
        let value = |text: Option<&str>| serde_json::from_str::<Value>(text.unwrap_or("null"));
        matches!((value(mine), value(theirs)), (Ok(a), Ok(b)) if a == b)
    }

    /// What another reclaim has to know of this one, `None` when it has ended. One that cannot be read
    /// has not been begun by this controller, either.
    pub(crate) fn unfinished(&self) -> Option<OtherReclaim> {
        let (spec, status) = (self.spec().ok()?, self.status().ok()?);
        if status.phase.is_final() {
            return None;
        }
        Some(OtherReclaim {
            name: self.metadata.name.clone(),
            address: spec.address.parse().ok(),
            machine: inspected(&status),
            confirmed: matched(&spec, &status),
        })
    }
}

/// The UUID that the inspection found.
pub(crate) fn inspected(status: &MachineReclaimStatus) -> Option<SystemUuid> {
    status.inspection.as_ref()?.identity.system_uuid()
}

/// Whether consent was given: the typed UUID is the inspected one, or a reset is recorded, which does not
/// happen without.
pub(crate) fn matched(spec: &MachineReclaimSpec, status: &MachineReclaimStatus) -> bool {
    let typed: Option<SystemUuid> = spec
        .confirm_uuid
        .as_deref()
        .and_then(|text| text.parse().ok());
    status.reset.is_some() || (typed.is_some() && typed == inspected(status))
}
