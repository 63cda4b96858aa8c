//! One trace for each request, from admission to the call of the machine.

use crate::seen;
use anyhow::{Context, Result, ensure};
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use std::collections::BTreeSet;

fn attribute<'a>(span: &'a Span, key: &str) -> Option<&'a str> {
    let found = span.attributes.iter().find(|one| one.key == key)?;
    match found.value.as_ref()?.value.as_ref()? {
        Value::StringValue(text) => Some(text),
        _ => None,
    }
}

/// The spans of the trace whose ID is that of the request.
fn trace<'a>(spans: &'a [Span], request: &str) -> Result<Vec<&'a Span>> {
    let request = request.replace('-', "");
    let bytes = (0..request.len()).step_by(2);
    let id: Vec<u8> = bytes
        .map(|at| u8::from_str_radix(&request[at..at + 2], 16))
        .collect::<Result<_, _>>()?;
    Ok(spans.iter().filter(|span| span.trace_id == id).collect())
}

#[tokio::test]
async fn one_trace_leads_from_admission_to_the_talos_call() -> Result<()> {
    let seen = seen().await?;
    let [created, confirmed] = &seen.requests;
    ensure!(created != confirmed);
    for (request, method, absent) in [(created, "Version", "Reset"), (confirmed, "Reset", "")] {
        let spans = trace(&seen.spans, request)?;
        let names: BTreeSet<&str> = spans.iter().map(|span| span.name.as_str()).collect();
        ensure!(
            names == BTreeSet::from(["admission", "reclaim", "talos call", "talos dial"]),
            "{names:?}"
        );
        let webhooks: BTreeSet<_> = spans
            .iter()
            .filter_map(|span| attribute(span, "webhook"))
            .collect();
        ensure!(webhooks.len() == 2, "mutating and validating: {webhooks:?}");
        let methods: BTreeSet<_> = spans
            .iter()
            .filter_map(|span| attribute(span, "method"))
            .collect();
        ensure!(
            methods.contains(method) && !methods.contains(absent),
            "{methods:?}"
        );
        for span in spans.iter().filter(|span| span.name.starts_with("talos")) {
            let parent = spans
                .iter()
                .find(|other| other.span_id == span.parent_span_id);
            let parent = parent.with_context(|| format!("{} has no parent", span.name))?;
            ensure!(parent.name == "reclaim", "{} in {}", span.name, parent.name);
            ensure!(attribute(span, "class").is_some() && attribute(span, "address").is_some());
        }
        for span in spans.iter().filter(|span| !span.name.starts_with("talos")) {
            ensure!(attribute(span, "request_id") == Some(request.as_str()));
        }
    }
    Ok(())
}

/// A dial that fails is a span with an error.
#[tokio::test]
async fn a_failure_is_seen_in_the_trace() -> Result<()> {
    let seen = seen().await?;
    let failed: Vec<_> = seen
        .spans
        .iter()
        .filter(|span| span.name.starts_with("talos"))
        .filter(|span| attribute(span, "class") != Some("ok"))
        .collect();
    ensure!(
        !failed.is_empty(),
        "the machine reboots, so some dials fail"
    );
    for span in failed {
        let code = span.status.as_ref().map(|status| status.code);
        ensure!(code == Some(2), "{span:?}");
    }
    Ok(())
}
