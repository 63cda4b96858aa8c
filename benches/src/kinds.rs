//! Creations of every kind, Ichor beside its peer: each costs a mutating and a validating review, which take turns.

use crate::admission::{Ground, ICHOR, Load, Measured, PEER, Series, interleaved};
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
    /// Half of the peer's peak, in reviews a second.
    half: f64,
}

/// One server.
#[derive(Debug)]
struct Side {
    /// Reviews a second at its peak.
    rate: f64,
    /// Reviews per second of its CPU time.
    per_core: f64,
    /// At half of the peer's peak, in milliseconds, where that is within its reach.
    p99: Option<f64>,
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
        let measured = interleaved(ground, servers, &load, &[PEER]).await?;
        let peer = side(&measured, PEER);
        rows.push(Row {
            kind: kind.name,
            ichor: side(&measured, ICHOR),
            half: peer.rate / 2.0,
            peer,
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
        p99: rated.map(Series::p99),
    }
}

impl Row {
    fn faster(&self) -> f64 {
        self.ichor.per_core / self.peer.per_core
    }

    fn tail(&self) -> Option<f64> {
        Some(self.ichor.p99? / self.peer.p99?)
    }
}

/// The table of the report; `asked` says whom the servers ask.
pub fn table(rows: &[Row], asked: &str) -> Table {
    let time =
        |p99: Option<f64>| p99.map_or("beyond its peak".to_owned(), |p99| format!("{p99:.2}"));
    let cells = rows.iter().map(|row| {
        vec![
            row.kind.to_owned(),
            thousands(row.ichor.per_core),
            thousands(row.peer.per_core),
            format!("{:.2}", row.faster()),
            thousands(row.ichor.rate),
            thousands(row.peer.rate),
            thousands(row.half),
            time(row.ichor.p99),
            time(row.peer.p99),
            row.tail()
                .map_or("-".to_owned(), |tail| format!("{tail:.2}")),
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
    let Some((least, most)) = extremes(rows, |row| Some(row.faster())) else {
        return String::new();
    };
    let mut text = format!(
        "From a second of CPU time Ichor answers {least} to {most} times as many reviews as controller-runtime"
    );
    if let Some((least, most)) = extremes(rows, Row::tail) {
        text += &format!(
            "; at half of the peak rate of the latter, its p99 is {least} to {most} times as long"
        );
    }
    let slow = rows.iter().filter(|row| row.tail().is_none()).count();
    if slow > 0 {
        text += &format!("; of {slow} kinds that rate is beyond Ichor");
    }
    text + "."
}

fn extremes(rows: &[Row], of: impl Fn(&Row) -> Option<f64>) -> Option<(String, String)> {
    let ratios = rows.iter().filter_map(|row| Some((of(row)?, row.kind)));
    let mut ratios: Vec<(f64, &str)> = ratios.collect();
    ratios.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    let words = |(ratio, kind): &(f64, &str)| format!("{ratio:.2} ({kind})");
    Some((words(ratios.first()?), words(ratios.last()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(kind: &'static str, ichor: f64, peer: f64, p99: Option<f64>) -> Row {
        let side = |per_core, p99| Side {
            rate: per_core,
            per_core,
            p99,
        };
        Row {
            kind,
            ichor: side(ichor, p99),
            peer: side(peer, Some(2.0)),
            half: peer / 2.0,
        }
    }

    #[test]
    fn the_sentence_names_the_extremes() {
        let rows = [
            row("TalosMachine", 4000.0, 1000.0, Some(1.0)),
            row("TalosStorage", 3000.0, 1000.0, Some(3.0)),
            row("TalosCluster", 500.0, 1000.0, None),
        ];
        assert_eq!(
            says(&rows),
            "From a second of CPU time Ichor answers 0.50 (TalosCluster) to 4.00 (TalosMachine) times as many reviews as \
             controller-runtime; at half of the peak rate of the latter, its p99 is 0.50 (TalosMachine) to 1.50 \
             (TalosStorage) times as long; of 1 kinds that rate is beyond Ichor."
        );
        assert_eq!(says(&[]), "");
    }

    #[test]
    fn each_kind_is_a_row() {
        let table = table(&[row("TalosCluster", 500.0, 1000.0, None)], "stubbed");
        let want = [
            "TalosCluster",
            "500",
            "1,000",
            "0.50",
            "500",
            "1,000",
            "500",
            "beyond its peak",
            "2.00",
            "-",
        ];
        assert_eq!(table.rows, [want]);
        assert_eq!(table.head.len(), want.len());
    }
}
