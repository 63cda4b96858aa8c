//! Follows a machine whose reset is recorded, and finishes what is left to do when it is back.

use super::act::{or_report, write};
use super::decide::{self, Ending, Snapshot, Wait};
use super::node::{self, NodeSight, NodeStep};
use super::status::Draft;
use super::trouble::Trouble;
use super::watching::{self, Outlook, Sight};
use super::{address, inspect, left_the_cluster, observe, purpose};
use crate::controller::clusters::Managed;
use crate::controller::context::Context;
use crate::controller::kubernetes::AccessRefused;
use crate::runtime::clock;
use ichor_crds::conditions::reclaim as reason;
use ichor_crds::{
    MachineReclaim, MachineReclaimStatus, ReclaimPhase, ReclaimProgress, ResetRecord, SystemUuid,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use std::time::Duration;

/// How often a Node that changes between look and deletion is looked at again at once.
const TRIES: usize = 3;

/// Looks once.
pub(super) async fn watch(
    context: &Context,
    snapshot: &Snapshot,
) -> Result<Option<Duration>, Trouble> {
    let request = &snapshot.request;
    let status = snapshot.status();
    let Some(record) = status.reset.clone() else {
        return Ok(None);
    };
    keep_lock(context, request, &status).await;
    let address = address(&request.spec)?;
    let sight = Box::pin(observe::sight(context, request, &record, address)).await;
    let now = clock::now();
    let recorded_at = record.recorded_at.as_ref().map(|at| at.0);
    let known = context.sightings.age(&purpose(request).uid, recorded_at);
    let outlook = watching::judge(
        &request.spec,
        &record,
        status.progress.as_ref(),
        &sight,
        now,
        known,
        &context.settings,
    );
    match outlook {
        Outlook::Failed(ending) => Err(Trouble::End(ending)),
        Outlook::Waiting { progress, overdue } => {
            waiting(context, request, &record, progress, overdue).await
        }
        Outlook::Returned(progress) => {
            // Seen before, and its Node still waits: written once is enough.
            let seen = status.progress.as_ref() == Some(&progress);
            let request = if seen {
                request.clone()
            } else {
                let draft = Draft::of(request, now).watched(progress, false);
                write(context, request, draft.finish()).await?
            };
            context.locks.release(&purpose(&request)).await;
            let finished = finish(context, &request, &sight).await;
            or_report(context, &request, finished).await
        }
    }
}

/// "take the disruption lock and keep it until the member is gone" (DESIGN section 11), also after another process
/// has taken over. Where it cannot be had, the record alone keeps others away (`lock::transition`).
async fn keep_lock(context: &Context, request: &MachineReclaim, status: &MachineReclaimStatus) {
    let cluster = status.inspection.as_ref().and_then(decide::lock_of);
    let Some(cluster) = cluster.filter(|_| !left_the_cluster(status)) else {
        return;
    };
    if context.locks.holds(&cluster, &purpose(request)).await {
        return;
    }
    if let Err(error) = context
        .locks
        .acquire_disruptive_lock(&cluster, &purpose(request))
        .await
    {
        tracing::debug!(%error, "the disruption lock is not held while a machine leaves");
    }
}

async fn waiting(
    context: &Context,
    request: &MachineReclaim,
    record: &ResetRecord,
    mut progress: ReclaimProgress,
    overdue: bool,
) -> Result<Option<Duration>, Trouble> {
    let now = clock::now();
    if progress.member_gone_at.is_none()
        && record.graceful
        && member_is_gone(context, request).await
    {
        progress.member_gone_at = Some(Time(now));
    }
    let draft = Draft::of(request, now).watched(progress, overdue);
    let written = write(context, request, draft.finish()).await?;
    if written.status.as_ref().is_some_and(left_the_cluster) {
        context.locks.release(&purpose(request)).await;
    }
    let again = if overdue {
        context.settings.recheck
    } else {
        context.settings.watch
    };
    Ok(Some(again))
}

/// Whether the others list the machine's etcd member no more; unknown is no.
async fn member_is_gone(context: &Context, request: &MachineReclaim) -> bool {
    let seen = request
        .status
        .as_ref()
        .and_then(|status| status.inspection.as_ref());
    let Some((seen, member)) = seen.and_then(|seen| Some((seen, seen.etcd_member_id.as_ref()?)))
    else {
        return false;
    };
    let (Some(cluster), Ok(address)) = (decide::lock_of(seen), address(&request.spec)) else {
        return false;
    };
    let Some(object) = context.clusters.named(&cluster) else {
        return false;
    };
    let Ok(managed) = context.clusters.managed(object).await else {
        return false;
    };
    let members = inspect::members_by_others(context, &managed, address).await;
    members.is_some_and(|members| !members.is_empty() && !members.contains(member))
}

/// The machine is back: its Node goes, and the request is done.
async fn finish(
    context: &Context,
    request: &MachineReclaim,
    sight: &Sight,
) -> Result<Option<Duration>, Trouble> {
    let uuid = match sight {
        Sight::Maintenance { identity, .. } => identity.system_uuid(),
        _ => None,
    };
    let mut cleaned = clean_up(context, request, uuid).await;
    for _ in 0..TRIES {
        if !matches!(cleaned, Err(AccessRefused::Changed(_))) {
            break;
        }
        cleaned = clean_up(context, request, uuid).await;
    }
    let words = match cleaned {
        Ok(words) => words,
        Err(error) if is_late(context, request) => {
            let name = request
                .status
                .as_ref()
                .and_then(|status| node::name_of(status.inspection.as_ref()?));
            let name = name.unwrap_or_default();
            format!("Kubernetes node {name} was left, because {error}: kubectl delete node {name}")
        }
        Err(error) => {
            return Err(Trouble::Wait(Wait::new(
                reason::KUBERNETES_UNAVAILABLE,
                format!(
                    "the machine is wiped and in maintenance mode; its Kubernetes Node waits: {error}"
                ),
            )));
        }
    };
    let ending = Ending {
        phase: ReclaimPhase::Done,
        reason: reason::DONE,
        result: node::result(request, &words),
    };
    Err(Trouble::End(ending))
}

/// A Node that cannot be looked at does not keep a wiped machine's request open for ever, and not at all where its
/// cluster ended with the machine, which was the last control plane.
fn is_late(context: &Context, request: &MachineReclaim) -> bool {
    let status = request.status.as_ref();
    let ended = status
        .and_then(|status| status.inspection.as_ref())
        .is_some_and(node::cluster_ended);
    if ended {
        return true;
    }
    let progress = request
        .status
        .as_ref()
        .and_then(|status| status.progress.as_ref());
    let returned = progress.and_then(|progress| progress.returned_at.as_ref());
    returned.is_some_and(|at| decide::elapsed(at.0, clock::now()) >= context.settings.overdue)
}

async fn clean_up(
    context: &Context,
    request: &MachineReclaim,
    uuid: Option<SystemUuid>,
) -> Result<String, AccessRefused> {
    let (sight, nodes) = look_at_node(context, request).await?;
    match (node::decide(request, uuid, sight), nodes) {
        (NodeStep::Leave(words), _) => Ok(words),
        (NodeStep::Delete { name, .. }, _) if context.leader.deadline().is_err() => {
            Err(AccessRefused::Unavailable(name))
        }
        (
            NodeStep::Delete {
                name,
                uid,
                resource_version,
            },
            Some(nodes),
        ) => {
            if nodes.delete(&name, &uid, &resource_version).await? {
                Ok(format!("Kubernetes node {name} deleted"))
            } else {
                // It changed meanwhile, as Nodes do with every heartbeat: looked at again.
                Err(AccessRefused::Changed(name))
            }
        }
        (NodeStep::Delete { name, .. }, None) => Err(AccessRefused::Unavailable(name)),
    }
}

async fn look_at_node(
    context: &Context,
    request: &MachineReclaim,
) -> Result<(NodeSight, Option<crate::controller::kubernetes::Nodes>), AccessRefused> {
    let seen = request
        .status
        .as_ref()
        .and_then(|status| status.inspection.clone())
        .unwrap_or_default();
    let Some(cluster) = &seen.managed_cluster else {
        return Ok((NodeSight::NotManaged, None));
    };
    let Some(name) = node::name_of(&seen) else {
        return Ok((NodeSight::Nameless, None));
    };
    let managed = managed(context, cluster).await?;
    let nodes = context.kubernetes.nodes(&managed)?;
    let sight = match nodes.get(&name).await? {
        None => NodeSight::Missing { name },
        Some(found) => NodeSight::Found {
            name,
            uid: found.uid,
            resource_version: found.resource_version,
            system_uuid: found.system_uuid,
        },
    };
    Ok((sight, Some(nodes)))
}

async fn managed(context: &Context, cluster: &str) -> Result<Managed, AccessRefused> {
    let bundle = |why: String| AccessRefused::Bundle {
        cluster: cluster.to_owned(),
        why,
    };
    let object = context.clusters.named(cluster);
    let object =
        object.ok_or_else(|| bundle("the TalosCluster does not exist any more".to_owned()))?;
    context
        .clusters
        .managed(object)
        .await
        .map_err(|error| bundle(error.to_string()))
}
