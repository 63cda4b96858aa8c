//! The report: one table a question and a sentence of what it says, in Markdown, which reads well on a terminal too.

use crate::admission::{ICHOR, Measured, PEER, Series, milliseconds};
use crate::confirm::{Confirmed, ORPHANS};
use crate::idle::Idle;
use crate::scale::{Scale, Size};

/// The answer to one question.
#[derive(Debug)]
pub struct Table {
    /// What was asked.
    pub title: String,
    /// What the table says, in a sentence.
    pub says: String,
    /// Names of the columns.
    pub head: Vec<&'static str>,
    /// Cells.
    pub rows: Vec<Vec<String>>,
}

/// Collects the tables.
#[derive(Debug)]
pub struct Report {
    rounds: usize,
    tables: Vec<String>,
}

impl Report {
    /// A report of figures that are medians over `rounds` runs.
    pub fn new(rounds: usize) -> Self {
        Self {
            rounds,
            tables: Vec::new(),
        }
    }

    /// The whole text.
    pub fn text(&self) -> String {
        format!(
            "Median of {} interleaved runs where there are several; times are of this machine, ratios travel.\n\n{}",
            self.rounds,
            self.tables.join("\n")
        )
    }

    /// Adds a table.
    pub fn add(&mut self, table: Table) {
        let Table {
            title,
            says,
            head,
            rows,
        } = table;
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let mut text = format!("### {title}\n\n{says}\n\n");
        text += &line(head.iter().map(ToString::to_string).collect());
        text += &line(head.iter().map(|_| "---".to_owned()).collect());
        for row in rows {
            text += &line(row);
        }
        self.tables.push(text);
    }

    /// Throughput and memory of servers beside each other, and latency where it was measured; ratios are to Ichor's.
    pub fn admission(&mut self, title: &str, measured: &Measured) {
        self.add(peaks(title, measured));
        if measured.series.iter().any(|one| one.rate.is_some()) {
            self.add(latencies(title, measured));
        }
    }

    /// Certificates a second.
    pub fn minting(&mut self, minted: &[(&'static str, f64)]) {
        let rows = minted
            .iter()
            .map(|(name, rate)| vec![(*name).to_owned(), thousands(*rate)]);
        let rates: Vec<String> = minted
            .iter()
            .map(|(name, rate)| format!("{} of {name}", thousands(*rate)))
            .collect();
        self.add(Table {
            title: "Minting `os:admin` certificates".to_owned(),
            says: format!(
                "A second of CPU time makes certificates: {}.",
                rates.join(", ")
            ),
            head: vec!["CA", "certificates per CPU second"],
            rows: rows.collect(),
        });
    }

    /// From confirmation to reset.
    pub fn confirmed(&mut self, confirmed: &Confirmed) {
        let [p50, worst] = [confirmed.p50, confirmed.worst].map(milliseconds);
        self.add(Table {
            title: format!("From the typed UUID to the reset at the node, {ORPHANS} times"),
            says: format!(
                "Half of the nodes are asked within {p50:.0} ms, all within {worst:.0} ms."
            ),
            head: vec!["p50, ms", "p99 (the slowest), ms"],
            rows: vec![vec![format!("{p50:.0}"), format!("{worst:.0}")]],
        });
    }

    /// Memory with many objects.
    pub fn scale(&mut self, scale: &Scale) {
        let Size { machines, reclaims } = scale.size;
        let (full, ready) = (scale.full, scale.ready.as_secs_f64());
        self.add(Table {
            title: format!("Controller with {machines} TalosMachines and {reclaims} MachineReclaims"),
            says: format!(
                "With all of them the controller holds {:.0} MiB and is ready {ready:.2} s after its start.",
                full.now
            ),
            head: vec![
                "memory before, MiB",
                "memory with them, MiB",
                "peak, MiB",
                "start to ready, s",
                "start to work, s",
            ],
            rows: vec![vec![
                format!("{:.0}", scale.empty.now),
                format!("{:.0}", full.now),
                format!("{:.0}", full.peak),
                format!("{ready:.2}"),
                format!("{:.2}", scale.working.as_secs_f64()),
            ]],
        });
    }

    /// The idle minute.
    pub fn idle(&mut self, idle: &Idle) {
        let total: usize = idle.writes.values().sum();
        let mut what: Vec<String> = idle
            .writes
            .iter()
            .map(|(what, times)| format!("{times} × {what}"))
            .collect();
        if what.is_empty() {
            what.push("none".to_owned());
        }
        let (before, after) = idle.memory;
        self.add(Table {
            title: "An idle minute with those objects, by the audit log".to_owned(),
            says: format!(
                "While nobody asks for anything, it writes {total} times beside its lease."
            ),
            head: vec![
                "writes",
                "which",
                "renewals of the lease",
                "memory before → after, MiB",
            ],
            rows: vec![vec![
                total.to_string(),
                what.join(", "),
                idle.renewals.to_string(),
                format!("{:.1} → {:.1}", before.now, after.now),
            ]],
        });
    }
}

fn peaks(title: &str, measured: &Measured) -> Table {
    let peaks = measured.series.iter().filter(|one| one.rate.is_none());
    let per_core = |name: &str| {
        let of = peaks.clone().find(|one| one.name == name);
        of.map(|one| one.median(|run| run.per_core))
    };
    let memory = |name: &str| {
        let of = measured.memory.iter().find(|(of, _)| *of == name);
        of.map(|(_, memory)| memory.peak)
    };
    let base = per_core(ICHOR).unwrap_or(f64::NAN);
    let held = |name: &str| Some(memory(ICHOR)? / memory(name)?);
    let others = peaks.clone().filter(|one| one.name != ICHOR).map(|one| {
        let faster = base / one.median(|run| run.per_core);
        let memory = held(one.name).unwrap_or(f64::NAN);
        format!(
            "{faster:.2} times as many reviews as {} in {memory:.2} of its memory",
            one.name
        )
    });
    let others: Vec<String> = others.collect();
    let rows = peaks.clone().map(|one| {
        let its = one.median(|run| run.per_core);
        vec![
            one.name.to_owned(),
            thousands(one.rate()),
            thousands(its),
            format!("{:.2}", base / its),
            memory(one.name)
                .map(|peak| format!("{peak:.0}"))
                .unwrap_or_default(),
        ]
    });
    Table {
        title: title.to_owned(),
        says: format!(
            "From a second of CPU time Ichor answers {}.",
            others.join(", and ")
        ),
        head: vec![
            "server on one core",
            "reviews/s",
            "reviews per CPU second",
            "Ichor is × as fast",
            "memory, MiB",
        ],
        rows: rows.collect(),
    }
}

fn latencies(title: &str, measured: &Measured) -> Table {
    let rated = measured.series.iter().filter(|one| one.rate.is_some());
    let tail = |of: &Series| {
        let same = |other: &&Series| other.rate == of.rate && other.name == ICHOR;
        let ichor = measured.series.iter().find(same)?;
        Some(ichor.p99() / of.p99())
    };
    let others = rated.clone().filter(|one| one.name != ICHOR);
    let says = others.filter_map(|one| {
        let rate = thousands(one.rate?);
        Some(format!(
            "{:.2} of that of {} at {rate} reviews/s",
            tail(one)?,
            one.name
        ))
    });
    let says: Vec<String> = says.collect();
    let rows = rated.map(|one| {
        vec![
            one.name.to_owned(),
            thousands(one.rate.unwrap_or_default()),
            format!("{:.2}", one.p50()),
            format!("{:.2}", one.p99()),
            tail(one).map_or("beyond its peak".to_owned(), |tail| format!("{tail:.2}")),
        ]
    });
    Table {
        title: format!("{title}: latency at half of a peak"),
        says: if says.is_empty() {
            format!("Half of the peak of {PEER} is beyond Ichor here.")
        } else {
            format!("Ichor's p99 is {}.", says.join(", "))
        },
        head: vec![
            "server on one core",
            "reviews/s asked",
            "p50, ms",
            "p99, ms",
            "Ichor's p99 ÷ this",
        ],
        rows: rows.collect(),
    }
}

/// A whole number with its thousands apart.
pub fn thousands(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::Run;
    use crate::load::Answered;
    use crate::process::Memory;
    use std::time::Duration;

    fn series(name: &'static str, rate: Option<f64>, per_core: f64, p99: u64) -> Series {
        let mut series = Series::peak(name);
        series.rate = rate;
        let answered = Answered {
            total: 1,
            rate: per_core,
            p50: Duration::from_millis(1),
            p99: Duration::from_millis(p99),
            held: 0,
            anew: 0,
        };
        series.runs.push(Run { answered, per_core });
        series
    }

    #[test]
    fn a_table_has_its_sentence_above() {
        let memory = |peak| Memory { now: 1.0, peak };
        let mut report = Report::new(5);
        let measured = Measured {
            series: vec![
                series(ICHOR, None, 9_000.0, 9),
                series(PEER, None, 3_000.0, 9),
                series(ICHOR, Some(1_500.0), 1_500.0, 2),
                series(PEER, Some(1_500.0), 1_500.0, 4),
            ],
            memory: vec![(ICHOR, memory(10.0)), (PEER, memory(40.0))],
        };
        report.admission("reviews", &measured);
        for part in [
            "### reviews\n\nFrom a second of CPU time Ichor answers 3.00 times as many reviews as \
             controller-runtime (Go) in 0.25 of its memory.\n\n| server on one core |",
            "| controller-runtime (Go) | 3,000 | 3,000 | 3.00 | 40 |",
            "Ichor's p99 is 0.50 of that of controller-runtime (Go) at 1,500 reviews/s.",
            "| controller-runtime (Go) | 1,500 | 1.00 | 4.00 | 0.50 |",
        ] {
            assert!(report.text().contains(part), "{part}\n{}", report.text());
        }
    }

    #[test]
    fn numbers_are_readable() {
        for (number, want) in [
            (0.4, "0"),
            (999.6, "1,000"),
            (12_345.0, "12,345"),
            (1_234_567.0, "1,234,567"),
        ] {
            assert_eq!(thousands(number), want);
        }
    }
}
