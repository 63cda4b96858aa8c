//! The points of the matrix: every write and every call of a recorded run, times what can happen there.

use std::fmt;

/// What is reclaimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scenario {
    /// An orphaned worker.
    Worker,
    /// An orphaned control plane, under the disruption lock.
    ControlPlane,
    /// An orphaned worker that is busy at first: the record is taken back and made again (DESIGN section 18, decision 4).
    Busy,
}

/// Where the process is struck.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Site {
    /// At a write to the API server.
    Write {
        /// The how manieth.
        step: usize,
        /// What it does.
        label: String,
        /// Whether it is the record of the reset, or takes that back.
        records: bool,
    },
    /// At a call to a node.
    Call {
        /// The node, such as `orphan-1`.
        node: String,
        /// The how manieth call of that node.
        number: usize,
        /// Its method.
        method: String,
    },
}

/// What happens there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// Killed; the other side never has the request.
    KillBefore,
    /// Killed; the other side has done it.
    KillAfter,
    /// Stopped past its lease, another takes over, continued; the other side has the request only then.
    StopBefore,
    /// The same; the other side has done it before.
    StopAfter,
}

const ALL: [Deed; 4] = [
    Deed::KillBefore,
    Deed::KillAfter,
    Deed::StopBefore,
    Deed::StopAfter,
];

/// A point of the matrix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// What is reclaimed.
    pub scenario: Scenario,
    /// Where.
    pub site: Site,
    /// What.
    pub deed: Deed,
}

impl Point {
    /// Whether it lies around the record or the reset: these are always run. Of what only repeats a worker's writes in
    /// other surroundings it is what differs there.
    pub fn is_crucial(&self) -> bool {
        use Deed::{KillAfter, KillBefore, StopAfter, StopBefore};
        let deeds: &[Deed] = match (&self.site, self.scenario) {
            (Site::Write { records: true, .. }, Scenario::Worker) => &ALL,
            (Site::Write { records: true, .. }, Scenario::Busy) => &[KillBefore, StopBefore],
            (Site::Call { method, .. }, Scenario::Worker) if method == "Reset" => &ALL,
            (Site::Call { method, .. }, Scenario::ControlPlane) if method == "Reset" => {
                &[KillAfter, StopAfter]
            }
            _ => &[],
        };
        deeds.contains(&self.deed)
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scenario, deed) = (self.scenario, self.deed);
        match &self.site {
            Site::Write { step, label, .. } => {
                write!(f, "{scenario:?}, {deed:?} write {step}, {label}")
            }
            Site::Call {
                node,
                number,
                method,
            } => write!(
                f,
                "{scenario:?}, {deed:?} call {number} of {node}, {method}"
            ),
        }
    }
}

/// The points of a recorded run: its writes, and the calls of each node.
pub fn of(scenario: Scenario, writes: &[String], calls: &[(String, Vec<String>)]) -> Vec<Point> {
    // A read that was answered and one that was not are the same for whoever dies.
    const OF_READS: [Deed; 2] = [Deed::KillBefore, Deed::StopBefore];
    let first = |phase: &str, from: usize| {
        let mut rest = writes.iter().enumerate().skip(from);
        let found = rest.find(|(_, label)| label.contains(phase));
        found.map(|(step, _)| step)
    };
    let mut record = first("(Resetting)", 0);
    if scenario == Scenario::Busy {
        record = record.and_then(|record| first("(AwaitingConfirmation)", record));
    }
    let writes = writes.iter().enumerate().map(|(step, label)| Site::Write {
        step,
        label: label.clone(),
        records: Some(step) == record,
    });
    // The calls are a worker's again; what differs are the writes.
    let calls = calls.iter().filter(|_| scenario != Scenario::Busy);
    let calls = calls.flat_map(|(node, methods)| {
        methods
            .iter()
            .enumerate()
            .map(|(number, method)| Site::Call {
                node: node.clone(),
                number,
                method: method.clone(),
            })
    });
    let point = |site: Site| {
        let acts = !matches!(&site, Site::Call { method, .. } if method != "Reset");
        let deeds = if acts { ALL.as_slice() } else { &OF_READS };
        deeds.iter().map(move |&deed| Point {
            scenario,
            site: site.clone(),
            deed,
        })
    };
    writes.chain(calls).flat_map(point).collect()
}
