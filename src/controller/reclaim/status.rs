//! What is written about a request: pure. A status is compared without its times before it is written, so that a
//! steady state writes nothing (STYLE rule 6; FAULTS 33), and every transition is told as an Event.

use super::assess::Assessment;
use super::decide::{Consent, Ending, Wait};
use super::facts::Facts;
use ichor_crds::conditions::reclaim as reason;
use ichor_crds::conditions::{COMPLETE, OVERDUE, UUID_MISMATCH, WAITING};
use ichor_crds::{
    MachineReclaim, MachineReclaimStatus, ReclaimPhase, ReclaimProgress, ResetRecord, condition,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;

/// Longest result line the CRD takes.
const RESULT_MAX: usize = 2048;
/// Longest warning or refusal the CRD takes.
const LINE_MAX: usize = 1024;

/// A status in the making.
#[derive(Clone, Debug)]
pub struct Draft {
    status: MachineReclaimStatus,
    generation: Option<i64>,
    now: Timestamp,
}

impl Draft {
    /// Begins from the status a request has.
    pub fn of(request: &MachineReclaim, now: Timestamp) -> Self {
        let mut status = request.status.clone().unwrap_or_default();
        status.observed_generation = request.metadata.generation;
        Self {
            status,
            generation: request.metadata.generation,
            now,
        }
    }

    /// The status to write.
    pub fn finish(self) -> MachineReclaimStatus {
        self.status
    }

    /// Something is waited for that time can fix.
    #[must_use]
    pub fn waiting(mut self, wait: &Wait) -> Self {
        let known = self
            .status
            .conditions
            .iter()
            .find(|known| known.type_ == WAITING);
        // A cause that names the time of day is the same cause a moment later.
        let dated = [
            reason::TALOS_CONNECT_FAILED,
            reason::SECRETS_BUNDLE_UNAVAILABLE,
        ]
        .contains(&wait.reason);
        let message = match known {
            Some(known)
                if dated
                    && known.reason == wait.reason
                    && dateless(&known.message) == dateless(&wait.message) =>
            {
                known.message.clone()
            }
            _ => wait.message.clone(),
        };
        self.clear(UUID_MISMATCH);
        self.set(WAITING, true, wait.reason, &message);
        self.running()
    }

    /// The machine is being looked at for the first time.
    #[must_use]
    pub fn inspecting(mut self) -> Self {
        if self.status.phase == ReclaimPhase::Pending {
            self.status.phase = ReclaimPhase::Inspecting;
        }
        self.running()
    }

    /// The machine was looked at and judged.
    #[must_use]
    pub fn inspected(mut self, facts: &Facts, assessment: &Assessment) -> Self {
        let mut fresh = facts.inspection.clone();
        fresh.warnings = lines(&assessment.warnings);
        fresh.refusals = lines(&assessment.refusals);
        fresh
            .cluster_name_needed
            .clone_from(&assessment.cluster_name_needed);
        fresh.inspected_at = Some(Time(self.now));
        self.status.inspection = Some(fresh);
        self
    }

    /// A person has to type something (more).
    #[must_use]
    pub fn awaiting(mut self, consent: &Consent) -> Self {
        self.status.phase = ReclaimPhase::AwaitingConfirmation;
        let message = match consent {
            Consent::Missing => "type the machine's UUID into spec.confirmUUID to wipe it".to_owned(),
            Consent::WrongUuid => {
                "spec.confirmUUID is not this machine's UUID; type the one that status.inspection shows".to_owned()
            }
            Consent::ClusterName(name) => {
                format!("type the cluster's name {name:?} into spec.confirmClusterName: force is what allows this wipe")
            }
            Consent::Given => String::new(),
        };
        if *consent == Consent::WrongUuid {
            self.set(UUID_MISMATCH, true, reason::UUID_MISMATCH, &message);
        } else {
            self.clear(UUID_MISMATCH);
        }
        self.set(WAITING, true, reason::AWAITING_CONFIRMATION, &message);
        self.running()
    }

    /// The reset is recorded and about to be sent.
    #[must_use]
    pub fn recorded(mut self, record: ResetRecord) -> Self {
        self.status.reset = Some(record);
        self.status.phase = ReclaimPhase::Resetting;
        self.clear(UUID_MISMATCH);
        self.clear(WAITING);
        self.running()
    }

    /// Talos answered the request.
    #[must_use]
    pub fn accepted(mut self) -> Self {
        if let Some(record) = &mut self.status.reset {
            record.accepted_at.get_or_insert(Time(self.now));
        }
        self
    }

    /// The request provably was not carried out: the record goes (DESIGN section 18, decision 4).
    #[must_use]
    pub fn not_sent(mut self, wait: &Wait) -> Self {
        self.status.reset = None;
        self.status.progress = None;
        self.status.phase = ReclaimPhase::AwaitingConfirmation;
        self.waiting(wait)
    }

    /// The machine was looked at after the record.
    #[must_use]
    pub fn watched(mut self, progress: ReclaimProgress, overdue: bool) -> Self {
        let stopped = progress.stopped_at.is_some();
        self.status.phase = if stopped {
            ReclaimPhase::AwaitingMaintenance
        } else {
            ReclaimPhase::Resetting
        };
        if progress != ReclaimProgress::default() {
            self.status.progress = Some(progress);
        }
        if overdue {
            let message = self.overdue_message();
            self.set(OVERDUE, true, reason::OVERDUE, &message);
        }
        self.clear(WAITING);
        self.running()
    }

    /// "Machines that never come back leave a condition that says what was sent and when" (DESIGN section 11).
    fn overdue_message(&self) -> String {
        let record = self.status.reset.as_ref();
        let kind = if record.is_some_and(|record| record.graceful) {
            "graceful"
        } else {
            "ungraceful"
        };
        let at = record
            .and_then(|record| record.recorded_at.as_ref())
            .map_or(self.now, |at| at.0);
        let answer = match record.and_then(|record| record.accepted_at.as_ref()) {
            Some(_) => "Talos accepted it",
            None => "whether Talos accepted it is not known",
        };
        format!(
            "a {kind} reset was recorded at {at} and sent at most once, {answer}, and the machine has not come back in maintenance mode; Ichor keeps looking"
        )
    }

    /// It ends.
    #[must_use]
    pub fn ended(mut self, ending: &Ending) -> Self {
        self.status.phase = ending.phase;
        self.status.result = Some(clip(&ending.result, RESULT_MAX));
        self.status.completed_at.get_or_insert(Time(self.now));
        self.clear(WAITING);
        self.clear(UUID_MISMATCH);
        if ending.phase == ReclaimPhase::Done {
            self.clear(OVERDUE);
        }
        self.set(
            COMPLETE,
            true,
            ending.reason,
            &clip(&ending.result, RESULT_MAX),
        );
        self
    }

    /// `Complete` is there from the start, so that `kubectl wait --for=condition=Complete` works.
    fn running(mut self) -> Self {
        let waiting = waits_for(&self.status).map(str::to_owned);
        let (reason, message) = match self.status.phase {
            ReclaimPhase::Resetting => (reason::RESETTING, "the reset is recorded"),
            ReclaimPhase::AwaitingMaintenance => (
                reason::AWAITING_MAINTENANCE,
                "the machine has to come back in maintenance mode",
            ),
            ReclaimPhase::AwaitingConfirmation => match waiting.as_deref() {
                None | Some(reason::AWAITING_CONFIRMATION) => {
                    (reason::AWAITING_CONFIRMATION, "a person has to consent")
                }
                // Consent was given; what is waited for is another thing.
                Some(other) => (other, "the reset waits; condition Waiting says for what"),
            },
            _ => (reason::INSPECTING, "the machine has to be looked at"),
        };
        self.set(COMPLETE, false, reason, message);
        self
    }

    fn set(&mut self, kind: &str, status: bool, reason: &str, message: &str) {
        condition(
            &mut self.status.conditions,
            kind,
            status,
            reason,
            message,
            self.generation,
            self.now,
        );
    }

    fn clear(&mut self, kind: &str) {
        self.status
            .conditions
            .retain(|condition| condition.type_ != kind);
    }
}

/// The reason of what a request waits for.
fn waits_for(status: &MachineReclaimStatus) -> Option<&str> {
    let mut all = status.conditions.iter();
    let waiting = all.find(|condition| condition.type_ == WAITING);
    waiting.map(|condition| condition.reason.as_str())
}

fn lines(texts: &[String]) -> Vec<String> {
    texts.iter().map(|text| clip(text, LINE_MAX)).collect()
}

fn dateless(text: &str) -> String {
    text.chars().filter(|c| !c.is_ascii_digit()).collect()
}

/// At most `max` characters.
pub fn clip(text: &str, max: usize) -> String {
    text.chars().take(max).collect()
}

/// Whether two statuses say the same, whatever their times.
pub fn same(one: &MachineReclaimStatus, other: &MachineReclaimStatus) -> bool {
    timeless(one) == timeless(other)
}

fn timeless(status: &MachineReclaimStatus) -> MachineReclaimStatus {
    let mut status = status.clone();
    if let Some(inspection) = &mut status.inspection {
        inspection.inspected_at = None;
    }
    for condition in &mut status.conditions {
        condition.last_transition_time = Time(Timestamp::UNIX_EPOCH);
    }
    status
        .conditions
        .sort_by(|one, other| one.type_.cmp(&other.type_));
    status
}

/// Something a person would want to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Whether it is a warning.
    pub warning: bool,
    /// Reason of the Event.
    pub reason: String,
    /// Text of the Event.
    pub note: String,
}

/// The Events of a change of status, one for each transition. `requester` is who asked for the wipe.
pub fn notices(
    old: &MachineReclaimStatus,
    new: &MachineReclaimStatus,
    requester: Option<&str>,
) -> Vec<Notice> {
    let mut notices = Vec::new();
    if old.phase != new.phase {
        notices.extend(phase_notice(new, requester));
    }
    for kind in [WAITING, UUID_MISMATCH, OVERDUE] {
        let find = |status: &MachineReclaimStatus| {
            let found = status
                .conditions
                .iter()
                .find(|condition| condition.type_ == kind);
            found.map(|condition| (condition.reason.clone(), condition.message.clone()))
        };
        let (before, after) = (find(old), find(new));
        let Some((reason, note)) = after.clone() else {
            continue;
        };
        // Waiting for the person is told by the phase.
        if before.map(|(reason, _)| reason) != Some(reason.clone())
            && reason != reason::AWAITING_CONFIRMATION
        {
            notices.push(Notice {
                warning: true,
                reason,
                note,
            });
        }
    }
    notices
}

fn phase_notice(new: &MachineReclaimStatus, requester: Option<&str>) -> Option<Notice> {
    let asked = requester
        .map(|name| format!("; asked for by {name}"))
        .unwrap_or_default();
    let uuid = new
        .inspection
        .as_ref()
        .map(|seen| seen.identity.uuid.clone())
        .unwrap_or_default();
    let result = new.result.clone().unwrap_or_default();
    let ended = new
        .conditions
        .iter()
        .find(|condition| condition.type_ == COMPLETE);
    let (warning, reason, note) = match new.phase {
        ReclaimPhase::Pending => return None,
        ReclaimPhase::Inspecting => (
            false,
            reason::INSPECTING.to_owned(),
            format!("the machine is being looked at{asked}"),
        ),
        // A record that was taken back: nobody has to type anything, and the condition Waiting is told.
        ReclaimPhase::AwaitingConfirmation
            if waits_for(new) != Some(reason::AWAITING_CONFIRMATION) =>
        {
            return None;
        }
        ReclaimPhase::AwaitingConfirmation => (
            false,
            reason::AWAITING_CONFIRMATION.to_owned(),
            format!(
                "machine {uuid} was inspected; it is wiped when its UUID is typed into spec.confirmUUID"
            ),
        ),
        ReclaimPhase::Resetting => (
            false,
            reason::RESETTING.to_owned(),
            format!("the reset of machine {uuid} is recorded and sent at most once{asked}"),
        ),
        ReclaimPhase::AwaitingMaintenance => (
            false,
            reason::AWAITING_MAINTENANCE.to_owned(),
            format!("machine {uuid} stopped answering and has to come back in maintenance mode"),
        ),
        ReclaimPhase::Done | ReclaimPhase::Refused | ReclaimPhase::Failed => (
            new.phase != ReclaimPhase::Done,
            ended.map_or_else(
                || format!("{:?}", new.phase),
                |condition| condition.reason.clone(),
            ),
            result,
        ),
    };
    Some(Notice {
        warning,
        reason,
        note,
    })
}

#[cfg(test)]
#[path = "status_tests.rs"]
mod tests;
