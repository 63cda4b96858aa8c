//! Carries the steps out. Everything that destroys is here and in [`super::reset`].

use super::assess::{Assessment, Case, assess};
use super::decide::{self, Consent, Ending, Snapshot, Step};
use super::facts::{Facts, Rival};
use super::inspect;
use super::observe;
use super::status::{self, Draft};
use super::trouble::Trouble;
use super::{address, purpose};
use crate::controller::context::Context;
use crate::runtime::clock;
use ichor_crds::{MachineReclaim, MachineReclaimStatus};
use ichor_talos::{Connection, Dialer};
use kube::api::{DeleteParams, PostParams, Preconditions};
use kube::{Resource, ResourceExt};
use std::time::Duration;

/// Carries a step out; gives when the request is to be looked at again.
pub async fn carry_out(
    context: &Context,
    snapshot: &Snapshot,
    step: Step,
) -> Result<Option<Duration>, Trouble> {
    let request = &snapshot.request;
    match step {
        Step::Rest(again) => Ok(again),
        Step::Prune => prune(context, request).await,
        Step::End(ending) => Err(Trouble::End(ending)),
        Step::Wait(wait) => Err(Trouble::Wait(wait)),
        Step::AwaitPerson(consent) => await_person(context, request, &consent).await,
        Step::Inspect => look_first(context, snapshot).await,
        Step::Reset { lock } => super::reset::reset(context, snapshot, lock.as_deref()).await,
        Step::Watch => super::watch::watch(context, snapshot).await,
    }
}

async fn prune(context: &Context, request: &MachineReclaim) -> Result<Option<Duration>, Trouble> {
    let exactly = DeleteParams::default().preconditions(Preconditions {
        uid: request.metadata.uid.clone(),
        resource_version: request.metadata.resource_version.clone(),
    });
    match context.requests.delete(&request.name_any(), &exactly).await {
        Ok(_) => Ok(None),
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

async fn await_person(
    context: &Context,
    request: &MachineReclaim,
    consent: &Consent,
) -> Result<Option<Duration>, Trouble> {
    let draft = Draft::of(request, clock::now()).awaiting(consent);
    write(context, request, draft.finish()).await?;
    Ok(None)
}

/// The first look: the person sees what would be wiped, or why it is refused.
async fn look_first(context: &Context, snapshot: &Snapshot) -> Result<Option<Duration>, Trouble> {
    let request = write(
        context,
        &snapshot.request,
        Draft::of(&snapshot.request, snapshot.now)
            .inspecting()
            .finish(),
    )
    .await?;
    let shown = show(context, snapshot, &request).await;
    or_report(context, &request, shown).await
}

async fn show(
    context: &Context,
    snapshot: &Snapshot,
    request: &MachineReclaim,
) -> Result<Option<Duration>, Trouble> {
    let (_, facts, assessment) = look(context, request, &context.dialer).await?;
    let draft = Draft::of(request, clock::now()).inspected(&facts, &assessment);
    let mut me = Rival::of(request);
    me.uuid = facts.inspection.identity.system_uuid();
    let refused = decide::busy(&me, &snapshot.rivals).or_else(|| refusal(&assessment));
    if let Some(ending) = refused {
        write(context, request, draft.ended(&ending).finish()).await?;
        return Ok(Some(context.settings.history));
    }
    let name = assessment.cluster_name_needed.as_deref();
    let consent = decide::consent(&request.spec, &facts.inspection, name);
    let draft = draft.awaiting(if consent == Consent::Given {
        &Consent::Missing
    } else {
        &consent
    });
    write(context, request, draft.finish()).await?;
    // What was typed before the first look counts now that the look is shown.
    Ok((consent == Consent::Given).then_some(Duration::ZERO))
}

fn refusal(assessment: &Assessment) -> Option<Ending> {
    let refused = !assessment.refusals.is_empty();
    refused.then(|| {
        Ending::refused(
            ichor_crds::conditions::reclaim::REFUSED,
            assessment.refusals.join("; "),
        )
    })
}

/// Dials, reads and judges. The connection is the one that may carry the reset.
pub(super) async fn look(
    context: &Context,
    request: &MachineReclaim,
    dialer: &Dialer,
) -> Result<(Connection, Facts, Assessment), Trouble> {
    let spec = &request.spec;
    let source = inspect::source(context, spec).await?;
    let connection = dialer.connect(address(spec)?, &source.credential).await?;
    // On the heap: many calls at once make a large future.
    let facts = Box::pin(inspect::inspect(context, spec, &source, &connection)).await?;
    // What was not answered because the lease is over would look like machines that do not answer.
    context
        .leader
        .deadline()
        .map_err(|lost| Trouble::Transient(lost.into()))?;
    let approved = observe::approved(context, facts.inspection.identity.system_uuid()).await?;
    let assessment = assess(&Case {
        spec,
        facts: &facts,
        approved: &approved,
    });
    Ok((connection, facts, assessment))
}

/// Reports trouble on the request as it was last written: a status made from an older version would not be taken.
pub(super) async fn or_report(
    context: &Context,
    request: &MachineReclaim,
    outcome: Result<Option<Duration>, Trouble>,
) -> Result<Option<Duration>, Trouble> {
    match outcome {
        Ok(again) => Ok(again),
        Err(trouble) => report(context, request, trouble)
            .await
            .map_err(Trouble::Transient),
    }
}

/// Writes what keeps a request from going on; gives when to look again.
pub async fn report(
    context: &Context,
    request: &MachineReclaim,
    trouble: Trouble,
) -> anyhow::Result<Option<Duration>> {
    let draft = Draft::of(request, clock::now());
    let (draft, again) = match trouble {
        Trouble::Transient(error) => return Err(error),
        Trouble::Wait(wait) => (draft.waiting(&wait), context.settings.recheck),
        Trouble::End(ending) => {
            context.locks.release(&purpose(request)).await;
            (draft.ended(&ending), context.settings.history)
        }
    };
    match write(context, request, draft.finish()).await {
        Err(Trouble::Transient(error)) => Err(error),
        Ok(_) | Err(Trouble::Wait(_) | Trouble::End(_)) => Ok(Some(again)),
    }
}

/// Writes a status if it says anything new, bound to the version of the request that it was made from, and tells of
/// the transitions. Gives the request as it is then.
pub(super) async fn write(
    context: &Context,
    request: &MachineReclaim,
    new: MachineReclaimStatus,
) -> Result<MachineReclaim, Trouble> {
    let old = request.status.clone().unwrap_or_default();
    if request.status.is_some() && status::same(&old, &new) {
        return Ok(request.clone());
    }
    let mut changed = request.clone();
    changed.status = Some(new);
    let written = context
        .statuses
        .replace_status(&request.name_any(), &PostParams::default(), &changed)
        .await?;
    let fresh = written.status.clone().unwrap_or_default();
    let reference = written.object_ref(&());
    let requester = written.annotations().get(ichor_crds::REQUESTED_BY);
    for notice in status::notices(&old, &fresh, requester.map(String::as_str)) {
        tracing::info!(request = %request.name_any(), reason = %notice.reason, "{}", notice.note);
        context
            .events
            .publish(&reference, notice.warning, &notice.reason, &notice.note)
            .await;
    }
    if fresh.phase.is_final() && !old.phase.is_final() {
        context.sightings.forget(&purpose(request).uid);
        context.metrics.reclaim_ended(&format!("{:?}", fresh.phase));
    }
    Ok(written)
}
