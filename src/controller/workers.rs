//! The workers of a reconciler: a bounded number of them take keys from a queue. A panic in one ends the process
//! (FAULTS 34); an error is tried again with a pause that grows per object.

use crate::runtime::clock;
use crate::runtime::metrics::Metrics;
use crate::runtime::queue::Queue;
use std::collections::HashMap;
use std::fmt::Display;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// First pause after an error; it doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// Longest pause.
const LONGEST_PAUSE: Duration = Duration::from_mins(5);
/// How often everything is looked at that nothing enqueued (DESIGN section 18, decision 7).
pub const RESYNC: Duration = Duration::from_hours(10);

/// What a reconciler is.
#[derive(Clone, Debug)]
pub struct Crew {
    /// Name of the controller, for logs and metrics.
    pub name: &'static str,
    /// Number of workers.
    pub size: u16,
    /// Where keys come from.
    pub queue: Arc<Queue<String>>,
    /// Metrics.
    pub metrics: Metrics,
}

/// Works until `stop`; what is under way then is finished.
///
/// # Errors
/// When a worker ended by itself: it panicked.
pub async fn run<F, Fut, E>(crew: Crew, reconcile: F, stop: CancellationToken) -> anyhow::Result<()>
where
    F: Fn(String) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Result<Option<Duration>, E>> + Send + 'static,
    E: Display + Send + 'static,
{
    crew.metrics.workers(crew.name, crew.size);
    crew.metrics.queue(crew.name, Arc::clone(&crew.queue));
    let failures = Arc::new(Failures::default());
    let mut workers = JoinSet::new();
    for _ in 0..crew.size {
        let (crew, reconcile) = (crew.clone(), reconcile.clone());
        let (failures, stop) = (Arc::clone(&failures), stop.clone());
        workers.spawn(async move {
            loop {
                let (key, waited) = tokio::select! {
                    () = stop.cancelled() => return,
                    taken = crew.queue.take() => taken,
                };
                crew.metrics.begin(crew.name, waited);
                let again = once(&crew, &failures, &key, reconcile(key.clone())).await;
                crew.queue.done(key, again);
            }
        });
    }
    while let Some(ended) = workers.join_next().await {
        ended.map_err(|error| anyhow::anyhow!("a worker of {} ended: {error}", crew.name))?;
    }
    Ok(())
}

/// One reconcile; gives when the object is due again, and nothing for one that is gone.
async fn once<E: Display>(
    crew: &Crew,
    failures: &Failures,
    key: &str,
    work: impl Future<Output = Result<Option<Duration>, E>>,
) -> Option<Duration> {
    let begun = clock::monotonic();
    let outcome = work.await;
    let took = clock::monotonic().saturating_duration_since(begun);
    let (result, again) = match outcome {
        Ok(again) => {
            failures.clear(key);
            let result = if again.is_some() {
                "requeue_after"
            } else {
                "success"
            };
            (
                result,
                again.map(|again| {
                    if again >= RESYNC {
                        jittered(again)
                    } else {
                        again
                    }
                }),
            )
        }
        Err(error) => {
            let pause = jittered(failures.pause(key));
            tracing::warn!(controller = crew.name, object = key, %error, retry_ms = pause.as_millis(), "a reconcile failed");
            ("error", Some(pause))
        }
    };
    crew.metrics.end(crew.name, result, took);
    again
}

/// Failures in a row, per object.
#[derive(Debug, Default)]
struct Failures(Mutex<HashMap<String, u32>>);

impl Failures {
    fn clear(&self, key: &str) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(key);
    }

    fn pause(&self, key: &str) -> Duration {
        let mut failures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = failures.entry(key.to_owned()).or_default();
        *count = count.saturating_add(1);
        FIRST_PAUSE
            .saturating_mul(2_u32.saturating_pow(*count - 1))
            .min(LONGEST_PAUSE)
    }
}

/// Up to a tenth more, so that what failed together is not tried together.
fn jittered(pause: Duration) -> Duration {
    pause + pause.mul_f64(rand::random_range(0.0..0.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_per_object_and_end_with_a_success() {
        let failures = Failures::default();
        assert_eq!(failures.pause("a"), FIRST_PAUSE);
        assert_eq!(failures.pause("a"), FIRST_PAUSE * 2);
        assert_eq!(failures.pause("b"), FIRST_PAUSE);
        failures.clear("a");
        assert_eq!(failures.pause("a"), FIRST_PAUSE);
        for _ in 0..40 {
            assert!(failures.pause("a") <= LONGEST_PAUSE);
        }
    }

    #[tokio::test]
    async fn faults_34_a_panic_in_a_reconcile_ends_the_crew() {
        let crew = Crew {
            name: "test",
            size: 2,
            queue: Arc::new(Queue::default()),
            metrics: Metrics::register(&mut prometheus_client::registry::Registry::default()),
        };
        crew.queue.add("a".to_owned());
        let work = |_key: String| async {
            assert!(std::hint::black_box(false), "on purpose");
            Ok::<_, std::io::Error>(None)
        };
        let ended = tokio::time::timeout(
            Duration::from_secs(5),
            run(crew, work, CancellationToken::new()),
        )
        .await;
        assert!(ended.expect("in time").is_err());
    }
}
