//! The report: one table a measurement, in Markdown, which reads well on a terminal too.

use crate::admission::{Measured, Series, milliseconds};
use crate::confirm::{Confirmed, ORPHANS};
use crate::idle::Idle;
use crate::scale::{Scale, Size};

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

    /// Throughput, latency and memory of servers beside each other; ratios are to Ichor's.
    pub fn admission(&mut self, title: &str, measured: &Measured) {
        let at_peak = |series: &&Series| series.rate.is_none();
        let ichor = measured.series.iter().find(|one| one.name == "Ichor");
        let base = ichor.map_or(f64::NAN, |ichor| ichor.median(|run| run.per_core));
        let peaks = measured.series.iter().filter(at_peak).map(|one| {
            let per_core = one.median(|run| run.per_core);
            let memory = measured.memory.iter().find(|(name, _)| *name == one.name);
            let cells = memory.map(|(_, memory)| format!("{:.0}", memory.peak));
            vec![
                one.name.to_owned(),
                thousands(one.median(|run| run.answered.rate)),
                thousands(per_core),
                format!("{:.2}", base / per_core),
                cells.unwrap_or_default(),
            ]
        });
        self.table(
            title,
            &[
                "server on one core",
                "reviews/s",
                "reviews per CPU second",
                "Ichor is × as fast",
                "memory, MiB",
            ],
            peaks.collect(),
        );
        let rated = measured.series.iter().filter(|one| one.rate.is_some());
        let rows = rated.map(|one| {
            let rate = one.rate.unwrap_or_default();
            let same = |other: &&Series| other.rate == one.rate && other.name == "Ichor";
            let ichor = measured.series.iter().find(same).map(Series::p99);
            vec![
                one.name.to_owned(),
                thousands(rate),
                format!("{:.2}", one.p50()),
                format!("{:.2}", one.p99()),
                ichor.map_or_else(
                    || "beyond its peak".to_owned(),
                    |ichor| format!("{:.2}", ichor / one.p99()),
                ),
            ]
        });
        let head = [
            "server on one core",
            "reviews/s asked",
            "p50, ms",
            "p99, ms",
            "Ichor's p99 ÷ this",
        ];
        self.table(
            &format!("{title}: latency at half of a peak"),
            &head,
            rows.collect(),
        );
    }

    /// Certificates a second.
    pub fn minting(&mut self, minted: &[(&'static str, f64)]) {
        let rows = minted
            .iter()
            .map(|(name, rate)| vec![(*name).to_owned(), thousands(*rate)]);
        self.table(
            "Minting `os:admin` certificates",
            &["CA", "certificates per CPU second"],
            rows.collect(),
        );
    }

    /// From confirmation to reset.
    pub fn confirmed(&mut self, confirmed: &Confirmed) {
        self.table(
            &format!("From the typed UUID to the reset at the node, {ORPHANS} times"),
            &["p50, ms", "p99 (the slowest), ms"],
            vec![vec![
                format!("{:.0}", milliseconds(confirmed.p50)),
                format!("{:.0}", milliseconds(confirmed.worst)),
            ]],
        );
    }

    /// Memory with many objects.
    pub fn scale(&mut self, scale: &Scale) {
        let Size { machines, reclaims } = scale.size;
        self.table(
            &format!("Controller with {machines} TalosMachines and {reclaims} MachineReclaims"),
            &[
                "memory before, MiB",
                "memory with them, MiB",
                "peak, MiB",
                "start to ready, s",
                "start to work, s",
            ],
            vec![vec![
                format!("{:.0}", scale.empty.now),
                format!("{:.0}", scale.full.now),
                format!("{:.0}", scale.full.peak),
                format!("{:.2}", scale.ready.as_secs_f64()),
                format!("{:.2}", scale.working.as_secs_f64()),
            ]],
        );
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
        self.table(
            "An idle minute with those objects, by the audit log",
            &[
                "writes",
                "which",
                "renewals of the lease",
                "memory before → after, MiB",
            ],
            vec![vec![
                total.to_string(),
                what.join(", "),
                idle.renewals.to_string(),
                format!("{:.1} → {:.1}", before.now, after.now),
            ]],
        );
    }

    fn table(&mut self, title: &str, head: &[&str], rows: Vec<Vec<String>>) {
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let mut text = format!("### {title}\n\n");
        text += &line(head.iter().map(ToString::to_string).collect());
        text += &line(head.iter().map(|_| "---".to_owned()).collect());
        for row in rows {
            text += &line(row);
        }
        self.tables.push(text);
    }
}

/// A whole number with its thousands apart.
fn thousands(number: f64) -> String {
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
