//! Structured logs (DESIGN section 15), on standard error.

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt;

/// Starts logging: JSON objects or lines for people.
///
/// # Errors
/// When the filter cannot be read or logging was started before.
pub fn start(json: bool, filter: &str) -> anyhow::Result<()> {
    let filter = EnvFilter::try_new(filter)
        .map_err(|error| anyhow::anyhow!("--log-filter {filter:?} cannot be read: {error}"))?;
    let builder = fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let started = if json {
        builder
            .json()
            .flatten_event(true)
            .with_current_span(true)
            .try_init()
    } else {
        builder.with_ansi(false).try_init()
    };
    started.map_err(|error| anyhow::anyhow!("logging cannot be started: {error}"))
}
