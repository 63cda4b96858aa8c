//! Who is connected. When every slot is taken and another peer waits, somebody who asks nothing has to go: otherwise
//! peers that hold connections and never use them would keep the API server out.

use super::activity::{Activity, Use};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

/// How soon it is looked again for somebody who can go, while all are being answered.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// The open connections, at most a fixed number.
pub(super) struct Guests {
    slots: Arc<Semaphore>,
    body_patience: Duration,
    known: Arc<Mutex<HashMap<u64, Known>>>,
}

#[derive(Clone)]
struct Known {
    activity: Activity,
    leave: CancellationToken,
}

/// The slot of one connection, which is free again when this is dropped.
pub(super) struct Guest {
    pub(super) activity: Activity,
    /// Cancelled when the connection has to make room.
    pub(super) leave: CancellationToken,
    number: u64,
    known: Arc<Mutex<HashMap<u64, Known>>>,
    _slot: OwnedSemaphorePermit,
}

impl Guests {
    pub(super) fn new(most: usize, body_patience: Duration) -> Self {
        Self {
            slots: Arc::new(Semaphore::new(most)),
            body_patience,
            known: Arc::default(),
        }
    }

    /// A slot for the connection called `number`. Where none is free, one connection after the other is told to leave.
    pub(super) async fn slot(&self, number: u64) -> Guest {
        let slot = loop {
            let slot = Arc::clone(&self.slots);
            if let Ok(slot) = slot.clone().try_acquire_owned() {
                break slot;
            }
            self.make_room();
            if let Ok(Ok(slot)) = tokio::time::timeout(LOOK_AGAIN, slot.acquire_owned()).await {
                break slot;
            }
        };
        let (activity, leave) = (Activity::new(), CancellationToken::new());
        let known = Known {
            activity: activity.clone(),
            leave: leave.clone(),
        };
        lock(&self.known).insert(number, known);
        Guest {
            activity,
            leave,
            number,
            known: Arc::clone(&self.known),
            _slot: slot,
        }
    }

    /// Tells one that is not being answered to leave: the oldest that never asked anything, else one that is slow to say
    /// what it asks, else the one whose last answer is longest ago.
    fn make_room(&self) {
        let known = lock(&self.known);
        let staying = known.values().filter(|one| !one.leave.is_cancelled());
        let least = staying
            .map(|one| {
                (
                    one.activity.use_now(self.body_patience),
                    one.activity.last(),
                    one,
                )
            })
            .filter(|(used, ..)| *used != Use::Waiting)
            .min_by_key(|(used, last, _)| (*used, *last));
        if let Some((.., one)) = least {
            one.leave.cancel();
        }
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        lock(&self.known).remove(&self.number);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
