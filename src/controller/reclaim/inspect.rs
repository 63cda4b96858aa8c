//! Reads a machine over one connection: who it is, what it runs, what a reset would wipe and leave.

mod etcd;
mod volumes;

pub(super) use etcd::members_by_others;

use super::facts::{EtcdAnswer, Facts};
use super::node;
use super::status::clip;
use super::trouble::Trouble;
use crate::controller::clusters::{CredentialUnavailable, Managed, Unreadable};
use crate::controller::context::Context;
use crate::runtime::clock;
use ichor_crds::conditions::reclaim as reason;
use ichor_crds::{
    MachineIdentity, MachineReclaimSpec, MachineRole, NodeView, ReclaimInspection, SystemUuid,
};
use ichor_talos::{Connection, Credential, Identity, MachineType};

/// What a machine is dialled with.
#[derive(Clone, Debug)]
pub struct Source {
    /// The credential.
    pub credential: Credential,
    /// Whether it was pasted: then it may also be shown to the other members of the machine's cluster.
    pub pasted: bool,
}

/// Reads everything.
pub async fn inspect(
    context: &Context,
    spec: &MachineReclaimSpec,
    source: &Source,
    connection: &Connection,
) -> Result<Facts, Trouble> {
    let (identity, cluster, kind, status, boot_id) = tokio::try_join!(
        connection.identity(),
        connection.cluster_info(),
        connection.machine_type(),
        connection.machine_status(),
        connection.boot_id(),
    )?;
    let (hostname, node_name, version) = tokio::try_join!(
        connection.hostname(),
        connection.node_name(),
        connection.version()
    )?;
    let claimed = cluster.as_ref().map(|cluster| cluster.id.as_str());
    let managed = owner(context, spec, connection, claimed).await?;
    let role = role_of(kind, spec)?;
    let (wiped, kept) = volumes::read(connection).await?;
    let mut facts = Facts {
        cluster_id_agrees: managed
            .cluster
            .as_ref()
            .is_some_and(|own| Some(own.bundle.cluster_id()) == claimed),
        claims_only: managed.claimed_by(claimed),
        inspection: ReclaimInspection {
            identity: machine_identity(&identity),
            manufacturer: text(&identity.manufacturer, 256),
            product: text(&identity.product, 256),
            hostname: hostname.as_deref().and_then(|name| text(name, 253)),
            role: Some(role),
            talos_version: text(&version.tag, 64),
            cluster_id: claimed.and_then(|id| text(id, 128)),
            cluster_name: cluster
                .as_ref()
                .and_then(|cluster| text(&cluster.name, 253)),
            managed_cluster: managed.cluster.as_ref().map(|own| own.name.clone()),
            stage: status.map(|status| status.stage.to_string()),
            boot_id: boot_id.as_deref().and_then(|id| text(id, 64)),
            wiped,
            kept,
            ..ReclaimInspection::default()
        },
        ..Facts::default()
    };
    if role == MachineRole::ControlPlane {
        let etcd = etcd::read(context, source, managed.cluster.as_ref(), connection);
        let etcd = Box::pin(etcd).await?;
        facts.etcd = etcd.answer;
        facts.alone = etcd.alone;
        facts.inspection.etcd_member_id = etcd.own;
        facts.inspection.etcd_members = etcd.members;
    } else {
        facts.etcd = EtcdAnswer::NoControlPlane;
    }
    if let Some(own) = &managed.cluster {
        look_at_node(context, own, node_name.as_deref(), &mut facts).await;
    }
    Ok(facts)
}

/// Whose machine it is: "A node counts as a managed cluster's only if that handshake verified with that cluster's
/// CA, whatever cluster ID it claims" (DESIGN section 5).
struct Owner {
    cluster: Option<Managed>,
    /// Cluster IDs of the others, with their names.
    others: Vec<(String, String)>,
}

impl Owner {
    fn claimed_by(&self, claimed: Option<&str>) -> Option<String> {
        let claimed = claimed.filter(|_| self.cluster.is_none())?;
        let found = self.others.iter().find(|(id, _)| id == claimed)?;
        Some(found.1.clone())
    }
}

async fn owner(
    context: &Context,
    spec: &MachineReclaimSpec,
    connection: &Connection,
    claimed: Option<&str>,
) -> Result<Owner, Trouble> {
    let now = clock::now();
    let (mut readable, unreadable) = context
        .clusters
        .readable(now)
        .await
        .map_err(|error| Trouble::credential(reason::SECRETS_BUNDLE_UNAVAILABLE, error))?;
    // Two clusters may have been given one bundle: the one that the request names comes first, then by name.
    let named = spec.cluster_ref.as_ref().map(|cluster| &cluster.name);
    readable.sort_by_key(|cluster| (Some(&cluster.name) != named, cluster.name.clone()));
    let mut owner = Owner {
        cluster: None,
        others: Vec::new(),
    };
    for cluster in readable {
        let vouches = cluster
            .bundle
            .os_ca(now)
            .is_ok_and(|ca| connection.peer_verified_by(ca));
        if vouches && owner.cluster.is_none() {
            owner.cluster = Some(cluster);
        } else {
            owner
                .others
                .push((cluster.bundle.cluster_id().to_owned(), cluster.name));
        }
    }
    match may_be_of(&unreadable, claimed, named.map(String::as_str)) {
        Some(name) if owner.cluster.is_none() => Err(Trouble::Wait(super::decide::Wait::new(
            reason::SECRETS_BUNDLE_UNAVAILABLE,
            format!(
                "{} may belong to cluster {name}, whose secrets bundle cannot be read, so that it cannot be checked",
                spec.address
            ),
        ))),
        _ => Ok(owner),
    }
}

/// A cluster whose bundle cannot be read can vouch for nobody: its machine is no stranger for that. Where its ID was never seen
/// either, it is the request that names it.
fn may_be_of<'a>(
    unreadable: &'a [Unreadable],
    claimed: Option<&str>,
    named: Option<&str>,
) -> Option<&'a str> {
    let mut all = unreadable.iter();
    let own = all.find(|(name, id)| match id {
        Some(id) => Some(id.as_str()) == claimed,
        None => Some(name.as_str()) == named,
    });
    own.map(|(name, _)| name.as_str())
}

fn role_of(kind: MachineType, spec: &MachineReclaimSpec) -> Result<MachineRole, Trouble> {
    match kind {
        MachineType::ControlPlane => Ok(MachineRole::ControlPlane),
        MachineType::Worker => Ok(MachineRole::Worker),
        MachineType::Unknown => Err(Trouble::Wait(super::decide::Wait::new(
            reason::NOT_READY,
            format!(
                "{} does not say whether it is a control plane or a worker",
                spec.address
            ),
        ))),
    }
}

/// The Node is looked at so that the person sees what will happen to it; the deletion looks again. What keeps
/// it from being looked at is shown, and does not keep the machine from being wiped.
async fn look_at_node(
    context: &Context,
    own: &Managed,
    node_name: Option<&str>,
    facts: &mut Facts,
) {
    let seen = &facts.inspection;
    let Some(hostname) = node::name_of(seen) else {
        return;
    };
    // A custom nodeName: the Node that will be left is the one to show.
    let name = node_name
        .filter(|name| node::is_node_name(name))
        .map_or_else(|| hostname.clone(), |name| clip(name, 253));
    let uuid = seen.identity.system_uuid();
    let found = match context.kubernetes.nodes(own) {
        Ok(nodes) => nodes.get(&name).await,
        Err(error) => Err(error),
    };
    match found {
        Ok(found) => {
            facts.inspection.node = found.map(|found| NodeView {
                matches: name == hostname && is_of(uuid, &found.system_uuid),
                name,
            });
        }
        Err(error) => {
            facts.node_unavailable = Some(format!(
                "Kubernetes node {name} could not be looked at and may have to be deleted by hand: {error}"
            ));
        }
    }
}

fn is_of(machine: Option<SystemUuid>, system_uuid: &str) -> bool {
    machine.is_some_and(|machine| {
        let node = system_uuid.parse::<SystemUuid>();
        machine.is_distinctive() && node.is_ok_and(|node| machine.same_board(node))
    })
}

/// The identity, cut to what a status can hold; both sides of every comparison come through here.
pub fn machine_identity(identity: &Identity) -> MachineIdentity {
    let machine = identity.machine();
    MachineIdentity {
        uuid: printable(&machine.uuid, 36),
        serial: printable(&machine.serial, 256),
        macs: machine
            .macs
            .iter()
            .take(64)
            .map(|mac| printable(mac, 64))
            .collect(),
    }
}

/// A text of a machine as it may stand in a status: bounded, and without control characters.
fn text(text: &str, max: usize) -> Option<String> {
    Some(printable(text, max)).filter(|text| !text.is_empty())
}

fn printable(text: &str, max: usize) -> String {
    let clean: String = text.chars().filter(|c| !c.is_control()).collect();
    clip(&clean, max)
}

/// A credential to dial the machine of a request with, after the cluster that it names was found.
pub async fn source(context: &Context, spec: &MachineReclaimSpec) -> Result<Source, Trouble> {
    if let Some(secret) = &spec.credential_secret_ref {
        let credential = context.clusters.pasted(&secret.name).await;
        return credential
            .map(|credential| Source {
                credential,
                pasted: true,
            })
            .map_err(|error| Trouble::credential(reason::CREDENTIAL_UNAVAILABLE, error));
    }
    let unavailable = |error: CredentialUnavailable| {
        Trouble::credential(reason::SECRETS_BUNDLE_UNAVAILABLE, error)
    };
    let name = spec
        .cluster_ref
        .as_ref()
        .map(|cluster| cluster.name.as_str())
        .unwrap_or_default();
    let cluster = context.clusters.find(name).await?.ok_or_else(|| {
        Trouble::Wait(super::decide::Wait::new(
            reason::CLUSTER_NOT_FOUND,
            format!(
                "TalosCluster {name} does not exist; the machine is not dialled before it does"
            ),
        ))
    })?;
    let managed = context
        .clusters
        .managed(cluster)
        .await
        .map_err(unavailable)?;
    let address = super::address(spec)?;
    let credential = context
        .clusters
        .credential(&managed, address, ichor_certs::Role::Admin)
        .map_err(unavailable)?;
    Ok(Source {
        credential,
        pasted: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn section_5_a_cluster_that_cannot_be_read_keeps_its_machines() {
        let unreadable = [
            ("known".to_owned(), Some("id-1".to_owned())),
            ("never-read".to_owned(), None),
        ];
        for (claimed, named, want) in [
            (Some("id-1"), None, Some("known")),
            (Some("id-1"), Some("never-read"), Some("known")),
            (Some("id-2"), Some("known"), None),
            (Some("id-2"), Some("never-read"), Some("never-read")),
            (None, Some("never-read"), Some("never-read")),
            (None, None, None),
            (Some("id-2"), None, None),
        ] {
            let own = may_be_of(&unreadable, claimed, named);
            assert_eq!(own, want, "{claimed:?} {named:?}");
        }
    }
}
