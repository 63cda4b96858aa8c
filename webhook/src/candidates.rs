//! The machines that a name of record 0095 may stand for, asked for by that name. Machines of a cluster are listed only
//! where it stands for none, a few of them, for the text of the refusal.

use crate::common::is_object_name;
use crate::observe::{Place, of_selectors, one};
use crate::ports::{LookupError, Selector};
use crate::seen::Seen;
use crate::talosmachines::link_addresses;
use ichor_crds::{AccessMode, NodeAddress, SystemUuid, TalosCluster, TalosMachine};

/// Machines that the text of a refusal may name.
pub(crate) const NAMED: usize = 10;

/// A name as a person typed it, and the cluster in which it is looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Called {
    /// The TalosCluster.
    pub cluster: String,
    /// Name of a TalosMachine, hostname, or name or address of a Kubernetes Node.
    pub name: String,
}

/// What a name stands for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Candidates {
    /// The machines of the cluster that it may stand for: those of the first kind of name that any has.
    pub machines: Vec<Seen<TalosMachine>>,
    /// Some machines of the cluster, where the name stands for none.
    pub others: Vec<Seen<TalosMachine>>,
}

/// Finds what `called` stands for.
pub(crate) async fn find(place: Place<'_>, called: &Called) -> Result<Candidates, LookupError> {
    let Called { cluster, name } = called;
    let mut found = Candidates {
        machines: resolve(name, machines(place, cluster, &selectors(name)).await?),
        others: Vec::new(),
    };
    if found.machines.is_empty() {
        // Which machine a Node is, nobody has to have recorded: a Node of the cluster that Ichor runs in says it.
        let uuid = node(place, cluster, name).await?;
        let uuids = uuid.into_iter().flat_map(|uuid| [uuid, uuid.swapped()]);
        let named: Vec<_> = uuids.map(|uuid| Selector::name(uuid.to_string())).collect();
        found.machines = machines(place, cluster, &named).await?;
    }
    if found.machines.is_empty() {
        let all = [Selector::Field("spec.clusterRef.name", cluster.clone())];
        let most = u32::try_from(NAMED + 1).ok();
        found.others = of_selectors(place, "talosmachines", &all, most).await?;
    }
    Ok(found)
}

/// "The TalosMachine name first; otherwise the machine whose `spec.hostname` is that name; otherwise the machine whose
/// Kubernetes Node has that name (or the address match)" (record 0095).
fn resolve(name: &str, mut machines: Vec<Seen<TalosMachine>>) -> Vec<Seen<TalosMachine>> {
    let uuid = name.parse::<SystemUuid>().ok();
    let address = name.parse::<NodeAddress>().ok();
    let is_own = |machine: &TalosMachine| {
        machine.metadata.name.as_deref() == Some(name)
            || (uuid.is_some() && machine.spec.identity.system_uuid() == uuid)
    };
    let is_hostname = |machine: &TalosMachine| machine.spec.hostname.as_deref() == Some(name);
    let is_node = |machine: &TalosMachine| {
        let status = machine.status.as_ref();
        let called = status.and_then(|status| status.node_name.as_deref()) == Some(name);
        called || address.is_some_and(|address| is_at(machine, address))
    };
    let ways: [&dyn Fn(&TalosMachine) -> bool; 3] = [&is_own, &is_hostname, &is_node];
    let is_called = ways
        .into_iter()
        .find(|is_called| machines.iter().any(|machine| is_called(machine)));
    match is_called {
        Some(is_called) => machines.retain(|machine| is_called(machine)),
        None => machines.clear(),
    }
    machines
}

/// Whether the machine is dialled at the address, or its link has it. Not where it was before it moved (record 0086).
fn is_at(machine: &TalosMachine, address: NodeAddress) -> bool {
    let dialled = machine.dial_endpoint().map(str::parse) == Some(Ok(address));
    dialled || link_addresses(&machine.spec).any(|its| its == address)
}

/// By its own name, its hostname, its Node's name, and by every address it has: of addresses in a list no selector knows.
fn selectors(name: &str) -> Vec<Selector> {
    let by = |field, value: &str| Selector::Field(field, value.to_owned());
    let uuid = name.parse::<SystemUuid>().map(|uuid| uuid.to_string());
    let own = uuid.unwrap_or_else(|_| name.to_owned());
    let mut selectors = vec![by("spec.hostname", name), by("status.nodeName", name)];
    if is_object_name(&own) {
        selectors.push(Selector::name(own));
    }
    if let Ok(address) = name.parse::<NodeAddress>() {
        let text = address.to_string();
        selectors.extend([
            by("spec.endpoint", &text),
            by("status.observedEndpoint", &text),
            by("spec.network.addressing", "static"),
        ]);
    }
    selectors
}

/// Those of the cluster.
async fn machines(
    place: Place<'_>,
    cluster: &str,
    selectors: &[Selector],
) -> Result<Vec<Seen<TalosMachine>>, LookupError> {
    let mut machines: Vec<Seen<TalosMachine>> =
        of_selectors(place, "talosmachines", selectors, None).await?;
    machines.retain(|machine| {
        let its = machine.spec.cluster_ref.as_ref();
        its.is_some_and(|its| its.name == cluster)
    });
    Ok(machines)
}

/// The system UUID of the Node, where it is one that tells boards apart.
async fn node(
    place: Place<'_>,
    cluster: &str,
    name: &str,
) -> Result<Option<SystemUuid>, LookupError> {
    if !is_object_name(name) {
        return Ok(None);
    }
    let cluster: Option<TalosCluster> = one(place, "talosclusters", cluster).await?;
    let own = |cluster: TalosCluster| cluster.spec.kubernetes_access == AccessMode::OwnCluster;
    if !cluster.is_some_and(own) {
        return Ok(None);
    }
    let uuid = place.references.node_system_uuid(name).await?;
    let uuid = uuid.and_then(|text| text.parse::<SystemUuid>().ok());
    Ok(uuid.filter(|uuid| uuid.is_distinctive()))
}
