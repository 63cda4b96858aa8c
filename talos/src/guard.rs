//! Until when this process may talk to nodes.

use std::pin::pin;
use std::time::Instant;
use tokio::time::timeout_at;

/// The process holds no lease any more: nothing may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the lease of this process is over")]
pub struct LeaseLost;

/// Bounds every call by the lease of the process: another leader may act as soon as it is over (DESIGN section 18,
/// decision 2; FAULTS 31).
pub trait Guard: Send + Sync + 'static {
    /// The moment after which no call may be under way; read before each call, and again when it has come, since a
    /// lease is renewed while a call runs.
    fn deadline(&self) -> Result<Instant, LeaseLost>;
}

impl<F> Guard for F
where
    F: Fn() -> Result<Instant, LeaseLost> + Send + Sync + 'static,
{
    fn deadline(&self) -> Result<Instant, LeaseLost> {
        self()
    }
}

/// For a person's own commands and for readers that need no lease: calls end by their own deadlines only.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unguarded;

impl Guard for Unguarded {
    fn deadline(&self) -> Result<Instant, LeaseLost> {
        // Farther off than any call's own deadline.
        Ok(Instant::now() + std::time::Duration::from_hours(24))
    }
}

/// Which deadline came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// The lease's: nothing may be under way.
    Lease,
    /// The work's own.
    Own,
}

/// Waits for `work` until `own`, and no longer than the lease lasts. Without reading the lease again a node that hangs
/// for longer than what is left of it would always look like a lost lease.
pub(crate) async fn within<T>(
    guard: &dyn Guard,
    own: tokio::time::Instant,
    work: impl Future<Output = T>,
) -> Result<T, Cut> {
    let mut work = pin!(work);
    loop {
        let lease = guard.deadline().map_err(|LeaseLost| Cut::Lease)?;
        let lease = tokio::time::Instant::from_std(lease);
        if lease <= tokio::time::Instant::now() {
            return Err(Cut::Lease);
        }
        match timeout_at(own.min(lease), work.as_mut()).await {
            Ok(done) => return Ok(done),
            Err(_) if own <= lease => return Err(Cut::Own),
            Err(_) => {}
        }
    }
}
