//! ApplyConfiguration: into maintenance, onto a running node, staged, on trial.

use std::sync::Arc;
use std::time::Duration;

use tonic::Status;

use super::{Node, Stage};
use crate::config::{Loaded, MachineConfig, load, unified};
use crate::proto::machine::apply_configuration_request::Mode;
use crate::proto::machine::{ApplyConfiguration, ApplyConfigurationRequest};
use crate::spec::ms;

/// How long a trial lasts when the request names no timeout.
const DEFAULT_TRIAL: Duration = Duration::from_mins(1);

/// How long the lock of an apply is held.
const APPLYING: Duration = Duration::from_millis(10);

impl Node {
    /// Carries the request out; a second one that comes meanwhile is refused.
    pub async fn apply(
        self: &Arc<Self>,
        request: &ApplyConfigurationRequest,
    ) -> Result<ApplyConfiguration, Status> {
        if self.change(|state| std::mem::replace(&mut state.applying, true)) {
            return Err(Status::failed_precondition(
                "another apply configuration is already in progress",
            ));
        }
        tokio::time::sleep(APPLYING).await;
        let outcome = self.judge_and_take(request);
        self.change(|state| state.applying = false);
        outcome
    }

    fn judge_and_take(
        self: &Arc<Self>,
        request: &ApplyConfigurationRequest,
    ) -> Result<ApplyConfiguration, Status> {
        let (maintenance, leaving) =
            self.read(|state| (state.config.is_none(), state.leaving_maintenance));
        if leaving {
            return Err(Status::permission_denied("not authorized"));
        }
        let mode = match (request.mode(), maintenance) {
            (Mode::Reboot, false) => {
                return Err(Status::unimplemented(
                    "the REBOOT mode is not supported, please use AUTO or NO_REBOOT modes instead",
                ));
            }
            (Mode::Reboot | Mode::Auto, _) => Mode::NoReboot,
            (mode, _) => mode,
        };
        let partial_allowed = maintenance;
        let loaded = load(&request.data, self.machine.spec.container, partial_allowed)
            .map_err(Status::invalid_argument)?;
        let current = self.read(|state| match (&state.config, &state.partial) {
            (Some(config), _) => config.text.clone(),
            (None, Some(partial)) => partial.text.clone(),
            (None, None) => String::new(),
        });
        let diff = unified(&current, loaded.text());
        if !request.dry_run {
            match loaded {
                Loaded::Complete(config) => self.take(
                    &config,
                    mode,
                    timeout(request) * self.shared.timings.trial_factor,
                )?,
                Loaded::Partial(_) if mode == Mode::Staged => {}
                Loaded::Partial(partial) => self.change(|state| state.partial = Some(partial)),
            }
        }
        Ok(ApplyConfiguration {
            metadata: None,
            warnings: Vec::new(),
            mode: mode.into(),
            mode_details: details(mode, request, &diff),
        })
    }

    fn take(
        self: &Arc<Self>,
        config: &MachineConfig,
        mode: Mode,
        trial: Duration,
    ) -> Result<(), Status> {
        if mode == Mode::Staged {
            self.change(|state| state.persistent = Some(config.clone()));
            return Ok(());
        }
        let (before, was_maintenance) =
            self.change(|state| (state.config.clone(), state.config.is_none()));
        if was_maintenance {
            return self.leave_maintenance(config, mode, trial);
        }
        self.change(|state| {
            state.config = Some(config.clone());
            if mode != Mode::Try {
                state.persistent = Some(config.clone());
            }
        });
        let sans_changed = before
            .as_ref()
            .is_some_and(|before| before.cert_sans != config.cert_sans);
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
    fn leave_maintenance(
        self: &Arc<Self>,
        config: &MachineConfig,
        mode: Mode,
        trial: Duration,
    ) -> Result<(), Status> {
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
                state.partial = None;
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
    fn renew_leaf(&self) {
        if let Err(error) = self.renew_tls() {
            tracing::warn!(node = self.machine.name, %error, "certificate was not renewed");
        }
    }
}

fn timeout(request: &ApplyConfigurationRequest) -> Duration {
    let seconds = request
        .try_mode_timeout
        .and_then(|timeout| Duration::try_from(timeout).ok());
    seconds
        .filter(|timeout| !timeout.is_zero())
        .unwrap_or(DEFAULT_TRIAL)
}

fn details(mode: Mode, request: &ApplyConfigurationRequest, diff: &str) -> String {
    let done = if mode == Mode::Staged {
        "Staged configuration to be applied after the next reboot"
    } else {
        "Applied configuration without a reboot"
    };
    if request.dry_run {
        return format!("Dry run summary:\n{done} (skipped in dry-run).\nConfig diff:\n\n{diff}");
    }
    if mode == Mode::Try {
        let seconds = timeout(request).as_secs();
        return format!(
            "{done}\nThe config is applied in 'try' mode and will be automatically reverted back in {seconds}s"
        );
    }
    done.to_owned()
}
