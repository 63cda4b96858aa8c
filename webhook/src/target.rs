//! Which machines of a cluster something is for: that the selector can select, and whether two targets meet.

use crate::field::FieldError;
use ichor_crds::{MachineSelector, MachineTarget};

/// Whether two targets have a machine in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Overlap {
    No,
    /// The machines that there are decide.
    Perhaps,
    /// As soon as one of the two has a machine at all.
    Yes,
}

/// Labels are written so that a machine can have them.
pub(crate) fn labels(target: Option<&MachineTarget>) -> Vec<FieldError> {
    let Some(selector) = target.and_then(|target| target.selector.as_ref()) else {
        return Vec::new();
    };
    let at = "spec.target.selector";
    let mut errors = Vec::new();
    for (name, text) in &selector.match_labels {
        errors.extend(label_key(format!("{at}.matchLabels"), name));
        errors.extend(label_value(format!("{at}.matchLabels[{name}]"), text));
    }
    for (number, it) in selector.match_expressions.iter().enumerate() {
        let path = format!("{at}.matchExpressions[{number}]");
        errors.extend(label_key(format!("{path}.key"), &it.key));
        let values = it.values.iter();
        errors.extend(values.filter_map(|text| label_value(format!("{path}.values"), text)));
    }
    errors
}

/// The key of a label or taint.
pub(crate) fn label_key(path: String, key: &str) -> Option<FieldError> {
    let why = "is not the key of a label: a name of at most 63 letters, digits, \"-\", \"_\" and \".\", which may have a DNS name and a slash before it";
    (!is_key(key)).then(|| FieldError::invalid(path, key, why))
}

/// The value of a label or taint.
pub(crate) fn label_value(path: String, value: &str) -> Option<FieldError> {
    let why = "is not the value of a label: at most 63 letters, digits, \"-\", \"_\" and \".\", with a letter or digit at both ends";
    (!value.is_empty() && !is_word(value)).then(|| FieldError::invalid(path, value, why))
}

fn is_key(key: &str) -> bool {
    match key.split_once('/') {
        Some((prefix, name)) => crate::common::is_object_name(prefix) && is_word(name),
        None => is_word(key),
    }
}

fn is_word(word: &str) -> bool {
    let inner = |sign: char| sign.is_ascii_alphanumeric() || "-_.".contains(sign);
    let ends = |sign: char| sign.is_ascii_alphanumeric();
    word.len() <= 63 && word.starts_with(ends) && word.ends_with(ends) && word.chars().all(inner)
}

/// Whether two targets in one cluster meet. Nothing given is every machine.
pub(crate) fn overlap(one: Option<&MachineTarget>, other: Option<&MachineTarget>) -> Overlap {
    let all = MachineTarget::default();
    let (one, other) = (one.unwrap_or(&all), other.unwrap_or(&all));
    let apart = matches!((one.role, other.role), (Some(one), Some(other)) if one != other);
    let listed = !one.machines.is_empty() && !other.machines.is_empty();
    let shared = one.machines.iter().any(|it| other.machines.contains(it));
    if apart || (listed && !shared) || contradict(selector(one), selector(other)) {
        return Overlap::No;
    }
    let all_labels = selector(one).is_none() && selector(other).is_none();
    if (shared && all_labels) || includes(one, other) || includes(other, one) {
        return Overlap::Yes;
    }
    Overlap::Perhaps
}

/// Whether `one` selects all that `other` does.
fn includes(one: &MachineTarget, other: &MachineTarget) -> bool {
    let role = one.role.is_none() || one.role == other.role;
    let contains = |it| one.machines.contains(it);
    let named = !other.machines.is_empty() && other.machines.iter().all(contains);
    let labelled = selector(one).is_none() || selector(one) == selector(other);
    role && (one.machines.is_empty() || named) && labelled
}

/// The selector, where it says something.
fn selector(target: &MachineTarget) -> Option<&MachineSelector> {
    let selector = target.selector.as_ref();
    selector.filter(|it| !(it.match_labels.is_empty() && it.match_expressions.is_empty()))
}

/// Whether both want one label, and different values of it.
fn contradict(one: Option<&MachineSelector>, other: Option<&MachineSelector>) -> bool {
    let (Some(one), Some(other)) = (one, other) else {
        return false;
    };
    let other = &other.match_labels;
    let mut wanted = one.match_labels.iter();
    wanted.any(|(key, value)| other.get(key).is_some_and(|it| it != value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn target(value: Value) -> MachineTarget {
        serde_json::from_value(value).expect("a target")
    }

    #[test]
    fn targets_meet_where_a_machine_may_be_of_both() {
        let rack = |name: &str| json!({"selector": {"matchLabels": {"rack": name}}});
        for (one, other, want) in [
            (json!({}), json!({}), Overlap::Yes),
            (json!({}), json!({"role": "worker"}), Overlap::Yes),
            (
                json!({"role": "controlplane"}),
                json!({"role": "worker"}),
                Overlap::No,
            ),
            (
                json!({"machines": ["a", "b"]}),
                json!({"machines": ["b", "c"]}),
                Overlap::Yes,
            ),
            (
                json!({"machines": ["a"]}),
                json!({"machines": ["c"]}),
                Overlap::No,
            ),
            (
                json!({"machines": ["a"]}),
                json!({"role": "worker"}),
                Overlap::Perhaps,
            ),
            (json!({"machines": ["a"]}), json!({}), Overlap::Yes),
            (rack("a"), rack("b"), Overlap::No),
            (rack("a"), rack("a"), Overlap::Yes),
            (
                rack("a"),
                json!({"selector": {"matchLabels": {"row": "b"}}}),
                Overlap::Perhaps,
            ),
            (rack("a"), json!({"selector": {}}), Overlap::Yes),
            (rack("a"), json!({"role": "worker"}), Overlap::Perhaps),
        ] {
            let (a, b) = (target(one.clone()), target(other.clone()));
            assert_eq!(overlap(Some(&a), Some(&b)), want, "{one} {other}");
            assert_eq!(overlap(Some(&b), Some(&a)), want, "{other} {one}");
        }
        assert_eq!(overlap(None, None), Overlap::Yes);
    }

    #[test]
    fn labels_are_ones_that_a_machine_can_have() {
        let expression = |key: &str, value: &str| json!({"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]});
        for (selector, want) in [
            (
                json!({"matchLabels": {"a": "", "example.com/b_c": "1.x"}}),
                "",
            ),
            (
                json!({"matchLabels": {"a b": "x"}}),
                "spec.target.selector.matchLabels: Invalid value: \"a b\": is not the key of a label",
            ),
            (
                json!({"matchLabels": {"Ex/a": "x"}}),
                "is not the key of a label",
            ),
            (
                json!({"matchLabels": {"a": "-x"}}),
                "spec.target.selector.matchLabels[a]: Invalid value: \"-x\": is not the value of a label",
            ),
            (expression("a", "x"), ""),
            (
                expression("/a", "x"),
                "spec.target.selector.matchExpressions[0].key: Invalid value",
            ),
            (
                expression("a", "x!"),
                "spec.target.selector.matchExpressions[0].values: Invalid value",
            ),
        ] {
            let target = target(json!({"selector": selector}));
            let errors = labels(Some(&target));
            let said = errors.first().map(ToString::to_string).unwrap_or_default();
            assert!(
                said.starts_with(want) || (!want.is_empty() && said.contains(want)),
                "{said}"
            );
            assert_eq!(said.is_empty(), want.is_empty(), "{said}");
        }
    }
}
