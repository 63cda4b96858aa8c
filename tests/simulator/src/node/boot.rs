//! Power and start-up: off → booting → maintenance or running.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use tracing::warn;

use super::{Node, Sequence, Stage};
use crate::spec::{Role, StartMode, ms};

impl Node {
    /// Puts the machine into the state its description begins with, without playing a boot.
    pub(crate) async fn begin(self: &Arc<Self>) -> Result<()> {
        match self.machine.spec.mode {
            StartMode::Off => Ok(()),
            StartMode::Maintenance => {
                self.change(|state| {
                    state.on = true;
                    state.stage = Stage::Maintenance;
                    state.renew_boot()
                })?;
                self.api_up().await
            }
            StartMode::Configured => {
                self.change(|state| {
                    state.on = true;
                    state.runtime = true;
                    state.stage = Stage::Running;
                    state.renew_boot()
                })?;
                if self.read(|state| state.is_control_plane() && state.member.is_none()) {
                    self.etcd_not_running();
                    self.keep_etcd();
                }
                self.api_up().await
            }
        }
    }

    /// Power goes at once; the member's process with it.
    pub(crate) fn lose_power(&self) {
        self.cut_power();
        self.api_down();
        self.stop_etcd();
        self.change(|state| {
            state.on = false;
            state.sequence = None;
            state.leaving_maintenance = false;
            state.daemon_gone = false;
            state.runtime = false;
            state.bootstrap = false;
        });
    }

    /// Power comes; the boot goes on in the background.
    pub(crate) fn gain_power(self: &Arc<Self>) {
        if self.read(|state| state.on) {
            return;
        }
        let renewed = self.change(|state| {
            state.on = true;
            state.sequence = Some(Sequence::Boot);
            state.stage = Stage::Booting;
            state.config = state.persistent.clone();
            state.renew_boot()
        });
        if let Err(error) = renewed {
            warn!(node = self.machine.name, %error, "boot failed");
            return;
        }
        let node = Arc::clone(self);
        self.spawn(async move {
            tokio::time::sleep(ms(node.shared.timings.boot)).await;
            node.start_services().await;
        });
    }

    /// Starts the API and what follows it, in maintenance or with the configuration.
    pub(crate) async fn start_services(self: &Arc<Self>) {
        let maintenance = self.change(|state| {
            state.leaving_maintenance = false;
            if state.config.is_none() {
                state.stage = Stage::Maintenance;
                state.sequence = None;
                state.unmet.clear();
            } else {
                state.stage = Stage::Booting;
                let missing = if state.is_control_plane() {
                    "kubelet not running, etcd not running"
                } else {
                    "kubelet not running"
                };
                state.unmet = vec![("services".to_owned(), missing.to_owned())];
            }
            state.config.is_none()
        });
        // A worker serves only once a control plane's trustd has signed its certificate.
        while let Err(error) = self.api_up().await {
            tracing::debug!(node = self.machine.name, %error, "API waits");
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        if maintenance {
            return;
        }
        tokio::time::sleep(ms(self.shared.timings.runtime)).await;
        self.change(|state| {
            state.runtime = true;
            state.sequence = None;
        });
        if self.read(|state| state.config.as_ref().map(|config| config.role)) == Some(Role::Worker)
        {
            self.change(|state| state.unmet.clear());
            tokio::time::sleep(ms(self.shared.timings.ready)).await;
            self.change(|state| state.stage = Stage::Running);
            return;
        }
        self.etcd_not_running();
        self.keep_etcd();
    }

    fn etcd_not_running(&self) {
        self.change(|state| {
            state.stage = Stage::Booting;
            state.unmet = vec![("services".to_owned(), "etcd not running".to_owned())];
        });
    }

    /// Brings etcd up when it can: from its data, by joining a healthy cluster, or after Bootstrap.
    fn keep_etcd(self: &Arc<Self>) {
        let node = Arc::clone(self);
        self.spawn(async move {
            while !node.start_etcd().await {
                tokio::time::sleep(Duration::from_millis(25)).await;
            }
            // Ready comes first; `running` follows when the sequence has ended.
            tokio::time::sleep(ms(node.shared.timings.ready)).await;
            node.change(|state| state.stage = Stage::Running);
        });
    }

    async fn start_etcd(self: &Arc<Self>) -> bool {
        let timings = &self.shared.timings;
        let (member, bootstrap, hostname, address) = self.read(|state| {
            (
                state.member,
                state.bootstrap,
                state.hostname(&self.machine),
                state.address,
            )
        });
        if let Some(id) = member {
            // A member that was removed meanwhile crash-loops until its data is wiped.
            if self.with_etcd(|etcd| etcd.member(id).is_none()) {
                return false;
            }
            tokio::time::sleep(ms(timings.etcd)).await;
            self.with_etcd(|etcd| etcd.start(id, &hostname));
            self.etcd_is_running();
            return true;
        }
        let joins = self.with_etcd(|etcd| etcd.leader().is_some());
        if !bootstrap && !joins {
            return false;
        }
        tokio::time::sleep(ms(timings.etcd)).await;
        let id = self.with_etcd(|etcd| etcd.join(&self.machine.name, address));
        self.change(|state| {
            state.member = Some(id);
            state.bootstrap = false;
        });
        if joins {
            tokio::time::sleep(ms(timings.learner / 4)).await;
        }
        self.with_etcd(|etcd| etcd.start(id, &hostname));
        self.etcd_is_running();
        if joins {
            tokio::time::sleep(ms(timings.learner)).await;
            self.with_etcd(|etcd| etcd.promote(id));
        }
        true
    }

    fn etcd_is_running(&self) {
        self.change(|state| {
            state.etcd_running = true;
            state.unmet.clear();
        });
    }

    /// The member's process ends.
    pub(crate) fn stop_etcd(&self) {
        if let Some(id) = self.change(|state| {
            state.etcd_running = false;
            state.member
        }) {
            self.with_etcd(|etcd| etcd.stop(id));
        }
    }
}
