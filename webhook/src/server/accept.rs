//! The accept loop, and the drain at its end.

use super::{ServeError, Shared, connection};
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::{JoinError, JoinSet};

/// First pause after a failed accept; doubled up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(10);
/// Longest pause after failed accepts, as when file descriptors run out.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// Accepts connections until `stop` is ready or a connection's task panicked.
pub(super) async fn accept(
    listener: &TcpListener,
    slots: &Arc<Semaphore>,
    shared: &Arc<Shared>,
    connections: &mut JoinSet<()>,
    stop: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    tokio::pin!(stop);
    let mut pause = FIRST_PAUSE;
    loop {
        let next = async {
            // The slot comes first: a connection that cannot be served stays in the backlog.
            let slot = Arc::clone(slots).acquire_owned().await;
            (slot, listener.accept().await)
        };
        tokio::select! {
            () = &mut stop => return Ok(()),
            Some(ended) = connections.join_next() => supervised(ended)?,
            (slot, accepted) = next => match accepted {
                Ok((stream, _peer)) => {
                    pause = FIRST_PAUSE;
                    let shared = Arc::clone(shared);
                    connections.spawn(async move {
                        let _slot = slot;
                        connection::run(stream, &shared).await;
                    });
                }
                Err(error) if is_of_one_connection(&error) => {}
                Err(error) => {
                    tracing::warn!(%error, pause_ms = pause.as_millis(), "accept failed");
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
            },
        }
    }
}

/// Waits for the connections to finish; what is left after `limit` is cut off.
pub(super) async fn drain(
    connections: &mut JoinSet<()>,
    limit: Duration,
) -> Result<(), ServeError> {
    let all = async {
        while let Some(ended) = connections.join_next().await {
            supervised(ended)?;
        }
        Ok(())
    };
    if let Ok(result) = tokio::time::timeout(limit, all).await {
        return result;
    }
    tracing::warn!(
        left = connections.len(),
        "connections did not finish in time and are cut off"
    );
    connections.shutdown().await;
    Ok(())
}

/// A panic is passed on; a cancelled task is one that was cut off.
fn supervised(ended: Result<(), JoinError>) -> Result<(), ServeError> {
    match ended {
        Err(error) if error.is_panic() => Err(ServeError::Connection(error)),
        _ => Ok(()),
    }
}

/// Whether the failure is that of the connection which was to be accepted, and not of the listener.
fn is_of_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionRefused
    )
}
