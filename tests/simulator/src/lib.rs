//! Simulated Talos machines: they answer on port 50000 of a loopback address as real ones were observed to answer
//! (`talos-api.md`; the recordings of real nodes are replayed against them in this crate's tests).
//!
//! ```no_run
//! # async fn example() -> anyhow::Result<()> {
//! use ichor_simulator::{Action, ClusterSpec, Fault, Fleet, FleetSpec, NodeSpec, Role};
//!
//! let fleet = Fleet::start(FleetSpec {
//!     clusters: vec![ClusterSpec { name: "prod".into(), ..ClusterSpec::default() }],
//!     nodes: vec![
//!         NodeSpec::member("cp-1", "127.1.0.1", "prod", Role::ControlPlane)?,
//!         NodeSpec::member("cp-2", "127.1.0.2", "prod", Role::ControlPlane)?,
//!         NodeSpec::member("cp-3", "127.1.0.3", "prod", Role::ControlPlane)?,
//!         NodeSpec::member("worker-1", "127.1.0.4", "prod", Role::Worker)?,
//!         NodeSpec::maintenance("new-1", "127.1.0.5")?,
//!     ],
//!     ..FleetSpec::default()
//! })
//! .await?;
//!
//! let bundle_yaml = fleet.bundle("prod")?; // as `talosctl gen secrets` writes it
//! let talosconfig = fleet.admin_talosconfig("prod")?;
//! let config = fleet.machine_config("prod", "new-1", Role::Worker)?; // for ApplyConfiguration
//!
//! let node = fleet.node("cp-1")?;
//! node.fault(Fault::on("Reset", Action::LoseAnswer).times(1)); // takes effect, never answers
//! // ... act ...
//! assert_eq!(node.calls_of("Reset").len(), 1);
//! # drop((bundle_yaml, talosconfig, config));
//! # Ok(())
//! # }
//! ```
//!
//! Dropping the [`Fleet`] ends every listener, connection and sequence. [`Timings`] are fast unless
//! [`Timings::real`] is asked for.

mod calls;
mod clock;
mod config;
mod control;
mod etcd;
mod fleet;
mod kube;
mod methods;
mod node;
pub mod pki;
pub mod proto;
mod resources;
mod roles;
mod serve;
mod spec;

pub use calls::{Action, Call, Fault};
pub use control::{bind_control, serve_control};
pub use etcd::Member;
pub use fleet::{Fleet, PORT};
pub use node::{NodeHandle, Stage};
pub use pki::{Bundle, Defect};
pub use spec::{
    ClusterSpec, DiskSpec, FleetSpec, KubernetesNode, NodeSpec, Role, StartMode, Timings,
};

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks; a panic elsewhere does not make the simulator's state unusable.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
