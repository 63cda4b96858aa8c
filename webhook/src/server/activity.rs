//! Watches whether a connection is used: hyper has no time limit for an HTTP/2 peer that shook hands and
//! then says nothing, nor for one that only answers pings.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// Counts of the requests of one connection.
#[derive(Clone, Default)]
pub(super) struct Activity(Arc<Counts>);

#[derive(Default)]
pub(super) struct Counts {
    begun: AtomicU64,
    open: AtomicUsize,
}

impl Activity {
    pub(super) fn new() -> Self {
        Self::default()
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
            if begun == seen && self.0.open.load(Ordering::Relaxed) == 0 {
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
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}
