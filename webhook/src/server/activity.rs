//! Watches whether a connection is used: hyper has no time limit for an HTTP/2 peer that shook hands and
//! then says nothing, nor for one that only answers pings.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;
use tokio::time::Instant;

/// Counts of the requests of one connection.
#[derive(Clone)]
pub(super) struct Activity(Arc<Counts>);

pub(super) struct Counts {
    since: Instant,
    begun: AtomicU64,
    open: AtomicUsize,
    /// Open requests whose body has not arrived.
    arriving: AtomicUsize,
    /// Microseconds from `since` to the last answer, or to the begin of a request while none was open.
    last: AtomicU64,
}

impl Counts {
    fn touch(&self) {
        let now = u64::try_from(self.since.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.last.store(now, Ordering::Relaxed);
    }
}

/// How little a connection is used, the least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Use {
    /// It never asked anything.
    Never,
    /// Of all that it asks, only a part has come, and nothing new for a while.
    Dawdling,
    /// It has its answers.
    Idle,
    /// It waits for an answer.
    Waiting,
}

impl Activity {
    pub(super) fn new() -> Self {
        Self(Arc::new(Counts {
            since: Instant::now(),
            begun: AtomicU64::new(0),
            open: AtomicUsize::new(0),
            arriving: AtomicUsize::new(0),
            last: AtomicU64::new(0),
        }))
    }

    /// Counts a request, open until the guard is dropped.
    pub(super) fn begin(&self) -> Open {
        self.0.begun.fetch_add(1, Ordering::Relaxed);
        // One more that is slow does not make the others fast.
        if self.0.open.fetch_add(1, Ordering::Relaxed) == 0 {
            self.0.touch();
        }
        Open(Arc::clone(&self.0))
    }

    /// Whether there ever was a request.
    pub(super) fn ever(&self) -> bool {
        self.0.begun.load(Ordering::Relaxed) > 0
    }

    /// The body of a request, on its way until the guard is dropped.
    pub(super) fn arriving(&self) -> Arriving {
        self.0.arriving.fetch_add(1, Ordering::Relaxed);
        Arriving(Arc::clone(&self.0))
    }

    /// Whether no request is open.
    fn is_idle(&self) -> bool {
        self.0.open.load(Ordering::Relaxed) == 0
    }

    /// How it is used. A body has `patience` to arrive.
    pub(super) fn use_now(&self, patience: Duration) -> Use {
        let open = self.0.open.load(Ordering::Relaxed);
        match open {
            0 if self.ever() => Use::Idle,
            0 => Use::Never,
            _ if self.0.arriving.load(Ordering::Relaxed) >= open
                && self.last().elapsed() >= patience =>
            {
                Use::Dawdling
            }
            _ => Use::Waiting,
        }
    }

    /// When the last answer was given, or a request begun while none was open; when the connection began, where there was
    /// none.
    pub(super) fn last(&self) -> Instant {
        self.0.since + Duration::from_micros(self.0.last.load(Ordering::Relaxed))
    }

    /// Ready when no request came within `first`, or none was open or came for `idle` later on.
    pub(super) async fn quiet(&self, first: Duration, idle: Duration) {
        tokio::time::sleep(first).await;
        if !self.ever() {
            return;
        }
        let mut seen = self.0.begun.load(Ordering::Relaxed);
        loop {
            tokio::time::sleep(idle).await;
            let begun = self.0.begun.load(Ordering::Relaxed);
            if begun == seen && self.is_idle() {
                return;
            }
            seen = begun;
        }
    }
}

/// A request being answered.
pub(super) struct Open(Arc<Counts>);

impl Open {
    /// The request was judged.
    pub(super) fn answered(&self) {
        self.0.touch();
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A body that has not arrived.
pub(super) struct Arriving(Arc<Counts>);

impl Drop for Arriving {
    fn drop(&mut self) {
        self.0.arriving.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_body_has_its_time_and_further_slow_ones_give_it_no_more() {
        let (activity, patience) = (Activity::new(), Duration::from_secs(1));
        assert_eq!(activity.use_now(patience), Use::Never);
        let first = (activity.begin(), activity.arriving());
        assert_eq!(activity.use_now(patience), Use::Waiting);
        tokio::time::advance(Duration::from_millis(600)).await;
        let second = (activity.begin(), activity.arriving());
        assert_eq!(activity.use_now(patience), Use::Waiting);
        tokio::time::advance(Duration::from_millis(600)).await;
        assert_eq!(activity.use_now(patience), Use::Dawdling);
        // One body is there, and its answer is waited for.
        drop(second.1);
        assert_eq!(activity.use_now(patience), Use::Waiting);
        second.0.answered();
        drop((first, second.0));
        assert_eq!(activity.use_now(patience), Use::Idle);
    }
}
