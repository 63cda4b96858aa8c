//! Samples to try a patch on before there is a cluster's own configuration.

use crate::Config;

/// Talos's default configuration of a version contract (`v1.9` to `v1.14`; a patch version may follow), with placeholders
/// where its secrets were. None for other contracts.
pub fn sample(contract: &str, control_plane: bool) -> Option<Config> {
    let mut parts = contract.trim_start_matches('v').splitn(3, '.');
    if parts.next() != Some("1") {
        return None;
    }
    let minor: usize = parts.next()?.parse().ok()?;
    let (machine, worker) = SAMPLES.get(minor.checked_sub(9)?)?;
    Config::parse(if control_plane { machine } else { worker }).ok()
}

macro_rules! samples {
    ($($version:literal),*) => {
        [$((
            include_str!(concat!("../data/samples/", $version, "-controlplane.yaml")),
            include_str!(concat!("../data/samples/", $version, "-worker.yaml")),
        )),*]
    };
}

/// From v1.9 on.
static SAMPLES: [(&str, &str); 6] = samples!["v1.9", "v1.10", "v1.11", "v1.12", "v1.13", "v1.14"];
