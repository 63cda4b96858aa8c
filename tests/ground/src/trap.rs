//! A trap for a controller's requests to its API server: counts the steps that go by, and stops the process's world at
//! a chosen one, before or after the API server has done it (DESIGN section 16, crash matrix).

use crate::proxy::{Gate, Seen, Verdict, When};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// Where a trap snaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot {
    /// The how manieth step, from zero.
    pub step: usize,
    /// Before or after the API server.
    pub when: When,
}

/// The trap of one process; clones are the same trap.
#[derive(Clone, Debug)]
pub struct Trap {
    seen: Arc<Mutex<Tally>>,
    state: Arc<watch::Sender<State>>,
}

#[derive(Debug, Default)]
struct Tally {
    spot: Option<Spot>,
    before: Vec<String>,
    after: usize,
    expired: usize,
    lag: Option<Duration>,
    silent: bool,
    swallowed: usize,
    requests: Vec<Seen>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Everything passes.
    Open,
    /// The request at the spot is held.
    Holding,
    /// Every write to a Lease whose path contains this text is held.
    Stalled(&'static str),
}

impl Default for Trap {
    fn default() -> Self {
        Self {
            seen: Arc::default(),
            state: Arc::new(watch::Sender::new(State::Open)),
        }
    }
}

impl Trap {
    /// Forgets what went by, and snaps at `spot`, if there is one.
    pub fn set(&self, spot: Option<Spot>) {
        *self.tally() = Tally {
            spot,
            ..Tally::default()
        };
        self.state.send_replace(State::Open);
    }

    /// The steps that went by, in words.
    pub fn steps(&self) -> Vec<String> {
        self.tally().before.clone()
    }

    /// The writes that went by, steps or not.
    pub fn writes(&self) -> Vec<Seen> {
        self.tally().requests.clone()
    }

    /// Waits until it has snapped.
    pub async fn snapped(&self) {
        let mut state = self.state.subscribe();
        // The sender lives as long as `self`.
        state.wait_for(|state| *state == State::Holding).await.ok();
    }

    /// Lets go of what is held.
    pub fn release(&self) {
        self.state.send_replace(State::Open);
    }

    /// Holds every write to a Lease until [`Trap::release`].
    pub fn stall_leases(&self) {
        self.state.send_replace(State::Stalled("/leases"));
    }

    /// Holds every write to a disruption lock that is there until [`Trap::release`].
    pub fn stall_locks(&self) {
        self.state
            .send_replace(State::Stalled("/leases/ichor-disruption"));
    }

    /// Answers the next `count` watches with 410: the version they begin at is too old.
    pub fn expire_watches(&self, count: usize) {
        self.tally().expired = count;
    }

    /// Lets watches that begin from now on lag behind.
    pub fn lag_watches(&self, lag: Duration) {
        self.tally().lag = Some(lag);
    }

    /// Lets watches that begin from now on say nothing at all, and keeps their connections open; or lets them speak again.
    pub fn silence_watches(&self, silent: bool) {
        self.tally().silent = silent;
    }

    /// How many watches say nothing.
    pub fn silent_watches(&self) -> usize {
        self.tally().swallowed
    }

    /// How many watches are still to be answered with 410.
    pub fn watches_to_expire(&self) -> usize {
        self.tally().expired
    }

    /// The gate to give to a proxy.
    pub fn gate(&self) -> Gate {
        let trap = self.clone();
        Arc::new(move |seen| {
            let trap = trap.clone();
            Box::pin(async move { trap.pass(seen).await })
        })
    }

    async fn pass(&self, seen: Seen) -> Verdict {
        if let Some(verdict) = self.of_watch(&seen) {
            return verdict;
        }
        if self.snaps(&seen) {
            self.state.send_replace(State::Holding);
            self.wait_open().await;
        } else if seen.when == When::Before && seen.method != "GET" {
            let mut state = self.state.subscribe();
            let passes = |state: &State| match state {
                State::Stalled(path) => !seen.path.contains(path),
                State::Open | State::Holding => true,
            };
            state.wait_for(passes).await.ok();
        }
        Verdict::Pass
    }

    fn of_watch(&self, seen: &Seen) -> Option<Verdict> {
        if seen.when == When::After || !seen.path.contains("watch=true") {
            return None;
        }
        let mut tally = self.tally();
        if tally.expired > 0 {
            tally.expired -= 1;
            return Some(Verdict::Answer(410));
        }
        if tally.silent {
            tally.swallowed += 1;
            return Some(Verdict::Swallow);
        }
        tally.lag.map(Verdict::Lag)
    }

    async fn wait_open(&self) {
        let mut state = self.state.subscribe();
        state.wait_for(|state| *state == State::Open).await.ok();
    }

    fn snaps(&self, seen: &Seen) -> bool {
        let mut tally = self.tally();
        if seen.when == When::Before && !["GET", "HEAD"].contains(&seen.method.as_str()) {
            tally.requests.push(seen.clone());
        }
        if !seen.is_step() {
            return false;
        }
        let step = match seen.when {
            When::Before => {
                tally.before.push(seen.label());
                tally.before.len() - 1
            }
            When::After => {
                tally.after += 1;
                tally.after - 1
            }
        };
        let when = seen.when;
        tally
            .spot
            .take_if(|spot| *spot == Spot { step, when })
            .is_some()
    }

    fn tally(&self) -> std::sync::MutexGuard<'_, Tally> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
