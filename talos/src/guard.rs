//! Until when this process may talk to nodes.

use std::time::Instant;

/// The process holds no lease any more: nothing may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the lease of this process is over")]
pub struct LeaseLost;

/// Bounds every call by the lease of the process: another leader may act as soon as it is over (DESIGN section 18,
/// decision 2; FAULTS 31).
pub trait Guard: Send + Sync + 'static {
    /// The moment after which no call may be under way, read before each call.
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
