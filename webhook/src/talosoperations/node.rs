//! Which machine a person means (record 0095): "the TalosMachine name first; otherwise the machine whose
//! `spec.hostname` is that name; otherwise the machine whose Kubernetes Node has that name (or the address
//! match)".

use crate::field::FieldError;
use crate::findings::{found, known};
use crate::request::Change;
use crate::seen::Seen;
use ichor_crds::{NodeAddress, SystemUuid, TalosMachine, TalosOperation};

type Snapshot = crate::request::Snapshot<TalosOperation>;

/// What admission fills in: the machine that the name stands for, where it is one; later on what was
/// filled in before, so that applying the same file again changes nothing (DESIGN section 18, decision 17).
pub(super) fn filled(snapshot: &Snapshot) -> Option<String> {
    match &snapshot.facts.change {
        Change::Create { spec } => {
            let name = &spec.node.as_ref()?.name;
            match resolve(name, found(&snapshot.findings.machines)).as_slice() {
                [one] => Some(own_name(one).to_owned()),
                _ => None,
            }
        }
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
    let (Some(node), Some(machines)) = (&spec.node, known(&snapshot.findings.machines)) else {
        return Vec::new();
    };
    let (name, cluster) = (&node.name, &spec.cluster_ref.name);
    let error = match resolve(name, machines).as_slice() {
        [] => {
            let there = list(&machines.iter().collect::<Vec<_>>());
            let why = format!(
                "no machine of cluster {cluster} has that name, hostname, Node name or address; it has {there}"
            );
            FieldError::not_found("spec.node.name", name, why)
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

/// The machines that the name may stand for: those of the first kind of name that any has.
fn resolve<'a>(name: &str, machines: &'a [Seen<TalosMachine>]) -> Vec<&'a Seen<TalosMachine>> {
    let uuid = name.parse::<SystemUuid>().ok();
    let address = name.parse::<NodeAddress>().ok();
    let is_own = |machine: &TalosMachine| {
        own_name(machine) == name || (uuid.is_some() && machine.spec.identity.system_uuid() == uuid)
    };
    let is_hostname = |machine: &TalosMachine| machine.spec.hostname.as_deref() == Some(name);
    let is_node = |machine: &TalosMachine| {
        let status = machine.status.as_ref();
        let called = status.and_then(|status| status.node_name.as_deref()) == Some(name);
        let at = machine
            .dial_endpoint()
            .and_then(|text| text.parse::<NodeAddress>().ok());
        called || (address.is_some() && at == address)
    };
    let ways: [&dyn Fn(&TalosMachine) -> bool; 3] = [&is_own, &is_hostname, &is_node];
    let mut found = ways.iter().map(|is_it| {
        let machines = machines.iter().filter(|machine| is_it(machine));
        machines.collect::<Vec<_>>()
    });
    found
        .find(|machines| !machines.is_empty())
        .unwrap_or_default()
}

/// At most ten machines, as people know them.
fn list(machines: &[&Seen<TalosMachine>]) -> String {
    let one = |machine: &&Seen<TalosMachine>| match &machine.spec.hostname {
        Some(hostname) => format!("{} ({hostname})", own_name(machine)),
        None => own_name(machine).to_owned(),
    };
    let mut names: Vec<String> = machines.iter().take(10).map(one).collect();
    if machines.is_empty() {
        names.push("none".to_owned());
    }
    if machines.len() > 10 {
        names.push(format!("{} more", machines.len() - 10));
    }
    names.join(", ")
}

fn own_name(machine: &TalosMachine) -> &str {
    machine.metadata.name.as_deref().unwrap_or_default()
}
