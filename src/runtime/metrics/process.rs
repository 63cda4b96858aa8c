//! What Prometheus's clients in other languages tell of their process, from `/proc`. Where there is none, it is zero.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;
use std::fs;
use std::sync::atomic::AtomicU64;

/// Ticks a second in `/proc`, on every Linux that Rust runs on.
const TICKS: f64 = 100.0;

type Seconds = Gauge<f64, AtomicU64>;

#[derive(Clone, Debug, Default)]
pub(super) struct ProcessMetrics {
    cpu: Counter<f64, AtomicU64>,
    memory: Gauge,
    open: Gauge,
    most_open: Gauge,
    started: Seconds,
}

impl ProcessMetrics {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        registry.register(
            "process_cpu_seconds",
            "Processor time used, in seconds",
            metrics.cpu.clone(),
        );
        registry.register(
            "process_resident_memory_bytes",
            "Memory in use, in bytes",
            metrics.memory.clone(),
        );
        registry.register(
            "process_open_fds",
            "Open file descriptors",
            metrics.open.clone(),
        );
        registry.register(
            "process_max_fds",
            "Most file descriptors that may be open",
            metrics.most_open.clone(),
        );
        registry.register(
            "process_start_time_seconds",
            "When the process started, in Unix time",
            metrics.started.clone(),
        );
        registry.register(
            "ichor_build",
            "The version of Ichor",
            Info::new([("version", env!("CARGO_PKG_VERSION"))]),
        );
        metrics
    }

    pub(super) fn look(&self) {
        let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
        let used = (ticks(&stat, UTIME) + ticks(&stat, STIME)) / TICKS;
        self.cpu.inc_by((used - self.cpu.get()).max(0.0));
        let boot = fs::read_to_string("/proc/stat").unwrap_or_default();
        let boot: f64 = word_after(&boot, "btime").parse().unwrap_or_default();
        self.started.set(boot + ticks(&stat, STARTTIME) / TICKS);
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let resident: i64 = word_after(&status, "VmRSS:").parse().unwrap_or_default();
        self.memory.set(resident.saturating_mul(1024));
        let open = fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
        self.open.set(super::gauge(open));
        let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
        let most = word_after(&limits, "Max open files").parse();
        self.most_open.set(most.unwrap_or_default());
    }
}

/// Positions after the name of the program, which may hold spaces, in `/proc/self/stat` (proc(5)).
const UTIME: usize = 11;
const STIME: usize = 12;
const STARTTIME: usize = 19;

fn ticks(stat: &str, position: usize) -> f64 {
    let after = stat.rsplit(')').next().unwrap_or_default();
    let word = after.split_whitespace().nth(position);
    word.and_then(|word| word.parse().ok()).unwrap_or_default()
}

/// The first word after `name` in the line that begins with it.
fn word_after<'a>(text: &'a str, name: &str) -> &'a str {
    text.lines()
        .find_map(|line| line.strip_prefix(name)?.split_whitespace().next())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_position_and_by_name() {
        let stat = "7 (an (odd) name) S 1 7 7 0 -1 4194560 1 2 3 4 250 50 0 0 20 0 9 0 12345 1 2";
        assert!((ticks(stat, UTIME) - 250.0).abs() < 0.5);
        assert!((ticks(stat, STIME) - 50.0).abs() < 0.5);
        assert!((ticks(stat, STARTTIME) - 12345.0).abs() < 0.5);
        let limits =
            "Max stack size  8388608 unlimited bytes\nMax open files   1024   4096  files\n";
        assert_eq!(word_after(limits, "Max open files"), "1024");
        assert_eq!(word_after(limits, "VmRSS:"), "");
    }

    #[test]
    fn this_process_uses_memory_and_files_and_has_started() {
        let metrics = ProcessMetrics::default();
        metrics.look();
        assert!(metrics.memory.get() > 1 << 20);
        assert!(metrics.open.get() >= 3 && metrics.open.get() <= metrics.most_open.get());
        assert!(metrics.started.get() > 1.5e9);
    }
}
