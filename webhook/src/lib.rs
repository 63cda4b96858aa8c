//! The admission webhook of Ichor: an HTTPS server and, per resource, the rules of DESIGN section 4.
//!
//! A request passes these steps, a module each:
//!
//! 1. [`serve`] accepts TLS 1.3 connections and drains them on shutdown (`server`),
//! 2. [`router`] reads a bounded body and answers what is no review with an HTTP error (`handler`, `body`),
//! 3. `review` decodes the frame of the `AdmissionReview`, so that even an object that cannot be decoded
//!    gets an answer with its uid (FAULTS 9),
//! 4. `admit` asks what the rules of the resource need ([`Judged::questions`]) through [`AccessReviewer`]
//!    and [`References`], and judges it with pure functions, or fills in what admission fills in,
//! 5. `answer` writes the review back.
//!
//! A resource is an implementation of [`Judged`] in a module of its name.
//!
//! The host gives the certificates (as a [`rustls::ServerConfig`]), the metrics registry and the two ports,
//! and keeps readiness to itself.

mod admit;
mod answer;
#[cfg(test)]
mod asked;
mod body;
mod candidates;
mod common;
mod denial;
mod field;
mod findings;
mod handler;
mod judge;
mod live;
mod machinereclaims;
mod metrics;
mod mutate;
mod observe;
mod ports;
mod request;
mod review;
mod seen;
mod server;
mod state;
mod stored;
#[cfg(any(test, feature = "stub"))]
pub mod stub;
mod talosaccessrequests;
mod talosclusters;
mod talosconfigpatches;
mod talosetcdbackups;
mod talosmachines;
mod talosoperations;
mod talosstorages;
mod target;
mod versions;

pub use candidates::{Called, Candidates};
pub use denial::Denial;
pub use field::{Cause, FieldError};
pub use findings::{Answer, Findings, Questions, Verb};
pub use handler::{
    MAX_BODY_BYTES, MUTATE_MACHINERECLAIMS, Paths, VALIDATE_MACHINERECLAIMS, router,
};
pub use judge::judge;
pub use live::LiveCluster;
pub use metrics::Metrics;
pub use ports::{
    Access, AccessQuestion, AccessReviewer, BundleLookup, ClusterLookup, LookupError, References,
    Selector,
};
pub use request::{Change, Facts, Judged, Rule, Snapshot, Verdict, Warning};
pub use seen::{Guards, Seen};
pub use server::{ClientAuthorities, ServeError, ServeOptions, TlsError, serve, server_config};
pub use state::{Settings, WebhookState};
