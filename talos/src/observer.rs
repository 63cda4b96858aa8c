//! Who is told how connections and calls ended, for metrics.

use crate::error::{Class, TalosError};
use std::time::Duration;
use tracing::Span;

/// Told how connections and calls ended. Nothing waits for it.
pub trait Observer: Send + Sync + 'static {
    /// A call of `method` ended after `took`; with an error of this class, if with one.
    fn call(&self, method: &'static str, error: Option<Class>, took: Duration);

    /// Connecting to a machine ended after `took`; with an error of this class, if with one.
    fn dial(&self, error: Option<Class>, took: Duration);
}

/// Nobody counts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unobserved;

impl Observer for Unobserved {
    fn call(&self, _: &'static str, _: Option<Class>, _: Duration) {}

    fn dial(&self, _: Option<Class>, _: Duration) {}
}

/// Writes on the span how the work in it ended, and gives the class.
pub(crate) fn tell(span: &Span, error: Option<&TalosError>) -> Option<Class> {
    let class = error.map(TalosError::class);
    span.record("class", Class::name(class));
    if class.is_some() {
        span.record("otel.status_code", "ERROR");
    }
    class
}
