//! "No two approved machines of any cluster share a UUID, hostname or address" (DESIGN section 4).

use super::{addresses, called, is_approved, uuids};
use crate::field::FieldError;
use crate::findings::found;
use crate::ports::Selector;
use crate::request::Facts;
use ichor_crds::{NodeAddress, TalosMachine};

type Snapshot = crate::request::Snapshot<TalosMachine>;

/// The machines that may share something: asked for when a machine is let in, and when an approved one
/// gets another hostname or address. No selector finds an address in a list, so all machines with static addresses are
/// read: that is rare enough.
pub(super) fn selectors(facts: &Facts<TalosMachine>) -> Vec<Selector> {
    let Some(spec) = facts.spec().filter(|spec| is_approved(spec)) else {
        return Vec::new();
    };
    let old = facts
        .change_of_spec()
        .map(|(_, old)| old)
        .filter(|old| is_approved(old));
    if old.is_some_and(|old| old.hostname == spec.hostname && addresses(old) == addresses(spec)) {
        return Vec::new();
    }
    let names = uuids(spec)
        .into_iter()
        .flatten()
        .map(|uuid| Selector::name(uuid.to_string()));
    let hostname = spec.hostname.iter().cloned();
    let hostname = hostname.map(|hostname| Selector::Field("spec.hostname", hostname));
    let addresses = addresses(spec).into_iter().flat_map(|address| {
        let at = |field| Selector::Field(field, address.to_string());
        [at("spec.endpoint"), at("status.observedEndpoint")]
    });
    let lists = Selector::Field("spec.network.addressing", "static".to_owned());
    names
        .chain(hostname)
        .chain(addresses)
        .chain([lists])
        .collect()
}

pub(super) fn among_approved(snapshot: &Snapshot) -> Vec<FieldError> {
    let facts = &snapshot.facts;
    let Some(spec) = facts.spec() else {
        return Vec::new();
    };
    let mine = addresses(spec);
    let uuid = spec.identity.system_uuid();
    let machines = found(&snapshot.findings.machines).iter();
    let others = machines.filter(|other| other.is_approved() && name(other) != facts.name);
    let mut errors = Vec::new();
    for other in others {
        let taken = |path: &'static str, value: &str| {
            let cluster = other.spec.cluster_ref.as_ref();
            let cluster = cluster.map_or("no cluster", |cluster| cluster.name.as_str());
            let called = called(&other.spec, name(other));
            let why = format!(
                "the approved machine {} ({called}) of {cluster} has it; take that one out with ichor node remove {called}, or give this one another{}",
                name(other),
                other.note()
            );
            FieldError::duplicate(path, value, why)
        };
        if let (Some(mine), Some(theirs)) = (uuid, other.spec.identity.system_uuid())
            && mine.same_board(theirs)
        {
            errors.push(taken("spec.identity.uuid", &spec.identity.uuid));
        }
        if let Some(hostname) = spec.hostname.as_deref()
            && other.spec.hostname.as_deref() == Some(hostname)
        {
            errors.push(taken("spec.hostname", hostname));
        }
        let theirs = dialled(other);
        if let Some(address) = mine.iter().find(|address| theirs.contains(address)) {
            let path =
                if spec.endpoint.as_deref().and_then(|text| text.parse().ok()) == Some(*address) {
                    "spec.endpoint"
                } else {
                    "spec.network.addresses"
                };
            errors.push(taken(path, &address.to_string()));
        }
    }
    errors
}

/// Where another machine is: what its spec says, and where it was seen instead.
fn dialled(other: &TalosMachine) -> Vec<NodeAddress> {
    let seen = other
        .dial_endpoint()
        .and_then(|text| text.parse::<NodeAddress>().ok());
    let mut all = addresses(&other.spec);
    all.extend(seen);
    all
}

fn name(machine: &TalosMachine) -> &str {
    machine.metadata.name.as_deref().unwrap_or_default()
}
