//! The serving certificate of the webhook on the real API server (DESIGN section 5): rotations under load, lost races
//! and Secrets, a clock that is moved, mounted files, client certificates, and the end of a replica.
//!
//! `make soak` runs the test `soak` for as long as it is told. `ICHOR_ROTATION_RATE=500,50` drives the rotations at the
//! rates of the goals; without it the load leaves a small computer time.

mod client;
mod clock;
#[path = "../common/mod.rs"]
mod common;
mod drain;
mod files;
mod fleet;
mod load;
mod rotations;
mod secret;
mod soak;
