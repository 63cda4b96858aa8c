//! The test ground: a real Kubernetes control plane, simulated Talos nodes, and Ichor's controller as a
//! process of its own under its own ServiceAccount. Tests, the demo and the benchmarks stand on it
//! (DESIGN section 16).
//!
//! Nothing here reads the KUBECONFIG it finds around it, and all traffic stays on loopback.

pub mod addresses;
pub mod balancer;
pub mod cluster;
pub mod control_plane;
pub mod controller;
pub mod handshake;
pub mod kubectl;
pub mod oracle;
pub mod paths;
pub mod pki;
pub mod proxy;
pub mod replicas;
pub mod request;
pub mod service;
pub mod trap;
pub mod wait;
pub mod world;

pub use balancer::Balancer;
pub use cluster::{ClusterSetup, GroundCluster};
pub use control_plane::ControlPlane;
pub use controller::{Controller, ControllerOptions};
pub use kubectl::Kubectl;
pub use replicas::{Replica, Replicas};
pub use request::Request;
pub use wait::eventually;
pub use world::World;
