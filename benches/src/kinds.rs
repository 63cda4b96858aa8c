//! Creations of every kind, Ichor beside its peer: each costs a mutating and a validating review, which take turns.

use crate::admission::{
    Ground, ICHOR, Load, Measured, PEER, Series, half_of_the_lower, interleaved,
};
use crate::process::Server;
use crate::report::{Table, thousands};
use crate::review::KINDS;
use anyhow::Result;

/// What one kind's creations cost.
#[derive(Debug)]
pub struct Row {
    kind: &'static str,
    ichor: Side,
    peer: Side,
    /// Half of the lower peak, in reviews a second.
    half: f64,
}

/// One server.
#[derive(Debug)]
struct Side {
    /// Reviews a second at its peak.
    rate: f64,
    /// Reviews per second of its CPU time.
    per_core: f64,
    /// At half of the lower peak, in milliseconds.
    p99: f64,
}

/// Measures Ichor and its peer (`servers`, in this order) kind after kind.
pub async fn measure(ground: &Ground, servers: &[Server; 2], streams: usize) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for kind in KINDS {
        let load = Load {
            paths: kind.paths().to_vec(),
            millis: 480,
            streams,
        };
        let measured = interleaved(ground, servers, &load, half_of_the_lower).await?;
        let rate = measured.series.iter().find_map(|one| one.rate);
        rows.push(Row {
            kind: kind.name,
            ichor: side(&measured, ICHOR),
            peer: side(&measured, PEER),
            half: rate.unwrap_or(f64::NAN),
        });
    }
    Ok(rows)
}

fn side(measured: &Measured, name: &str) -> Side {
    let of = |rated: bool| {
        let mut series = measured.series.iter();
        series.find(|one| one.name == name && one.rate.is_some() == rated)
    };
    let (peak, rated) = (of(false), of(true));
    Side {
        rate: peak.map_or(f64::NAN, Series::rate),
        per_core: peak.map_or(f64::NAN, |peak| peak.median(|run| run.per_core)),
        p99: rated.map_or(f64::NAN, Series::p99),
    }
}

impl Row {
    fn faster(&self) -> f64 {
        self.ichor.per_core / self.peer.per_core
    }

    fn tail(&self) -> f64 {
        self.ichor.p99 / self.peer.p99
    }
}

/// The table of the report; `asked` says whom the servers ask.
pub fn table(rows: &[Row], asked: &str) -> Table {
    let cells = rows.iter().map(|row| {
        vec![
            row.kind.to_owned(),
            thousands(row.ichor.per_core),
            thousands(row.peer.per_core),
            format!("{:.2}", row.faster()),
            thousands(row.ichor.rate),
            thousands(row.peer.rate),
            thousands(row.half),
            format!("{:.2}", row.ichor.p99),
            format!("{:.2}", row.peer.p99),
            format!("{:.2}", row.tail()),
        ]
    });
    Table {
        title: format!("Creations of all kinds, {asked}"),
        says: says(rows),
        head: vec![
            "kind",
            "Ichor, reviews per CPU second",
            "Go",
            "Ichor is × as fast",
            "Ichor, reviews/s",
            "Go",
            "latency at reviews/s",
            "Ichor, p99 ms",
            "Go",
            "Ichor's ÷ Go's",
        ],
        rows: cells.collect(),
    }
}

/// The least and the most of the ratios, with their kinds.
fn says(rows: &[Row]) -> String {
    let (faster, tail) = (extremes(rows, Row::faster), extremes(rows, Row::tail));
    format!(
        "From a second of CPU time Ichor answers {faster} times as many reviews as controller-runtime; at half of the lower peak \
         its p99 is {tail} times as long."
    )
}

fn extremes(rows: &[Row], of: fn(&Row) -> f64) -> String {
    let mut ratios: Vec<(f64, &str)> = rows.iter().map(|row| (of(row), row.kind)).collect();
    ratios.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    let words = |(ratio, kind): &(f64, &str)| format!("{ratio:.2} ({kind})");
    let ends = [ratios.first(), ratios.last()].into_iter().flatten();
    ends.map(words).collect::<Vec<_>>().join(" to ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(kind: &'static str, ichor: f64, peer: f64, p99: f64) -> Row {
        let side = |per_core, p99| Side {
            rate: per_core,
            per_core,
            p99,
        };
        Row {
            kind,
            ichor: side(ichor, p99),
            peer: side(peer, 2.0),
            half: ichor.min(peer) / 2.0,
        }
    }

    #[test]
    fn the_sentence_names_the_extremes() {
        let rows = [
            row("TalosMachine", 4000.0, 1000.0, 1.0),
            row("TalosStorage", 3000.0, 1000.0, 3.0),
            row("TalosCluster", 500.0, 1000.0, 2.0),
        ];
        assert_eq!(
            says(&rows),
            "From a second of CPU time Ichor answers 0.50 (TalosCluster) to 4.00 (TalosMachine) times as many reviews as \
             controller-runtime; at half of the lower peak its p99 is 0.50 (TalosMachine) to 1.50 (TalosStorage) times as long."
        );
    }

    #[test]
    fn each_kind_is_a_row() {
        let table = table(&[row("TalosCluster", 500.0, 1000.0, 3.0)], "stubbed");
        let want = [
            "TalosCluster",
            "500",
            "1,000",
            "0.50",
            "500",
            "1,000",
            "250",
            "3.00",
            "2.00",
            "1.50",
        ];
        assert_eq!(table.rows, [want]);
        assert_eq!(table.head.len(), want.len());
    }
}
