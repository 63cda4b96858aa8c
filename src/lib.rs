//! The parts of the `ichor` program, as a library so that tests and benchmarks can use them.

pub mod actions;
pub mod cli;
pub mod controller;
pub mod runtime;
