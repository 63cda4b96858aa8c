//! What becomes of a machine whose reset is recorded: pure (DESIGN section 18, decisions 1, 3, 9 and 15).

use super::decide::{Ending, Settings, elapsed};
use ichor_crds::conditions::reclaim as reason;
use ichor_crds::{
    IdentityMatch, MachineIdentity, MachineReclaimSpec, ReclaimProgress, ResetRecord,
};
use ichor_talos::Stage;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use std::time::Duration;

/// What one look at the machine gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sight {
    /// A configured machine answered under the CA it had.
    Configured {
        /// Who it is.
        identity: MachineIdentity,
        /// Its boot ID.
        boot_id: Option<String>,
        /// Its stage.
        stage: Stage,
    },
    /// A machine in maintenance mode answered.
    Maintenance {
        /// Who it is.
        identity: MachineIdentity,
        /// Where.
        address: String,
        /// Its boot ID, where maintenance mode gives one.
        boot_id: Option<String>,
    },
    /// A machine answered that Ichor configured after the record.
    TakenIn {
        /// Who it is.
        identity: MachineIdentity,
        /// Where.
        address: String,
        /// Its boot ID.
        boot_id: Option<String>,
    },
    /// Nothing answered.
    Silence,
    /// Something answered and did not show who it is.
    Unclear,
}

/// What follows.
#[derive(Clone, Debug, PartialEq)]
pub enum Outlook {
    /// Keep looking.
    Waiting {
        /// What was seen so far.
        progress: ReclaimProgress,
        /// Whether it takes longer than it should.
        overdue: bool,
    },
    /// The machine is back in maintenance mode.
    Returned(ReclaimProgress),
    /// It did not work.
    Failed(Ending),
}

/// Judges a sight. `known` is for how long this process knows of the record: a clock that is ahead of the one that wrote the
/// record makes nothing late.
pub fn judge(
    spec: &MachineReclaimSpec,
    record: &ResetRecord,
    progress: Option<&ReclaimProgress>,
    sight: &Sight,
    now: Timestamp,
    known: Duration,
    settings: &Settings,
) -> Outlook {
    let mut progress = progress.cloned().unwrap_or_default();
    let since = record.recorded_at.as_ref().map_or(now, |at| at.0);
    let age = elapsed(since, now).min(known);
    match sight {
        Sight::Maintenance {
            identity,
            address,
            boot_id,
        } if is_same(record, identity) => {
            // The effect is verified, not believed (FAULTS 24).
            if boot_id.is_some() && *boot_id == record.boot_id {
                return Outlook::Failed(never_reset(spec, record));
            }
            return returned(spec, progress, address, now);
        }
        Sight::Configured {
            identity,
            boot_id,
            stage,
        } if is_same(record, identity) => {
            if progress.returned_at.is_some() {
                // It was back, wiped: what somebody configured since is no failure of the wipe.
                return Outlook::Returned(progress);
            }
            let booted_again = boot_id.is_some() && *boot_id != record.boot_id;
            if booted_again {
                return Outlook::Failed(unwiped(spec, record));
            }
            if *stage == Stage::Running && age >= settings.observe_timeout {
                return Outlook::Failed(not_carried_out(spec, record));
            }
            if matches!(
                stage,
                Stage::Resetting | Stage::Rebooting | Stage::ShuttingDown
            ) {
                stopped(&mut progress, now);
            }
        }
        Sight::TakenIn {
            identity, address, ..
        } if is_same(record, identity) => return returned(spec, progress, address, now),
        // Another machine has the address, or none: ours does not answer there.
        Sight::Maintenance { .. }
        | Sight::Configured { .. }
        | Sight::TakenIn { .. }
        | Sight::Silence => {
            stopped(&mut progress, now);
        }
        Sight::Unclear => {}
    }
    Outlook::Waiting {
        progress,
        overdue: age >= settings.overdue,
    }
}

fn is_same(record: &ResetRecord, identity: &MachineIdentity) -> bool {
    record.identity.compare(identity) == IdentityMatch::Same
}

fn stopped(progress: &mut ReclaimProgress, now: Timestamp) {
    progress.stopped_at.get_or_insert(Time(now));
}

/// "A machine that returns at another address completes it when discovery sees the same identity" (decision 15).
fn returned(
    spec: &MachineReclaimSpec,
    mut progress: ReclaimProgress,
    address: &str,
    now: Timestamp,
) -> Outlook {
    stopped(&mut progress, now);
    progress.returned_at.get_or_insert(Time(now));
    let elsewhere = super::facts::canonical(address) != super::facts::canonical(&spec.address);
    progress.returned_address = elsewhere.then(|| address.to_owned());
    Outlook::Returned(progress)
}

/// Decision 1: killed between record and send. Decision 3: an OK is not an effect.
fn not_carried_out(spec: &MachineReclaimSpec, record: &ResetRecord) -> Ending {
    let (address, boot) = (
        &spec.address,
        record.boot_id.as_deref().unwrap_or("unknown"),
    );
    if record.accepted_at.is_none() {
        return Ending::failed(
            reason::RECORDED_NOT_OBSERVED,
            format!(
                "recorded, not observed; ask again: {address} still runs on boot {boot}, and whether the reset was sent is not known. It is never sent twice"
            ),
        );
    }
    Ending::failed(
        reason::RESET_NOT_CARRIED_OUT,
        format!(
            "{address} accepted the reset and still runs on boot {boot}: it was not carried out. Look at talosctl dmesg -n {address}, then ask again"
        ),
    )
}

/// Whoever is in maintenance mode on the boot of the record was not brought there by a reset.
fn never_reset(spec: &MachineReclaimSpec, record: &ResetRecord) -> Ending {
    let boot = record.boot_id.as_deref().unwrap_or("unknown");
    Ending::failed(
        reason::RESET_NOT_CARRIED_OUT,
        format!(
            "{} is in maintenance mode on boot {boot}, on which the reset was recorded: it was not carried out. Look at the machine",
            spec.address
        ),
    )
}

/// Decision 3: "a return under the old CA on a new boot".
fn unwiped(spec: &MachineReclaimSpec, record: &ResetRecord) -> Ending {
    let address = &spec.address;
    let hint = if record.graceful {
        " (a control plane that cannot leave etcd does so; forceUngraceful does not ask it to leave)"
    } else {
        ""
    };
    Ending::failed(
        reason::RETURNED_UNWIPED,
        format!(
            "{address} came back on a new boot with its old configuration: it was not wiped{hint}. Ask again"
        ),
    )
}

#[cfg(test)]
#[path = "watching_tests.rs"]
mod tests;
