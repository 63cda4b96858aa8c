//! The documents that name tests name tests that exist: a renamed or deleted test has to be noticed there. The document for
//! operators knows every metric and every alert, and no others.

use anyhow::{Result, ensure};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// All sources below `folder` with one of the endings, without what was built.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if path.is_dir() {
            if name != "target" && !name.starts_with('.') {
                sources(&path, found)?;
            }
        } else if path.extension().is_some_and(|kind| kind == "rs") || name.ends_with("_test.go") {
            found.push(path);
        }
    }
    Ok(())
}

/// The names of all tests, Rust and Go.
fn tests() -> Result<BTreeSet<String>> {
    let mut files = Vec::new();
    sources(&ichor_ground::paths::workspace(), &mut files)?;
    let mut names = BTreeSet::new();
    for file in files {
        let text = std::fs::read_to_string(&file)?;
        let mut is_test = false;
        for line in text.lines().map(str::trim_start) {
            let function = line.strip_prefix("async fn ").or(line.strip_prefix("fn "));
            let name = |text: &str| text.split('(').next().unwrap_or_default().to_owned();
            if line.starts_with("#[test]") || line.starts_with("#[tokio::test") {
                is_test = true;
            } else if let Some(function) = function {
                if is_test {
                    names.insert(name(function));
                }
                is_test = false;
            } else if let Some(function) = line.strip_prefix("func Test") {
                names.insert(format!("Test{}", name(function)));
            }
        }
    }
    Ok(names)
}

/// Whether a word in backticks is meant as the name of a test.
fn is_name(word: &str) -> bool {
    let rust = word.matches('_').count() >= 2
        && word
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    let go = word.strip_prefix("Test").is_some_and(|rest| {
        rest.starts_with(|c: char| c.is_ascii_uppercase())
            && rest.chars().all(char::is_alphanumeric)
    });
    rust || go
}

#[test]
fn every_row_of_records_and_security_names_a_test_that_exists_or_what_it_waits_for() -> Result<()> {
    let known = tests()?;
    for (document, rows_at_least) in [("docs/records.md", 40), ("docs/security.md", 30)] {
        let text = std::fs::read_to_string(ichor_ground::paths::workspace().join(document))?;
        let rows = text.lines().filter(|line| {
            line.starts_with("| ") && !line.ends_with("| test |") && !line.starts_with("|---")
        });
        let mut count = 0;
        for row in rows {
            count += 1;
            let last = row
                .trim_end_matches(" |")
                .rsplit(" | ")
                .next()
                .unwrap_or_default();
            let names: Vec<&str> = last
                .split('`')
                .skip(1)
                .step_by(2)
                .filter(|word| is_name(word))
                .collect();
            ensure!(
                !names.is_empty() || last.contains("waits for"),
                "{document}: no test in {row:?}"
            );
            for name in names {
                ensure!(
                    known.contains(name),
                    "{document} names {name}, and there is no such test"
                );
            }
        }
        ensure!(
            count >= rows_at_least,
            "{document}: only {count} rows were read"
        );
    }
    Ok(())
}

/// What stands between `before` and `after`, wherever it does.
fn between<'a>(text: &'a str, before: &str, after: char) -> BTreeSet<&'a str> {
    let found = text.split(before).skip(1);
    found
        .filter_map(|rest| Some(rest.split_once(after)?.0))
        .collect()
}

/// Types, labels and meaning are compared with a running process in tests/observability.
#[test]
fn operations_names_every_metric_and_every_alert_and_no_others() -> Result<()> {
    let root = ichor_ground::paths::workspace();
    let operations = std::fs::read_to_string(root.join("docs/operations.md"))?;
    let mut files = Vec::new();
    sources(&root.join("src"), &mut files)?;
    sources(&root.join("webhook/src"), &mut files)?;
    let mut registered = BTreeSet::new();
    for file in files {
        let text = std::fs::read_to_string(file)?;
        for call in text.split(".register(").skip(1) {
            let name = call.trim_start().strip_prefix('"');
            registered.extend(name.and_then(|rest| Some(rest.split_once('"')?.0.to_owned())));
        }
    }
    let metrics = operations.split("## Metrics").nth(1).unwrap_or_default();
    let metrics = metrics.split("## Alerts").next().unwrap_or_default();
    let suffix = |name: &str| {
        let base = name.strip_suffix("_total").or(name.strip_suffix("_info"));
        base.unwrap_or(name).to_owned()
    };
    let documented = between(metrics, "\n| `", '`').into_iter().map(suffix);
    let documented: BTreeSet<String> = documented.collect();
    ensure!(registered.len() > 30, "only {registered:?} were found");
    let differ: Vec<_> = registered.symmetric_difference(&documented).collect();
    ensure!(
        differ.is_empty(),
        "only in the sources or in the document: {differ:?}"
    );

    let rules = std::fs::read_to_string(root.join("manifests/monitoring/alerts.yaml"))?;
    let (alerts, remedies) = (
        between(&rules, "- alert: ", '\n'),
        between(&operations, "\n### Ichor", '\n'),
    );
    let remedies: BTreeSet<String> = remedies
        .into_iter()
        .map(|name| format!("Ichor{name}"))
        .collect();
    let alerts: BTreeSet<String> = alerts.into_iter().map(str::to_owned).collect();
    ensure!(
        !alerts.is_empty() && alerts == remedies,
        "{alerts:?} have the remedies {remedies:?}"
    );
    Ok(())
}
