//! What clients of the webhook trust, as this process has seen it in the webhook configurations.

use super::configurations::Read;
use ichor_certs::keys;
use ichor_certs::serving::{Injected, ServedCertificate};
use jiff::Timestamp;
use std::time::{Duration, Instant};

/// How long what was read counts while nothing can be read.
const STALE: Duration = Duration::from_secs(30);

/// The CA bundles as they were read last.
#[derive(Debug)]
pub(super) struct Trust {
    propagation: Duration,
    /// One for each webhook; none while a configuration is missing.
    bundles: Vec<Vec<u8>>,
    read: Option<Instant>,
    /// The CAs that every webhook has, DER, and since when.
    common: Vec<(Vec<u8>, Instant)>,
}

/// [`Injected`] at one moment.
#[derive(Debug)]
pub(super) struct Known {
    bundle: Vec<u8>,
    settled: Vec<u8>,
}

impl Known {
    pub(super) fn injected(&self) -> Injected<'_> {
        Injected {
            bundle: &self.bundle,
            settled: &self.settled,
        }
    }
}

impl Trust {
    /// Nothing yet; a CA counts as known everywhere after `propagation`.
    pub(super) fn new(propagation: Duration) -> Self {
        Self {
            propagation,
            bundles: Vec::new(),
            read: None,
            common: Vec::new(),
        }
    }

    /// Notes what stands in the webhook configurations.
    pub(super) fn saw(&mut self, read: &Read, now: Instant) {
        let bundles: Vec<Vec<u8>> = read.bundles().map(<[u8]>::to_vec).collect();
        self.note(bundles, read.is_complete(), now);
    }

    fn note(&mut self, bundles: Vec<Vec<u8>>, complete: bool, now: Instant) {
        let since = |ca: &Vec<u8>| {
            let known = self.common.iter().find(|(known, _)| known == ca);
            known.map_or(now, |(_, since)| *since)
        };
        self.common = common(&bundles)
            .into_iter()
            .map(|ca| (ca.clone(), since(&ca)))
            .collect();
        self.bundles = if complete { bundles } else { Vec::new() };
        self.read = Some(now);
    }

    /// The CAs that every webhook has.
    pub(super) fn known(&self, now: Instant) -> Known {
        let settled = self.common.iter().filter(|(_, since)| {
            let age = now.saturating_duration_since(*since);
            age >= self.propagation
        });
        Known {
            bundle: pem(self.common.iter()),
            settled: pem(settled),
        }
    }

    /// Whether every webhook's bundle accepts what is served: the readiness of the process.
    pub(super) fn accepts(
        &self,
        served: &ServedCertificate,
        now: Timestamp,
        monotonic: Instant,
    ) -> Result<(), &'static str> {
        let Some(read) = self.read else {
            return Err("the webhook configurations were not read yet");
        };
        if monotonic.saturating_duration_since(read) > STALE {
            return Err("the webhook configurations could not be read for too long");
        }
        if self.bundles.is_empty() {
            return Err("the webhook configurations do not exist");
        }
        let mut bundles = self.bundles.iter();
        if bundles.all(|bundle| served.is_accepted_by(bundle, now)) {
            Ok(())
        } else {
            Err("the served certificate does not verify against the stored caBundle")
        }
    }
}

/// The certificates that stand in every bundle, DER.
fn common(bundles: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut bundles = bundles.iter().map(|bundle| keys::certificates(bundle));
    let mut common = bundles.next().unwrap_or_default();
    for bundle in bundles {
        common.retain(|ca| bundle.contains(ca));
    }
    common
}

fn pem<'a>(authorities: impl Iterator<Item = &'a (Vec<u8>, Instant)>) -> Vec<u8> {
    let text: String = authorities
        .map(|(ca, _)| keys::certificate_pem(ca))
        .collect();
    text.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bundle(names: &[&str]) -> Vec<u8> {
        let all = names
            .iter()
            .map(|name| keys::certificate_pem(name.as_bytes()));
        all.collect::<String>().into_bytes()
    }

    /// A row: what the two webhooks have, when, what every client trusts then, and what has settled (after 4 s).
    type Row = (
        [&'static [&'static str]; 2],
        u64,
        &'static [&'static str],
        &'static [&'static str],
    );

    #[test]
    fn only_what_every_webhook_has_is_trusted_and_each_ca_settles_by_itself() {
        let start = crate::runtime::clock::monotonic();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut trust = Trust::new(Duration::from_secs(4));
        let rows: [Row; 8] = [
            ([&["a"], &["a"]], 0, &["a"], &[]),
            ([&["a"], &["a"]], 9, &["a"], &["a"]),
            ([&["b", "a"], &["a"]], 10, &["a"], &["a"]),
            ([&["b", "a"], &["b", "a"]], 11, &["b", "a"], &["a"]),
            ([&["b"], &["b"]], 14, &["b"], &[]),
            ([&["b"], &["b"]], 15, &["b"], &["b"]),
            ([&["b"], &[]], 16, &[], &[]),
            ([&["b"], &["b"]], 17, &["b"], &[]),
        ];
        for (bundles, seconds, known, settled) in rows {
            let bundles = bundles.iter().map(|names| bundle(names)).collect();
            trust.note(bundles, true, at(seconds));
            let seen = trust.known(at(seconds));
            assert_eq!(seen.bundle, bundle(known), "after {seconds} s");
            assert_eq!(seen.settled, bundle(settled), "after {seconds} s");
        }
    }
}
