//! What every long-running role of Ichor needs: the clock, logs, metrics, the leader's lease and its fence,
//! supervised tasks, probes and a graceful end (DESIGN section 15).

pub mod admin;
pub mod clock;
pub mod duration;
pub mod elector;
pub mod fence;
pub mod lease;
pub mod metrics;
pub mod queue;
pub mod shutdown;
pub mod supervisor;
pub mod telemetry;
