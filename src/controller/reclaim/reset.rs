//! The reset itself: lock, fresh look, record, send, in this order, at most once (DESIGN section 18, decisions 1 to 4).

use super::act::{look, write};
use super::assess::{Assessment, Case, assess};
use super::decide::{self, Consent, Ending, Snapshot, Step, Wait};
use super::facts::{Facts, Rival};
use super::observe;
use super::purpose;
use super::status::Draft;
use super::trouble::Trouble;
use crate::controller::context::Context;
use crate::controller::lock::Blocked;
use crate::controller::store::Guarded;
use crate::runtime::clock;
use crate::runtime::fence::Fence;
use ichor_crds::conditions::machine::CLUSTER_SHUTTING_DOWN;
use ichor_crds::conditions::reclaim as reason;
use ichor_crds::{MachineReclaim, ResetRecord};
use ichor_talos::{Class, Connection, Outcome, ResetRequest, TalosError};
use kube::ResourceExt;
use kube::core::DeserializeGuard;
use std::time::Duration;

/// Resets the machine of a request whose consent was given.
pub(super) async fn reset(
    context: &Context,
    snapshot: &Snapshot,
    cluster: Option<&str>,
) -> Result<Option<Duration>, Trouble> {
    let purpose = purpose(&snapshot.request);
    let lock = match cluster {
        Some(cluster) => Some(acquire(context, cluster, &purpose).await?),
        None => None,
    };
    let outcome = Box::pin(under_lock(context, snapshot, lock.as_ref())).await;
    // What was recorded keeps the lock until the member is gone; nothing else holds up the others.
    if !matches!(outcome, Ok(Sent::Recorded)) {
        context.locks.release(&purpose).await;
    }
    match outcome? {
        Sent::Recorded => Ok(Some(context.settings.watch)),
        Sent::Ask(seen, consent) => {
            // What is asked for is what the fresh look found: admission judges the answer by it.
            let (facts, assessment) = *seen;
            let draft = Draft::of(&snapshot.request, clock::now())
                .inspected(&facts, &assessment)
                .awaiting(&consent);
            write(context, &snapshot.request, draft.finish()).await?;
            Ok(None)
        }
        Sent::TakenBack => Ok(Some(context.settings.recheck)),
        Sent::Step(step) => match step {
            Step::Wait(wait) => Err(Trouble::Wait(wait)),
            Step::End(ending) => Err(Trouble::End(ending)),
            _ => Ok(Some(Duration::ZERO)),
        },
    }
}

async fn acquire(
    context: &Context,
    cluster: &str,
    purpose: &crate::controller::lock::Purpose,
) -> Result<Fence, Trouble> {
    match context
        .locks
        .acquire_disruptive_lock(cluster, purpose)
        .await
    {
        Ok(fence) => Ok(fence),
        Err(Blocked::Kubernetes(error)) => Err(error.into()),
        Err(blocked) => {
            let reason = match blocked {
                Blocked::ShuttingDown { .. } => CLUSTER_SHUTTING_DOWN,
                _ => reason::CLUSTER_LOCK_HELD,
            };
            Err(Trouble::Wait(Wait::new(reason, blocked.to_string())))
        }
    }
}

/// What came of it.
enum Sent {
    /// The reset is recorded; it may have been sent.
    Recorded,
    /// It is not any more: the request provably was not carried out.
    TakenBack,
    /// It is not; a person has to type something first, because of what was seen.
    Ask(Box<(Facts, Assessment)>, Consent),
    /// It is not; another step follows.
    Step(Step),
}

async fn under_lock(
    context: &Context,
    snapshot: &Snapshot,
    lock: Option<&Fence>,
) -> Result<Sent, Trouble> {
    let request = &snapshot.request;
    let dialer = context.dialer_within(lock);
    let (connection, facts, assessment) = look(context, request, &dialer).await?;
    let mut me = Rival::of(request);
    me.uuid = facts.inspection.identity.system_uuid();
    if let Some(ending) = decide::busy(&me, &observe::rivals_live(context).await?) {
        return Ok(Sent::Step(Step::End(ending)));
    }
    let consented = snapshot.status().inspection.unwrap_or_default();
    let decided =
        decide::before_reset(&request.spec, &consented, &facts, &assessment, clock::now());
    let record = match decided {
        Ok(record) => record,
        Err(Step::AwaitPerson(consent)) => {
            return Ok(Sent::Ask(Box::new((facts, assessment)), consent));
        }
        Err(step) => return Ok(Sent::Step(step)),
    };
    // Approved while it was looked at: the machine is a member now.
    let approved = observe::approved(context, me.uuid).await?;
    let refusals = assess(&Case {
        spec: &request.spec,
        facts: &facts,
        approved: &approved,
    })
    .refusals;
    if !refusals.is_empty() {
        let ending = Ending::refused(reason::REFUSED, refusals.join("; "));
        return Ok(Sent::Step(Step::End(ending)));
    }
    let Some(recorded) = put_record(context, request, &facts, &assessment, record).await? else {
        return Ok(Sent::Step(Step::Rest(None)));
    };
    send(context, &recorded, &connection, lock).await
}

/// Writes the record: a live read, then a PUT bound to what was read. Only the process whose PUT succeeds may send;
/// a record that is found is never sent again (DESIGN section 18, decision 2).
async fn put_record(
    context: &Context,
    request: &MachineReclaim,
    facts: &Facts,
    assessment: &Assessment,
    record: ResetRecord,
) -> Result<Option<MachineReclaim>, Trouble> {
    let name = request.name_any();
    let live: Option<Guarded<MachineReclaim>> = context.requests.get_opt(&name).await?;
    let Some(DeserializeGuard(Ok(live))) = live else {
        return Ok(None);
    };
    let unchanged = live.metadata.uid == request.metadata.uid
        && live.metadata.deletion_timestamp.is_none()
        && live.spec == request.spec
        && live
            .status
            .as_ref()
            .is_some_and(|status| status.reset.is_none() && !status.phase.is_final());
    if !unchanged {
        return Ok(None);
    }
    let draft = Draft::of(&live, clock::now())
        .inspected(facts, assessment)
        .recorded(record);
    write(context, &live, draft.finish()).await.map(Some)
}

/// Sends the reset over the connection on which the identity was just read. From here on nothing is an error of the
/// reconcile: the record stands, or it is taken back.
async fn send(
    context: &Context,
    recorded: &MachineReclaim,
    connection: &Connection,
    lock: Option<&Fence>,
) -> Result<Sent, Trouble> {
    let record = recorded
        .status
        .as_ref()
        .and_then(|status| status.reset.as_ref());
    let Some(graceful) = record.map(|record| record.graceful) else {
        // The API server did not keep what was written: nothing may be sent.
        return Ok(Sent::Recorded);
    };
    let held = context.leader.deadline().is_ok() && lock.is_none_or(|lock| lock.deadline().is_ok());
    if !held {
        let wait = Wait::new(
            reason::NOT_READY,
            "the lease ended before the reset was sent; nothing was sent",
        );
        return Ok(take_back(context, recorded, |draft| draft.not_sent(&wait)).await);
    }
    tracing::info!(request = %recorded.name_any(), address = %connection.address(), graceful, "sending the reset");
    context.metrics.reset_sent();
    match connection.reset(ResetRequest { graceful }).await {
        Ok(actor) => {
            tracing::info!(request = %recorded.name_any(), %actor, "the reset was accepted");
            // Only a note: without it the record says that the answer was not seen.
            if note(context, recorded, Draft::accepted).await.is_err() {
                tracing::warn!(request = %recorded.name_any(), "the answer to the reset could not be noted");
            }
            Ok(Sent::Recorded)
        }
        Err(error) if error.outcome() == Outcome::NotCarriedOut => {
            Ok(take_back(context, recorded, |draft| refused(draft, &error)).await)
        }
        Err(error) => {
            // A deadline or a broken stream: it may have been carried out, so the record stays (decision 4).
            tracing::warn!(request = %recorded.name_any(), %error, "the answer to the reset was not seen");
            Ok(Sent::Recorded)
        }
    }
}

/// What is busy or not ready will be asked again; what the machine refuses or cannot understand it would refuse again,
/// so a person has to ask anew.
fn refused(draft: Draft, error: &TalosError) -> Draft {
    let why = format!(
        "the reset was not carried out and is not recorded any more: {}",
        error.summary()
    );
    let draft = draft.not_sent(&Wait::new(reason::TALOS_CONNECT_FAILED, why.clone()));
    match error.class() {
        Class::Refused | Class::Invalid => {
            draft.ended(&Ending::refused(reason::TALOS_CONNECT_FAILED, why))
        }
        _ => draft,
    }
}

/// Takes a record back whose request provably was not carried out (decision 4). Where that cannot be written, the
/// record stays, and the watch finds the machine running.
async fn take_back(
    context: &Context,
    recorded: &MachineReclaim,
    change: impl Fn(Draft) -> Draft,
) -> Sent {
    match note(context, recorded, change).await {
        Ok(_) => Sent::TakenBack,
        Err(_) => Sent::Recorded,
    }
}

/// Writes what became of a record. Whoever changed a label meanwhile made another version of the request: it is read
/// again, and where the record still is this one, written once more.
async fn note(
    context: &Context,
    recorded: &MachineReclaim,
    change: impl Fn(Draft) -> Draft,
) -> Result<MachineReclaim, Trouble> {
    let put = async |request: &MachineReclaim| {
        let draft = change(Draft::of(request, clock::now()));
        Box::pin(write(context, request, draft.finish())).await
    };
    let written = put(recorded).await;
    if !matches!(&written, Err(Trouble::Transient(error)) if is_conflict(error)) {
        return written;
    }
    let name = recorded.name_any();
    let live: Option<Guarded<MachineReclaim>> = context.requests.get_opt(&name).await?;
    match live {
        Some(DeserializeGuard(Ok(live))) if has_record_of(&live, recorded) => put(&live).await,
        _ => written,
    }
}

fn is_conflict(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref::<kube::Error>();
    matches!(error, Some(kube::Error::Api(status)) if status.code == 409)
}

/// Whether this is the same request with the same record, and nobody has ended it.
fn has_record_of(live: &MachineReclaim, recorded: &MachineReclaim) -> bool {
    let record = |request: &MachineReclaim| {
        let status = request.status.as_ref()?;
        status.reset.clone().filter(|_| !status.phase.is_final())
    };
    live.metadata.uid == recorded.metadata.uid
        && record(live).is_some()
        && record(live) == record(recorded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ichor_crds::{MachineReclaimSpec, MachineReclaimStatus, ReclaimPhase};

    fn request(uid: &str, phase: ReclaimPhase, boot: Option<&str>) -> MachineReclaim {
        let mut request = MachineReclaim::new("reclaim-1", MachineReclaimSpec::default());
        request.metadata.uid = Some(uid.to_owned());
        request.status = Some(MachineReclaimStatus {
            phase,
            reset: boot.map(|boot| ResetRecord {
                boot_id: Some(boot.to_owned()),
                ..ResetRecord::default()
            }),
            ..MachineReclaimStatus::default()
        });
        request
    }

    #[test]
    fn a_note_is_written_again_only_where_the_record_is_the_same() {
        use ReclaimPhase::{AwaitingMaintenance, Failed, Resetting};
        let mine = request("a", Resetting, Some("boot-1"));
        let mut labelled = mine.clone();
        labelled.metadata.resource_version = Some("43".to_owned());
        for (what, live, want) in [
            ("a label was set", labelled, true),
            (
                "another leader watches",
                request("a", AwaitingMaintenance, Some("boot-1")),
                true,
            ),
            (
                "another request of the name",
                request("b", Resetting, Some("boot-1")),
                false,
            ),
            (
                "another record",
                request("a", Resetting, Some("boot-2")),
                false,
            ),
            ("taken back", request("a", Resetting, None), false),
            ("ended", request("a", Failed, Some("boot-1")), false),
        ] {
            assert_eq!(has_record_of(&live, &mine), want, "{what}");
        }
    }
}
