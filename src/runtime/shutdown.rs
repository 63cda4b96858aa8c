//! The signals that end the process gracefully.

use tokio::signal::unix::{SignalKind, signal};

/// Completes on SIGTERM or SIGINT.
///
/// # Errors
/// When the process may not listen for signals.
pub fn requested() -> std::io::Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        tracing::info!("told to stop");
    })
}
