//! The assessment of record 0136: an ordered chain of small rules, one sentence of the record each. Pure: the
//! facts of one inspection and the objects in, refusals and warnings out.

use super::facts::{ApprovedMachine, EtcdAnswer, Facts};
use super::quorum::{self, Effect};
use ichor_crds::{IdentityMatch, MachineReclaimSpec, MachineRole};

/// All that the rules look at.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    /// What was asked.
    pub spec: &'a MachineReclaimSpec,
    /// What the machine is.
    pub facts: &'a Facts,
    /// The approved machines. Pending and rejected ones are not among them: "A pending or rejected
    /// TalosMachine of the UUID does not count" (record 0136, "What an orphan is").
    pub approved: &'a [ApprovedMachine],
}

/// What the rules say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Assessment {
    /// Why the machine may not be wiped as asked, each with what does work. Empty when it may.
    pub refusals: Vec<String>,
    /// What is legal and probably not meant.
    pub warnings: Vec<String>,
    /// Whether the machine drains and leaves etcd first.
    pub graceful: bool,
    /// The cluster name a person has to type as well, because `force` is what allows this wipe.
    pub cluster_name_needed: Option<String>,
}

/// What a rule says.
enum Verdict {
    Refuse(String),
    Warn(String),
    /// Legal only by `force`, which takes the typed cluster name.
    Forced(String),
}

type Rule = fn(&Case) -> Option<Verdict>;

/// The rules in the order in which a person reads their texts.
const RULES: [Rule; 13] = [
    approved_machine_uses_remove_node,
    identity_must_tell_the_machine_from_others,
    node_of_another_managed_cluster,
    certificate_and_cluster_id_agree,
    cluster_id_without_its_ca,
    cluster_silent_needs_force_ungraceful,
    last_control_plane,
    one_of_two_members,
    quorum_holds,
    etcd_lets_none_go_that_quorum_needs,
    orphan_may_be_adopted,
    ungraceful_leaves_the_member,
    node_unavailable,
];

/// Assesses a case. The same rules judge the first look and the fresh one right before the reset.
pub fn assess(case: &Case) -> Assessment {
    let mut assessment = Assessment {
        graceful: is_graceful(case),
        ..Assessment::default()
    };
    for verdict in RULES.iter().filter_map(|rule| rule(case)) {
        match verdict {
            Verdict::Refuse(text) => assessment.refusals.push(text),
            Verdict::Warn(text) => assessment.warnings.push(text),
            Verdict::Forced(text) => force(case, &mut assessment, &text),
        }
    }
    assessment
}

/// "… is refused unless --force and the typed cluster name" (record 0136, "Quorum").
fn force(case: &Case, assessment: &mut Assessment, text: &str) {
    let name = cluster_name(case);
    if name.is_empty() {
        // Nothing that a person could type: an unmanaged machine that tells no name of its cluster.
        assessment.refusals.push(format!(
            "{text}. It tells no name of its cluster that could be typed, so force does not allow it: reset it with talosctl reset -n {}",
            case.spec.address
        ));
    } else if case.spec.force == Some(true) {
        assessment.warnings.push(format!("forced: {text}"));
        assessment.cluster_name_needed = Some(name);
    } else {
        assessment.refusals.push(format!(
            "{text}. To wipe it all the same, ask again with force (--force) and the typed cluster name {name:?}"
        ));
    }
}

/// The name a person types for `force`: the TalosCluster's, or what an unmanaged machine calls its cluster.
fn cluster_name(case: &Case) -> String {
    let seen = &case.facts.inspection;
    let name = seen.managed_cluster.as_ref().or(seen.cluster_name.as_ref());
    name.cloned().unwrap_or_default()
}

/// "the reset is graceful when the cluster answers (leave etcd)" (record 0136, "Quorum"). The last member
/// cannot leave: Talos stops the reset there and boots with the old configuration (`talos-api.md` section 8).
fn is_graceful(case: &Case) -> bool {
    let ungraceful = case.spec.force_ungraceful == Some(true);
    !ungraceful && case.facts.etcd != EtcdAnswer::Silent && effect(case) != Effect::Last
}

/// "A machine that still has an approved TalosMachine is refused with a pointer to Remove node"; the UUID counts in
/// both byte orders (DESIGN section 18, decision 9). Neither this text nor any other refusal names adopt ("No loop").
fn approved_machine_uses_remove_node(case: &Case) -> Option<Verdict> {
    let uuid = case.facts.inspection.identity.system_uuid()?;
    let machine = case
        .approved
        .iter()
        .find(|machine| machine.uuid.same_board(uuid))?;
    let (address, name, cluster) = (&case.spec.address, &machine.name, &machine.cluster);
    Some(Verdict::Refuse(format!(
        "{address} is the approved machine {} ({name}) of cluster {cluster}. Use Remove node: ichor node remove {name}",
        machine.uuid
    )))
}

/// Identity is UUID, serial and MACs together (DESIGN principle 5; FAULTS 13). A machine whose identity does not even
/// equal itself could not be told from another one when it comes back.
fn identity_must_tell_the_machine_from_others(case: &Case) -> Option<Verdict> {
    let identity = &case.facts.inspection.identity;
    if identity.compare(identity) == IdentityMatch::Same {
        return None;
    }
    let address = &case.spec.address;
    Some(Verdict::Refuse(format!(
        "{address} cannot be told from other machines by its UUID {:?}, serial {:?} and {} MAC addresses, so nobody could \
         tell that it is the machine that comes back. Reset it with talosctl reset",
        identity.uuid,
        identity.serial,
        identity.macs.len()
    )))
}

/// "one that is another managed cluster's would be refused by the typed UUID and the same assessment" (record
/// 0136, "Credentials").
fn node_of_another_managed_cluster(case: &Case) -> Option<Verdict> {
    let named = &case.spec.cluster_ref.as_ref()?.name;
    let actual = case.facts.inspection.managed_cluster.as_ref()?;
    if named == actual {
        return None;
    }
    let address = &case.spec.address;
    Some(Verdict::Refuse(format!(
        "{address} is a machine of cluster {actual}, not of {named}. Ask with its own cluster: ichor machine reclaim {address} --cluster {actual}"
    )))
}

/// An orphan is a machine "whose cluster ID is one of a managed cluster's" (record 0136) and whose handshake verified
/// with that cluster's CA (DESIGN section 5). One without the other is neither an orphan nor a stranger.
fn certificate_and_cluster_id_agree(case: &Case) -> Option<Verdict> {
    let cluster = case.facts.inspection.managed_cluster.as_ref()?;
    if case.facts.cluster_id_agrees {
        return None;
    }
    let address = &case.spec.address;
    let says = match &case.facts.inspection.cluster_id {
        Some(id) => format!("says that it belongs to another cluster, of ID {id}"),
        None => "does not say to which cluster it belongs".to_owned(),
    };
    Some(Verdict::Refuse(format!(
        "{address} shows a certificate of cluster {cluster} and {says}, so it is neither its orphan nor a stranger. \
         Look at it with talosctl get info -n {address}; talosctl reset -n {address} wipes it all the same"
    )))
}

/// "A node counts as a managed cluster's only if that handshake verified with that cluster's CA, whatever cluster
/// ID it claims" (DESIGN section 5): it is treated as a stranger, and the person is told.
fn cluster_id_without_its_ca(case: &Case) -> Option<Verdict> {
    let seen = &case.facts.inspection;
    if let Some(claimed) = &case.facts.claims_only {
        return Some(Verdict::Warn(format!(
            "this machine claims to belong to {claimed}, and its certificate is not one of that cluster: it is treated as a machine of an unmanaged cluster"
        )));
    }
    let named = &case.spec.cluster_ref.as_ref()?.name;
    let stranger = seen.managed_cluster.is_none();
    stranger.then(|| {
        let cluster = seen.cluster_name.as_deref().unwrap_or("an unknown cluster");
        Verdict::Warn(format!(
            "this machine runs the configuration of {cluster}, which Ichor does not manage, and not of {named}"
        ))
    })
}

/// "A control plane whose cluster does not answer needs --force-ungraceful, as before" (record 0136, "Quorum").
fn cluster_silent_needs_force_ungraceful(case: &Case) -> Option<Verdict> {
    let silent = case.facts.etcd == EtcdAnswer::Silent;
    if !silent || case.spec.force_ungraceful == Some(true) {
        return None;
    }
    let address = &case.spec.address;
    Some(Verdict::Refuse(format!(
        "{address} is a control plane and etcd does not answer on it, so it cannot leave etcd first. To wipe it all the same, \
         ask again with forceUngraceful (--force-ungraceful); its etcd member then has to be removed by hand"
    )))
}

/// "a removal that would … remove the last control plane is refused unless --force and the typed cluster name".
fn last_control_plane(case: &Case) -> Option<Verdict> {
    (effect(case) == Effect::Last).then(|| {
        let name = cluster_name(case);
        let cluster = if name.is_empty() {
            "its cluster"
        } else {
            &name
        };
        Verdict::Forced(format!(
            "{} is the last control plane of {cluster}: wiping it ends the cluster",
            case.spec.address
        ))
    })
}

/// FAULTS 17 ("Removing one of two … refused") is stricter than decision 10, which one of one would pass.
fn one_of_two_members(case: &Case) -> Option<Verdict> {
    let Effect::OneOfTwo { other_healthy } = effect(case) else {
        return None;
    };
    let state = if other_healthy {
        "healthy"
    } else {
        "not known to be healthy"
    };
    Some(Verdict::Forced(format!(
        "{} is one of two voting members of etcd, and the other one, which is {state}, could not lose anything any more",
        case.spec.address
    )))
}

/// "a removal that would break quorum … is refused unless --force and the typed cluster name".
fn quorum_holds(case: &Case) -> Option<Verdict> {
    let Effect::Breaks { healthy, remaining } = effect(case) else {
        return None;
    };
    Some(Verdict::Forced(format!(
        "without {} etcd would lose quorum: {healthy} of the {remaining} voting members that remain are known to be healthy",
        case.spec.address
    )))
}

/// etcd refuses to let a member go whose place its quorum needs; Talos then stops the reset and boots with the old
/// configuration (`talos-api.md` section 8). Health that is not known may be better than it looks, so it is only said.
fn etcd_lets_none_go_that_quorum_needs(case: &Case) -> Option<Verdict> {
    let breaks = matches!(effect(case), Effect::Breaks { .. });
    (breaks && case.spec.force == Some(true) && is_graceful(case)).then(|| {
        Verdict::Warn(
            "etcd lets no member leave that its quorum needs: then the machine comes back unwiped. With forceUngraceful (--force-ungraceful) as well, etcd is not asked".to_owned(),
        )
    })
}

/// "For an orphan it adds a Warning that names the alternative which keeps the configuration".
fn orphan_may_be_adopted(case: &Case) -> Option<Verdict> {
    let cluster = case.facts.inspection.managed_cluster.as_ref()?;
    if !case.facts.cluster_id_agrees || approved_machine_uses_remove_node(case).is_some() {
        return None;
    }
    let address = &case.spec.address;
    Some(Verdict::Warn(format!(
        "this machine still runs the configuration of {cluster}. To keep it instead: ichor adopt --cluster {cluster} --add-machine {address}"
    )))
}

/// "An ungraceful reset leaves the etcd member" (DESIGN section 11).
fn ungraceful_leaves_the_member(case: &Case) -> Option<Verdict> {
    let seen = &case.facts.inspection;
    let member = seen.etcd_member_id.as_ref()?;
    let stays = case.spec.force_ungraceful == Some(true) && effect(case) != Effect::Last;
    stays.then(|| {
        Verdict::Warn(format!(
            "an ungraceful reset leaves etcd member {member} in the list; it has to be removed by hand afterwards"
        ))
    })
}

/// The Node is looked at before anything is wiped, so that a person knows what will be left behind.
fn node_unavailable(case: &Case) -> Option<Verdict> {
    case.facts.node_unavailable.clone().map(Verdict::Warn)
}

/// What the wipe does to etcd; nothing for a worker. A control plane whose members nobody could list is the last one
/// where no other is known; else its cluster is silent, and the rule about that speaks.
fn effect(case: &Case) -> Effect {
    let seen = &case.facts.inspection;
    if seen.role != Some(MachineRole::ControlPlane) {
        return Effect::Holds;
    }
    if seen.etcd_members.is_empty() {
        return if case.facts.alone {
            Effect::Last
        } else {
            Effect::Holds
        };
    }
    let leaves = case.spec.force_ungraceful != Some(true) && case.facts.etcd == EtcdAnswer::Answers;
    let id = seen.etcd_member_id.as_deref().unwrap_or_default();
    quorum::effect(&seen.etcd_members, id, leaves)
}

#[cfg(test)]
#[path = "assess_tests.rs"]
mod tests;
