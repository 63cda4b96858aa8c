//! ApplyConfiguration: into maintenance, onto a running node, staged, on trial.

use std::sync::Arc;
use std::time::Duration;

use tonic::Status;

use super::{Node, Stage};
use crate::config::{Loaded, MachineConfig, load};
use crate::proto::machine::apply_configuration_request::Mode;
use crate::proto::machine::{ApplyConfiguration, ApplyConfigurationRequest};
use crate::spec::ms;

impl Node {
    /// Carries the request out.
    pub fn apply(self: &Arc<Self>, request: &ApplyConfigurationRequest) -> Result<ApplyConfiguration, Status> {
        let maintenance = self.read(|state| state.config.is_none());
        let loaded = load(&request.data, self.machine.spec.container).map_err(Status::invalid_argument)?;
        let mode = match (request.mode(), maintenance) {
            (Mode::Reboot, false) => {
                return Err(Status::unimplemented(
                    "the REBOOT mode is not supported, please use AUTO or NO_REBOOT modes instead",
                ));
            }
            (Mode::Reboot | Mode::Auto, _) => Mode::NoReboot,
            (mode, _) => mode,
        };
        let config = match loaded {
            Loaded::Complete(config) => Some(*config),
            Loaded::Partial if maintenance => None,
            Loaded::Partial => return Err(Status::invalid_argument("no v1alpha1 config found")),
        };
        if !request.dry_run {
            self.take(config.as_ref(), mode, timeout(request))?;
        }
        let current = self.read(|state| state.config.as_ref().map(|config| config.text.clone()));
        let diff = super::apply::diff(&current.unwrap_or_default(), config.as_ref().map_or("", |config| &config.text));
        Ok(ApplyConfiguration {
            metadata: None,
            warnings: Vec::new(),
            mode: mode.into(),
            mode_details: details(mode, request, &diff),
        })
    }

    fn take(self: &Arc<Self>, config: Option<&MachineConfig>, mode: Mode, trial: Duration) -> Result<(), Status> {
        let Some(config) = config else { return Ok(()) };
        if mode == Mode::Staged {
            self.change(|state| state.persistent = Some(config.clone()));
            return Ok(());
        }
        let (before, was_maintenance) = self.change(|state| (state.config.clone(), state.config.is_none()));
        if was_maintenance {
            return self.leave_maintenance(config, mode, trial);
        }
        self.change(|state| {
            state.config = Some(config.clone());
            if mode != Mode::Try {
                state.persistent = Some(config.clone());
            }
        });
        let sans_changed = before.as_ref().is_some_and(|before| before.cert_sans != config.cert_sans);
        if sans_changed {
            self.renew_leaf();
        }
        if mode == Mode::Try {
            let node = Arc::clone(self);
            self.spawn(async move {
                tokio::time::sleep(trial).await;
                node.change(|state| state.config = before);
                if sans_changed {
                    node.renew_leaf();
                }
            });
        }
        Ok(())
    }

    /// The answer still goes out; then the API drops and comes back with mutual TLS.
    fn leave_maintenance(self: &Arc<Self>, config: &MachineConfig, mode: Mode, trial: Duration) -> Result<(), Status> {
        let first = self.change(|state| !std::mem::replace(&mut state.leaving_maintenance, true));
        if !first {
            return Err(Status::permission_denied("not authorized"));
        }
        let (node, config) = (Arc::clone(self), config.clone());
        self.spawn(async move {
            tokio::time::sleep(ms(node.shared.timings.apply)).await;
            node.api_down();
            node.change(|state| {
                state.stage = Stage::Installing;
                state.config = Some(config.clone());
                state.persistent = (mode != Mode::Try).then_some(config);
            });
            tokio::time::sleep(ms(node.shared.timings.stop)).await;
            node.start_services().await;
            if mode == Mode::Try {
                // A trial that times out in maintenance strands the machine until it is wiped.
                tokio::time::sleep(trial).await;
                node.api_down();
            }
        });
        Ok(())
    }

    /// A change of certSANs changes the server's key and leaf at once.
    pub(crate) fn renew_leaf(self: &Arc<Self>) {
        let node = Arc::clone(self);
        self.spawn(async move {
            tokio::time::sleep(Duration::from_millis(20)).await;
            if let Err(error) = node.api_up().await {
                tracing::warn!(node = node.machine.name, %error, "API did not come back");
            }
        });
    }
}

fn timeout(request: &ApplyConfigurationRequest) -> Duration {
    let seconds = request.try_mode_timeout.and_then(|timeout| Duration::try_from(timeout).ok());
    seconds.filter(|timeout| !timeout.is_zero()).unwrap_or(Duration::from_secs(60))
}

fn details(mode: Mode, request: &ApplyConfigurationRequest, diff: &str) -> String {
    let done = if mode == Mode::Staged {
        "Staged configuration to be applied after the next reboot"
    } else {
        "Applied configuration without a reboot"
    };
    if request.dry_run {
        return format!("Dry run summary:\n{done} (skipped in dry-run).\n{diff}");
    }
    if mode == Mode::Try {
        let seconds = timeout(request).as_secs();
        return format!(
            "{done}\nThe config is applied in 'try' mode and will be automatically reverted back in {seconds}s"
        );
    }
    done.to_owned()
}

/// A unified diff of one hunk without context.
fn diff(old: &str, new: &str) -> String {
    if old == new {
        return "No changes.".to_owned();
    }
    let lines = |text: &str, sign: char| -> String { text.lines().map(|line| format!("{sign}{line}\n")).collect() };
    let range = |text: &str| if text.is_empty() { "0,0".to_owned() } else { format!("1,{}", text.lines().count()) };
    format!(
        "Config diff:\n\n--- a\n+++ b\n@@ -{} +{} @@\n{}{}",
        range(old),
        range(new),
        lines(old, '-'),
        lines(new, '+')
    )
}
