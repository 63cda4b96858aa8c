//! The text that Prometheus scrapes, read as strictly as its own parser does (OpenMetrics 1.0).

use anyhow::{Context, Result, bail, ensure};
use std::collections::{BTreeMap, BTreeSet};

/// A metric, by the name of its samples.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metric {
    pub kind: String,
    pub labels: BTreeSet<String>,
}

/// Metrics by name; a counter has its suffix `_total`, an info `_info`, a histogram none.
pub fn read(text: &str) -> Result<BTreeMap<String, Metric>> {
    ensure!(text.ends_with("# EOF\n"), "the end is missing");
    let mut metrics: BTreeMap<String, Metric> = BTreeMap::new();
    let (mut family, mut kind) = (String::new(), String::new());
    let mut series = BTreeSet::new();
    for line in text.lines().filter(|line| *line != "# EOF") {
        if let Some(declared) = line.strip_prefix("# TYPE ") {
            let (name, of) = declared.split_once(' ').context("no type")?;
            let new = name.to_owned();
            ensure!(new != family && !metrics.contains_key(name), "{name} twice");
            (family, kind) = (new, of.to_owned());
        } else if line.starts_with("# HELP ") {
            ensure!(
                line.splitn(4, ' ')
                    .nth(3)
                    .is_some_and(|help| help.ends_with('.')),
                "{line}"
            );
        } else {
            let (id, value) = line.rsplit_once(' ').with_context(|| line.to_owned())?;
            let value: f64 = value.parse().with_context(|| line.to_owned())?;
            ensure!(series.insert(id.to_owned()), "{id} twice");
            let (name, labels) = id.split_once('{').unwrap_or((id, "}"));
            let suffix = name
                .strip_prefix(&family)
                .with_context(|| format!("{name} in {family}"))?;
            let shown = match (kind.as_str(), suffix) {
                ("counter", "_total") | ("info", "_info") | ("gauge", "") => name.to_owned(),
                ("histogram", "_bucket" | "_sum" | "_count") => family.clone(),
                _ => bail!("{name} is no sample of {kind} {family}"),
            };
            ensure!(kind == "gauge" || value >= 0.0, "{line}");
            let mut labels = names(labels).with_context(|| line.to_owned())?;
            ensure!(labels.remove("le") == (suffix == "_bucket"), "{line}");
            let metric = metrics.entry(shown).or_default();
            metric.kind.clone_from(&kind);
            metric.labels.extend(labels);
        }
    }
    Ok(metrics)
}

/// The names of labels such as `a="b",c="d"}`.
fn names(mut text: &str) -> Option<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    while text != "}" {
        let (name, rest) = text.split_once("=\"")?;
        let end = ends(rest)?;
        names.insert(name.to_owned());
        text = &rest[end + 1..];
        text = text.strip_prefix(',').unwrap_or(text);
    }
    Some(names)
}

/// Where a quoted value ends.
fn ends(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.char_indices().find_map(|(at, c)| {
        let end = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        end.then_some(at)
    })
}

#[test]
fn what_prometheus_would_not_take_is_told() {
    let good = "# HELP a_b Help.\n# TYPE a_b counter\na_b_total{c=\"d\\\"}\",e=\"\"} 1\n# EOF\n";
    let read_good = read(good).expect("well-formed");
    assert_eq!(read_good["a_b_total"].labels.len(), 2);
    for (from, to) in [
        ("# EOF\n", ""),
        ("a_b_total", "a_b"),
        ("a_b_total", "b_a_total"),
        (" 1\n", " one\n"),
        (" 1\n", " -1\n"),
        ("\"\"} 1\n", "\"} 1\n"),
        (" counter", " gauge"),
    ] {
        assert!(read(&good.replace(from, to)).is_err(), "{from:?} as {to:?}");
    }
}
