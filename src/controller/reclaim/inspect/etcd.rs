//! The members of etcd and their health: "members' health is asked of the cluster's approved control planes with
//! their own per-node credentials, unknown counts as unhealthy" (DESIGN section 11).

use super::{Source, printable};
use crate::controller::clusters::Managed;
use crate::controller::context::Context;
use crate::controller::reclaim::decide::Wait;
use crate::controller::reclaim::facts::EtcdAnswer;
use crate::controller::reclaim::trouble::Trouble;
use futures::StreamExt;
use ichor_certs::Role;
use ichor_crds::conditions::reclaim as reason;
use ichor_crds::{EtcdMemberView, MachineRole, NodeAddress};
use ichor_talos::{Connection, EtcdMember, EtcdStatus, Kind};
use std::collections::BTreeSet;
use std::net::IpAddr;

/// Most members that are listed and asked.
const MEMBERS_MAX: usize = 32;
/// Control planes asked at the same moment.
const AT_ONCE: usize = 4;

/// What is known of etcd.
#[derive(Debug, Default)]
pub(super) struct Etcd {
    pub(super) answer: EtcdAnswer,
    /// Whether no other control plane of the managed cluster is known.
    pub(super) alone: bool,
    /// The machine's own member, as lower-case hex.
    pub(super) own: Option<String>,
    pub(super) members: Vec<EtcdMemberView>,
}

/// Asks the machine itself, then the others.
pub(super) async fn read(
    context: &Context,
    source: &Source,
    managed: Option<&Managed>,
    connection: &Connection,
) -> Result<Etcd, Trouble> {
    // etcd that is down hangs every call until its deadline: asked side by side.
    let (members, status, local) = tokio::join!(
        connection.etcd_members(),
        connection.etcd_status(),
        connection.etcd_local_member_id(),
    );
    // What was cut because a lease is over says nothing about etcd.
    let errors = [
        members.as_ref().err(),
        status.as_ref().err(),
        local.as_ref().err(),
    ];
    if let Some(lost) = errors
        .into_iter()
        .flatten()
        .find(|error| error.kind() == Kind::LeaseLost)
    {
        return Err(Trouble::Transient(anyhow::anyhow!(
            lost.summary().to_owned()
        )));
    }
    let own_id = match (&status, local) {
        (Ok(status), _) => Some(status.member_id),
        (Err(_), Ok(Some(local))) => Some(local),
        // It lists members and does not say which one it is: nothing can be judged.
        (Err(_), Err(error)) if members.is_ok() => return Err(error.into()),
        (Err(_), Ok(None)) if members.is_ok() => {
            return Err(Trouble::Wait(Wait::new(
                reason::NOT_READY,
                format!(
                    "{} lists the members of etcd and does not say which one it is, so whether it may go cannot be judged",
                    connection.address()
                ),
            )));
        }
        (Err(_), Ok(None) | Err(_)) => None,
    };
    let answers = members.is_ok();
    let own_list = members.unwrap_or_default();
    let addresses = match managed {
        Some(cluster) => approved_control_planes(context, &cluster.name, connection.address()),
        None if source.pasted => peers(&own_list, connection.address()),
        None => Vec::new(),
    };
    let alone = managed.is_some() && addresses.is_empty();
    let others = ask(context, source, managed, addresses).await;
    let mut healthy: BTreeSet<u64> = others.iter().filter_map(|other| other.healthy).collect();
    healthy.extend(
        status
            .ok()
            .filter(EtcdStatus::is_healthy)
            .map(|status| status.member_id),
    );
    let listed = if own_list.is_empty() {
        others
            .into_iter()
            .map(|other| other.members)
            .find(|list| !list.is_empty())
            .unwrap_or_default()
    } else {
        own_list
    };
    let own_id = match own_id {
        None if !answers => by_address(&listed, connection.address()),
        known => known,
    };
    Ok(Etcd {
        answer: if answers && !listed.is_empty() {
            EtcdAnswer::Answers
        } else {
            EtcdAnswer::Silent
        },
        alone,
        own: own_id.map(hex),
        members: listed
            .iter()
            .take(MEMBERS_MAX)
            .map(|member| view(member, &healthy))
            .collect(),
    })
}

/// The machine's member in the list of the others by its peer address, where etcd on the machine is down and does not say.
/// Never by host name: another member may have it (FAULTS 14).
fn by_address(listed: &[EtcdMember], address: IpAddr) -> Option<u64> {
    let here = |member: &&EtcdMember| hosts(&member.peer_urls).any(|host| host == address);
    listed.iter().find(here).map(|member| member.id)
}

/// What one other control plane said.
#[derive(Debug, Default)]
struct Other {
    members: Vec<EtcdMember>,
    /// Its own member, if that is healthy.
    healthy: Option<u64>,
}

async fn ask(
    context: &Context,
    source: &Source,
    managed: Option<&Managed>,
    addresses: Vec<IpAddr>,
) -> Vec<Other> {
    futures::stream::iter(addresses.into_iter().take(MEMBERS_MAX))
        .map(|address| async move {
            ask_one(context, source, managed, address)
                .await
                .unwrap_or_default()
        })
        .buffer_unordered(AT_ONCE)
        .collect()
        .await
}

/// Unreachable, refusing or hanging: nothing is known of it.
async fn ask_one(
    context: &Context,
    source: &Source,
    managed: Option<&Managed>,
    address: IpAddr,
) -> Option<Other> {
    let credential = match managed {
        Some(cluster) => context
            .clusters
            .credential(cluster, address, Role::Reader)
            .ok()?,
        None => source.credential.clone(),
    };
    let connection = context.dialer.connect(address, &credential).await.ok()?;
    let (members, status) = tokio::join!(connection.etcd_members(), connection.etcd_status());
    Some(Other {
        members: members.unwrap_or_default(),
        healthy: status
            .ok()
            .filter(EtcdStatus::is_healthy)
            .map(|status| status.member_id),
    })
}

/// The list of members as another approved control plane of the cluster has it; `None` when none answers.
pub(in crate::controller::reclaim) async fn members_by_others(
    context: &Context,
    cluster: &Managed,
    address: IpAddr,
) -> Option<BTreeSet<String>> {
    for other in approved_control_planes(context, &cluster.name, address) {
        let Ok(credential) = context.clusters.credential(cluster, other, Role::Reader) else {
            continue;
        };
        let Ok(connection) = context.dialer.connect(other, &credential).await else {
            continue;
        };
        if let Ok(members) = connection.etcd_members().await {
            return Some(members.into_iter().map(|member| hex(member.id)).collect());
        }
    }
    None
}

/// Addresses of the cluster's approved control planes, without the machine itself.
fn approved_control_planes(context: &Context, cluster: &str, without: IpAddr) -> Vec<IpAddr> {
    context.machines.collect(|machine| {
        let of_cluster = machine
            .spec
            .cluster_ref
            .as_ref()
            .is_some_and(|of| of.name == cluster);
        let control_plane = machine.spec.role == Some(MachineRole::ControlPlane);
        let address = machine.dial_endpoint()?.parse::<NodeAddress>().ok()?.ip();
        (machine.is_approved() && of_cluster && control_plane && address != without)
            .then_some(address)
    })
}

/// Addresses of the other members of a cluster that Ichor does not manage, as the machine names them. They are dialled with
/// the pasted talosconfig, whose CA they have to show a certificate of.
fn peers(members: &[EtcdMember], without: IpAddr) -> Vec<IpAddr> {
    let all = members.iter().flat_map(|member| hosts(&member.peer_urls));
    let unique: BTreeSet<IpAddr> = all.filter(|address| *address != without).collect();
    unique.into_iter().collect()
}

/// The addresses in URLs; names are not looked up.
fn hosts(urls: &[String]) -> impl Iterator<Item = IpAddr> {
    urls.iter().filter_map(|url| {
        let url: http::Uri = url.parse().ok()?;
        let host = url.host()?;
        Some(host.parse::<NodeAddress>().ok()?.ip())
    })
}

fn view(member: &EtcdMember, healthy: &BTreeSet<u64>) -> EtcdMemberView {
    EtcdMemberView {
        id: hex(member.id),
        hostname: printable(&member.hostname, 253),
        learner: member.learner,
        healthy: healthy.contains(&member.id),
    }
}

/// A member ID as etcd and Talos print it.
fn hex(id: u64) -> String {
    format!("{id:x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peers_of_a_foreign_cluster_are_its_members_addresses_of_both_families() {
        let member = |url: &str| EtcdMember {
            peer_urls: vec![url.to_owned()],
            ..EtcdMember::default()
        };
        let members = [
            member("https://10.5.0.2:2380"),
            member("https://[fc00:22::2]:2380"),
            member("https://10.5.0.3:2380"),
            member("https://10.5.0.3:2380"),
            member("https://cp.example.com:2380"),
            member("nonsense"),
        ];
        let six: IpAddr = "fc00:22::2".parse().expect("an address");
        assert_eq!(by_address(&members, six), Some(0));
        let stranger: IpAddr = "10.5.0.9".parse().expect("an address");
        assert_eq!(by_address(&members, stranger), None);
        let own: IpAddr = "10.5.0.2".parse().expect("an address");
        let found: Vec<String> = peers(&members, own)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(found, ["10.5.0.3", "fc00:22::2"]);
    }
}
