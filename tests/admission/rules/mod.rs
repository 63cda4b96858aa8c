//! Every rule of admission with an example that is accepted, one that is refused, and what the refusal says: tried through
//! kubectl on a real API server, and written down in `docs/admission.md`, which is this table.

mod clusters;
mod document;
mod others;
mod table;
mod things;

use crate::bare::{accepted, bare, refused};
use anyhow::{Context, Result};
use ichor_ground::Kubectl;
use ichor_ground::controller::NAMESPACE;
use ichor_ground::kubectl::Said;
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
    }
}

/// Asks without effect: a dry run is judged in full.
async fn ask(admin: &Kubectl, kind: &str, what: &Ask, flags: &[&str]) -> Result<Said> {
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
        Ask::Patch(name, change) => {
            let text = change.to_string();
            let args = [
                "patch",
                kind,
                name,
                "-n",
                NAMESPACE,
                "--type=merge",
                "-p",
                &text,
            ];
            admin.try_run(&[&args, &dry[..]].concat()).await
        }
        Ask::Delete(name) => {
            let args = ["delete", kind, name, "-n", NAMESPACE];
            admin.try_run(&[&args, &dry[..]].concat()).await
        }
    }
}

#[tokio::test]
async fn every_rule_accepts_and_refuses_what_the_document_says() -> Result<()> {
    let admin = bare().await?.plane.kubectl();
    things::set_up(&admin).await?;
    let mut wrong = Vec::new();
    for Row {
        kind,
        rule,
        accepted: good,
        refused: bad,
        message,
    } in table::all()
    {
        let said = ask(&admin, kind, &good, &[]).await?;
        if let Err(error) = accepted(&said) {
            wrong.push(format!("{kind}, {rule}: {error}"));
        }
        let said = ask(&admin, kind, &bad, &[]).await?;
        if let Err(error) = refused(&said, message) {
            wrong.push(format!("{kind}, {rule}: {error}"));
        }
    }
    anyhow::ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

/// `docs/admission.md` is made of the table; `ICHOR_GENERATE=1` writes it.
#[test]
fn the_document_is_the_table() -> Result<()> {
    let path = ichor_ground::paths::workspace().join("docs/admission.md");
    let want = document::text();
    if std::env::var_os("ICHOR_GENERATE").is_some() {
        std::fs::write(&path, &want)?;
    }
    let text = std::fs::read_to_string(&path).context("docs/admission.md")?;
    anyhow::ensure!(
        text == want,
        "docs/admission.md is not the table: ICHOR_GENERATE=1 cargo test --test admission the_document"
    );
    Ok(())
}

/// A change of the spec.
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
