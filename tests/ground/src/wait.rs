//! Waiting for conditions: never sleeping for luck.

use anyhow::{Result, bail};
use std::future::Future;
use std::time::{Duration, Instant};

/// Longest wait for a condition, unless a test says otherwise. Generous: it is only reached by a failure.
pub const PATIENCE: Duration = Duration::from_mins(1);

/// Asks until the answer is `Some`, or fails after [`PATIENCE`] naming what was waited for.
pub async fn eventually<T, F, Fut>(what: &str, ask: F) -> Result<T>
where
    F: FnMut() -> Fut,
    Fut: Future<Output = Result<Option<T>>>,
{
    within(PATIENCE, what, ask).await
}

/// Asks until the answer is `Some`, or fails after `patience` naming what was waited for and the last error.
pub async fn within<T, F, Fut>(patience: Duration, what: &str, mut ask: F) -> Result<T>
where
    F: FnMut() -> Fut,
    Fut: Future<Output = Result<Option<T>>>,
{
    let start = Instant::now();
    let mut last = None;
    while start.elapsed() < patience {
        match ask().await {
            Ok(Some(answer)) => return Ok(answer),
            Ok(None) => last = None,
            Err(error) => last = Some(error),
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    match last {
        Some(error) => Err(error.context(format!("waited {patience:?} for: {what}"))),
        None => bail!("waited {patience:?} for: {what}"),
    }
}
