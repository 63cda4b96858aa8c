//! What every long-running role of Ichor needs: the clock, logs, metrics, the leader's lease and its fence,
//! supervised tasks, probes and a graceful end (DESIGN section 15).

pub mod clock;
pub mod duration;
