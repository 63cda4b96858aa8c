//! A machine has one volume of a name: two TalosStorages that give it two would each undo what the other says.

use crate::common::short;
use crate::field::FieldError;
use crate::findings::found;
use crate::target::{Overlap, overlap};
use ichor_crds::{TalosStorage, TalosStorageSpec};

type Snapshot = crate::request::Snapshot<TalosStorage>;

/// The name is taken on machines that both are for, whatever machines there are. What was so before the change is
/// no reason to refuse it: otherwise neither of the two could be mended in steps.
pub(super) fn taken(snapshot: &Snapshot) -> Vec<FieldError> {
    let Some(spec) = snapshot.facts.spec() else {
        return Vec::new();
    };
    let old = snapshot.facts.change_of_spec().map(|(_, old)| old);
    let was = old.map(|old| met(snapshot, old, Overlap::Yes));
    let was = was.unwrap_or_default();
    let is_new = |it: &&Met<'_>| {
        !was.iter()
            .any(|was| (was.name, was.other) == (it.name, it.other))
    };
    let met = met(snapshot, spec, Overlap::Yes);
    let errors = met.iter().filter(is_new).map(|it| {
        let why = format!(
            "TalosStorage {:?} has a volume of this name for the same machines: give it another name, or the two different targets",
            it.other
        );
        FieldError::duplicate(format!("spec.volumes[{}].name", it.at), it.name, why)
    });
    errors.collect()
}

/// Labels and roles decide, and they change.
pub(super) fn perhaps_taken(snapshot: &Snapshot) -> Option<String> {
    let met = met(snapshot, snapshot.facts.spec()?, Overlap::Perhaps);
    let Met { name, other, .. } = met.first()?;
    Some(format!(
        "TalosStorage {} has a volume {name:?}, too: no machine may be selected by both",
        short(other)
    ))
}

/// A volume whose name another TalosStorage has.
struct Met<'a> {
    at: usize,
    name: &'a str,
    other: &'a str,
}

fn met<'a>(snapshot: &'a Snapshot, spec: &'a TalosStorageSpec, how: Overlap) -> Vec<Met<'a>> {
    let own = &snapshot.facts.name;
    let others = found(&snapshot.findings.storages).iter().filter(|other| {
        other.metadata.name.as_ref() != Some(own)
            && other.metadata.deletion_timestamp.is_none()
            && other.spec.cluster_ref == spec.cluster_ref
            && overlap(spec.target.as_ref(), other.spec.target.as_ref()) == how
    });
    let mut met = Vec::new();
    for other in others {
        let volumes = spec.volumes.iter().enumerate();
        let same = volumes.filter(|(_, it)| other.spec.volumes.iter().any(|o| o.name == it.name));
        met.extend(same.map(|(at, volume)| Met {
            at,
            name: &volume.name,
            other: other.metadata.name.as_deref().unwrap_or_default(),
        }));
    }
    met
}
