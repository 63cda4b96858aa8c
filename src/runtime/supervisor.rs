//! Owns every task of the process (STYLE rule 11): when one ends before it was told to, the process ends with
//! an error, never as a silent half (FAULTS 34).

use std::future::Future;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// The owner of the process's tasks.
#[derive(Debug)]
pub struct Supervisor {
    tasks: JoinSet<(&'static str, anyhow::Result<()>)>,
    stop: CancellationToken,
}

impl Default for Supervisor {
    fn default() -> Self {
        Self {
            tasks: JoinSet::new(),
            stop: CancellationToken::new(),
        }
    }
}

impl Supervisor {
    /// The token that is cancelled when the process is to end.
    pub fn stop(&self) -> CancellationToken {
        self.stop.clone()
    }

    /// Starts a task. It should end soon after [`Supervisor::stop`] is cancelled, and not before.
    pub fn spawn<F>(&mut self, name: &'static str, task: F)
    where
        F: Future<Output = anyhow::Result<()>> + Send + 'static,
    {
        self.tasks.spawn(async move { (name, task.await) });
    }

    /// Runs until `shutdown` is done, and then lets the tasks finish for at most `grace`. A task that ends before ends
    /// the others at once.
    ///
    /// # Errors
    /// The error of the first task that ended unasked, or failed.
    pub async fn run(
        mut self,
        shutdown: impl Future<Output = ()>,
        grace: Duration,
    ) -> anyhow::Result<()> {
        tokio::select! {
            () = shutdown => {}
            ended = self.tasks.join_next() => {
                let failed = ended.map_or_else(|| anyhow::anyhow!("nothing runs"), unasked);
                // Fail-stop: what is left may not act any longer than it must, so nothing is drained.
                self.stop.cancel();
                self.tasks.shutdown().await;
                return Err(failed);
            }
        }
        self.stop.cancel();
        let drained = tokio::time::timeout(grace, self.drain()).await;
        self.tasks.shutdown().await;
        drained.unwrap_or_else(|_| {
            Err(anyhow::anyhow!(
                "some tasks did not stop within {} s and were ended",
                grace.as_secs()
            ))
        })
    }

    async fn drain(&mut self) -> anyhow::Result<()> {
        let mut first = Ok(());
        while let Some(ended) = self.tasks.join_next().await {
            let failed = match ended {
                Ok((_, Ok(()))) => continue,
                other => unasked(other),
            };
            tracing::error!(error = %format!("{failed:#}"), "a task failed while stopping");
            if first.is_ok() {
                first = Err(failed);
            }
        }
        first
    }
}

type Ended = Result<(&'static str, anyhow::Result<()>), tokio::task::JoinError>;

fn unasked(ended: Ended) -> anyhow::Error {
    match ended {
        Ok((name, Ok(()))) => anyhow::anyhow!("task {name} ended before it was told to"),
        Ok((name, Err(error))) => error.context(format!("task {name} failed")),
        Err(panicked) => anyhow::anyhow!("a task panicked: {panicked}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRACE: Duration = Duration::from_secs(5);

    #[tokio::test]
    async fn a_task_that_ends_or_panics_ends_the_process_with_an_error() {
        for panics in [false, true] {
            let mut supervisor = Supervisor::default();
            let stop = supervisor.stop();
            supervisor.spawn("waits", async move {
                stop.cancelled().await;
                Ok(())
            });
            supervisor.spawn("ends", async move {
                assert!(!panics, "on purpose");
                Ok(())
            });
            let ended = supervisor.run(std::future::pending(), GRACE).await;
            let said = ended.expect_err("an error").to_string();
            let want = if panics {
                "panicked"
            } else {
                "task ends ended before"
            };
            assert!(said.contains(want), "{said}");
        }
    }

    #[tokio::test]
    async fn a_shutdown_lets_tasks_finish() {
        let mut supervisor = Supervisor::default();
        let stop = supervisor.stop();
        supervisor.spawn("waits", async move {
            stop.cancelled().await;
            Ok(())
        });
        supervisor
            .run(std::future::ready(()), GRACE)
            .await
            .expect("a clean end");
    }
}
