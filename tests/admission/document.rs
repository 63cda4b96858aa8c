//! Every rule through kubectl where the webhook judges alone, and the table of the rules as a document.

use crate::bare::{bare, refused};
use crate::rules::{Ask, Row, table, things, try_all};
use anyhow::{Context, Result, ensure};
use serde_json::Value;

#[tokio::test]
async fn every_rule_accepts_and_refuses_what_the_document_says() -> Result<()> {
    let admin = bare().await?.plane.kubectl();
    things::set_up(&admin).await?;
    let wrong = try_all(&admin, |row, said| refused(said, row.message)).await?;
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

/// `docs/admission.md` is made of the table; `ICHOR_GENERATE=1` writes it.
#[test]
fn the_document_is_the_table() -> Result<()> {
    let path = ichor_ground::paths::workspace().join("docs/admission.md");
    let want = text();
    if std::env::var_os("ICHOR_GENERATE").is_some() {
        std::fs::write(&path, &want)?;
    }
    let stored = std::fs::read_to_string(&path).context("docs/admission.md")?;
    ensure!(
        stored == want,
        "docs/admission.md is not the table: ICHOR_GENERATE=1 cargo test --test admission the_document"
    );
    Ok(())
}

const HEAD: &str = "# What admission accepts and refuses

The rules of Ichor's webhook by kind, each with an example that is accepted, one that is refused, and what the refusal
says. Every row is tried through kubectl on a real API server (`tests/admission/rules`), and this page is written from
the same table: `ICHOR_GENERATE=1 cargo test --test admission the_document`.

*create* means the example above the table, with the change merged in; *editor* is somebody who may write every object of
Ichor and holds none of its verbs; *bob* holds every right. Where the CRD or a policy says a rule as well (it then holds
with the webhook down), the API server answers first, in those words. A change of metadata alone is admitted without any
of this; immutable fields are compared always, also while an object terminates.

There are machines cp-1 (`4c4c4544-…`, configured), worker-1 (`…135`, not configured, with the static address
10.50.0.44), new-1 (`…134`), wiped-1 (`…136`) and a second worker-1 (`…137`), which wait for approval, all of cluster prod; a reclaim `running` at wiped-1's address; operations `reboot-1`
and `restore-1` (which has started); a Secret `junk`; a cluster `zero` without machines.
";

/// The document.
fn text() -> String {
    let mut text = HEAD.to_owned();
    let mut kind = "";
    for row in table::all() {
        if row.kind != kind {
            kind = row.kind;
            text.push_str(&section(kind));
        }
        text.push_str(&line(&row));
    }
    text + &crate::beside::text()
}

fn section(kind: &str) -> String {
    let spec = serde_json::to_string_pretty(&things::example(kind)["spec"]).unwrap_or_default();
    format!(
        "\n## {kind}\n\n```json\n{spec}\n```\n\n| rule | accepted | refused | message |\n|---|---|---|---|\n"
    )
}

fn line(row: &Row) -> String {
    let Row {
        rule,
        accepted,
        refused,
        message,
        first,
        ..
    } = row;
    let first = first.map(|words| format!(" (first: {words})"));
    let message = cell(&format!("{message}{}", first.unwrap_or_default()));
    format!(
        "| {rule} | {} | {} | {message} |\n",
        asked(accepted),
        asked(refused)
    )
}

fn asked(what: &Ask) -> String {
    match what {
        Ask::As(who, what) => {
            let who = who[0].trim_start_matches("--as=");
            format!("{}, as {who}", asked(what))
        }
        Ask::Create(change) if change.as_object().is_some_and(serde_json::Map::is_empty) => {
            "create".to_owned()
        }
        Ask::Create(change) => format!("create with {}", json(change)),
        Ask::Patch(name, change) => format!("patch {name} with {}", json(change)),
        Ask::Delete(name) => format!("delete {name}"),
    }
}

fn json(change: &Value) -> String {
    format!("`{}`", cell(&change.to_string()))
}

/// A text as it may stand in a cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
