//! What clients of the webhook trust, as this process has seen it in the webhook configurations.

use super::configurations::Read;
use ichor_certs::keys;
use ichor_certs::serving::{Injected, ServedCertificate};
use jiff::{SignedDuration, Timestamp};
use std::time::{Duration, Instant};

/// How long what was read counts while nothing can be read.
const STALE: Duration = Duration::from_secs(30);

/// The CA bundles as they were read last.
#[derive(Debug, Default)]
pub(super) struct Trust {
    /// One for each webhook; none while a configuration is missing.
    bundles: Vec<Vec<u8>>,
    read: Option<Instant>,
    common: Vec<u8>,
    since: Option<Instant>,
}

impl Trust {
    /// Notes what stands in the webhook configurations.
    pub(super) fn saw(&mut self, read: &Read, now: Instant) {
        let bundles: Vec<Vec<u8>> = read.bundles().map(<[u8]>::to_vec).collect();
        self.note(bundles, read.is_complete(), now);
    }

    fn note(&mut self, bundles: Vec<Vec<u8>>, complete: bool, now: Instant) {
        let common = common(&bundles);
        if self.since.is_none() || self.common != common {
            self.common = common;
            self.since = Some(now);
        }
        self.bundles = if complete { bundles } else { Vec::new() };
        self.read = Some(now);
    }

    /// The CAs that every webhook has, PEM.
    pub(super) fn common(&self) -> &[u8] {
        &self.common
    }

    /// The same, with how long they have been there.
    pub(super) fn injected(&self, now: Instant) -> Injected<'_> {
        let age = self.since.map(|since| now.saturating_duration_since(since));
        let age = age.and_then(|age| SignedDuration::try_from(age).ok());
        Injected {
            bundle: &self.common,
            age: age.unwrap_or_default(),
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

/// The certificates that stand in every bundle, PEM.
fn common(bundles: &[Vec<u8>]) -> Vec<u8> {
    let mut bundles = bundles.iter().map(|bundle| keys::certificates(bundle));
    let mut common = bundles.next().unwrap_or_default();
    for bundle in bundles {
        common.retain(|ca| bundle.contains(ca));
    }
    let pem: String = common.iter().map(|ca| keys::certificate_pem(ca)).collect();
    pem.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pem(names: &[&str]) -> Vec<u8> {
        let all = names
            .iter()
            .map(|name| keys::certificate_pem(name.as_bytes()));
        all.collect::<String>().into_bytes()
    }

    #[test]
    fn only_what_every_webhook_has_is_trusted_and_its_age_counts_from_there() {
        let start = crate::runtime::clock::monotonic();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut trust = Trust::default();
        let rows: [(&[&[&str]], u64, &[&str], i64); 6] = [
            (&[&["a"], &["a"]], 0, &["a"], 0),
            (&[&["a"], &["a"]], 9, &["a"], 9),
            (&[&["b", "a"], &["a"]], 10, &["a"], 10),
            (&[&["b", "a"], &["b", "a"]], 11, &["b", "a"], 0),
            (&[&["b", "a"], &["b", "a"]], 15, &["b", "a"], 4),
            (&[&["b", "a"], &[]], 16, &[], 0),
        ];
        for (bundles, seconds, known, age) in rows {
            let bundles = bundles.iter().map(|names| pem(names)).collect();
            trust.note(bundles, true, at(seconds));
            let injected = trust.injected(at(seconds));
            assert_eq!(injected.bundle, pem(known), "after {seconds} s");
            assert_eq!(injected.age.as_secs(), age, "after {seconds} s");
        }
    }
}
