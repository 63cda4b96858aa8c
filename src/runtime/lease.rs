//! Who holds a lease, as a pure decision (BUILDING-BLOCKS "Not": written here, not taken from a library).
//!
//! As in client-go, another's lease is judged by the time at which *this* process last saw it change, never
//! by the times written in it: clocks of two machines may differ by any amount.

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use std::time::{Duration, Instant};

/// Times of a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How long it lasts without renewal; others wait this long.
    pub duration: Duration,
    /// How long after its last renewal its holder still acts: shorter than `duration`, so that deadlines
    /// end before the lease does (DESIGN section 18, decision 2).
    pub renew_deadline: Duration,
    /// Time between two tries.
    pub retry: Duration,
}

/// The lease as it was seen, and when it was first seen so.
#[derive(Clone, Debug)]
pub struct Observed {
    /// What was seen: a change of any of these means that the holder lives.
    seen: Mark,
    /// When this process first saw it, on its own clock.
    since: Instant,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Mark {
    holder: Option<String>,
    renewed: Option<Timestamp>,
    version: Option<String>,
}

impl Mark {
    fn of(lease: &Lease) -> Self {
        Self {
            holder: holder(lease).map(str::to_owned),
            renewed: spec(lease).and_then(|spec| spec.renew_time.as_ref().map(|time| time.0)),
            version: lease.metadata.resource_version.clone(),
        }
    }
}

/// What to do about a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// There is none: create it.
    Create,
    /// Nobody holds it, or its holder has not renewed it for its whole duration: take it.
    Take,
    /// It is ours: renew it.
    Renew,
    /// Somebody else holds it.
    Wait {
        /// The holder.
        holder: String,
    },
}

/// Notes a sight of the lease; keeps the time of the first sight while nothing changes.
pub fn observe(previous: Option<Observed>, lease: &Lease, now: Instant) -> Observed {
    let seen = Mark::of(lease);
    match previous {
        Some(previous) if previous.seen == seen => previous,
        _ => Observed { seen, since: now },
    }
}

/// Decides about `lease` for the process called `me`.
pub fn evaluate(
    lease: Option<&Lease>,
    me: &str,
    observed: Option<&Observed>,
    now: Instant,
) -> Decision {
    let Some(lease) = lease else {
        return Decision::Create;
    };
    let Some(holder) = holder(lease) else {
        return Decision::Take;
    };
    if holder == me {
        return Decision::Renew;
    }
    let lasts = spec(lease)
        .and_then(|spec| spec.lease_duration_seconds)
        .and_then(|seconds| u64::try_from(seconds).ok())
        .map_or(Duration::ZERO, Duration::from_secs);
    let expired = observed.is_some_and(|observed| {
        observed.seen == Mark::of(lease) && now.duration_since(observed.since) >= lasts
    });
    if expired {
        Decision::Take
    } else {
        Decision::Wait {
            holder: holder.to_owned(),
        }
    }
}

/// The spec to write when `me` takes or renews the lease.
pub fn held(previous: Option<&Lease>, me: &str, settings: &Settings, now: Timestamp) -> LeaseSpec {
    let previous = previous.and_then(spec);
    let mine = previous.is_some_and(|spec| spec.holder_identity.as_deref() == Some(me));
    let transitions = previous
        .and_then(|spec| spec.lease_transitions)
        .unwrap_or(0);
    let acquired = previous.and_then(|spec| spec.acquire_time.clone());
    LeaseSpec {
        holder_identity: Some(me.to_owned()),
        lease_duration_seconds: Some(whole_seconds(settings.duration)),
        acquire_time: acquired.filter(|_| mine).or(Some(MicroTime(now))),
        renew_time: Some(MicroTime(now)),
        lease_transitions: Some(if mine || previous.is_none() {
            transitions
        } else {
            transitions.saturating_add(1)
        }),
        ..LeaseSpec::default()
    }
}

/// The spec to write when its holder lets go: the next one need not wait.
pub fn released(previous: &Lease, now: Timestamp) -> LeaseSpec {
    let transitions = spec(previous).and_then(|spec| spec.lease_transitions);
    LeaseSpec {
        holder_identity: None,
        lease_duration_seconds: Some(1),
        renew_time: Some(MicroTime(now)),
        lease_transitions: transitions,
        ..LeaseSpec::default()
    }
}

/// The holder of a lease; an empty text is nobody.
pub fn holder(lease: &Lease) -> Option<&str> {
    spec(lease)
        .and_then(|spec| spec.holder_identity.as_deref())
        .filter(|holder| !holder.is_empty())
}

fn spec(lease: &Lease) -> Option<&LeaseSpec> {
    lease.spec.as_ref()
}

/// Kubernetes counts the duration in whole seconds: rounded up, so that nobody takes it too early.
fn whole_seconds(duration: Duration) -> i32 {
    let seconds = duration.as_secs() + u64::from(duration.subsec_nanos() > 0);
    i32::try_from(seconds.max(1)).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::clock;

    const SETTINGS: Settings = Settings {
        duration: Duration::from_millis(14_500),
        renew_deadline: Duration::from_secs(10),
        retry: Duration::from_secs(2),
    };

    fn lease(holder: Option<&str>, version: &str) -> Lease {
        let now = Timestamp::UNIX_EPOCH;
        let mut lease = Lease::default();
        lease.metadata.resource_version = Some(version.to_owned());
        lease.spec = Some(held(None, holder.unwrap_or(""), &SETTINGS, now));
        lease
    }

    #[test]
    fn a_missing_or_free_lease_is_taken_at_once() {
        let now = clock::monotonic();
        assert_eq!(evaluate(None, "a", None, now), Decision::Create);
        assert_eq!(
            evaluate(Some(&lease(None, "1")), "a", None, now),
            Decision::Take
        );
    }

    #[test]
    fn my_lease_is_renewed_even_when_it_looks_expired() {
        let now = clock::monotonic();
        let mine = lease(Some("a"), "1");
        let observed = observe(None, &mine, now);
        let later = now + Duration::from_hours(1);
        assert_eq!(
            evaluate(Some(&mine), "a", Some(&observed), later),
            Decision::Renew
        );
    }

    #[test]
    fn anothers_lease_expires_by_local_observation_only() {
        let now = clock::monotonic();
        let theirs = lease(Some("b"), "1");
        let wait = Decision::Wait {
            holder: "b".to_owned(),
        };
        // Its own times say 1970: that means nothing.
        assert_eq!(evaluate(Some(&theirs), "a", None, now), wait);
        let observed = observe(None, &theirs, now);
        for (after, want) in [
            (Duration::from_secs(14), wait.clone()),
            (Duration::from_secs(15), Decision::Take),
        ] {
            assert_eq!(
                evaluate(Some(&theirs), "a", Some(&observed), now + after),
                want
            );
        }
    }

    #[test]
    fn a_renewal_by_the_other_starts_the_wait_again() {
        let now = clock::monotonic();
        let first = observe(None, &lease(Some("b"), "1"), now);
        let renewed = lease(Some("b"), "2");
        let later = now + Duration::from_secs(14);
        let second = observe(Some(first.clone()), &renewed, later);
        let end = now + Duration::from_secs(16);
        let wait = Decision::Wait {
            holder: "b".to_owned(),
        };
        assert_eq!(evaluate(Some(&renewed), "a", Some(&second), end), wait);
        // A sight of something older than what is there now says nothing about it.
        assert_eq!(evaluate(Some(&renewed), "a", Some(&first), end), wait);
    }

    #[test]
    fn transitions_count_only_changes_of_the_holder() {
        let now = Timestamp::UNIX_EPOCH;
        let theirs = lease(Some("b"), "1");
        let taken = held(Some(&theirs), "a", &SETTINGS, now);
        assert_eq!(taken.lease_transitions, Some(1));
        assert_eq!(taken.lease_duration_seconds, Some(15), "rounded up");
        let mut mine = theirs;
        mine.spec = Some(taken);
        assert_eq!(
            held(Some(&mine), "a", &SETTINGS, now).lease_transitions,
            Some(1)
        );
        mine.spec = Some(released(&mine, now));
        assert_eq!(holder(&mine), None);
    }
}
