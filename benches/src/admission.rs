//! Admission on one core: Ichor's webhook beside a handler that does nothing and the same rules in Go, with
//! interleaved runs.

use crate::cores::Cores;
use crate::figures::{median, per_second};
use crate::load::{Answered, HOST};
use crate::process::{Memory, Server};
use anyhow::{Context, Result, ensure};
use ichor_ground::controller::free_address;
use ichor_ground::pki::KubernetesCa;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Length of one measurement.
const MILLIS: u64 = 1200;

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
        Server::start("Ichor", command).await
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
        Server::start("controller-runtime (Go)", command).await
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

    /// One measurement of `server`: at `rate` reviews a second, or at its peak.
    pub async fn measure(&self, server: &Server, path: &str, rate: Option<f64>) -> Result<Run> {
        let mut command = self.cores.load(&self.bench);
        command.arg("load").arg("--path").arg(path);
        command.arg("--addr").arg(server.addr.to_string());
        command.arg("--ca").arg(self.folder.path().join("ca.crt"));
        command.arg("--millis").arg(MILLIS.to_string());
        if let Some(rate) = rate {
            command.arg("--rate").arg(rate.to_string());
        }
        let before = server.cpu()?;
        let output = command.output().await.context("start the load")?;
        ensure!(
            output.status.success(),
            "the load on {} failed: {}",
            server.name,
            String::from_utf8_lossy(&output.stderr)
        );
        let answered: Answered = serde_json::from_slice(&output.stdout)?;
        let cpu = server.cpu()?.saturating_sub(before);
        Ok(Run {
            per_core: per_second(answered.total, cpu),
            answered,
        })
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

/// Measures `servers` at `path` in interleaved rounds: each at its peak, and at half of the peaks of those named in
/// `halves` where that is within its reach.
pub async fn interleaved(
    ground: &Ground,
    servers: &[Server],
    path: &str,
    halves: &[&str],
) -> Result<Measured> {
    let peaks = peaks(ground, servers, path).await?;
    let mut series: Vec<(&Server, Series)> = servers
        .iter()
        .map(|server| (server, Series::new(server, None)))
        .collect();
    for half in halves {
        let of = servers.iter().position(|server| server.name == *half);
        let rate = (peaks[of.with_context(|| format!("no server {half}"))?] / 2.0).round();
        for (server, peak) in servers.iter().zip(&peaks) {
            if rate < peak * 0.75 {
                series.push((server, Series::new(server, Some(rate))));
            }
        }
    }
    for _ in 0..ground.rounds {
        for (server, series) in &mut series {
            let run = ground.measure(server, path, series.rate).await?;
            series.runs.push(run);
        }
    }
    let mut memory = Vec::new();
    for server in servers {
        memory.push((server.name, server.memory()?));
    }
    Ok(Measured {
        series: series.into_iter().map(|(_, series)| series).collect(),
        memory,
    })
}

/// Peaks that nothing but the rates depends on; finding them warms everything up.
async fn peaks(ground: &Ground, servers: &[Server], path: &str) -> Result<Vec<f64>> {
    let mut rates = vec![Vec::new(); servers.len()];
    for _ in 0..ground.rounds.min(3) {
        for (server, rates) in servers.iter().zip(&mut rates) {
            rates.push(ground.measure(server, path, None).await?.answered.rate);
        }
    }
    Ok(rates.into_iter().map(median).collect())
}

impl Series {
    fn new(server: &Server, rate: Option<f64>) -> Self {
        Self {
            name: server.name,
            rate,
            runs: Vec::new(),
        }
    }
}
