//! The examples of `manifests/examples` and the rules of the CRDs, on a real API server: without the webhook, what
//! the API server itself accepts and refuses (DESIGN section 3; FAULTS 8), and with it.

#[path = "../common/mod.rs"]
mod common;

mod admitted;
mod applied;
mod ground;
mod rules;
mod stored_before;
