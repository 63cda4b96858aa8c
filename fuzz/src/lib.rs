//! Fuzz targets as plain functions: each takes any bytes, feeds them to code that reads what strangers wrote,
//! and panics when a promise is broken. `make fuzz` drives them with libFuzzer, the property tests of this
//! crate with random bytes and with broken copies of the seeds.

#![allow(
    clippy::expect_used,
    clippy::missing_panics_doc,
    clippy::panic,
    reason = "a target fails by panicking"
)]

mod admission;
mod configuration;
mod trust;
mod world;

pub use admission::{judge, review};
pub use configuration::patch;
pub use trust::{bundle, pem};
