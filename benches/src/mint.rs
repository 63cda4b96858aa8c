//! Minting: client certificates a second, by the algorithm of the cluster's CA.

use crate::admission::Ground;
use crate::figures::{median, per_second};
use crate::process::cpu;
use anyhow::{Context, Result, ensure};
use ichor_certs::mint::mint_client;
use ichor_certs::{CertificateAuthority, Role};
use ichor_simulator::pki::{Algorithm, Authority};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Length of one measurement.
const TIME: Duration = Duration::from_millis(500);
const ALGORITHMS: [(&str, Algorithm); 3] = [
    ("Ed25519", Algorithm::Ed25519),
    ("ECDSA P-256", Algorithm::Ecdsa),
    ("RSA", Algorithm::Rsa),
];

/// Mints on one thread, and prints how many there were per second of CPU time, by algorithm.
pub fn mint() -> Result<()> {
    let mut minted = BTreeMap::new();
    for (name, algorithm) in ALGORITHMS {
        let made = Authority::new(algorithm, Some("talos"))?;
        let ca = CertificateAuthority::from_pem(made.certificate.as_bytes(), made.key.as_bytes())?;
        let now = ca.not_before() + jiff::SignedDuration::from_hours(1);
        let (begin, used, mut count) = (Instant::now(), cpu(std::process::id())?, 0);
        while begin.elapsed() < TIME {
            mint_client(&ca, Role::Admin, now)?;
            count += 1;
        }
        let used = cpu(std::process::id())?.saturating_sub(used);
        minted.insert(name, per_second(count, used));
    }
    println!("{}", serde_json::to_string(&minted)?);
    Ok(())
}

/// Certificates per second of one core, by algorithm: the median of several runs.
pub async fn measure(ground: &Ground) -> Result<Vec<(&'static str, f64)>> {
    let mut runs: Vec<BTreeMap<String, f64>> = Vec::new();
    for _ in 0..ground.rounds {
        let output = ground.alone("mint").output().await?;
        ensure!(
            output.status.success(),
            "minting failed: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        runs.push(serde_json::from_slice(&output.stdout).context("read what was minted")?);
    }
    Ok(ALGORITHMS
        .iter()
        .map(|(name, _)| {
            (
                *name,
                median(runs.iter().filter_map(|run| run.get(*name).copied())),
            )
        })
        .collect())
}
