//! When this process first saw each recorded reset. A replica whose clock is ahead of the one that wrote the record would
//! otherwise call a reset that was sent a moment ago not observed (DESIGN section 18, decision 1).

use crate::runtime::clock;
use k8s_openapi::jiff::Timestamp;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// First sights, by UID of the request: of which record, and when.
#[derive(Debug, Default)]
pub struct Sightings(Mutex<HashMap<String, (Option<Timestamp>, Instant)>>);

impl Sightings {
    /// For how long this process knows of the record of a request.
    pub fn age(&self, uid: &str, recorded_at: Option<Timestamp>) -> Duration {
        let now = clock::monotonic();
        let mut seen = self.lock();
        let (of, since) = seen.entry(uid.to_owned()).or_insert((recorded_at, now));
        if *of != recorded_at {
            (*of, *since) = (recorded_at, now);
        }
        now.saturating_duration_since(*since)
    }

    /// The request has ended or is gone.
    pub fn forget(&self, uid: &str) {
        self.lock().remove(uid);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, (Option<Timestamp>, Instant)>> {
        // Nothing in here can panic half way, so a poisoned map is a whole one.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_record_has_its_own_first_sight() {
        let sightings = Sightings::default();
        let (one, two) = (Some(Timestamp::UNIX_EPOCH), Some(Timestamp::MAX));
        assert_eq!(sightings.age("a", one), Duration::ZERO);
        while sightings.age("a", one).is_zero() {}
        assert_eq!(sightings.age("a", two), Duration::ZERO, "recorded anew");
        assert_eq!(sightings.age("b", one), Duration::ZERO);
        while sightings.age("a", two).is_zero() {}
        sightings.forget("a");
        assert_eq!(sightings.age("a", two), Duration::ZERO);
        assert_eq!(sightings.lock().len(), 2);
    }
}
