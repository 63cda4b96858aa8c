//! Which machine a person means (record 0095): one name, one machine (`candidates` finds it).

use crate::candidates::NAMED;
use crate::field::FieldError;
use crate::findings::known;
use crate::request::Change;
use crate::seen::Seen;
use ichor_crds::{TalosMachine, TalosOperation};

type Snapshot = crate::request::Snapshot<TalosOperation>;

/// What admission fills in: the machine that the name stands for, where it is one; later on what was
/// filled in before, so that applying the same file again changes nothing (DESIGN section 18, decision 17).
pub(super) fn filled(snapshot: &Snapshot) -> Option<String> {
    match &snapshot.facts.change {
        Change::Create { .. } => match known(&snapshot.findings.called)?.machines.as_slice() {
            [one] => Some(own_name(one).to_owned()),
            _ => None,
        },
        Change::Spec { spec, old, .. } => {
            let (node, was) = (spec.node.as_ref()?, old.node.as_ref()?);
            let left_out = node.machine.is_none() && node.name == was.name;
            was.machine.clone().filter(|_| left_out)
        }
        Change::Metadata | Change::Delete { .. } => None,
    }
}

pub(super) fn stands_for_one_machine(snapshot: &Snapshot) -> Vec<FieldError> {
    let Change::Create { spec } = &snapshot.facts.change else {
        return Vec::new();
    };
    let (Some(node), Some(found)) = (&spec.node, known(&snapshot.findings.called)) else {
        return Vec::new();
    };
    let (name, cluster) = (&node.name, &spec.cluster_ref.name);
    let error = match found.machines.as_slice() {
        [] => {
            let there = list(&found.others);
            let why = format!(
                "no machine of cluster {cluster} has that name, hostname, Node name or address; it has {there}"
            );
            FieldError::not_found("spec.node.name", name, why)
        }
        [one] if !one.is_whole() => {
            let why = format!("is {}{}", own_name(one), one.note());
            FieldError::invalid("spec.node.name", name, why)
        }
        [one] if !one.is_approved() => {
            let why = format!("is {}, which is not an approved machine", own_name(one));
            FieldError::invalid("spec.node.name", name, why)
        }
        [one] => match node.machine.as_deref() {
            Some(given) if given == own_name(one) => return Vec::new(),
            Some(given) => {
                let why = format!(
                    "{name:?} stands for {}; leave machine out, admission fills it in",
                    own_name(one)
                );
                FieldError::invalid("spec.node.machine", given, why)
            }
            None => FieldError::required(
                "spec.node.machine",
                "admission fills it in and did not: try again",
            ),
        },
        many => {
            let why = format!(
                "may be any of {}; give the name of the one that is meant",
                list(many)
            );
            FieldError::invalid("spec.node.name", name, why)
        }
    };
    vec![error]
}

/// At most ten machines, as people know them.
fn list(machines: &[Seen<TalosMachine>]) -> String {
    let one = |machine: &Seen<TalosMachine>| match &machine.spec.hostname {
        Some(hostname) => format!("{} ({hostname})", own_name(machine)),
        None => own_name(machine).to_owned(),
    };
    let mut names: Vec<String> = machines.iter().take(NAMED).map(one).collect();
    if machines.is_empty() {
        names.push("none".to_owned());
    }
    if machines.len() > NAMED {
        names.push("more".to_owned());
    }
    names.join(", ")
}

fn own_name(machine: &TalosMachine) -> &str {
    machine.metadata.name.as_deref().unwrap_or_default()
}
