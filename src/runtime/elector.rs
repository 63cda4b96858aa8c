//! Takes, renews and lets go of a Lease through the API server.
//!
//! Every write is a PUT with the resourceVersion that was read, so of two processes one wins. A leader that
//! cannot renew ends its process before the lease ends (fail-stop; FAULTS 31).

use crate::runtime::clock;
use crate::runtime::fence::Fence;
use crate::runtime::lease::{self, Decision, Observed, Settings};
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use kube::api::{ObjectMeta, PostParams};
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// How a try to hold the lease ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attempt {
    /// It is held, and the fence is open.
    Held,
    /// Somebody else holds it.
    HeldBy(String),
    /// Another process wrote it at the same moment: look again.
    Raced,
}

/// One Lease, as one process holds or wants it.
#[derive(Debug)]
pub struct Holder {
    api: Api<Lease>,
    name: String,
    me: String,
    settings: Settings,
    observed: Option<Observed>,
    fence: Fence,
}

impl Holder {
    /// The Lease `name`, wanted by the process or purpose called `me`.
    pub fn new(api: Api<Lease>, name: String, me: String, settings: Settings) -> Self {
        Self {
            api,
            name,
            me,
            settings,
            observed: None,
            fence: Fence::new(),
        }
    }

    /// Until when this holder may act.
    pub fn fence(&self) -> Fence {
        self.fence.clone()
    }

    /// From the next renewal on the lease lasts this long without another one: whatever becomes of this process, others
    /// wait that long.
    pub fn last(&mut self, duration: Duration) {
        self.settings.duration = duration;
    }

    /// Tries once to take or renew the lease.
    ///
    /// # Errors
    /// When the API server does not answer or refuses; the fence keeps its deadline then.
    pub async fn attempt(&mut self) -> Result<Attempt, kube::Error> {
        let seen = self.api.get_opt(&self.name).await?;
        let now = clock::monotonic();
        self.observed = seen
            .as_ref()
            .map(|lease| lease::observe(self.observed.take(), lease, now));
        let sent = clock::monotonic();
        let spec = lease::held(seen.as_ref(), &self.me, &self.settings, clock::now());
        let written = match lease::evaluate(seen.as_ref(), &self.me, self.observed.as_ref(), now) {
            Decision::Wait { holder } => {
                self.fence.close();
                return Ok(Attempt::HeldBy(holder));
            }
            Decision::Create => {
                let lease = Lease {
                    metadata: ObjectMeta {
                        name: Some(self.name.clone()),
                        ..ObjectMeta::default()
                    },
                    spec: Some(spec),
                };
                self.api.create(&PostParams::default(), &lease).await
            }
            Decision::Take | Decision::Renew => {
                let mut lease = seen.unwrap_or_default();
                lease.spec = Some(spec);
                self.api
                    .replace(&self.name, &PostParams::default(), &lease)
                    .await
            }
        };
        match written {
            Ok(_) => {
                self.fence.extend(sent, self.settings.renew_deadline);
                Ok(Attempt::Held)
            }
            // Created, changed or removed by another at the same moment.
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(Attempt::Raced),
            Err(error) => Err(error),
        }
    }

    /// Lets go of the lease if it is held, so that the next one need not wait.
    ///
    /// # Errors
    /// When the API server does not answer: the lease then ends by itself.
    pub async fn release(&mut self) -> Result<(), kube::Error> {
        self.fence.close();
        let Some(mut lease) = self.api.get_opt(&self.name).await? else {
            return Ok(());
        };
        if lease::holder(&lease) != Some(self.me.as_str()) {
            return Ok(());
        }
        lease.spec = Some(lease::released(&lease, clock::now()));
        match self
            .api
            .replace(&self.name, &PostParams::default(), &lease)
            .await
        {
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(()),
            other => other.map(|_| ()),
        }
    }

    /// Waits for the lease, says so through `leading`, and renews it until `stop`; then lets go of it.
    ///
    /// # Errors
    /// When the lease was held and is lost: the process has to end.
    pub async fn lead(
        mut self,
        leading: watch::Sender<bool>,
        stop: CancellationToken,
    ) -> anyhow::Result<()> {
        let mut held = false;
        loop {
            let attempt = tokio::time::timeout(self.patience(held), self.attempt());
            let outcome = tokio::select! {
                () = stop.cancelled() => break,
                outcome = attempt => outcome,
            };
            match outcome {
                Ok(Ok(Attempt::Held)) => {
                    if !held {
                        tracing::info!(lease = %self.name, identity = %self.me, "leading");
                        held = true;
                        leading.send_replace(true);
                    }
                }
                Ok(Ok(Attempt::HeldBy(holder))) if held => {
                    anyhow::bail!("lease {} was taken by {holder}", self.name)
                }
                Ok(Ok(Attempt::HeldBy(_) | Attempt::Raced)) => {}
                Ok(Err(error)) => {
                    tracing::warn!(lease = %self.name, %error, "the lease could not be written");
                }
                Err(_) => {
                    tracing::warn!(lease = %self.name, "the API server did not answer in time");
                }
            }
            if held && self.fence.deadline().is_err() {
                anyhow::bail!("lease {} could not be renewed in time", self.name);
            }
            tokio::select! {
                () = stop.cancelled() => break,
                () = tokio::time::sleep(self.settings.retry) => {}
            }
        }
        leading.send_replace(false);
        if held {
            let released = tokio::time::timeout(self.settings.renew_deadline, self.release()).await;
            if !matches!(released, Ok(Ok(()))) {
                tracing::warn!(lease = %self.name, "the lease could not be released; it ends by itself");
            }
        }
        Ok(())
    }

    /// How long one try may take: a leader has to know before its deadline that it failed.
    fn patience(&self, held: bool) -> Duration {
        if !held {
            return self.settings.renew_deadline;
        }
        self.fence.deadline().map_or(Duration::ZERO, |until| {
            until.saturating_duration_since(clock::monotonic())
        })
    }
}
