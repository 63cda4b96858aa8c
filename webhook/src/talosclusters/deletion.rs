//! "Deletion is refused while approved machines exist unless annotated `ichor.maesh.dev/abandon=true`"
//! (DESIGN section 4).

use crate::findings::{Questions, found, known};
use crate::ports::Selector;
use crate::request::{Change, Facts};
use ichor_crds::{ABANDON, TalosCluster, TalosMachine};

type Snapshot = crate::request::Snapshot<TalosCluster>;

pub(super) fn questions(facts: &Facts<TalosCluster>) -> Questions {
    if facts.is_annotated(ABANDON) {
        return Questions::default();
    }
    Questions {
        machines: vec![Selector::Field("spec.clusterRef.name", facts.name.clone())],
        terminating: true,
        ..Questions::default()
    }
}

pub(super) fn keeps(snapshot: &Snapshot) -> Option<String> {
    let facts = &snapshot.facts;
    let Change::Delete { .. } = &facts.change else {
        return None;
    };
    // What could not be found out is refused as such.
    let terminating = known(&snapshot.findings.terminating).is_none_or(|terminating| *terminating);
    let machines = found(&snapshot.findings.machines).iter();
    let mut approved: Vec<_> = machines.filter(|machine| machine.is_approved()).collect();
    // What keeps the cluster by doubt alone is said where nothing else does.
    approved.sort_by_key(|machine| !machine.is_whole());
    let (first, more) = match approved.as_slice() {
        [] => return None,
        _ if terminating || facts.is_annotated(ABANDON) => return None,
        [first] => (first, String::new()),
        [first, rest @ ..] => (first, format!(" and {} more", rest.len())),
    };
    let (name, note, first) = (&facts.name, first.note(), called(first));
    Some(format!(
        "TalosCluster {name:?} has approved machines ({first}{more}) and is not deleted: take each out with ichor node remove NAME. To forget the cluster and leave its machines running: kubectl annotate taloscluster {name} -n {} {ABANDON}=true, then delete it{note}",
        facts.namespace
    ))
}

fn called(machine: &TalosMachine) -> &str {
    let name = machine.metadata.name.as_deref().unwrap_or_default();
    machine.spec.hostname.as_deref().unwrap_or(name)
}
