//! `/livez`, `/readyz` and `/metrics` over plain HTTP, for the kubelet and Prometheus.

use crate::runtime::metrics::{self, Metrics};
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use prometheus_client::registry::Registry;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// What the probes answer from.
#[derive(Clone, Debug)]
pub struct Admin {
    /// All metrics of the process.
    pub registry: Arc<Registry>,
    /// Those of them that are looked up when they are asked for.
    pub metrics: Metrics,
    /// Why the process is not ready; `Ok` when it is.
    pub ready: watch::Receiver<Result<(), String>>,
}

/// Serves until `stop`.
///
/// # Errors
/// When the listener fails.
pub async fn serve(
    listener: TcpListener,
    admin: Admin,
    stop: CancellationToken,
) -> anyhow::Result<()> {
    axum::serve(listener, router(admin))
        .with_graceful_shutdown(async move { stop.cancelled().await })
        .await?;
    Ok(())
}

/// The routes.
pub fn router(admin: Admin) -> Router {
    Router::new()
        .route("/livez", get(|| async { "ok" }))
        .route("/readyz", get(readyz))
        .route("/metrics", get(scrape))
        .with_state(admin)
}

async fn readyz(State(admin): State<Admin>) -> Response {
    match &*admin.ready.borrow() {
        Ok(()) => "ok".into_response(),
        Err(why) => (
            StatusCode::SERVICE_UNAVAILABLE,
            format!("not ready: {why}\n"),
        )
            .into_response(),
    }
}

async fn scrape(State(admin): State<Admin>) -> Response {
    const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    admin.metrics.refresh();
    match metrics::text(&admin.registry) {
        Ok(text) => ([(CONTENT_TYPE, OPEN_METRICS)], text).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}
