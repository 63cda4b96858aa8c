//! The record of every call, and faults on demand.

use std::sync::Mutex;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tonic::Code;

use crate::lock;

/// One call as it arrived and ended.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Call {
    /// `package.Service/Method`.
    pub method: String,
    /// Request as protobuf JSON with proto field names. ApplyConfiguration's data is left out: it holds secrets.
    pub request: Value,
    /// Organizations of the caller's certificate (its roles); empty without one.
    pub subject: Vec<String>,
    /// Arrival.
    pub time: jiff::Timestamp,
    /// Name of the gRPC code (`Ok`, `PermissionDenied`, ...); `None` while running, hanging or dropped.
    pub code: Option<String>,
    /// Number of the connection it came on, counted per node.
    pub connection: u64,
}

impl Call {
    /// The method without its service.
    pub fn name(&self) -> &str {
        self.method.rsplit('/').next().unwrap_or_default()
    }
}

/// What a fault does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub enum Action {
    /// Answers with this status; nothing happens.
    Refuse {
        /// gRPC code number.
        code: i32,
        /// Message.
        message: String,
    },
    /// Never answers; nothing happens.
    Hang,
    /// Waits until the fault is cleared, then goes on normally.
    Hold,
    /// Waits, then goes on normally.
    Slow {
        /// Milliseconds.
        ms: u64,
    },
    /// Closes the connection; nothing happens.
    DropBefore,
    /// The call takes effect, then the connection is closed without an answer.
    DropAfter,
    /// The call takes effect, but no answer ever comes.
    LoseAnswer,
    /// Answers OK, but the sequence never runs: what Talos does when another one holds the lock (`LOCKED`).
    /// For Reset and Reboot (a shutdown takes over everything); other methods are not touched.
    Ignore,
    /// Sends this many messages of a stream, then closes the connection.
    DropMidStream {
        /// Messages sent before.
        messages: usize,
    },
    /// Identity is answered as another machine's.
    AnswerAs {
        /// SMBIOS UUID.
        uuid: Option<String>,
        /// SMBIOS serial.
        serial: Option<String>,
        /// Permanent MACs.
        macs: Option<Vec<String>>,
    },
    /// The TCP connection is accepted and nothing more.
    BlackHole,
    /// The TCP connection is closed at once.
    CloseConnections,
}

/// A fault waiting at a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Fault {
    /// Method without its service (`Reset`, `Get`); every method when absent.
    #[serde(default)]
    pub method: Option<String>,
    /// COSI type the request must name (`SystemInformations.hardware.talos.dev`).
    #[serde(default)]
    pub resource: Option<String>,
    /// What it does.
    pub action: Action,
    /// How many calls it strikes; all when absent.
    #[serde(default)]
    pub times: Option<u32>,
    /// How many such calls pass unharmed first.
    #[serde(default)]
    pub after: u32,
}

impl Fault {
    /// A fault on one method, every time.
    pub fn on(method: &str, action: Action) -> Self {
        Self {
            method: Some(method.to_owned()),
            resource: None,
            action,
            times: None,
            after: 0,
        }
    }

    /// A fault on the identity resources, every time.
    pub fn wrong_identity(uuid: &str) -> Self {
        let action = Action::AnswerAs {
            uuid: Some(uuid.to_owned()),
            serial: None,
            macs: None,
        };
        Self {
            method: None,
            resource: None,
            action,
            times: None,
            after: 0,
        }
    }

    /// A fault on everything.
    pub fn always(action: Action) -> Self {
        Self {
            method: None,
            resource: None,
            action,
            times: None,
            after: 0,
        }
    }

    /// Only the first `times` calls.
    #[must_use]
    pub fn times(mut self, times: u32) -> Self {
        self.times = Some(times);
        self
    }

    /// Only from the call after the next `calls` ones on.
    #[must_use]
    pub fn after(mut self, calls: u32) -> Self {
        self.after = calls;
        self
    }

    /// Only requests for this COSI type.
    #[must_use]
    pub fn resource(mut self, kind: &str) -> Self {
        self.resource = Some(kind.to_owned());
        self
    }

    fn strikes(&self, method: &str, resource: Option<&str>) -> bool {
        self.method.as_deref().is_none_or(|wanted| wanted == method)
            && self
                .resource
                .as_deref()
                .is_none_or(|wanted| Some(wanted) == resource)
    }
}

/// Calls and faults of one node.
#[derive(Default)]
pub struct Ledger {
    calls: Mutex<Vec<Call>>,
    faults: Mutex<Vec<Fault>>,
}

impl Ledger {
    /// Copies all calls.
    pub fn calls(&self) -> Vec<Call> {
        lock(&self.calls).clone()
    }

    /// Forgets all calls.
    pub fn forget(&self) {
        lock(&self.calls).clear();
    }

    /// Notes an arrival; the returned index takes the code later.
    pub fn arrived(&self, call: Call) -> usize {
        let mut calls = lock(&self.calls);
        calls.push(call);
        calls.len() - 1
    }

    /// Notes how a call ended.
    pub fn ended(&self, index: usize, code: Code) {
        if let Some(call) = lock(&self.calls).get_mut(index) {
            call.code = Some(format!("{code:?}"));
        }
    }

    /// Adds a fault.
    pub fn add_fault(&self, fault: Fault) {
        lock(&self.faults).push(fault);
    }

    /// Removes all faults; held calls go on.
    pub fn clear_faults(&self) {
        lock(&self.faults).clear();
    }

    /// The faults still waiting.
    pub fn faults(&self) -> Vec<Fault> {
        lock(&self.faults).clone()
    }

    /// Takes the first fault on a call (identity and connection faults strike elsewhere).
    pub fn strike(&self, method: &str, resource: Option<&str>) -> Option<Action> {
        self.take(|fault| !fault.action.is_elsewhere() && fault.strikes(method, resource))
    }

    /// Takes the identity to answer with, if a fault changes it.
    pub fn identity(&self, resource: &str) -> Option<Action> {
        self.take(|fault| {
            matches!(fault.action, Action::AnswerAs { .. }) && fault.strikes("Get", Some(resource))
        })
    }

    /// Takes the fault on a new connection.
    pub fn connection(&self) -> Option<Action> {
        self.take(|fault| matches!(fault.action, Action::BlackHole | Action::CloseConnections))
    }

    fn take(&self, wanted: impl Fn(&Fault) -> bool) -> Option<Action> {
        let mut faults = lock(&self.faults);
        let index = faults
            .iter()
            .position(|fault| wanted(fault) && fault.times != Some(0))?;
        let fault = &mut faults[index];
        if fault.after > 0 {
            fault.after -= 1;
            return None;
        }
        let action = fault.action.clone();
        if let Some(times) = &mut fault.times {
            *times -= 1;
            if *times == 0 && !matches!(action, Action::Hold) {
                faults.remove(index);
            }
        }
        Some(action)
    }
}

impl Action {
    fn is_elsewhere(&self) -> bool {
        matches!(
            self,
            Self::AnswerAs { .. } | Self::BlackHole | Self::CloseConnections
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_strikes_its_method_the_given_number_of_times() {
        let ledger = Ledger::default();
        ledger.add_fault(Fault::on("Reset", Action::Hang).times(2));
        ledger.add_fault(Fault::wrong_identity("u"));
        assert_eq!(ledger.strike("Version", None), None);
        assert_eq!(ledger.strike("Reset", None), Some(Action::Hang));
        assert_eq!(ledger.strike("Reset", None), Some(Action::Hang));
        assert_eq!(ledger.strike("Reset", None), None);
        assert!(
            ledger
                .identity("SystemInformations.hardware.talos.dev")
                .is_some()
        );
    }

    #[test]
    fn a_fault_lets_the_calls_before_pass() {
        let ledger = Ledger::default();
        ledger.add_fault(Fault::always(Action::Hold).after(2).times(1));
        assert_eq!(ledger.strike("Version", None), None);
        assert_eq!(ledger.strike("Get", None), None);
        assert_eq!(ledger.strike("Reset", None), Some(Action::Hold));
        assert_eq!(ledger.strike("Reset", None), None);
    }
}
