//! gRPC over one TLS connection: HTTP/2, framing, faults, the record of calls.

mod body;
mod connection;
mod proxy;
mod request;

pub use connection::{Connection, serve};
pub use request::{Reply, Request};
