//! The accept loop, and the drain at its end.

use super::guests::{Guest, Guests};
use super::{ServeError, Shared, connection};
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinError, JoinSet};

/// First pause after a failed accept; doubled up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(10);
/// Longest pause after failed accepts, as when file descriptors run out.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

enum Next {
    Accepted(io::Result<TcpStream>),
    Slot(Guest),
}

/// Accepts connections until `stop` is ready or a connection's task panicked.
pub(super) async fn accept(
    listener: &TcpListener,
    guests: &Guests,
    shared: &Arc<Shared>,
    connections: &mut JoinSet<()>,
    stop: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    tokio::pin!(stop);
    let mut pause = FIRST_PAUSE;
    let mut accepted = 0;
    // Accepted, and without a slot so far; the others stay in the backlog.
    let mut waiting: Option<TcpStream> = None;
    loop {
        let next = async {
            if waiting.is_some() {
                Next::Slot(guests.slot(accepted).await)
            } else {
                Next::Accepted(listener.accept().await.map(|(stream, _peer)| stream))
            }
        };
        tokio::select! {
            () = &mut stop => return Ok(()),
            Some(ended) = connections.join_next() => supervised(ended)?,
            next = next => match next {
                Next::Accepted(Ok(stream)) => {
                    pause = FIRST_PAUSE;
                    accepted += 1;
                    waiting = Some(stream);
                }
                Next::Slot(guest) => if let Some(stream) = waiting.take() {
                    let shared = Arc::clone(shared);
                    connections.spawn(async move { connection::run(stream, &shared, guest).await });
                },
                Next::Accepted(Err(error)) if is_of_one_connection(&error) => {}
                Next::Accepted(Err(error)) => {
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
