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
    /// Microseconds from `since` to the end of the last request.
    last: AtomicU64,
}

impl Activity {
    pub(super) fn new() -> Self {
        Self(Arc::new(Counts {
            since: Instant::now(),
            begun: AtomicU64::new(0),
            open: AtomicUsize::new(0),
            last: AtomicU64::new(0),
        }))
    }

    /// Counts a request, open until the guard is dropped.
    pub(super) fn begin(&self) -> Open {
        self.0.begun.fetch_add(1, Ordering::Relaxed);
        self.0.open.fetch_add(1, Ordering::Relaxed);
        Open(Arc::clone(&self.0))
    }

    /// Whether there ever was a request.
    pub(super) fn ever(&self) -> bool {
        self.0.begun.load(Ordering::Relaxed) > 0
    }

    /// Whether no request is open.
    pub(super) fn is_idle(&self) -> bool {
        self.0.open.load(Ordering::Relaxed) == 0
    }

    /// When the last request ended; when the connection began, where there was none.
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

impl Drop for Open {
    fn drop(&mut self) {
        let now = u64::try_from(self.0.since.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.0.last.store(now, Ordering::Relaxed);
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}
