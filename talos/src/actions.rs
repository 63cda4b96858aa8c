//! What changes a node. None of these carries `node` or `nodes` metadata: the machine on this connection is the one
//! that is meant (DESIGN section 6). None is repeated by this crate.

use crate::connection::Connection;
use crate::error::TalosError;
use crate::proto::machine;
use std::time::Duration;

/// Leaving etcd is retried by Talos for up to five minutes (`talos-api.md` section 5).
const LEAVE_TIMEOUT: Duration = Duration::from_mins(5);

/// A reset that wipes STATE and EPHEMERAL and reboots: nothing else can be asked for, because a reset without
/// labels wipes the whole disk (record 0136, FAULTS 24).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResetRequest {
    /// Whether the machine drains and leaves etcd first.
    pub graceful: bool,
}

impl From<ResetRequest> for machine::ResetRequest {
    fn from(request: ResetRequest) -> Self {
        let wipe = |label: &str| machine::ResetPartitionSpec {
            label: label.to_owned(),
            wipe: true,
        };
        Self {
            graceful: request.graceful,
            reboot: true,
            system_partitions_to_wipe: vec![wipe("STATE"), wipe("EPHEMERAL")],
            user_disks_to_wipe: Vec::new(),
            // The mode of every recorded reset of named partitions; user disks are wiped only by name.
            mode: machine::reset_request::WipeMode::All.into(),
        }
    }
}

/// How a machine reboots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RebootMode {
    /// As Talos finds best, kexec included.
    #[default]
    Default,
    /// Through the firmware.
    PowerCycle,
}

/// How a configuration is applied. `REBOOT` and real `AUTO` are not here: nothing reboots outside the lock (DESIGN
/// section 18, decision 13). `TRY` strands a machine in maintenance mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApplyMode {
    /// Nothing is changed; the answer says what would be.
    DryRun,
    /// At once, refused where it takes a reboot.
    NoReboot,
    /// At the next boot.
    Staged,
}

/// What Talos says about a configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApplyReport {
    /// Warnings, in Talos's words.
    pub warnings: Vec<String>,
    /// Details of the mode, in Talos's words; may quote the configuration.
    pub mode_details: String,
}

impl Connection {
    /// Wipes the machine on this connection. Gives the actor ID of the sequence: an answer means that Talos
    /// accepted the request, not that it runs (DESIGN section 18, decision 3).
    pub async fn reset(&self, request: ResetRequest) -> Result<String, TalosError> {
        let mut machine = self.machine();
        let request = machine::ResetRequest::from(request);
        let answer = self
            .call("Reset", self.usual(), async {
                machine.reset(request).await
            })
            .await?;
        let message = self.single("Reset", answer.into_inner().messages)?;
        Ok(message.actor_id)
    }

    /// Reboots the machine on this connection.
    pub async fn reboot(&self, mode: RebootMode) -> Result<String, TalosError> {
        let mode = match mode {
            RebootMode::Default => machine::reboot_request::Mode::Default,
            RebootMode::PowerCycle => machine::reboot_request::Mode::Powercycle,
        };
        let request = machine::RebootRequest { mode: mode.into() };
        let mut machine = self.machine();
        let answer = self
            .call("Reboot", self.usual(), async {
                machine.reboot(request).await
            })
            .await?;
        let message = self.single("Reboot", answer.into_inner().messages)?;
        Ok(message.actor_id)
    }

    /// Shuts the machine on this connection down.
    pub async fn shutdown(&self, force: bool) -> Result<String, TalosError> {
        let request = machine::ShutdownRequest { force };
        let mut machine = self.machine();
        let answer = self
            .call("Shutdown", self.usual(), async {
                machine.shutdown(request).await
            })
            .await?;
        let message = self.single("Shutdown", answer.into_inner().messages)?;
        Ok(message.actor_id)
    }

    /// Gives the machine on this connection a configuration.
    pub async fn apply_configuration(
        &self,
        configuration: &[u8],
        mode: ApplyMode,
    ) -> Result<ApplyReport, TalosError> {
        use machine::apply_configuration_request::Mode;
        let (mode, dry_run) = match mode {
            ApplyMode::DryRun => (Mode::Auto, true),
            ApplyMode::NoReboot => (Mode::NoReboot, false),
            ApplyMode::Staged => (Mode::Staged, false),
        };
        let request = machine::ApplyConfigurationRequest {
            data: configuration.to_vec(),
            mode: mode.into(),
            dry_run,
            try_mode_timeout: None,
        };
        let mut machine = self.machine();
        let answer = self
            .call("ApplyConfiguration", self.usual(), async {
                machine.apply_configuration(request).await
            })
            .await?;
        let message = self.single("ApplyConfiguration", answer.into_inner().messages)?;
        Ok(ApplyReport {
            warnings: message.warnings,
            mode_details: message.mode_details,
        })
    }

    /// Removes a member of etcd by its ID, through a node that stays.
    pub async fn etcd_remove_member(&self, id: u64) -> Result<(), TalosError> {
        let request = machine::EtcdRemoveMemberByIdRequest { member_id: id };
        let mut machine = self.machine();
        self.call("EtcdRemoveMemberByID", self.usual(), async {
            machine.etcd_remove_member_by_id(request).await
        })
        .await
        .map(|_| ())
    }

    /// Lets the node on this connection leave etcd, which Talos tries for up to five minutes.
    pub async fn etcd_leave(&self) -> Result<(), TalosError> {
        let request = machine::EtcdLeaveClusterRequest {};
        let mut machine = self.machine();
        self.call("EtcdLeaveCluster", LEAVE_TIMEOUT, async {
            machine.etcd_leave_cluster(request).await
        })
        .await
        .map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FAULTS 24 (terraform-provider-talos#205): the request is exact.
    #[test]
    fn a_reset_names_state_and_ephemeral_and_nothing_else() {
        for graceful in [true, false] {
            let request = machine::ResetRequest::from(ResetRequest { graceful });
            let wiped: Vec<(&str, bool)> = request
                .system_partitions_to_wipe
                .iter()
                .map(|partition| (partition.label.as_str(), partition.wipe))
                .collect();
            assert_eq!(wiped, [("STATE", true), ("EPHEMERAL", true)]);
            assert_eq!(request.graceful, graceful);
            assert!(request.reboot);
            assert!(request.user_disks_to_wipe.is_empty());
            assert_eq!(request.mode(), machine::reset_request::WipeMode::All);
        }
    }
}
