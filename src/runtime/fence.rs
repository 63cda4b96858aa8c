//! The fence: until when this process may act for the lease it holds (DESIGN section 18, decision 2; FAULTS 31).

use crate::runtime::clock;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The lease is not held (any more): nothing may be sent in its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the lease is not held by this process")]
pub struct LeaseLost;

/// Until when a lease's holder may act. Clones share the deadline.
///
/// The deadline is counted from the moment *before* the renewal was sent and ends before the lease does, so
/// that nothing is sent while another process may already hold the lease.
#[derive(Clone, Debug)]
pub struct Fence {
    start: Instant,
    /// Nanoseconds after `start`; zero while the lease is not held.
    until: Arc<AtomicU64>,
}

impl Default for Fence {
    fn default() -> Self {
        Self::new()
    }
}

impl Fence {
    /// A fence that lets nothing through until [`Fence::extend`] is called.
    pub fn new() -> Self {
        Self {
            start: clock::monotonic(),
            until: Arc::new(AtomicU64::new(0)),
        }
    }

    /// The lease was renewed by a request sent at `sent`: its holder may act for `lasts` from then.
    pub fn extend(&self, sent: Instant, lasts: Duration) {
        let end = sent.saturating_duration_since(self.start) + lasts;
        let nanos = u64::try_from(end.as_nanos()).unwrap_or(u64::MAX);
        self.until.store(nanos, Ordering::SeqCst);
    }

    /// The lease was lost or let go.
    pub fn close(&self) {
        self.until.store(0, Ordering::SeqCst);
    }

    /// The deadline of what is begun now.
    pub fn deadline(&self) -> Result<Instant, LeaseLost> {
        let until = self.start + Duration::from_nanos(self.until.load(Ordering::SeqCst));
        if clock::monotonic() < until {
            Ok(until)
        } else {
            Err(LeaseLost)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_is_closed_until_it_is_extended_and_after_its_deadline() {
        let fence = Fence::new();
        assert_eq!(fence.deadline(), Err(LeaseLost));
        let now = clock::monotonic();
        fence.extend(now, Duration::from_mins(1));
        assert_eq!(fence.clone().deadline(), Ok(now + Duration::from_mins(1)));
        fence.extend(now, Duration::ZERO);
        assert_eq!(fence.deadline(), Err(LeaseLost));
        fence.extend(now, Duration::from_mins(1));
        fence.close();
        assert_eq!(fence.deadline(), Err(LeaseLost));
    }
}
