//! The admission webhook of Ichor: an HTTPS server and, per resource, the rules of DESIGN section 4.
//!
//! A request passes these steps, a module each:
//!
//! 1. [`serve`] accepts TLS 1.3 connections and drains them on shutdown (`server`),
//! 2. [`router`] reads a bounded body and answers what is no review with an HTTP error (`handler`, `body`),
//! 3. `review` decodes the frame of the `AdmissionReview`, so that even an object that cannot be decoded
//!    gets an answer with its uid (FAULTS 9),
//! 4. [`machinereclaims`] mutates, or reads what the rules need through [`AccessReviewer`] and
//!    [`References`] and judges it with pure functions,
//! 5. `answer` writes the review back.
//!
//! The host gives the certificates (as a [`rustls::ServerConfig`]), the metrics registry and the two ports,
//! and keeps readiness to itself.

mod answer;
mod body;
mod field;
mod handler;
mod live;
pub mod machinereclaims;
mod metrics;
mod ports;
mod review;
mod server;
mod state;
#[cfg(any(test, feature = "stub"))]
pub mod stub;

pub use field::{Cause, FieldError};
pub use handler::{MAX_BODY_BYTES, MUTATE_MACHINERECLAIMS, VALIDATE_MACHINERECLAIMS, router};
pub use live::LiveCluster;
pub use metrics::Metrics;
pub use ports::{
    Access, AccessQuestion, AccessReviewer, ClusterLookup, LookupError, OtherReclaim, References,
};
pub use server::{ClientAuthorities, ServeError, ServeOptions, TlsError, serve, server_config};
pub use state::{Settings, WebhookState};
