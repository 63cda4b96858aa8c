//! A thousand slow clients hold connections: what real reviews notice of it, and what becomes of the slow ones.

use crate::admission::{Ground, ICHOR, Load, PEER, Series, rounds};
use crate::figures::number;
use crate::hold::{Held, PATIENCE};
use crate::process::{Memory, Server};
use crate::report::{Table, thousands};
use anyhow::{Context, Result};
use ichor_webhook::VALIDATE_MACHINERECLAIMS;
use std::time::Duration;

/// Slow clients.
const SLOW: usize = 1_000;
/// How long they are watched when nothing else goes on: longer than either server waits for a handshake or a header.
const WATCHED: Duration = Duration::from_secs(40);

/// What was measured.
pub struct Crowded {
    /// Each server at each rate, first without slow clients and then with them.
    series: Vec<Series>,
    /// By server: memory at rest, the most with the slow clients, and how everybody fared.
    held: Vec<(&'static str, Memory, Memory, Held)>,
}

/// Measures Ichor and its peer: latencies in turn, and then both holding at once, when they do next to nothing.
pub async fn measure(ground: &Ground) -> Result<Crowded> {
    let servers = [ground.ichor(None).await?, ground.peer(None).await?];
    let rest = [servers[0].memory()?, servers[1].memory()?];
    let load = Load::of(VALIDATE_MACHINERECLAIMS);
    let mut peaks = [Series::peak(ICHOR), Series::peak(PEER)];
    rounds(ground, ground.rounds.min(3), &servers, &load, &mut peaks).await?;
    let [ichor, peer] = peaks.map(|peak| (peak.rate() / 2.0).round());
    let rates = [(ICHOR, peer), (PEER, peer), (ICHOR, ichor)];
    let mut series: Vec<Series> = rates
        .into_iter()
        .flat_map(|(name, rate)| [0, SLOW].map(|slow| Series::at(name, rate, slow)))
        .collect();
    rounds(ground, ground.rounds, &servers, &load, &mut series).await?;
    let (one, other) = tokio::try_join!(hold(ground, &servers[0]), hold(ground, &servers[1]))?;
    let mut held = Vec::new();
    for ((server, rest), watched) in servers.iter().zip(rest).zip([one, other]) {
        held.push((server.name, rest, server.memory()?, watched));
    }
    Ok(Crowded { series, held })
}

async fn hold(ground: &Ground, server: &Server) -> Result<Held> {
    let mut command = ground.client("hold", server);
    command.arg("--path").arg(VALIDATE_MACHINERECLAIMS);
    command.arg("--slow").arg(SLOW.to_string());
    command.arg("--seconds").arg(WATCHED.as_secs().to_string());
    let output = ground.output(&mut command, server).await?;
    serde_json::from_slice(&output).context("read how the slow clients fared")
}

/// The tables of the report.
pub fn tables(crowded: &Crowded) -> [Table; 3] {
    [
        latency(&crowded.series),
        dropped(&crowded.held),
        newcomers(&crowded.held),
    ]
}

fn latency(series: &[Series]) -> Table {
    let mut says = Vec::new();
    let mut rows = Vec::new();
    for pair in series.chunks_exact(2) {
        let (without, with) = (&pair[0], &pair[1]);
        let rate = thousands(without.rate.unwrap_or_default());
        let ratio = with.p99() / without.p99();
        says.push(format!(
            "{} at {rate} reviews/s: {ratio:.2} times",
            with.name
        ));
        rows.push(vec![
            with.name.to_owned(),
            rate,
            format!("{:.2}", without.p50()),
            format!("{:.2}", with.p50()),
            format!("{:.2}", without.p99()),
            format!("{:.2}", with.p99()),
            format!("{ratio:.2}"),
            thousands(with.median(|run| number(run.answered.held))),
            thousands(with.median(|run| number(run.answered.anew))),
        ]);
    }
    Table {
        title: format!("Reviews on open connections while {SLOW} slow clients hold theirs"),
        says: format!(
            "The p99 with slow clients beside that without: {}.",
            says.join("; ")
        ),
        head: vec![
            "server on one core",
            "reviews/s",
            "p50 without, ms",
            "p50 with, ms",
            "p99 without, ms",
            "p99 with, ms",
            "p99 with ÷ without",
            "slow clients left",
            "connections made anew",
        ],
        rows,
    }
}

fn dropped(held: &[(&'static str, Memory, Memory, Held)]) -> Table {
    let seconds = WATCHED.as_secs();
    let mut says = Vec::new();
    let mut rows = Vec::new();
    for (server, _, _, held) in held {
        let (all, gone) = held.slow.iter().fold((0, 0), |(all, gone), it| {
            (all + it.count, gone + it.dropped)
        });
        says.push(format!("{server} {gone} of {all}"));
        for it in &held.slow {
            let after = match it.dropped {
                0 => "-".to_owned(),
                _ => format!("{:.0}", it.half_after.as_secs_f64()),
            };
            rows.push(vec![
                (*server).to_owned(),
                it.manner.words().to_owned(),
                it.count.to_string(),
                it.dropped.to_string(),
                after,
            ]);
        }
    }
    Table {
        title: format!("Slow clients that were dropped within {seconds} s"),
        says: format!(
            "Within {seconds} s of holding nothing but a connection were dropped: {}.",
            says.join(", ")
        ),
        head: vec![
            "server",
            "slow clients that",
            "there were",
            "dropped",
            "half of those after, s",
        ],
        rows,
    }
}

fn newcomers(held: &[(&'static str, Memory, Memory, Held)]) -> Table {
    let patience = PATIENCE.as_secs();
    let mut says = Vec::new();
    let rows = held.iter().map(|(server, rest, with, held)| {
        says.push(format!(
            "{server} answers {} of {}",
            held.answered, held.new
        ));
        vec![
            (*server).to_owned(),
            format!("{} of {}", held.answered, held.new),
            format!("{:.1}", held.p50.as_secs_f64() * 1000.0),
            format!("{:.0}", rest.now),
            format!("{:.0}", with.peak),
        ]
    });
    let rows = rows.collect();
    Table {
        title: format!("New clients while {SLOW} slow ones hold on, one a second"),
        says: format!(
            "Of the new connections with one review each, within the {patience} s that an API server waits: {}.",
            says.join(", ")
        ),
        head: vec![
            "server",
            "answered",
            "half of those within, ms",
            "memory at rest, MiB",
            "memory peak, MiB",
        ],
        rows,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::Run;
    use crate::load::Answered;
    use crate::slow::{Fared, Manner};

    fn series(slow: usize, p99: u64) -> Series {
        let mut series = Series::at(ICHOR, 4_000.0, slow);
        let answered = Answered {
            total: 1,
            rate: 4_000.0,
            p50: Duration::from_millis(1),
            p99: Duration::from_millis(p99),
            held: slow,
            anew: slow / 500,
        };
        series.runs.push(Run {
            answered,
            per_core: 1.0,
        });
        series
    }

    #[test]
    fn with_and_without_stand_in_one_row() {
        let table = latency(&[series(0, 2), series(SLOW, 3)]);
        let want = [
            "Ichor", "4,000", "1.00", "1.00", "2.00", "3.00", "1.50", "1,000", "2",
        ];
        assert_eq!(table.rows, [want]);
        assert_eq!(
            table.says,
            "The p99 with slow clients beside that without: Ichor at 4,000 reviews/s: 1.50 times."
        );
    }

    #[test]
    fn who_was_dropped_and_who_was_served() {
        let memory = Memory {
            now: 9.0,
            peak: 20.0,
        };
        let fared = |manner, dropped| Fared {
            manner,
            count: 250,
            dropped,
            half_after: Duration::from_secs(5),
        };
        let held = Held {
            slow: vec![fared(Manner::Handshake, 250), fared(Manner::Idle, 0)],
            new: 35,
            answered: 30,
            p50: Duration::from_millis(2),
        };
        let held = [("Ichor", memory, memory, held)];
        let (gone, new) = (dropped(&held), newcomers(&held));
        assert_eq!(gone.rows[0][2..], ["250", "250", "5"]);
        assert_eq!(gone.rows[1][2..], ["250", "0", "-"]);
        assert!(gone.says.ends_with("Ichor 250 of 500."), "{}", gone.says);
        assert_eq!(new.rows, [["Ichor", "30 of 35", "2.0", "9", "20"]]);
        assert!(
            new.says.ends_with("Ichor answers 30 of 35."),
            "{}",
            new.says
        );
    }
}
