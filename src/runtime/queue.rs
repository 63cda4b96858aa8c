//! A work queue by key, as controllers want it: a key waits once however often it is added, is worked on by
//! one worker at a time, and is worked on again when it was added meanwhile.

use crate::runtime::clock;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// The queue; shared by reference or in an `Arc`.
#[derive(Debug)]
pub struct Queue<K> {
    state: Mutex<State<K>>,
    changed: Notify,
}

#[derive(Debug)]
struct State<K> {
    /// When each waiting key is due.
    due: HashMap<K, Instant>,
    order: BTreeSet<(Instant, K)>,
    busy: HashSet<K>,
    /// Busy keys that were added meanwhile, with the time they are due again.
    again: HashMap<K, Instant>,
    /// How often a key began to wait.
    added: u64,
}

impl<K: Clone + Eq + Hash + Ord> Default for Queue<K> {
    fn default() -> Self {
        Self {
            state: Mutex::new(State {
                due: HashMap::new(),
                order: BTreeSet::new(),
                busy: HashSet::new(),
                again: HashMap::new(),
                added: 0,
            }),
            changed: Notify::new(),
        }
    }
}

impl<K: Clone + Eq + Hash + Ord> Queue<K> {
    /// Adds a key to be worked on now.
    pub fn add(&self, key: K) {
        self.add_after(key, Duration::ZERO);
    }

    /// Adds a key to be worked on after `delay`; the earliest time given for a key counts.
    pub fn add_after(&self, key: K, delay: Duration) {
        let at = clock::monotonic() + delay;
        let mut state = self.lock();
        if state.busy.contains(&key) {
            let again = state.again.entry(key).or_insert(at);
            *again = (*again).min(at);
            return;
        }
        state.schedule(key, at);
        drop(state);
        self.changed.notify_one();
    }

    /// The next key that is due, marked busy until [`Queue::done`] is called for it, and how long it has been due.
    pub async fn take(&self) -> (K, Duration) {
        loop {
            let changed = self.changed.notified();
            let next = {
                let mut state = self.lock();
                match state.pop(clock::monotonic()) {
                    Next::Due(key, waited) => {
                        // Another worker may have a key to take as well.
                        self.changed.notify_one();
                        return (key, waited);
                    }
                    Next::At(at) => Some(at),
                    Next::Nothing => None,
                }
            };
            match next {
                Some(at) => {
                    tokio::select! {
                        () = tokio::time::sleep_until(at.into()) => {}
                        () = changed => {}
                    }
                }
                None => changed.await,
            }
        }
    }

    /// The work on a key has ended; it is due again after `requeue`, or when it was added meanwhile.
    pub fn done(&self, key: K, requeue: Option<Duration>) {
        let requeue = requeue.map(|delay| clock::monotonic() + delay);
        let mut state = self.lock();
        state.busy.remove(&key);
        let again = state.again.remove(&key);
        let at = match (again, requeue) {
            (Some(again), Some(requeue)) => Some(again.min(requeue)),
            (again, requeue) => again.or(requeue),
        };
        if let Some(at) = at {
            state.schedule(key, at);
        }
        drop(state);
        self.changed.notify_one();
    }

    /// Forgets a key that waits: its object is gone.
    pub fn forget(&self, key: &K) {
        let mut state = self.lock();
        state.again.remove(key);
        if let Some(at) = state.due.remove(key) {
            state.order.remove(&(at, key.clone()));
        }
    }

    /// How many keys wait, due or not.
    pub fn len(&self) -> usize {
        self.lock().due.len()
    }

    /// How many keys are due and not taken yet.
    pub fn due(&self) -> usize {
        let now = clock::monotonic();
        let state = self.lock();
        state.order.iter().take_while(|(at, _)| *at <= now).count()
    }

    /// How often a key began to wait.
    pub fn added(&self) -> u64 {
        self.lock().added
    }

    /// Whether no key waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn lock(&self) -> MutexGuard<'_, State<K>> {
        // Nothing in here can panic half way, so a poisoned state is a whole one.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

enum Next<K> {
    Due(K, Duration),
    At(Instant),
    Nothing,
}

impl<K: Clone + Eq + Hash + Ord> State<K> {
    fn schedule(&mut self, key: K, at: Instant) {
        if let Some(known) = self.due.get(&key) {
            if *known <= at {
                return;
            }
            self.order.remove(&(*known, key.clone()));
        } else {
            self.added = self.added.saturating_add(1);
        }
        self.order.insert((at, key.clone()));
        self.due.insert(key, at);
    }

    fn pop(&mut self, now: Instant) -> Next<K> {
        match self.order.first() {
            None => Next::Nothing,
            Some((at, _)) if *at > now => Next::At(*at),
            Some(_) => match self.order.pop_first() {
                Some((at, key)) => {
                    self.due.remove(&key);
                    self.busy.insert(key.clone());
                    Next::Due(key, now.saturating_duration_since(at))
                }
                None => Next::Nothing,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[tokio::test(start_paused = true)]
    async fn a_key_waits_once_and_the_earliest_time_counts() {
        let queue = Queue::default();
        queue.add_after("a", Duration::from_hours(1));
        queue.add("a");
        queue.add("b");
        assert_eq!((queue.len(), queue.due(), queue.added()), (2, 2, 2));
        queue.add_after("c", Duration::from_hours(1));
        assert_eq!((queue.len(), queue.due(), queue.added()), (3, 2, 3));
        queue.forget(&"c");
        let mut taken = [queue.take().await.0, queue.take().await.0];
        taken.sort_unstable();
        assert_eq!(taken, ["a", "b"]);
        assert!(queue.is_empty());
    }

    #[tokio::test]
    async fn a_busy_key_is_not_taken_twice_and_comes_again_if_it_was_added() {
        let queue = Arc::new(Queue::default());
        queue.add("a");
        assert_eq!(queue.take().await.0, "a");
        queue.add("a");
        assert!(queue.is_empty(), "busy keys do not wait");
        let other = tokio::spawn({
            let queue = Arc::clone(&queue);
            async move { queue.take().await.0 }
        });
        tokio::task::yield_now().await;
        assert!(!other.is_finished());
        queue.done("a", Some(Duration::from_hours(1)));
        let taken = tokio::time::timeout(Duration::from_secs(5), other).await;
        assert_eq!(taken.expect("in time").expect("no panic"), "a");
    }
}
