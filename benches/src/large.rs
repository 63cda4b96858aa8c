//! Bodies at and beyond the limit: what they cost each server.

use crate::admission::Ground;
use crate::connect::{Dialler, Target, post, uri};
use crate::figures::{median, number};
use crate::process::{Memory, Server};
use crate::report::{Table, thousands};
use crate::review;
use anyhow::{Context, Result};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use ichor_webhook::{MAX_BODY_BYTES, VALIDATE_MACHINERECLAIMS};
use serde_json::Value;
use std::collections::BTreeMap;
use tokio::task::JoinSet;

/// Bodies that are sent at once, and one after the other by each client.
const AT_ONCE: usize = 8;
const EACH: usize = 4;
/// Beyond the limit of every server.
const BEYOND: usize = 10 << 20;
/// Just within.
const WITHIN: usize = MAX_BODY_BYTES - (64 << 10);

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    /// Bytes of each body.
    #[arg(long)]
    bytes: usize,
}

/// How many bodies were answered how.
type Answers = BTreeMap<String, usize>;

/// Sends, and prints [`Answers`].
pub async fn send(args: Args) -> Result<()> {
    let dialler = Dialler::new(&args.target)?;
    let body = Bytes::from(review::padded(VALIDATE_MACHINERECLAIMS, args.bytes)?);
    let mut clients = JoinSet::new();
    for _ in 0..AT_ONCE {
        let (dialler, body) = (dialler.clone(), body.clone());
        clients.spawn(async move {
            let mut answers = Vec::new();
            for _ in 0..EACH {
                let answer = ask(&dialler, body.clone()).await;
                answers.push(answer.unwrap_or_else(|_| "the connection was broken off".to_owned()));
            }
            answers
        });
    }
    let mut answers = Answers::new();
    for answer in clients.join_all().await.into_iter().flatten() {
        *answers.entry(answer).or_default() += 1;
    }
    println!("{}", serde_json::to_string(&answers)?);
    Ok(())
}

async fn ask(dialler: &Dialler, body: Bytes) -> Result<String> {
    let (mut sender, _) = dialler.http2().await?;
    let request = post(uri(VALIDATE_MACHINERECLAIMS)?, Full::new(body))?;
    let answer = sender.send_request(request).await?;
    let status = answer.status().as_u16();
    let text = answer.into_body().collect().await?.to_bytes();
    Ok(words(status, &text))
}

/// What an answer says, in a few words.
fn words(status: u16, text: &[u8]) -> String {
    let review: Value = serde_json::from_slice(text).unwrap_or_default();
    let response = &review["response"];
    if response["allowed"] == true {
        return "allowed".to_owned();
    }
    let result = &response["status"];
    match result["message"].as_str() {
        Some(message) => format!("HTTP {status}, refused with {}: {message}", result["code"]),
        None => format!("HTTP {status}: {}", String::from_utf8_lossy(text)),
    }
}

/// What bodies of one size cost one server.
#[derive(Debug)]
pub struct Cost {
    server: &'static str,
    bytes: usize,
    answers: Answers,
    /// Milliseconds of CPU time for each body: median over the runs.
    cpu: f64,
    /// Before the first body.
    rest: Memory,
    /// With all runs behind it.
    end: Memory,
}

/// Measures Ichor and its peer in turn, with servers that saw nothing else before.
pub async fn measure(ground: &Ground) -> Result<Vec<Cost>> {
    let mut costs = Vec::new();
    for bytes in [BEYOND, WITHIN] {
        let servers = [ground.ichor(None).await?, ground.peer(None).await?];
        let mut rest = Vec::new();
        for server in &servers {
            rest.push(server.memory()?);
        }
        let mut cpu = vec![Vec::new(); servers.len()];
        let mut answers = vec![Answers::new(); servers.len()];
        for _ in 0..ground.rounds {
            for (at, server) in servers.iter().enumerate() {
                let (used, answered) = run(ground, server, bytes).await?;
                cpu[at].push(used);
                for (answer, times) in answered {
                    *answers[at].entry(answer).or_default() += times;
                }
            }
        }
        let measured = servers.iter().zip(rest).zip(cpu).zip(answers);
        for (((server, rest), cpu), answers) in measured {
            costs.push(Cost {
                server: server.name,
                bytes,
                answers,
                cpu: median(cpu),
                rest,
                end: server.memory()?,
            });
        }
    }
    Ok(costs)
}

async fn run(ground: &Ground, server: &Server, bytes: usize) -> Result<(f64, Answers)> {
    let mut command = ground.client("large", server);
    command.arg("--bytes").arg(bytes.to_string());
    let before = server.cpu()?;
    let answers = ground.output(&mut command, server).await?;
    let cpu = server.cpu()?.saturating_sub(before);
    let answers = serde_json::from_slice(&answers).context("read the answers to large bodies")?;
    let each = cpu.as_secs_f64() * 1000.0 / number(AT_ONCE * EACH);
    Ok((each, answers))
}

/// The table of the report.
pub fn table(costs: &[Cost]) -> Table {
    let rows = costs.iter().map(|cost| {
        let answers = cost.answers.iter();
        let answers: Vec<String> = answers
            .map(|(answer, times)| {
                format!("{times} × {}", answer.chars().take(90).collect::<String>())
            })
            .collect();
        vec![
            format!("{:.1} MiB", mebibytes(cost.bytes)),
            cost.server.to_owned(),
            answers.join("; "),
            format!("{:.1}", cost.cpu),
            format!("{:.0}", cost.rest.now),
            format!("{:.0}", cost.end.peak),
        ]
    });
    Table {
        title: format!("Bodies at and beyond the limit, {AT_ONCE} at a time"),
        says: says(costs),
        head: vec![
            "body",
            "server on one core",
            "answers",
            "CPU ms each",
            "memory at rest, MiB",
            "memory peak, MiB",
        ],
        rows: rows.collect(),
    }
}

fn says(costs: &[Cost]) -> String {
    let of = |bytes: usize| {
        let mut of = costs.iter().filter(|cost| cost.bytes == bytes);
        Some((of.next()?, of.next()?))
    };
    let (Some((ichor, peer)), Some((large, other))) = (of(BEYOND), of(WITHIN)) else {
        return String::new();
    };
    format!(
        "A body of 10 MiB costs Ichor {:.1} ms of CPU time and {} MiB of memory above rest, and {} {:.1} ms and {} MiB; \
         a review just within the limit costs Ichor {:.2} of the other's CPU time and {:.2} of its peak of memory.",
        ichor.cpu,
        thousands(ichor.end.peak - ichor.rest.now),
        peer.server,
        peer.cpu,
        thousands(peer.end.peak - peer.rest.now),
        large.cpu / other.cpu,
        large.end.peak / other.end.peak,
    )
}

fn mebibytes(bytes: usize) -> f64 {
    number(bytes / 1024) / 1024.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_told_in_a_few_words() {
        let refused =
            br#"{"response":{"allowed":false,"status":{"code":413,"message":"too large"}}}"#;
        for (status, text, want) in [
            (200, &br#"{"response":{"allowed":true}}"#[..], "allowed"),
            (200, refused, "HTTP 200, refused with 413: too large"),
            (413, b"the body is over", "HTTP 413: the body is over"),
        ] {
            assert_eq!(words(status, text), want);
        }
    }

    #[test]
    fn the_table_says_what_bodies_cost() {
        let memory = |peak| Memory { now: 10.0, peak };
        let cost = |server, bytes, cpu, peak| Cost {
            server,
            bytes,
            answers: Answers::from([("allowed".to_owned(), 32)]),
            cpu,
            rest: memory(10.0),
            end: memory(peak),
        };
        let table = table(&[
            cost("Ichor", BEYOND, 0.3, 12.0),
            cost("Go", BEYOND, 30.0, 210.0),
            cost("Ichor", WITHIN, 20.0, 100.0),
            cost("Go", WITHIN, 80.0, 400.0),
        ]);
        assert_eq!(
            table.says,
            "A body of 10 MiB costs Ichor 0.3 ms of CPU time and 2 MiB of memory above rest, and Go 30.0 ms and 200 MiB; \
             a review just within the limit costs Ichor 0.25 of the other's CPU time and 0.25 of its peak of memory."
        );
        assert_eq!(
            table.rows[2],
            ["6.9 MiB", "Ichor", "32 × allowed", "20.0", "10", "100"]
        );
    }
}
