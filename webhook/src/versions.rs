//! Versions, and which of Talos and Kubernetes go together.

use crate::seen::Seen;
use crate::talosmachines::runs_its_configuration;
use ichor_crds::{TalosMachine, TalosMachineStatus};
use std::fmt;

/// A release such as v1.14.3: only its major and minor numbers decide anything here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Minor {
    major: u32,
    minor: u32,
}

/// The Talos versions that Ichor knows (DESIGN section 6).
pub(crate) const OLDEST_TALOS: Minor = Minor { major: 1, minor: 9 };
pub(crate) const NEWEST_TALOS: Minor = Minor {
    major: 1,
    minor: 14,
};

/// Talos 1.9 came with Kubernetes 1.32, and each minor release of the one with the next of the other.
const KUBERNETES_AHEAD: u32 = 23;
/// A release of Talos runs its own minor release of Kubernetes and the five before it (its support matrix).
const KUBERNETES_BEHIND: u32 = 5;

impl Minor {
    pub(crate) const fn new(major: u32, minor: u32) -> Self {
        Self { major, minor }
    }

    /// The minor release of a version such as v1.14.3 or v1.14.0-alpha.1.
    pub(crate) fn of(version: &str) -> Option<Self> {
        let numbers = version.strip_prefix('v')?;
        let mut parts = numbers.splitn(3, '.');
        let (major, minor, patch) = (parts.next()?, parts.next()?, parts.next()?);
        let patch = patch.split(['-', '+']).next()?;
        patch.parse::<u32>().ok()?;
        Some(Self {
            major: major.parse().ok()?,
            minor: minor.parse().ok()?,
        })
    }

    /// Whether an upgrade from here to `target` leaves a minor release out.
    pub(crate) fn skips_to(self, target: Self) -> bool {
        target.major != self.major || target.minor > self.minor + 1
    }

    /// The oldest and the newest Kubernetes that this Talos runs.
    pub(crate) fn kubernetes(self) -> (Self, Self) {
        let newest = self.minor + KUBERNETES_AHEAD;
        (
            Self::new(1, newest - KUBERNETES_BEHIND),
            Self::new(1, newest),
        )
    }

    /// Whether this Talos runs that Kubernetes.
    pub(crate) fn runs(self, kubernetes: Self) -> bool {
        let (oldest, newest) = self.kubernetes();
        (oldest..=newest).contains(&kubernetes)
    }

    /// Whether Ichor knows this Talos.
    pub(crate) fn is_known_talos(self) -> bool {
        (OLDEST_TALOS..=NEWEST_TALOS).contains(&self)
    }
}

/// The oldest and the newest minor release that runs in a cluster.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Running {
    pub(crate) oldest: Minor,
    pub(crate) newest: Minor,
}

impl Running {
    /// Of Talos: what `machines` were seen with, or what is `meant` to run while none was seen.
    pub(crate) fn talos(machines: &[Seen<TalosMachine>], meant: Option<&str>) -> Option<Self> {
        Self::seen(machines, |status| status.talos_version.as_deref(), meant)
    }

    /// Of Kubernetes, likewise.
    pub(crate) fn kubernetes(machines: &[Seen<TalosMachine>], meant: Option<&str>) -> Option<Self> {
        Self::seen(
            machines,
            |status| status.kubernetes_version.as_deref(),
            meant,
        )
    }

    /// Approved machines count that have a configuration: what others show is what they were booted from. One with an
    /// upgrade hold does not count: the upgrade leaves it alone.
    fn seen(
        machines: &[Seen<TalosMachine>],
        version: impl Fn(&TalosMachineStatus) -> Option<&str>,
        meant: Option<&str>,
    ) -> Option<Self> {
        let held = |machine: &TalosMachine| {
            let hold = machine.spec.upgrade_hold.as_ref();
            hold.is_some_and(|why| !why.is_empty())
        };
        let machines = machines.iter();
        let machines = machines.filter(|machine| runs_as_configured(machine) && !held(machine));
        let mut minors: Vec<Minor> = machines
            .filter_map(|machine| Minor::of(version(machine.status.as_ref()?)?))
            .collect();
        if minors.is_empty() {
            minors.extend(meant.and_then(Minor::of));
        }
        Some(Self {
            oldest: *minors.iter().min()?,
            newest: *minors.iter().max()?,
        })
    }

    /// Why an upgrade of `what` to `target` is no single step upwards.
    pub(crate) fn step(&self, what: &str, target: Minor) -> Option<String> {
        let Self { oldest, newest } = self;
        if target < *newest {
            return Some(format!(
                "is older than {what} {newest}, which runs: a downgrade below the running minor release is not supported"
            ));
        }
        oldest.skips_to(target).then(|| {
            format!("leaves out a minor release after {what} {oldest}, which runs: upgrade one minor release at a time")
        })
    }
}

/// Whether a machine that was let in runs what it was configured with, as far as that is known.
pub(crate) fn runs_as_configured(machine: &Seen<TalosMachine>) -> bool {
    let status = machine.status.as_ref();
    let runs = status.is_some_and(runs_its_configuration);
    machine.is_approved() && (runs || !machine.is_whole())
}

impl fmt::Display for Minor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{}.{}", self.major, self.minor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_minor_releases() {
        for (text, want) in [
            ("v1.14.3", Some("v1.14")),
            ("v1.14.0-alpha.1", Some("v1.14")),
            ("1.14.3", None),
            ("v1.14", None),
            ("v1.x.3", None),
            ("v1.14.x", None),
            ("", None),
        ] {
            let minor = Minor::of(text).map(|minor| minor.to_string());
            assert_eq!(minor.as_deref(), want, "{text}");
        }
    }

    /// Talos's support matrix, and the Kubernetes version that each release generates configurations with.
    #[test]
    fn each_talos_runs_six_minor_releases_of_kubernetes() {
        for (talos, oldest, newest) in [
            (9, 27, 32),
            (10, 28, 33),
            (11, 29, 34),
            (12, 30, 35),
            (13, 31, 36),
            (14, 32, 37),
        ] {
            let talos = Minor::new(1, talos);
            assert_eq!(
                talos.kubernetes(),
                (Minor::new(1, oldest), Minor::new(1, newest))
            );
            assert!(talos.runs(Minor::new(1, oldest)) && talos.runs(Minor::new(1, newest)));
            assert!(
                !talos.runs(Minor::new(1, oldest - 1)) && !talos.runs(Minor::new(1, newest + 1))
            );
            assert!(talos.is_known_talos());
        }
        assert!(!Minor::new(1, 8).is_known_talos() && !Minor::new(1, 15).is_known_talos());
    }
}
