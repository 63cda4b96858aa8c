//! The Talos API client: mutual TLS dialling, the maintenance client and error classes (DESIGN section 6).
//!
//! A [`Connection`] is one HTTP/2 connection to one node: it never reconnects and never repeats a call, so the
//! machine whose identity was read is the machine that gets the next call. Every call has a deadline, and no
//! call outlives the [`Guard`], which is the lease of the process. Failures are told apart by [`Class`]; what a
//! node says in words stays out of `Display`.

mod actions;
mod class;
mod connection;
mod credential;
mod dialer;
mod error;
mod guard;
mod handshake;
mod model;
mod observer;
mod pool;
mod proto;
mod reads;
mod resource;
mod talosconfig;
mod tls;
mod yaml;

pub use actions::{ApplyMode, ApplyReport, RebootMode, ResetRequest};
pub use connection::Connection;
pub use credential::{Credential, CredentialError};
pub use dialer::{Clock, Dialer, DialerOptions, PORT};
pub use error::{Class, Kind, Outcome, TalosError};
pub use guard::{Guard, LeaseLost, Unguarded};
pub use ichor_certs::pinned::Fingerprint;
pub use model::{
    ClusterInfo, DiscoveredVolume, Disk, EtcdMember, EtcdStatus, Identity, MachineStatus,
    MachineType, Service, Stage, Version, Volume,
};
pub use observer::{Observer, Unobserved};
pub use pool::Pool;
pub use talosconfig::{Talosconfig, TalosconfigError};
