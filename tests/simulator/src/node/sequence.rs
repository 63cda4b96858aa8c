//! Reset, reboot and shutdown (talos-api.md sections 7 and 8): an OK only means that the request was put in.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::state::{node_identity, uuid};
use super::{Node, Sequence, Stage};
use crate::etcd::RemoveError;
use crate::spec::ms;

/// What a reset shall do.
#[derive(Clone, Debug, Default)]
pub struct ResetPlan {
    /// Cordon, drain, leave etcd.
    pub graceful: bool,
    /// Reboot afterwards, else power off.
    pub reboot: bool,
    /// Labels to wipe; the whole system disk when empty.
    pub labels: Vec<String>,
    /// The system disk is not touched (user disks only).
    pub spare_system: bool,
}

impl Node {
    /// Takes the sequence lock, or drops the request as Talos does when it may not take over.
    fn take_lock(&self, wanted: Sequence) -> bool {
        self.change(|state| {
            let free = matches!(
                (state.sequence, wanted),
                (None | Some(Sequence::Boot), _)
                    | (_, Sequence::Shutdown)
                    | (Some(Sequence::Reset | Sequence::Reboot), Sequence::Reboot)
            );
            if free {
                state.sequence = Some(wanted);
            } else {
                state
                    .sequence_errors
                    .push(format!("LOCKED: {wanted:?} while {:?}", state.sequence));
            }
            free
        })
    }

    /// Starts a reset in the background; returns the actor ID.
    pub fn reset(self: &Arc<Self>, plan: ResetPlan) -> String {
        if self.take_lock(Sequence::Reset) {
            self.cut_power();
            let node = Arc::clone(self);
            self.spawn(async move { node.run_reset(plan).await });
        }
        uuid()
    }

    /// Starts a reboot in the background; returns the actor ID.
    pub fn reboot(self: &Arc<Self>) -> String {
        if self.take_lock(Sequence::Reboot) {
            self.cut_power();
            let node = Arc::clone(self);
            self.spawn(async move {
                tokio::time::sleep(ms(node.shared.timings.reset_begin)).await;
                node.change(|state| {
                    state.stage = Stage::Rebooting;
                    state.unmet.clear();
                });
                tokio::time::sleep(ms(node.shared.timings.reboot_serve)).await;
                node.stop_services().await;
                node.restart().await;
            });
        }
        uuid()
    }

    /// Starts a shutdown in the background; returns the actor ID.
    pub fn shutdown(self: &Arc<Self>) -> String {
        if self.take_lock(Sequence::Shutdown) {
            self.cut_power();
            let node = Arc::clone(self);
            self.spawn(async move {
                tokio::time::sleep(ms(node.shared.timings.reset_begin)).await;
                node.change(|state| {
                    state.stage = Stage::ShuttingDown;
                    state.unmet.clear();
                });
                tokio::time::sleep(ms(node.shared.timings.reboot_serve)).await;
                node.stop_services().await;
                node.lose_power();
            });
        }
        uuid()
    }

    async fn run_reset(self: &Arc<Self>, plan: ResetPlan) {
        let timings = &self.shared.timings;
        tokio::time::sleep(ms(timings.reset_begin)).await;
        self.change(|state| {
            state.stage = Stage::Resetting;
            state.unmet.clear();
        });
        if plan.graceful && self.read(super::State::is_control_plane) {
            match self.leave_etcd_patiently().await {
                // A failed sequence is fatal: the API drops at once, services stop, and Talos reboots by itself.
                Err(_) => {
                    self.stop_services().await;
                    tokio::time::sleep(ms(timings.failure)).await;
                    return self.restart().await;
                }
                // Only leaving etcd takes long enough for `resetting` to be served with the member already gone.
                Ok(true) => tokio::time::sleep(ms(timings.reset_serve)).await,
                Ok(false) => {}
            }
            self.change(|state| state.member = None);
        }
        self.stop_services().await;
        self.wipe(&plan);
        if plan.reboot {
            self.restart().await;
        } else {
            self.lose_power();
        }
    }

    /// Leaves etcd, trying again while it is unhealthy.
    async fn leave_etcd_patiently(&self) -> Result<bool, RemoveError> {
        let timings = &self.shared.timings;
        let deadline = Instant::now() + ms(timings.leave_timeout);
        loop {
            match self.leave_etcd() {
                Err(RemoveError::Unhealthy | RemoveError::NoLeader)
                    if Instant::now() < deadline =>
                {
                    tokio::time::sleep(ms(timings.leave_retry)).await;
                }
                outcome => return outcome,
            }
        }
    }

    /// Leaves etcd: the member goes and its process stops. Its data stays until the caller empties it, so a reboot that
    /// comes in between finds data of a member that is gone and etcd crash-loops, as seen on a real node.
    ///
    /// Tells whether there was a member to leave.
    pub(crate) fn leave_etcd(&self) -> Result<bool, RemoveError> {
        let Some(id) = self.read(|state| state.member) else {
            return Ok(false);
        };
        let left = match self.with_etcd(|etcd| etcd.remove(id)) {
            Ok(()) => true,
            Err(RemoveError::NotFound) => false,
            Err(error) => return Err(error),
        };
        self.change(|state| state.etcd_running = false);
        Ok(left)
    }

    async fn stop_services(&self) {
        self.change(|state| state.daemon_gone = true);
        tokio::time::sleep(ms(self.shared.timings.socket_gone)).await;
        self.api_down();
        self.stop_etcd();
        tokio::time::sleep(ms(self.shared.timings.stop)).await;
    }

    fn wipe(&self, plan: &ResetPlan) {
        if plan.spare_system {
            return;
        }
        let all = plan.labels.is_empty();
        let named = |label: &str| all || plan.labels.iter().any(|named| named == label);
        self.change(|state| {
            if named("STATE") {
                state.config = None;
                state.persistent = None;
                state.identity = node_identity();
            }
            if named("EPHEMERAL") {
                state.member = None;
            }
            state.wiped = if all {
                vec!["system disk".to_owned()]
            } else {
                plan.labels.clone()
            };
        });
    }

    async fn restart(self: &Arc<Self>) {
        let down = ms(self.shared.timings.down);
        self.change(|state| state.on = false);
        tokio::time::sleep(down).await;
        let node = Arc::clone(self);
        // The power cycle that runs this very task ends here, so the boot belongs to the next one.
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(1)).await;
            if !node.shared.root.is_cancelled() {
                node.lose_power();
                node.gain_power();
            }
        });
    }
}
