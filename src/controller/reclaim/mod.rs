//! The reclaim of a machine (record 0136, DESIGN section 11).
//!
//! One reconcile: [`observe`] reads the request and what is around it → [`decide`] says the next step → where the
//! step needs the machine, [`inspect`] reads it and [`assess`] judges it → [`act`] carries the step out (the reset in
//! `reset`, what follows it in `watch`) → [`status`] says what is written. `assess`, `decide`, `facts`, `quorum`,
//! `watching`, `node` and `status` are pure: tables test them.

mod act;
mod assess;
pub mod decide;
mod facts;
mod inspect;
mod node;
mod observe;
mod quorum;
mod reset;
mod sightings;
mod status;
pub mod stored;
mod trouble;
mod watch;
mod watching;

pub use sightings::Sightings;

use crate::controller::context::Context;
use crate::controller::lock::Purpose;
use crate::controller::store::Cache;
use crate::controller::workers::RESYNC;
use ichor_crds::conditions::OVERDUE;
use ichor_crds::conditions::reclaim as reason;
use ichor_crds::{
    MachineReclaim, MachineReclaimSpec, MachineReclaimStatus, NodeAddress, ReclaimPhase,
};
use kube::{Resource, ResourceExt};
use std::net::IpAddr;
use std::time::Duration;
use tracing::Instrument as _;

/// Reconciles the request of a name; gives when it is to be looked at again.
///
/// # Errors
/// What is transient: the caller tries again with a growing pause.
pub async fn reconcile(context: &Context, name: &str) -> anyhow::Result<Option<Duration>> {
    if let Some(rest) = ended(context, name) {
        return Ok(Some(rest));
    }
    let snapshot = match observe::snapshot(context, name).await {
        Ok(Some(snapshot)) => snapshot,
        Ok(None) => return Ok(None),
        Err(trouble::Trouble::Transient(error)) => return Err(error),
        Err(trouble::Trouble::Wait(_) | trouble::Trouble::End(_)) => {
            return Ok(Some(context.settings.recheck));
        }
    };
    // Every line and every call to a machine that follows carries which request it is for (DESIGN section 15).
    let uid = purpose(&snapshot.request).uid;
    let request_id = ichor_crds::request_id(&snapshot.request);
    let span = tracing::info_span!("reclaim", request_id, request = name, %uid);
    // On the heap: the workers hold many of these.
    Box::pin(carry_on(context, &snapshot).instrument(span)).await
}

async fn carry_on(
    context: &Context,
    snapshot: &decide::Snapshot,
) -> anyhow::Result<Option<Duration>> {
    let step = decide::next(snapshot, &context.settings);
    tracing::debug!(?step, "decided");
    match act::carry_out(context, snapshot, step).await {
        Ok(again) => Ok(Some(again.unwrap_or(RESYNC))),
        Err(trouble) => act::report(context, &snapshot.request, trouble).await,
    }
}

/// Ended requests are many and stay: the cache is enough to leave them alone.
fn ended(context: &Context, name: &str) -> Option<Duration> {
    let cached = context.reclaims.named(&context.namespace, name)?;
    let status = cached
        .status
        .as_ref()
        .filter(|status| status.phase.is_final())?;
    let age = decide::elapsed(
        status.completed_at.as_ref()?.0,
        crate::runtime::clock::now(),
    );
    context
        .settings
        .history
        .checked_sub(age)
        .filter(|rest| !rest.is_zero())
}

/// A request was deleted: what was sent is not recalled, and an Event says so (DESIGN section 18, decision 15). There is no
/// finalizer, so that a request can always be deleted.
pub async fn deleted(context: &Context, request: &MachineReclaim) {
    context.sightings.forget(&purpose(request).uid);
    let status = request.status.clone().unwrap_or_default();
    let gone = left_the_cluster(&status);
    let Some(record) = status.reset.filter(|_| !status.phase.is_final()) else {
        context.locks.release(&purpose(request)).await;
        return;
    };
    if gone {
        context.locks.release(&purpose(request)).await;
    } else {
        // Nobody follows the member any more, and it may still be leaving: the others wait as long as a reset may take.
        context
            .locks
            .release_after(&purpose(request), context.settings.overdue)
            .await;
    }
    let at = record
        .recorded_at
        .map(|at| at.0.to_string())
        .unwrap_or_default();
    let left = status.inspection.as_ref().and_then(node::name_of);
    let left = left
        .map(|name| format!(" Its Kubernetes Node is left: kubectl delete node {name}"))
        .unwrap_or_default();
    let note = format!(
        "the reset of machine {} ({}) was recorded at {at}; deleting the request recalls nothing that was sent, and Ichor does not follow the machine any more.{left}",
        record.identity.uuid, request.spec.address
    );
    context
        .events
        .publish(&request.object_ref(&()), true, reason::RESETTING, &note)
        .await;
}

/// Whether a machine whose reset is recorded takes part in its cluster no more, as far as others have to wait for it: its
/// member is gone, it is back in maintenance mode, the request has ended, or it is overdue.
pub fn left_the_cluster(status: &MachineReclaimStatus) -> bool {
    let progress = status.progress.as_ref();
    let gone =
        progress.is_some_and(|seen| seen.member_gone_at.is_some() || seen.returned_at.is_some());
    let overdue = status
        .conditions
        .iter()
        .any(|condition| condition.type_ == OVERDUE);
    gone || overdue || status.phase.is_final()
}

/// How many requests there are in each phase.
pub fn by_phase(requests: &Cache<MachineReclaim>) -> Vec<(String, usize)> {
    use ReclaimPhase::{
        AwaitingConfirmation, AwaitingMaintenance, Done, Failed, Inspecting, Pending, Refused,
        Resetting,
    };
    let phases =
        requests.collect(|one| Some(one.status.as_ref().map(|it| it.phase).unwrap_or_default()));
    [
        Pending,
        Inspecting,
        AwaitingConfirmation,
        Resetting,
        AwaitingMaintenance,
        Done,
        Refused,
        Failed,
    ]
    .map(|phase| {
        (
            format!("{phase:?}"),
            phases.iter().filter(|one| **one == phase).count(),
        )
    })
    .into()
}

/// The name of a request that has not ended and names `cluster`.
pub fn waits_for(request: &MachineReclaim, cluster: &str) -> Option<String> {
    let names = request
        .spec
        .cluster_ref
        .as_ref()
        .is_some_and(|named| named.name == cluster);
    let ended = request
        .status
        .as_ref()
        .is_some_and(|status| status.phase.is_final());
    (names && !ended).then(|| request.name_any())
}

/// What a request holds locks as.
fn purpose(request: &MachineReclaim) -> Purpose {
    Purpose {
        name: format!("machinereclaim/{}", request.name_any()),
        uid: request.metadata.uid.clone().unwrap_or_default(),
    }
}

/// The address of the machine.
fn address(spec: &MachineReclaimSpec) -> Result<IpAddr, trouble::Trouble> {
    let parsed = spec.address.parse::<NodeAddress>();
    parsed.map(NodeAddress::ip).map_err(|error| {
        trouble::Trouble::End(decide::Ending::refused(reason::REFUSED, error.to_string()))
    })
}
