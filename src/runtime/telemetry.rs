//! Structured logs on standard error, and traces to a collector (DESIGN section 15). Which logs are written can be
//! changed while the process runs, by a file: a port for it would be one more thing that anybody in reach could use.

mod export;
mod request;

use anyhow::Context as _;
use opentelemetry_sdk::trace::SdkTracerProvider;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio_util::sync::CancellationToken;
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Registry, fmt, reload};

/// How often the file with the filter is read.
const REREAD: Duration = Duration::from_secs(5);
/// Longest filter.
const LONGEST: u64 = 4096;
/// How long the last spans may take to leave: the process ends without them after that.
const FLUSH: Duration = Duration::from_secs(2);

/// What is logged and traced.
#[derive(Clone, Debug)]
pub struct Settings {
    /// JSON objects, or lines for people.
    pub json: bool,
    /// Which logs are written.
    pub filter: String,
    /// File whose content counts in place of `filter` while it is there.
    pub filter_file: Option<PathBuf>,
    /// The collector of traces; none is asked for without it.
    pub otlp_endpoint: Option<String>,
}

/// What was started.
#[derive(Debug)]
pub struct Telemetry {
    filter: LogFilter,
    traces: Option<SdkTracerProvider>,
}

/// Starts logging and, where an endpoint is given, tracing; called inside the runtime that sends the spans.
///
/// # Errors
/// When a setting cannot be used, or logging was started before.
pub fn start(settings: Settings) -> anyhow::Result<Telemetry> {
    let filter = parse(&settings.filter).context("--log-filter")?;
    let (filter, handle) = reload::Layer::new(filter);
    let lines = fmt::layer().with_writer(std::io::stderr);
    let lines = if settings.json {
        let json = lines.json().flatten_event(true).with_current_span(true);
        json.boxed()
    } else {
        lines.with_ansi(false).boxed()
    };
    let traces = settings.otlp_endpoint.as_deref().map(export::provider);
    let traces = traces.transpose().context("--otlp-endpoint")?;
    let started = tracing_subscriber::registry()
        .with(lines.with_filter(filter))
        .with(traces.as_ref().map(export::layer))
        .try_init();
    started.map_err(|error| anyhow::anyhow!("logging cannot be started: {error}"))?;
    Ok(Telemetry {
        filter: LogFilter {
            handle,
            usual: settings.filter,
            file: settings.filter_file,
        },
        traces,
    })
}

impl Telemetry {
    /// What changes the filter of the logs.
    pub fn filter(&self) -> LogFilter {
        self.filter.clone()
    }

    /// Sends the spans that are left, for a moment at most.
    pub fn flush(self) {
        let Some(traces) = self.traces else { return };
        if let Err(error) = traces.shutdown_with_timeout(FLUSH) {
            tracing::warn!(%error, "the last spans did not reach the collector");
        }
    }
}

fn parse(filter: &str) -> anyhow::Result<EnvFilter> {
    EnvFilter::try_new(filter).map_err(|error| {
        anyhow::anyhow!("{filter:?} is no level and no list such as \"info,ichor=debug\": {error}")
    })
}

/// The filter of the logs.
#[derive(Clone, Debug)]
pub struct LogFilter {
    handle: reload::Handle<EnvFilter, Registry>,
    usual: String,
    file: Option<PathBuf>,
}

impl LogFilter {
    /// Follows the file until `stop`. What cannot be read or understood changes nothing and is said once.
    ///
    /// # Errors
    /// None: a mistake in the file must not end the process.
    pub async fn follow(self, stop: CancellationToken) -> anyhow::Result<()> {
        let Some(file) = &self.file else {
            stop.cancelled().await;
            return Ok(());
        };
        let mut seen = self.usual.clone();
        let mut trouble = String::new();
        loop {
            match self.wanted(file).await {
                Ok(wanted) if wanted == seen => {}
                Ok(wanted) => {
                    match self.set(&wanted) {
                        Ok(()) => tracing::info!(filter = wanted, "the filter of the logs changed"),
                        Err(error) => tracing::warn!(
                            file = %file.display(), error = %format!("{error:#}"),
                            "the filter of the logs stays as it was"
                        ),
                    }
                    seen = wanted;
                    trouble.clear();
                }
                Err(error) => {
                    let told = error.to_string();
                    if told != trouble {
                        tracing::warn!(file = %file.display(), %error, "the filter of the logs cannot be read");
                        trouble = told;
                    }
                }
            }
            tokio::select! {
                () = stop.cancelled() => return Ok(()),
                () = tokio::time::sleep(REREAD) => {}
            }
        }
    }

    /// The content of the file; the flag's filter where there is no file, or nothing in it.
    async fn wanted(&self, file: &Path) -> std::io::Result<String> {
        let mut text = String::new();
        match tokio::fs::File::open(file).await {
            Ok(open) => {
                open.take(LONGEST).read_to_string(&mut text).await?;
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        Ok(match text.trim() {
            "" => self.usual.clone(),
            given => given.to_owned(),
        })
    }

    fn set(&self, filter: &str) -> anyhow::Result<()> {
        Ok(self.handle.reload(parse(filter)?)?)
    }
}
