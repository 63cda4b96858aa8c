//! What is legal and probably not meant (DESIGN section 4).

use ichor_crds::{ABANDON, TalosCluster};

type Snapshot = crate::request::Snapshot<TalosCluster>;

/// Another contract is another configuration of every machine.
pub(super) fn contract(snapshot: &Snapshot) -> Option<String> {
    let (spec, old) = snapshot.facts.change_of_spec()?;
    let (new, was) = (
        spec.version_contract.as_ref()?,
        old.version_contract.as_ref()?,
    );
    (new != was).then(|| {
        format!("spec.versionContract changes from {was} to {new}: the configuration of every machine is rendered anew, machines may need a reboot, and TalosConfigPatches that were tried on the old one are tried on the new one when they change")
    })
}

pub(super) fn abandoned(snapshot: &Snapshot) -> Option<String> {
    snapshot.facts.annotates(ABANDON).then(|| {
        format!("{ABANDON}=true: when this cluster is deleted its machines go on running, and nobody manages them")
    })
}
