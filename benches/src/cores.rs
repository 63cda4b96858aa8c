//! The cores of the machine: the server under load has one, the generator of load another.

use anyhow::{Context, Result, ensure};
use std::path::Path;
use tokio::process::Command;

/// Two cores of those this process may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cores {
    server: String,
    load: String,
}

impl Cores {
    /// Picks them, and makes sure that processes can be pinned.
    pub fn pick() -> Result<Self> {
        let status = std::fs::read_to_string("/proc/self/status")?;
        let allowed = status
            .lines()
            .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))
            .context("the kernel does not say which cores may be used")?;
        let cores = parse(allowed.trim())?;
        let pinned = std::process::Command::new("taskset")
            .arg("-V")
            .output()
            .is_ok();
        ensure!(
            pinned,
            "taskset is missing, which pins processes to cores: install util-linux"
        );
        ensure!(
            cores.len() >= 2,
            "one core is too few: the generator of load needs one of its own"
        );
        Ok(Self {
            server: cores[0].to_string(),
            load: cores[cores.len() - 1].to_string(),
        })
    }

    /// `program` on the core of the server.
    pub fn server(&self, program: &Path) -> Command {
        pinned(&self.server, program)
    }

    /// `program` on the core of the generator of load.
    pub fn load(&self, program: &Path) -> Command {
        pinned(&self.load, program)
    }
}

fn pinned(core: &str, program: &Path) -> Command {
    let mut command = Command::new("taskset");
    // taskset becomes the program: its process ID is the program's.
    command.args(["-c", core]).arg(program);
    command.env("GOMAXPROCS", "1").kill_on_drop(true);
    command
}

/// Reads a list such as `0-3,8`.
fn parse(list: &str) -> Result<Vec<u32>> {
    let mut cores = Vec::new();
    for part in list.split(',') {
        let (first, end) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| {
            text.parse::<u32>()
                .with_context(|| format!("the list of cores {list:?} cannot be read"))
        };
        cores.extend(number(first)?..=number(end)?);
    }
    Ok(cores)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cores() {
        for (list, want) in [
            ("0-1", vec![0, 1]),
            ("5", vec![5]),
            ("0-2,8,10-11", vec![0, 1, 2, 8, 10, 11]),
        ] {
            assert_eq!(parse(list).expect("cores"), want, "{list}");
        }
        assert!(parse("").is_err() && parse("a-b").is_err());
    }
}
