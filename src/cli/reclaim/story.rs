//! What a request's object says, as a story for a person: which lines are new, and what comes next. Pure:
//! the same objects tell the same story, whether watched live or read at once afterwards.

use super::super::screen::{Label, Line};
use crate::actions::inspection::InspectionView;
use ichor_crds::conditions::{self, reclaim as reasons};
use ichor_crds::{MachineReclaim, MachineReclaimStatus, ReclaimInspection, ReclaimPhase};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use std::collections::BTreeSet;
use std::time::Duration;

/// What has been told of a request.
#[derive(Debug, Default)]
pub struct Story {
    inspection: Option<InspectionView>,
    waiting: Option<String>,
    waited: bool,
    told: BTreeSet<Event>,
}

/// What is told once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Reset,
    LeftEtcd,
    Stopped,
    Returned,
    Overdue,
}

/// What the command has to do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Wait for the controller.
    Wait,
    /// Ask for the UUID.
    Ask,
    /// It is over.
    End(ReclaimPhase),
}

/// What comes next for a request.
pub fn next(request: &MachineReclaim) -> Next {
    let Some(status) = &request.status else {
        return Next::Wait;
    };
    if status.phase.is_final() {
        return Next::End(status.phase);
    }
    let asks = status.phase == ReclaimPhase::AwaitingConfirmation && status.inspection.is_some();
    if asks && (!is_confirmed(request) || objection(request).is_some()) {
        return Next::Ask;
    }
    Next::Wait
}

/// Whether everything that has to be typed is in the request.
fn is_confirmed(request: &MachineReclaim) -> bool {
    let spec = &request.spec;
    spec.confirm_uuid.is_some() && (spec.force != Some(true) || spec.confirm_cluster_name.is_some())
}

/// What the controller says to what was typed, once it has seen it: a wrong UUID, or a cluster's name that is
/// missing or wrong.
pub fn objection(request: &MachineReclaim) -> Option<&str> {
    let status = request.status.as_ref()?;
    let waits = |condition: &&Condition| condition.reason == reasons::AWAITING_CONFIRMATION;
    let condition = true_condition(status, conditions::UUID_MISMATCH)
        .or_else(|| true_condition(status, conditions::WAITING).filter(waits))?;
    let seen = condition.observed_generation.or(status.observed_generation);
    let answers = seen >= request.metadata.generation && is_confirmed(request);
    answers.then_some(condition.message.as_str())
}

impl Story {
    /// The lines that are new in this version of the request.
    pub fn tell(&mut self, request: &MachineReclaim, answered_in: Option<Duration>) -> Vec<Line> {
        let Some(status) = &request.status else {
            return Vec::new();
        };
        let mut lines = Vec::new();
        self.tell_waiting(status, &mut lines);
        self.tell_inspection(request, status, answered_in, &mut lines);
        for (event, line) in wipe(status) {
            if self.told.insert(event) {
                lines.push(line);
            }
        }
        lines
    }

    /// What is waited for, each time that it changes.
    fn tell_waiting(&mut self, status: &MachineReclaimStatus, lines: &mut Vec<Line>) {
        let waiting = true_condition(status, conditions::WAITING)
            // The question that follows says these two itself, and the end says how it ended.
            .filter(|condition| {
                condition.reason != reasons::AWAITING_CONFIRMATION
                    && condition.reason != reasons::UUID_MISMATCH
                    && condition.reason != reasons::AWAITING_MAINTENANCE
                    && condition.reason != reasons::RESETTING
                    && !status.phase.is_final()
            })
            .map(|condition| condition.message.clone());
        if let Some(text) = &waiting
            && self.waiting.as_ref() != Some(text)
        {
            lines.push(Line::step(Label::Wait, text.clone()));
            self.waited = true;
        }
        self.waiting = waiting;
    }

    /// The inspection, once a person has to decide on it or it is over, and again when it has changed.
    fn tell_inspection(
        &mut self,
        request: &MachineReclaim,
        status: &MachineReclaimStatus,
        answered_in: Option<Duration>,
        lines: &mut Vec<Line>,
    ) {
        let Some(inspection) = &status.inspection else {
            return;
        };
        if matches!(
            status.phase,
            ReclaimPhase::Pending | ReclaimPhase::Inspecting
        ) {
            return;
        }
        // After consent it was told, and what changes then ends the request or is told as its progress.
        if self.inspection.is_some() && next(request) != Next::Ask {
            return;
        }
        let mut view = InspectionView::of(inspection);
        if status.phase == ReclaimPhase::Refused {
            // They are the end of the story, told by it.
            view.refusals.clear();
        }
        if self.inspection.as_ref() == Some(&view) {
            return;
        }
        let again = self.inspection.is_some();
        lines.push(inspected(
            request,
            again,
            answered_in.filter(|_| !self.waited),
        ));
        lines.push(Line::Plain(String::new()));
        lines.extend(view.lines().into_iter().map(Line::Plain));
        lines.push(Line::Plain(String::new()));
        self.inspection = Some(view);
    }
}

/// The reset and what was seen of the machine after it, with the time since the record.
fn wipe(status: &MachineReclaimStatus) -> Vec<(Event, Line)> {
    let Some(record) = &status.reset else {
        return Vec::new();
    };
    let since = |time: &Time| elapsed(record.recorded_at.as_ref(), time);
    let progress = status.progress.clone().unwrap_or_default();
    let kind = if record.graceful {
        "graceful"
    } else {
        "ungraceful"
    };
    let seen_after = progress.stopped_at.is_some() || progress.returned_at.is_some();
    let reset = match &record.accepted_at {
        Some(accepted) => Some(Line::Step(
            Label::Reset,
            format!("sent ({kind})"),
            since(accepted),
        )),
        None if seen_after => Some(Line::step(
            Label::Reset,
            format!("sent ({kind}); its answer was not seen"),
        )),
        None => None,
    };
    let left = progress.member_gone_at.as_ref().map(|left| {
        let text = "its member is gone from the list of the others".to_owned();
        Line::Step(Label::Etcd, text, since(left))
    });
    let stopped = progress.stopped_at.as_ref().map(|stopped| {
        let text = "the machine stopped answering".to_owned();
        Line::Step(Label::Reboot, text, since(stopped))
    });
    let overdue = true_condition(status, conditions::OVERDUE)
        .filter(|_| !status.phase.is_final())
        .map(|condition| Line::step(Label::Warning, condition.message.clone()));
    let place = progress
        .returned_address
        .map(|address| format!(" at {address}"));
    let place = place.unwrap_or_default();
    let returned = progress.returned_at.as_ref().map(|returned| {
        let text = format!("in maintenance mode{place}, same UUID, serial and MACs");
        Line::Step(Label::Wait, text, since(returned))
    });
    [
        (Event::Reset, reset),
        (Event::LeftEtcd, left),
        (Event::Stopped, stopped),
        (Event::Overdue, overdue),
        (Event::Returned, returned),
    ]
    .into_iter()
    .filter_map(|(event, line)| Some((event, line?)))
    .collect()
}

/// `10.5.0.7 answered with the credentials of cluster prod (0.4s)`
fn inspected(request: &MachineReclaim, again: bool, answered_in: Option<Duration>) -> Line {
    let spec = &request.spec;
    let credentials = match (&spec.credential_secret_ref, &spec.cluster_ref) {
        (Some(secret), _) => format!("the talosconfig in Secret {}", secret.name),
        (None, Some(cluster)) => format!("the credentials of cluster {}", cluster.name),
        (None, None) => "the credentials of its cluster".to_owned(),
    };
    let address = &spec.address;
    let text = match (again, answered_in) {
        (true, _) => format!("{address} was read again, and something has changed"),
        (false, Some(time)) => format!(
            "{address} answered with {credentials} ({:.1}s)",
            time.as_secs_f64()
        ),
        (false, None) => format!("{address} answered with {credentials}"),
    };
    Line::step(Label::Inspect, text)
}

/// How a request ended that is not done: its refusals, or its result.
pub fn ending(request: &MachineReclaim, phase: ReclaimPhase) -> Vec<Line> {
    let status = request.status.clone().unwrap_or_default();
    let label = match phase {
        ReclaimPhase::Refused => Label::Refused,
        _ => Label::Failed,
    };
    let refusals = status
        .inspection
        .map(|seen: ReclaimInspection| seen.refusals)
        .unwrap_or_default();
    let result = status.result.into_iter();
    if phase == ReclaimPhase::Refused && !refusals.is_empty() {
        return refusals
            .into_iter()
            .map(|text| Line::step(label, text))
            .collect();
    }
    let message = status
        .conditions
        .into_iter()
        .find(|condition| condition.type_ == conditions::COMPLETE)
        .map(|condition| condition.message);
    let text = result.chain(message).find(|text| !text.is_empty());
    vec![Line::step(
        label,
        text.unwrap_or_else(|| "without a reason given".to_owned()),
    )]
}

fn true_condition<'a>(status: &'a MachineReclaimStatus, kind: &str) -> Option<&'a Condition> {
    let mut conditions = status.conditions.iter();
    conditions.find(|condition| condition.type_ == kind && condition.status == "True")
}

fn elapsed(from: Option<&Time>, to: &Time) -> Option<Duration> {
    let between = to.0.duration_since(from?.0);
    Some(Duration::try_from(between).unwrap_or_default())
}

#[cfg(test)]
#[path = "story_tests.rs"]
mod tests;
