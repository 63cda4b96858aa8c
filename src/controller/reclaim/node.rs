//! What happens to the Kubernetes Node of a wiped machine: pure (record 0136, "The Kubernetes Node").

use ichor_crds::{MachineReclaim, ReclaimInspection, SystemUuid};

/// What a look at the Node gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeSight {
    /// The machine was no managed cluster's.
    NotManaged,
    /// The machine had no host name.
    Nameless,
    /// There is no Node of that name.
    Missing {
        /// The name.
        name: String,
    },
    /// There is one.
    Found {
        /// The name.
        name: String,
        /// UID of the object.
        uid: String,
        /// Version of the object.
        resource_version: String,
        /// `status.nodeInfo.systemUUID`.
        system_uuid: String,
    },
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeStep {
    /// Delete exactly the object that was looked at.
    Delete {
        /// The name.
        name: String,
        /// UID of the object.
        uid: String,
        /// Version of the object.
        resource_version: String,
    },
    /// Leave it; the words for the result line.
    Leave(String),
}

/// Decides. `machine` is what the machine in maintenance mode said a moment ago.
pub fn decide(request: &MachineReclaim, machine: Option<SystemUuid>, sight: NodeSight) -> NodeStep {
    let (name, uid, resource_version, system_uuid) = match sight {
        NodeSight::NotManaged => {
            return leave("no Kubernetes Node was touched: Ichor does not manage its cluster");
        }
        NodeSight::Nameless => {
            return leave("no Kubernetes Node was touched: the machine had no host name");
        }
        NodeSight::Missing { name } => return missing(request, &name),
        NodeSight::Found {
            name,
            uid,
            resource_version,
            system_uuid,
        } => (name, uid, resource_version, system_uuid),
    };
    if machine.is_none() {
        return leave(&format!(
            "Kubernetes node {name} was left, because the machine has left maintenance mode again: kubectl delete node {name}"
        ));
    }
    // Consent comes from the spec, and who the machine is from the machine: a status alone, which somebody may
    // have forged, deletes nothing.
    let typed = request
        .spec
        .confirm_uuid
        .as_deref()
        .and_then(|typed| typed.parse::<SystemUuid>().ok());
    if typed.is_none() || typed != machine {
        return leave(&format!(
            "Kubernetes node {name} was left, because nobody confirmed this machine: kubectl delete node {name}"
        ));
    }
    // The swapped byte order counts because the name agrees as well (DESIGN section 18, decision 9).
    let matches = system_uuid.parse::<SystemUuid>().is_ok_and(|node| {
        machine.is_some_and(|machine| machine.is_distinctive() && machine.same_board(node))
    });
    if matches {
        NodeStep::Delete {
            name,
            uid,
            resource_version,
        }
    } else if let Some(own) = own_name(request, &name) {
        // The host name is another machine's Node; its own was seen under a custom name.
        left_under_its_own_name(own, &name)
    } else {
        leave(&format!(
            "Kubernetes node {name} was left, because its system UUID is not this machine's. If it is this machine's all the same: kubectl delete node {name}"
        ))
    }
}

/// The name under which the inspection saw the machine's Node, where that is not its host name.
fn own_name<'a>(request: &'a MachineReclaim, hostname: &str) -> Option<&'a str> {
    let seen = request.status.as_ref()?.inspection.as_ref()?;
    let node = seen.node.as_ref()?;
    (node.name != hostname).then_some(node.name.as_str())
}

/// "A hostname that differs from the Kubernetes Node name (a custom nodeName) leaves the Node; the result names
/// kubectl delete node" (record 0136, "Risks").
fn missing(request: &MachineReclaim, name: &str) -> NodeStep {
    if let Some(own) = own_name(request, name) {
        return left_under_its_own_name(own, name);
    }
    let status = request.status.as_ref();
    let known = status
        .and_then(|status| status.inspection.as_ref())
        .and_then(|seen| seen.node.as_ref());
    match known {
        // Deleted by whoever was here before and could not say so any more, or by a person.
        Some(node) if node.matches => leave(&format!("Kubernetes node {name} is gone")),
        _ => leave(&format!("there is no Kubernetes node {name}")),
    }
}

fn left_under_its_own_name(own: &str, hostname: &str) -> NodeStep {
    leave(&format!(
        "Kubernetes node {own} was left, because it has not the machine's host name {hostname}: kubectl delete node {own}"
    ))
}

fn leave(words: &str) -> NodeStep {
    NodeStep::Leave(words.to_owned())
}

/// The result line of a wiped machine: what happened to its Node, and what is left to do.
pub fn result(request: &MachineReclaim, node: &str) -> String {
    let status = request.status.as_ref();
    let elsewhere = status
        .and_then(|status| status.progress.as_ref())
        .and_then(|progress| progress.returned_address.as_ref())
        .map(|address| format!(" at {address}"))
        .unwrap_or_default();
    let member = status
        .and_then(|status| Some((status.reset.as_ref()?, status.inspection.as_ref()?)))
        .and_then(|(reset, seen)| member_left(reset.graceful, seen));
    let mut line = format!("wiped and in maintenance mode{elsewhere}; {node}");
    if let Some(member) = member {
        line.push_str("; ");
        line.push_str(&member);
    }
    line
}

/// "An ungraceful reset leaves the etcd member: the result names its ID and how to remove it" (DESIGN section 11).
fn member_left(graceful: bool, seen: &ReclaimInspection) -> Option<String> {
    let member = seen.etcd_member_id.as_ref().filter(|_| !graceful)?;
    let ends = seen
        .etcd_members
        .iter()
        .filter(|other| !other.learner)
        .count()
        == 1;
    (!ends).then(|| {
        format!("etcd member {member} is still listed, remove it at another control plane: talosctl etcd remove-member {member} -n ADDRESS")
    })
}

/// The name under which a machine's Node is looked for: Kubernetes names are lower case (FAULTS 14).
pub fn name_of(seen: &ReclaimInspection) -> Option<String> {
    seen.hostname
        .as_deref()
        .map(str::to_lowercase)
        .filter(|name| is_node_name(name))
}

/// Whether a text can be the name of a Node (RFC 1123 subdomain): what a machine calls itself goes into the path of a
/// request.
pub fn is_node_name(name: &str) -> bool {
    let edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.');
    edge(name.chars().next()) && edge(name.chars().next_back()) && name.chars().all(inner)
}

/// Whether the cluster ended with this machine: it was the only voting member of etcd.
pub fn cluster_ended(seen: &ReclaimInspection) -> bool {
    let mut voters = seen.etcd_members.iter().filter(|member| !member.learner);
    let only = voters
        .next()
        .map(|member| Some(&member.id) == seen.etcd_member_id.as_ref());
    only == Some(true) && voters.next().is_none()
}

#[cfg(test)]
#[path = "node_tests.rs"]
mod tests;
