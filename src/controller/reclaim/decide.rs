//! What to do next about a request: pure. The snapshot of one reconcile and the one `now` in, one step out.

use super::assess::Assessment;
use super::facts::{Facts, Rival, rival};
use ichor_crds::conditions::reclaim as reason;
use ichor_crds::{
    IdentityMatch, MachineReclaim, MachineReclaimSpec, MachineReclaimStatus, MachineRole,
    NodeAddress, ReclaimInspection, ReclaimPhase, ResetRecord, SystemUuid,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use std::time::Duration;

/// The times and permissions of the reclaim reconciler.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Whether loopback and link-local addresses are dialled.
    pub allow_local_addresses: bool,
    /// Between two tries of what time can fix.
    pub recheck: Duration,
    /// Between two looks at a machine whose reset is recorded.
    pub watch: Duration,
    /// How long a machine may keep running after the record (DESIGN section 18, decisions 1 and 3).
    pub observe_timeout: Duration,
    /// After this a wipe is marked Overdue.
    pub overdue: Duration,
    /// How long an ended request is kept.
    pub history: Duration,
}

/// One request and what matters around it, read at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The moment.
    pub now: Timestamp,
    /// The request as the API server has it now.
    pub request: MachineReclaim,
    /// All requests, this one among them.
    pub rivals: Vec<Rival>,
    /// Whether the TalosCluster that `clusterRef` names exists; true when none is named.
    pub cluster_found: bool,
}

impl Snapshot {
    /// The status, which a new request does not have yet.
    pub fn status(&self) -> MachineReclaimStatus {
        self.request.status.clone().unwrap_or_default()
    }
}

/// The next step.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Nothing; look again after the time given, if one is.
    Rest(Option<Duration>),
    /// The request is older than the history that is kept.
    Prune,
    /// It ends here.
    End(Ending),
    /// Something has to be there first.
    Wait(Wait),
    /// The machine has to be looked at.
    Inspect,
    /// A person has to type something.
    AwaitPerson(Consent),
    /// The person has consented: look again and reset.
    Reset {
        /// The managed cluster whose disruption lock is taken first: the machine is one of its control planes.
        lock: Option<String>,
    },
    /// The reset is recorded: see what becomes of it.
    Watch,
}

/// How a request ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    /// `Done`, `Refused` or `Failed`.
    pub phase: ReclaimPhase,
    /// Reason of the condition.
    pub reason: &'static str,
    /// The result line.
    pub result: String,
}

impl Ending {
    /// Not carried out.
    pub fn refused(reason: &'static str, result: impl Into<String>) -> Self {
        Self {
            phase: ReclaimPhase::Refused,
            reason,
            result: result.into(),
        }
    }

    /// Recorded, and not known to have worked.
    pub fn failed(reason: &'static str, result: impl Into<String>) -> Self {
        Self {
            phase: ReclaimPhase::Failed,
            reason,
            result: result.into(),
        }
    }
}

/// What is waited for; time can fix it (record 0060).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Reason of the condition.
    pub reason: &'static str,
    /// The message, in Ichor's own words.
    pub message: String,
}

impl Wait {
    /// Waits for something.
    pub fn new(reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            reason,
            message: message.into(),
        }
    }
}

/// What a person has typed so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Consent {
    /// Nothing.
    Missing,
    /// A UUID that is not the machine's: it stays so until it is corrected (DESIGN section 18, decision 15).
    WrongUuid,
    /// The UUID, and not (or not rightly) the name of the cluster, which `force` needs.
    ClusterName(String),
    /// All that is needed.
    Given,
}

/// The step for a snapshot.
pub fn next(snapshot: &Snapshot, settings: &Settings) -> Step {
    let status = snapshot.status();
    if status.phase.is_final() {
        return keep(snapshot, &status, settings);
    }
    if status.reset.is_some() {
        return Step::Watch;
    }
    if snapshot.request.metadata.deletion_timestamp.is_some() {
        // Somebody's finalizer holds a request that nobody wants any more: nothing new is begun.
        return Step::Rest(None);
    }
    if let Some(step) = before_the_first_look(snapshot, settings) {
        return step;
    }
    let Some(seen) = &status.inspection else {
        return Step::Inspect;
    };
    match consent(
        &snapshot.request.spec,
        seen,
        seen.cluster_name_needed.as_deref(),
    ) {
        Consent::Given => Step::Reset {
            lock: lock_of(seen),
        },
        missing => Step::AwaitPerson(missing),
    }
}

/// "Done requests are kept (audit) and pruned after --reclaim-history" (DESIGN section 11).
fn keep(snapshot: &Snapshot, status: &MachineReclaimStatus, settings: &Settings) -> Step {
    let Some(ended) = &status.completed_at else {
        return Step::Rest(None);
    };
    let age = elapsed(ended.0, snapshot.now);
    match settings.history.checked_sub(age) {
        Some(rest) if !rest.is_zero() => Step::Rest(Some(rest)),
        _ => Step::Prune,
    }
}

/// What can be said without looking at the machine.
fn before_the_first_look(snapshot: &Snapshot, settings: &Settings) -> Option<Step> {
    let request = &snapshot.request;
    let address = &request.spec.address;
    let parsed = match address.parse::<NodeAddress>() {
        Ok(parsed) => parsed,
        Err(error) => {
            return Some(Step::End(Ending::refused(
                reason::REFUSED,
                error.to_string(),
            )));
        }
    };
    if parsed.is_local() && !settings.allow_local_addresses {
        return Some(Step::End(Ending::refused(
            reason::LOCAL_ADDRESS,
            format!(
                "{address} is a loopback or link-local address, and the controller dials those only with --allow-local-addresses"
            ),
        )));
    }
    if let Some(ending) = busy(&Rival::of(request), &snapshot.rivals) {
        return Some(Step::End(ending));
    }
    let named = request.spec.cluster_ref.as_ref();
    match named {
        // "the controller dials the node only after the cluster named by clusterRef was found" (record 0136).
        Some(named) if !snapshot.cluster_found => Some(Step::Wait(Wait::new(
            reason::CLUSTER_NOT_FOUND,
            format!(
                "TalosCluster {} does not exist; the machine is not dialled before it does",
                named.name
            ),
        ))),
        _ => None,
    }
}

/// "a second reclaim of the UUID or address is refused" (DESIGN section 18, decision 11).
pub fn busy(me: &Rival, others: &[Rival]) -> Option<Ending> {
    let other = rival(me, others)?;
    Some(Ending::refused(
        reason::MACHINE_BUSY,
        format!(
            "machinereclaim/{} already acts on this machine or address; finish it, or delete it and ask again",
            other.name
        ),
    ))
}

/// What a person has consented to: the UUID in lower case and in the byte order that was shown, and the cluster's
/// name where `force` allows the wipe.
pub fn consent(spec: &MachineReclaimSpec, seen: &ReclaimInspection, name: Option<&str>) -> Consent {
    let Some(typed) = spec
        .confirm_uuid
        .as_deref()
        .filter(|typed| !typed.is_empty())
    else {
        return Consent::Missing;
    };
    if !names(typed, seen) {
        return Consent::WrongUuid;
    }
    match name {
        Some(name) if spec.confirm_cluster_name.as_deref() != Some(name) => {
            Consent::ClusterName(name.to_owned())
        }
        _ => Consent::Given,
    }
}

/// Whether the typed UUID is the machine's. The swapped byte order is not: a person types what was shown.
pub fn names(typed: &str, seen: &ReclaimInspection) -> bool {
    match (typed.parse::<SystemUuid>(), seen.identity.system_uuid()) {
        (Ok(typed), Some(actual)) => typed == actual,
        _ => false,
    }
}

/// The cluster whose lock orders this reset: "for a control plane of a managed cluster" (DESIGN section 11).
pub fn lock_of(seen: &ReclaimInspection) -> Option<String> {
    (seen.role == Some(MachineRole::ControlPlane))
        .then(|| seen.managed_cluster.clone())
        .flatten()
}

/// The decision right before the reset, on the fresh inspection over the connection that will carry it.
pub fn before_reset(
    spec: &MachineReclaimSpec,
    consented: &ReclaimInspection,
    fresh: &Facts,
    assessment: &Assessment,
    now: Timestamp,
) -> Result<ResetRecord, Step> {
    let seen = &fresh.inspection;
    if let Some(change) = changed(consented, seen) {
        return Err(Step::End(Ending::refused(
            reason::CHANGED_AFTER_CONSENT,
            format!(
                "{} {change} since the UUID was typed; nothing was sent. Ask anew",
                spec.address
            ),
        )));
    }
    if !assessment.refusals.is_empty() {
        return Err(Step::End(Ending::refused(
            reason::REFUSED,
            assessment.refusals.join("; "),
        )));
    }
    match consent(spec, seen, assessment.cluster_name_needed.as_deref()) {
        Consent::Given => {}
        missing => return Err(Step::AwaitPerson(missing)),
    }
    // An OK is not an effect at any other stage (DESIGN section 18, decision 3).
    let stage = seen.stage.as_deref().unwrap_or("unknown");
    if seen.boot_id.is_none() && stage == "running" {
        return Err(Step::Wait(Wait::new(
            reason::NOT_READY,
            format!(
                "{} does not tell its boot ID, by which a reset is told from none; nothing was sent",
                spec.address
            ),
        )));
    }
    let (Some(boot_id), "running") = (&seen.boot_id, stage) else {
        return Err(Step::Wait(Wait::new(
            reason::NOT_READY,
            format!(
                "{} is at stage {stage}; a reset is sent only at stage running",
                spec.address
            ),
        )));
    };
    Ok(ResetRecord {
        recorded_at: Some(Time(now)),
        identity: seen.identity.clone(),
        boot_id: Some(boot_id.clone()),
        graceful: assessment.graceful,
        accepted_at: None,
    })
}

/// "a changed role, cluster or identity after consent is Refused: ask anew" (DESIGN section 18, decision 15).
fn changed(consented: &ReclaimInspection, seen: &ReclaimInspection) -> Option<String> {
    if consented.identity.compare(&seen.identity) != IdentityMatch::Same {
        return Some("answers as another machine".to_owned());
    }
    if consented.role != seen.role {
        return Some("has another role".to_owned());
    }
    let cluster =
        |seen: &ReclaimInspection| (seen.cluster_id.clone(), seen.managed_cluster.clone());
    (cluster(consented) != cluster(seen)).then(|| "belongs to another cluster".to_owned())
}

/// How long ago something was; nothing when it lies ahead (a clock that was set).
pub fn elapsed(since: Timestamp, now: Timestamp) -> Duration {
    Duration::try_from(since.duration_until(now)).unwrap_or(Duration::ZERO)
}

#[cfg(test)]
#[path = "decide_tests.rs"]
mod tests;
