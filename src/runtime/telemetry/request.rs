//! One trace for each request: the request ID is a UUID, and so is a trace ID, so that everything that was done for a
//! request, by whichever replica and after whichever restart, is found by the ID that the object carries.

use opentelemetry::trace::{
    SpanBuilder, SpanContext, SpanId, TraceContextExt as _, TraceFlags, TraceId, TraceState, Tracer,
};
use opentelemetry::{Context, Value};

/// The field of a span that names its request.
const REQUEST_ID: &str = "request_id";

/// A tracer by which a span with a request ID, and nothing around it, belongs to the trace of that ID.
#[derive(Clone, Debug)]
pub(super) struct ByRequest<T>(pub(super) T);

impl<T: Tracer> Tracer for ByRequest<T> {
    type Span = T::Span;

    fn build_with_context(&self, builder: SpanBuilder, parent: &Context) -> Self::Span {
        let origin = if parent.span().span_context().is_valid() {
            None
        } else {
            named(&builder).and_then(origin)
        };
        match origin {
            Some(origin) => {
                let parent = parent.with_remote_span_context(origin);
                self.0.build_with_context(builder, &parent)
            }
            None => self.0.build_with_context(builder, parent),
        }
    }
}

fn named(builder: &SpanBuilder) -> Option<&str> {
    let mut attributes = builder.attributes.iter().flatten();
    match &attributes.find(|one| one.key.as_str() == REQUEST_ID)?.value {
        Value::String(id) => Some(id.as_str()),
        _ => None,
    }
}

/// The request itself, as the span that all others come from: nobody sends it, and its ID is the first half of the trace's.
fn origin(request_id: &str) -> Option<SpanContext> {
    let hex = request_id.replace('-', "");
    if hex.len() != 32 {
        return None;
    }
    let trace = TraceId::from_hex(&hex).ok()?;
    let span = SpanId::from_hex(hex.get(..16)?).ok()?;
    let state = TraceState::default();
    Some(SpanContext::new(
        trace,
        span,
        TraceFlags::SAMPLED,
        true,
        state,
    ))
    .filter(SpanContext::is_valid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_id_is_a_trace_id_and_nothing_else_is() {
        for (id, want) in [
            (
                "5f8f6c0e-2d1f-4f0a-9c53-0a5b3d7c9e11",
                Some("5f8f6c0e2d1f4f0a9c530a5b3d7c9e11"),
            ),
            ("00000000-0000-0000-0000-000000000000", None),
            ("5f8f6c0e-2d1f-4f0a-9c53", None),
            ("not a UUID, and as long as one is..", None),
            ("", None),
        ] {
            let trace = origin(id).map(|origin| origin.trace_id().to_string());
            assert_eq!(trace.as_deref(), want, "{id}");
        }
    }
}
