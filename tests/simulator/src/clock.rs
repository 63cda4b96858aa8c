//! The one place that asks the computer for the time. Machines add their own offset to it.

/// Now, as calls and boots are stamped.
#[allow(
    clippy::disallowed_methods,
    reason = "a simulated machine is what tells others the time"
)]
pub fn now() -> jiff::Timestamp {
    jiff::Timestamp::now()
}
