//! A thousand slow clients and nothing else: whom a server drops and when, and how a new client fares meanwhile.

use crate::connect::{Dialler, Target, uri};
use crate::figures::quantile;
use crate::load::allowed;
use crate::review;
use crate::slow::{Crowd, Fared};
use anyhow::Result;
use bytes::Bytes;
use http_body_util::Full;
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// How long an API server waits for a webhook.
pub const PATIENCE: Duration = Duration::from_secs(5);
/// Between two new clients.
const DISTANCE: Duration = Duration::from_secs(1);

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    /// Path of a webhook.
    #[arg(long)]
    path: String,
    /// Slow clients.
    #[arg(long)]
    slow: usize,
    /// Seconds that they are watched.
    #[arg(long)]
    seconds: u64,
}

/// How everybody fared.
#[derive(Debug, Deserialize, Serialize)]
pub struct Held {
    /// The slow clients, by what they do.
    pub slow: Vec<Fared>,
    /// New clients that came with one review each.
    pub new: usize,
    /// How many of them were answered within [`PATIENCE`].
    pub answered: usize,
    /// Half of those were answered faster, connection included.
    pub p50: Duration,
}

/// Holds, and prints a [`Held`].
pub async fn hold(args: Args) -> Result<()> {
    let dialler = Dialler::new(&args.target)?;
    let body = Bytes::from(review::body(&args.path)?);
    let begin = Instant::now();
    let crowd = Crowd::gather(&dialler, args.slow, &args.path).await?;
    let mut clients = tokio::task::JoinSet::new();
    while begin.elapsed() + PATIENCE < Duration::from_secs(args.seconds) {
        let (dialler, body, uri) = (dialler.clone(), body.clone(), uri(&args.path)?);
        clients.spawn(async move {
            let begin = Instant::now();
            let first = async {
                let (mut sender, _) = dialler.http2::<Full<Bytes>>().await?;
                allowed(&mut sender, uri, body).await
            };
            let answered = tokio::time::timeout(PATIENCE, first).await;
            matches!(answered, Ok(Ok(()))).then(|| begin.elapsed())
        });
        tokio::time::sleep(DISTANCE).await;
    }
    let waited = clients.join_all().await;
    let new = waited.len();
    let mut waited: Vec<Duration> = waited.into_iter().flatten().collect();
    waited.sort_unstable();
    let held = Held {
        slow: crowd.fared(),
        new,
        answered: waited.len(),
        p50: quantile(&waited, 500),
    };
    println!("{}", serde_json::to_string(&held)?);
    Ok(())
}
