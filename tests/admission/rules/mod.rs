//! Every rule of admission with an example that is accepted, one that is refused, and what the refusal says: tried through
//! kubectl on a real API server, and written down in `docs/admission.md`, which is this table. The conformance suite
//! (tests/conformance) tries the same with everything in place that the chart installs.

mod clusters;
mod others;
pub mod people;
pub mod table;
pub mod things;

use anyhow::Result;
use futures::stream::{self, StreamExt, TryStreamExt};
use ichor_ground::Kubectl;
use ichor_ground::controller::NAMESPACE;
use ichor_ground::kubectl::Said;
use people::accepted;
use serde_json::{Value, json};

/// What somebody asks for. A change is a JSON merge patch.
pub enum Ask {
    /// To create the example of the kind with a change.
    Create(Value),
    /// To change the object of this name.
    Patch(&'static str, Value),
    /// To delete the object of this name.
    Delete(&'static str),
    /// The same, asked by somebody who has role and no verb.
    As(&'static [&'static str], Box<Ask>),
}

/// A rule.
pub struct Row {
    /// The kind it is about.
    pub kind: &'static str,
    /// The rule in words.
    pub rule: &'static str,
    /// What is accepted.
    pub accepted: Ask,
    /// What is refused.
    pub refused: Ask,
    /// What the refusal says.
    pub message: &'static str,
    /// What the API server says in its place where CRDs and policies are as they are installed.
    pub first: Option<&'static str>,
}

impl Row {
    /// A CRD or a policy holds the rule as well and answers first, in these words.
    pub fn first(mut self, words: &'static str) -> Self {
        self.first = Some(words);
        self
    }
}

pub fn row(
    kind: &'static str,
    rule: &'static str,
    accepted: Ask,
    refused: Ask,
    message: &'static str,
) -> Row {
    Row {
        kind,
        rule,
        accepted,
        refused,
        message,
        first: None,
    }
}

/// Asks without effect: a dry run is judged in full.
pub async fn ask(admin: &Kubectl, kind: &str, what: &Ask, flags: &[&str]) -> Result<Said> {
    let dry = [&["--dry-run=server"], flags].concat();
    match what {
        Ask::As(who, what) => Box::pin(ask(admin, kind, what, &[flags, who].concat())).await,
        Ask::Create(change) => {
            let mut object = things::example(kind);
            merge(&mut object, change);
            admin
                .pipe(
                    &[&["create", "-f", "-"], &dry[..]].concat(),
                    &object.to_string(),
                )
                .await
        }
        Ask::Patch(name, change) => admin.merge(kind, name, change, &dry).await,
        Ask::Delete(name) => {
            let args = ["delete", kind, name, "-n", NAMESPACE];
            admin.try_run(&[&args, &dry[..]].concat()).await
        }
    }
}

/// Tries every rule and tells what is not as the table says; `right` looks at a refusal.
pub async fn try_all(admin: &Kubectl, right: fn(&Row, &Said) -> Result<()>) -> Result<Vec<String>> {
    let tried = table::all()
        .into_iter()
        .map(async |row| -> Result<Vec<String>> {
            let said = ask(admin, row.kind, &row.accepted, &[]).await?;
            let good = accepted(&said);
            let said = ask(admin, row.kind, &row.refused, &[]).await?;
            let wrong = [good, right(&row, &said)]
                .into_iter()
                .filter_map(Result::err);
            Ok(wrong
                .map(|error| format!("{}, {}: {error}", row.kind, row.rule))
                .collect())
        });
    // Nothing is written, so they do not meet.
    let wrong: Vec<Vec<String>> = stream::iter(tried).buffered(4).try_collect().await?;
    Ok(wrong.concat())
}

/// A change of the spec.
#[allow(
    clippy::needless_pass_by_value,
    reason = "the change is written where it is given"
)]
pub fn spec(change: Value) -> Value {
    json!({"spec": change})
}

/// Carries out a JSON merge patch (RFC 7386).
fn merge(value: &mut Value, change: &Value) {
    let Value::Object(changes) = change else {
        *value = change.clone();
        return;
    };
    if !value.is_object() {
        *value = json!({});
    }
    for (key, change) in changes {
        match (change, value.as_object_mut()) {
            (Value::Null, Some(fields)) => drop(fields.remove(key)),
            _ => merge(&mut value[key], change),
        }
    }
}
