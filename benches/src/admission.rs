//! Admission on one core: Ichor's webhook beside a handler that does nothing and the same rules in Go, with
//! interleaved runs.

use crate::connect::HOST;
use crate::cores::Cores;
use crate::figures::{median, per_second};
use crate::load::Answered;
use crate::process::{Memory, Server};
use anyhow::{Context, Result, ensure};
use ichor_ground::controller::free_address;
use ichor_ground::pki::KubernetesCa;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What the servers are called in the report.
pub const ICHOR: &str = "Ichor";
/// The peer's.
pub const PEER: &str = "controller-runtime (Go)";

/// What all measurements of admission share.
pub struct Ground {
    /// Interleaved runs of which the median counts.
    pub rounds: usize,
    cores: Cores,
    peer: PathBuf,
    /// This program.
    bench: PathBuf,
    /// Folder with the certificates.
    folder: tempfile::TempDir,
}

impl Ground {
    /// Makes the certificates; `peer` is the webhook in Go.
    pub fn new(rounds: usize, cores: Cores, peer: PathBuf) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let ca = KubernetesCa::generate()?;
        let leaf = ca.server(IpAddr::V4(Ipv4Addr::LOCALHOST), HOST)?;
        for (name, text) in [
            ("ca.crt", &ca.certificate),
            ("tls.crt", &leaf.certificate),
            ("tls.key", &leaf.key),
        ] {
            std::fs::write(folder.path().join(name), text)?;
        }
        Ok(Self {
            rounds,
            cores,
            peer,
            bench: std::env::current_exe()?,
            folder,
        })
    }

    /// A handler that does nothing, behind Ichor's own server.
    pub async fn nothing(&self) -> Result<Server> {
        let mut command = self.serve();
        command.arg("--nothing");
        Server::start("axum, empty handler", command).await
    }

    /// Ichor's webhook; its access reviews are stubbed unless it has a kubeconfig.
    pub async fn ichor(&self, kubeconfig: Option<&Path>) -> Result<Server> {
        let mut command = self.serve();
        if let Some(kubeconfig) = kubeconfig {
            command.arg("--kubeconfig").arg(kubeconfig);
        }
        // It warns of bodies that are no reviews, as it should; who sends them knows.
        command.stderr(std::process::Stdio::null());
        Server::start(ICHOR, command).await
    }

    /// The peer in Go, likewise.
    pub async fn peer(&self, kubeconfig: Option<&Path>) -> Result<Server> {
        let mut command = self.cores.server(&self.peer);
        command.arg("--addr").arg(free_address()?.to_string());
        command.arg("--cert-dir").arg(self.folder.path());
        match kubeconfig {
            Some(kubeconfig) => command.arg("--kubeconfig").arg(kubeconfig),
            None => command.arg("--stub-access-review"),
        };
        // It tells of its start; what it says when it fails is what its line of readiness is missed for.
        command.stderr(std::process::Stdio::null());
        Server::start(PEER, command).await
    }

    fn serve(&self) -> tokio::process::Command {
        let mut command = self.cores.server(&self.bench);
        command
            .arg("serve")
            .arg("--cert-dir")
            .arg(self.folder.path());
        command
    }

    /// This program on the core of the servers, while none of them is busy.
    pub fn alone(&self, part: &str) -> tokio::process::Command {
        let mut command = self.cores.server(&self.bench);
        command.arg(part);
        command
    }

    /// This program as a client of `server`, on the core of the load.
    pub fn client(&self, part: &str, server: &Server) -> tokio::process::Command {
        let mut command = self.cores.load(&self.bench);
        command.arg(part).arg("--addr").arg(server.addr.to_string());
        command.arg("--ca").arg(self.folder.path().join("ca.crt"));
        command
    }

    /// What a client of `server` prints.
    pub async fn output(
        &self,
        client: &mut tokio::process::Command,
        server: &Server,
    ) -> Result<Vec<u8>> {
        let output = client.output().await.context("start the load")?;
        ensure!(
            output.status.success(),
            "the load on {} failed: {}",
            server.name,
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(output.stdout)
    }

    /// One measurement of `server`.
    async fn measure(&self, server: &Server, load: &Load, series: &Series) -> Result<Run> {
        let mut command = self.client("load", server);
        for path in &load.paths {
            command.arg("--path").arg(path);
        }
        command.arg("--millis").arg(load.millis.to_string());
        command.arg("--streams").arg(load.streams.to_string());
        command.arg("--slow").arg(series.slow.to_string());
        if let Some(rate) = series.rate {
            command.arg("--rate").arg(rate.to_string());
        }
        let before = server.cpu()?;
        let output = self.output(&mut command, server).await?;
        let answered: Answered = serde_json::from_slice(&output)?;
        let cpu = server.cpu()?.saturating_sub(before);
        Ok(Run {
            per_core: per_second(answered.total, cpu),
            answered,
        })
    }
}

/// What is sent, and for how long.
#[derive(Clone, Debug)]
pub struct Load {
    /// Paths of webhooks, whose reviews take turns.
    pub paths: Vec<String>,
    /// Length of one measurement.
    pub millis: u64,
    /// Reviews under way on each of the eight connections at the peak.
    pub streams: usize,
}

impl Load {
    /// What finds the peak and the tail of one webhook.
    pub fn of(path: &str) -> Self {
        Self {
            paths: vec![path.to_owned()],
            millis: 1200,
            streams: 4,
        }
    }
}

/// One measurement.
#[derive(Debug)]
pub struct Run {
    /// What the generator of load saw.
    pub answered: Answered,
    /// Answers per second of the server's CPU time: does not depend on what else the machine does.
    pub per_core: f64,
}

/// The measurements of one server at one rate.
#[derive(Debug)]
pub struct Series {
    /// Name of the server.
    pub name: &'static str,
    /// The rate asked for; at its peak without.
    pub rate: Option<f64>,
    /// Slow clients that hold connections meanwhile.
    pub slow: usize,
    /// The runs.
    pub runs: Vec<Run>,
}

impl Series {
    /// Median over the runs.
    pub fn median(&self, of: impl Fn(&Run) -> f64) -> f64 {
        median(self.runs.iter().map(of))
    }

    /// Median of the median latencies, in milliseconds.
    pub fn p50(&self) -> f64 {
        self.median(|run| milliseconds(run.answered.p50))
    }

    /// Median of the 99th percentiles, in milliseconds.
    pub fn p99(&self) -> f64 {
        self.median(|run| milliseconds(run.answered.p99))
    }
}

pub fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// The series of one path, and what the servers held in memory at the end.
pub struct Measured {
    /// All series, in the order they were asked for.
    pub series: Vec<Series>,
    /// Memory by the server's name.
    pub memory: Vec<(&'static str, Memory)>,
}

/// Reviews a second to measure latencies at, by the peaks.
pub type Rates = fn(&[Series]) -> Vec<f64>;

/// No latencies.
pub fn no_rates(_: &[Series]) -> Vec<f64> {
    Vec::new()
}

/// Half of Ichor's peak, and half of its peer's.
pub fn half_of_each(peaks: &[Series]) -> Vec<f64> {
    let named = [ICHOR, PEER].map(|name| peaks.iter().find(|peak| peak.name == name));
    let named = named.into_iter().flatten();
    named.map(|peak| (peak.rate() / 2.0).round()).collect()
}

/// Half of the lower of the two, which both reach.
pub fn half_of_the_lower(peaks: &[Series]) -> Vec<f64> {
    half_of_each(peaks)
        .into_iter()
        .reduce(f64::min)
        .into_iter()
        .collect()
}

/// Measures `servers` in interleaved rounds: each at its peak, and then at the `rates` that are within its reach.
pub async fn interleaved(
    ground: &Ground,
    servers: &[Server],
    load: &Load,
    rates: Rates,
) -> Result<Measured> {
    let mut series: Vec<Series> = servers
        .iter()
        .map(|server| Series::peak(server.name))
        .collect();
    // Warms everything up, and counts for nothing.
    rounds(ground, 1, servers, load, &mut series).await?;
    for one in &mut series {
        one.runs.clear();
    }
    rounds(ground, ground.rounds, servers, load, &mut series).await?;
    let mut tails = Vec::new();
    for rate in rates(&series) {
        let within = series.iter().filter(|one| rate < one.rate() * 0.75);
        tails.extend(within.map(|one| Series::at(one.name, rate, 0)));
    }
    rounds(ground, ground.rounds, servers, load, &mut tails).await?;
    series.append(&mut tails);
    let mut memory = Vec::new();
    for server in servers {
        memory.push((server.name, server.memory()?));
    }
    Ok(Measured { series, memory })
}

/// Adds `rounds` runs to each of the series, which take turns.
pub async fn rounds(
    ground: &Ground,
    rounds: usize,
    servers: &[Server],
    load: &Load,
    series: &mut [Series],
) -> Result<()> {
    for _ in 0..rounds {
        for one in series.iter_mut() {
            let server = servers.iter().find(|server| server.name == one.name);
            let server = server.with_context(|| format!("no server {}", one.name))?;
            one.runs.push(ground.measure(server, load, one).await?);
        }
    }
    Ok(())
}

impl Series {
    /// A server at its peak.
    pub fn peak(name: &'static str) -> Self {
        Self {
            name,
            rate: None,
            slow: 0,
            runs: Vec::new(),
        }
    }

    /// A server at a rate, with slow clients beside.
    pub fn at(name: &'static str, rate: f64, slow: usize) -> Self {
        Self {
            rate: Some(rate),
            slow,
            ..Self::peak(name)
        }
    }

    /// Median of the answers a second.
    pub fn rate(&self) -> f64 {
        self.median(|run| run.answered.rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_are_measured_at_half_of_a_peak() {
        let peak = |name, rate| {
            let mut peak = Series::peak(name);
            let answered = Answered {
                total: 1,
                rate,
                p50: Duration::ZERO,
                p99: Duration::ZERO,
                held: 0,
                anew: 0,
            };
            peak.runs.push(Run {
                answered,
                per_core: rate,
            });
            peak
        };
        let peaks = [
            peak("nothing", 9_000.0),
            peak(ICHOR, 6_000.0),
            peak(PEER, 1_001.0),
        ];
        assert_eq!(half_of_each(&peaks), [3_000.0, 501.0]);
        assert_eq!(half_of_the_lower(&peaks), [501.0]);
        assert!(half_of_the_lower(&[]).is_empty());
    }
}
