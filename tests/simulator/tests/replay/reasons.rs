//! What is not replayed, and why the simulator may differ where it does.

use std::collections::BTreeSet;

use super::record::Call;

/// Methods no section of DESIGN needs. Whether a caller may call them is compared all the same.
const METHODS: &str = include_str!("left-out.txt");

/// A difference that is allowed.
pub struct Reason {
    /// What must be in the difference's line (all of them).
    when: &'static [&'static str],
    /// Why.
    pub why: &'static str,
}

pub const REASONS: &[Reason] = &[
    Reason {
        when: &[" SystemStat "],
        why: "the counters of a kernel are not simulated, only the boot time",
    },
    Reason {
        when: &["tail events"],
        why: "no history of events is kept; nobody asks for one",
    },
    Reason {
        when: &["10 n", "mode_details", "Config diff"],
        why: "Talos compares configurations as it would print them (with empty fields), the simulator as they were sent",
    },
    Reason {
        when: &["two calls at once"],
        why: "recorded as one of two simultaneous calls, sent alone here",
    },
    Reason {
        when: &["A record lookup error"],
        why: "the text holds the address of the DNS server of that machine",
    },
    Reason {
        when: &["n 143 ", "quorum-lost-first-seconds", "EtcdStatus"],
        why: "recorded some seconds after the other calls of this state, sent together with them here",
    },
    Reason {
        when: &["06 timeline \"E:", "machine status"],
        why: "a real machine with a crashing etcd became `running`, not ready, after some minutes",
    },
];

/// Whether a call is left out: its method or COSI type is on the list, unless the role check refused it.
pub fn left_out(call: &Call) -> bool {
    if call.denied() {
        return false;
    }
    METHODS
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .any(|name| name == call.name() || name == call.resource())
}

/// Counts and differences.
#[derive(Default)]
pub struct Report {
    pub compared: usize,
    pub left_out: usize,
    pub timelines: usize,
    pub handshakes: usize,
    explained: usize,
    unexplained: Vec<String>,
    used: BTreeSet<usize>,
}

impl Report {
    pub fn add(&mut self, file: &str, call: &Call, differences: Vec<String>) {
        for difference in differences {
            let line = format!(
                "{} n {} {} {} {} {} {}: {difference}",
                &file[..2],
                call.n,
                call.state,
                call.caller,
                call.method,
                call.resource(),
                call.note.as_deref().unwrap_or_default()
            );
            self.note(line);
        }
    }

    /// A difference of a timeline or of a handshake.
    pub fn note(&mut self, line: String) {
        match REASONS
            .iter()
            .position(|reason| reason.when.iter().all(|part| line.contains(part)))
        {
            Some(index) => {
                if std::env::var_os("REPLAY_VERBOSE").is_some() {
                    eprintln!("explained by {index}: {line}");
                }
                self.explained += 1;
                self.used.insert(index);
            }
            None => self.unexplained.push(line),
        }
    }

    pub fn merge(&mut self, other: Self) {
        self.compared += other.compared;
        self.left_out += other.left_out;
        self.timelines += other.timelines;
        self.handshakes += other.handshakes;
        self.explained += other.explained;
        self.unexplained.extend(other.unexplained);
        self.used.extend(other.used);
    }

    pub fn summary(&self) -> String {
        format!(
            "replay: {} calls, {} timelines and {} handshakes compared, {} calls left out by name, {} differences explained by {} reasons, {} unexplained",
            self.compared,
            self.timelines,
            self.handshakes,
            self.left_out,
            self.explained,
            REASONS.len(),
            self.unexplained.len()
        )
    }

    pub fn unexplained(&self) -> &[String] {
        &self.unexplained
    }

    pub fn idle_reasons(&self) -> Vec<&'static str> {
        let idle =
            |(index, reason): (usize, &Reason)| (!self.used.contains(&index)).then_some(reason.why);
        REASONS.iter().enumerate().filter_map(idle).collect()
    }
}
