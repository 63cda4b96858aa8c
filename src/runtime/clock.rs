//! The only place that reads the system's clocks (STYLE rule 10): everything else is given the time.

use k8s_openapi::jiff::Timestamp;
use std::time::Instant;

/// The wall clock, for what people read and for ages that survive a restart.
#[allow(clippy::disallowed_methods)] // this is the clock module
pub fn now() -> Timestamp {
    Timestamp::now()
}

/// The monotonic clock, for leases and deadlines: it cannot be set.
#[allow(clippy::disallowed_methods)] // this is the clock module
pub fn monotonic() -> Instant {
    Instant::now()
}
