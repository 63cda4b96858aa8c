//! A server under load as a process, and what the kernel knows of it.

use anyhow::{Context, Result};
use serde::Deserialize;
use std::net::SocketAddr;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

/// A running server; dropped, it is killed.
pub struct Server {
    /// What it is called in the report.
    pub name: &'static str,
    /// Where it listens.
    pub addr: SocketAddr,
    pid: u32,
    // Its standard input ends with it.
    _process: Child,
}

#[derive(Deserialize)]
struct Ready {
    addr: SocketAddr,
}

impl Server {
    /// Starts `command` and waits for its line `{"addr":…}`.
    pub async fn start(name: &'static str, mut command: Command) -> Result<Self> {
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("start {name}"))?;
        let pid = process.id().with_context(|| format!("{name} has ended"))?;
        let stdout = process.stdout.take().context("no standard output")?;
        let line = BufReader::new(stdout).lines().next_line().await?;
        let line = line.with_context(|| format!("{name} ended before it was ready"))?;
        let Ready { addr } =
            serde_json::from_str(&line).with_context(|| format!("{name} said {line:?}"))?;
        Ok(Self {
            name,
            addr,
            pid,
            _process: process,
        })
    }

    /// CPU time it has used.
    pub fn cpu(&self) -> Result<Duration> {
        cpu(self.pid)
    }

    /// Memory it holds.
    pub fn memory(&self) -> Result<Memory> {
        memory(self.pid)
    }
}

/// Memory of a process, in MiB.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Memory {
    /// Resident now.
    pub now: f64,
    /// The most that ever was.
    pub peak: f64,
}

/// CPU time of a process and its threads, in user and kernel mode.
pub fn cpu(pid: u32) -> Result<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .with_context(|| format!("process {pid} has ended"))?;
    ticks(&stat)
        // Linux counts in hundredths of a second on every machine it runs on (USER_HZ).
        .map(|ticks| Duration::from_millis(ticks * 10))
        .context("the kernel's line about a process cannot be read")
}

/// Resident memory of a process.
pub fn memory(pid: u32) -> Result<Memory> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))
        .with_context(|| format!("process {pid} has ended"))?;
    let field = |name: &str| {
        mebibytes(&status, name).with_context(|| format!("the kernel does not say {name}"))
    };
    Ok(Memory {
        now: field("VmRSS:")?,
        peak: field("VmHWM:")?,
    })
}

fn ticks(stat: &str) -> Option<u64> {
    // The second field is a name in parentheses, which may hold anything.
    let (_, rest) = stat.rsplit_once(") ")?;
    let mut fields = rest.split(' ').skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let kernel: u64 = fields.next()?.parse().ok()?;
    Some(user + kernel)
}

fn mebibytes(status: &str, name: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kibibytes: u32 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(f64::from(kibibytes) / 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_writes_is_read() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194560 100 0 0 0 31 11 0 0 20 0 4 0 9 1 2 3\n";
        assert_eq!(ticks(stat), Some(42));
        let status = "Name:\tx\nVmHWM:\t    4096 kB\nVmRSS:\t    2048 kB\n";
        assert_eq!(mebibytes(status, "VmRSS:"), Some(2.0));
        assert_eq!(mebibytes(status, "VmSwap:"), None);
    }

    #[test]
    fn this_process_uses_memory() {
        let memory = memory(std::process::id()).expect("memory");
        assert!(memory.now > 0.0 && memory.peak >= memory.now);
    }
}
