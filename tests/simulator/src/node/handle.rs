//! What a test does to a machine from outside.

use std::net::IpAddr;
use std::sync::Arc;

use anyhow::Result;

use super::{Node, Stage};
use crate::calls::{Call, Fault};
use crate::spec::KubernetesNode;

/// A node of a running fleet.
#[derive(Clone)]
pub struct NodeHandle {
    pub(crate) node: Arc<Node>,
}

impl NodeHandle {
    /// Name in the fleet.
    pub fn name(&self) -> &str {
        &self.node.machine.name
    }

    /// Address of the API.
    pub fn address(&self) -> IpAddr {
        self.node.read(|state| state.address)
    }

    /// SMBIOS UUID.
    pub fn uuid(&self) -> &str {
        &self.node.machine.uuid
    }

    /// SMBIOS serial.
    pub fn serial(&self) -> &str {
        &self.node.machine.serial
    }

    /// MACs of the links.
    pub fn macs(&self) -> Vec<String> {
        self.node
            .machine
            .macs
            .iter()
            .map(|mac| crate::resources::mac_text(mac))
            .collect()
    }

    /// Hostname in force.
    pub fn hostname(&self) -> String {
        self.node.read(|state| state.hostname(&self.node.machine))
    }

    /// Stage; a machine without power keeps the last.
    pub fn stage(&self) -> Stage {
        self.node.read(|state| state.stage)
    }

    /// Whether the API listens.
    pub fn serving(&self) -> bool {
        self.node.read(|state| state.serving)
    }

    /// Whether it runs without a configuration.
    pub fn in_maintenance(&self) -> bool {
        self.node
            .read(|state| state.serving && state.config.is_none())
    }

    /// Whether it has power.
    pub fn is_on(&self) -> bool {
        self.node.read(|state| state.on)
    }

    /// Boot ID.
    pub fn boot_id(&self) -> String {
        self.node.read(|state| state.boot_id.clone())
    }

    /// Node identity, new after a wipe of STATE.
    pub fn node_identity(&self) -> String {
        self.node.read(|state| state.identity.clone())
    }

    /// Etcd member ID on its disk.
    pub fn etcd_member_id(&self) -> Option<u64> {
        self.node.read(|state| state.member)
    }

    /// Whether its etcd process runs.
    pub fn etcd_running(&self) -> bool {
        self.node.read(|state| state.etcd_running)
    }

    /// Whether a configured machine's container runtime is healthy (Bootstrap is accepted then).
    pub fn runtime_ready(&self) -> bool {
        self.node
            .read(|state| state.runtime && state.sequence.is_none())
    }

    /// What the last reset wiped.
    pub fn wiped(&self) -> Vec<String> {
        self.node.read(|state| state.wiped.clone())
    }

    /// Requests dropped because another sequence held the lock.
    pub fn sequence_errors(&self) -> Vec<String> {
        self.node.read(|state| state.sequence_errors.clone())
    }

    /// All calls so far, in order of arrival.
    pub fn calls(&self) -> Vec<Call> {
        self.node.ledger.calls()
    }

    /// Calls of one method (without its service).
    pub fn calls_of(&self, method: &str) -> Vec<Call> {
        self.calls()
            .into_iter()
            .filter(|call| call.name() == method)
            .collect()
    }

    /// Forgets the calls so far.
    pub fn forget_calls(&self) {
        self.node.ledger.forget();
    }

    /// Puts a fault in.
    pub fn fault(&self, fault: Fault) {
        self.node.ledger.add_fault(fault);
    }

    /// Takes all faults out; held calls go on.
    pub fn clear_faults(&self) {
        self.node.ledger.clear_faults();
    }

    /// Cuts the power.
    pub fn power_off(&self) {
        self.node.lose_power();
    }

    /// Switches on; the boot goes on in the background.
    pub fn power_on(&self) {
        self.node.gain_power();
    }

    /// Another sequence takes the lock and does nothing: a reset is then answered with OK and dropped (talos-api.md
    /// section 7).
    pub fn occupy_sequence(&self) {
        self.node
            .change(|state| state.sequence = Some(super::Sequence::Reset));
    }

    /// Drops every connection, and listens on.
    pub async fn drop_connections(&self) -> Result<()> {
        self.node.api_up().await
    }

    /// Gives the machine another address, as DHCP might.
    pub async fn move_to(&self, address: IpAddr) -> Result<()> {
        let serving = self.serving();
        self.node.api_down();
        self.node.change(|state| state.address = address);
        if serving {
            self.node.api_up().await
        } else {
            Ok(())
        }
    }

    /// Sets the machine's clock off by seconds; certificates are judged and issued by it.
    #[allow(
        clippy::unused_async,
        reason = "as everything else that changes what is served"
    )]
    pub async fn set_clock_offset(&self, seconds: i64) -> Result<()> {
        self.node.change(|state| state.clock_offset = seconds);
        if self.serving() {
            self.node.renew_tls()
        } else {
            Ok(())
        }
    }

    /// Changes what it registers in Kubernetes.
    pub fn register_as(&self, node: KubernetesNode) {
        self.node.change(|state| state.kubernetes_node = node);
    }

    /// Stops its etcd process without touching the machine.
    pub fn stop_etcd(&self) {
        self.node.stop_etcd();
    }

    /// Starts a stopped etcd process again.
    pub fn start_etcd(&self) {
        let hostname = self.hostname();
        if let Some(id) = self.node.change(|state| {
            state.etcd_running = state.member.is_some();
            state.member
        }) {
            self.node.with_etcd(|etcd| etcd.start(id, &hostname));
        }
    }

    /// The faults that still wait.
    pub fn faults(&self) -> Vec<Fault> {
        self.node.ledger.faults()
    }
}
