//! YAML as a bounded tree of nodes that keeps what Go's decoder looks at: the text of every scalar and whether it was
//! quoted. A generic value would not do: an image tag written `1.10` is text to Talos, not the number 1.1.

mod build;

pub(crate) use build::{MAX_BYTES, MAX_DEPTH, MAX_NODES, parse};

use serde_json::{Map, Number, Value};

/// One node and the line it starts on.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub line: usize,
    pub data: Data,
}

#[derive(Clone, Debug)]
pub(crate) enum Data {
    Scalar { text: String, plain: bool },
    List(Vec<Node>),
    Map(Vec<(String, Node)>),
}

/// What a scalar is where no type says it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Resolved {
    Null,
    Bool(bool),
    Number(Number),
    Text,
}

impl Node {
    pub fn is_null(&self) -> bool {
        self.resolved() == Some(Resolved::Null)
    }

    pub fn get(&self, key: &str) -> Option<&Self> {
        let Data::Map(entries) = &self.data else {
            return None;
        };
        entries.iter().find(|(name, _)| name == key).map(|it| &it.1)
    }

    /// The text of a scalar, whatever its type.
    pub fn text(&self) -> Option<&str> {
        match &self.data {
            Data::Scalar { text, .. } => Some(text),
            _ => None,
        }
    }

    /// What a scalar is; nothing for lists and maps.
    pub fn resolved(&self) -> Option<Resolved> {
        match &self.data {
            Data::Scalar { text, plain: true } => Some(resolve(text)),
            Data::Scalar { .. } => Some(Resolved::Text),
            _ => None,
        }
    }

    /// The node as a value without a type.
    pub fn to_value(&self) -> Value {
        match &self.data {
            Data::Scalar { text, .. } => match self.resolved() {
                Some(Resolved::Null) => Value::Null,
                Some(Resolved::Bool(flag)) => flag.into(),
                Some(Resolved::Number(number)) => number.into(),
                _ => text.clone().into(),
            },
            Data::List(items) => items.iter().map(Self::to_value).collect(),
            Data::Map(entries) => {
                let fields = entries.iter().map(|(k, v)| (k.clone(), v.to_value()));
                Value::Object(fields.collect::<Map<_, _>>())
            }
        }
    }

    /// A node as if the value had been written as YAML.
    pub fn from_value(value: &Value) -> Self {
        let scalar = |text: String, plain| Data::Scalar { text, plain };
        let data = match value {
            Value::String(text) => scalar(text.clone(), false),
            Value::Array(items) => Data::List(items.iter().map(Self::from_value).collect()),
            Value::Object(fields) => {
                let entries = fields.iter().map(|(k, v)| (k.clone(), Self::from_value(v)));
                Data::Map(entries.collect())
            }
            other => scalar(other.to_string(), true),
        };
        Self { line: 0, data }
    }

    /// Bytes of its text, keys included.
    pub fn bytes(&self) -> usize {
        match &self.data {
            Data::Scalar { text, .. } => text.len(),
            Data::List(items) => items.iter().map(Self::bytes).sum(),
            Data::Map(entries) => entries.iter().map(|(k, v)| k.len() + v.bytes()).sum(),
        }
    }

    /// Nodes and depth of the tree, or nothing when there are more nodes than allowed.
    pub fn measure(&self, allowed: usize) -> Option<(usize, usize)> {
        let mut sum = (1, 1);
        let mut add = |node: &Self| -> Option<()> {
            let (nodes, depth) = node.measure(allowed.checked_sub(sum.0)?)?;
            sum = (sum.0 + nodes, sum.1.max(depth + 1));
            Some(())
        };
        match &self.data {
            Data::Scalar { .. } => {}
            Data::List(items) => items.iter().try_for_each(&mut add)?,
            Data::Map(entries) => entries.iter().try_for_each(|(_, node)| add(node))?,
        }
        (sum.0 <= allowed).then_some(sum)
    }
}

/// How Go's decoder reads a scalar that is not quoted: booleans are only `true` and `false`, a leading zero makes an
/// octal number, underscores in numbers do not count, and there are no numbers of base 60.
pub(crate) fn resolve(text: &str) -> Resolved {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Resolved::Null,
        "true" | "True" | "TRUE" => return Resolved::Bool(true),
        "false" | "False" | "FALSE" => return Resolved::Bool(false),
        _ => {}
    }
    if !text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c)) {
        return Resolved::Text;
    }
    let plain = text.replace('_', "");
    integer(&plain)
        .or_else(|| float(if text.starts_with('.') { text } else { &plain }))
        .map_or(Resolved::Text, Resolved::Number)
}

fn integer(text: &str) -> Option<Number> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let lower = digits.to_ascii_lowercase();
    let (radix, digits) = [("0x", 16), ("0o", 8), ("0b", 2)]
        .into_iter()
        .find_map(|(prefix, radix)| lower.strip_prefix(prefix).map(|rest| (radix, rest)))
        .unwrap_or(match lower.strip_prefix('0') {
            Some(rest) if !rest.is_empty() => (8, rest),
            _ => (10, lower.as_str()),
        });
    if digits.starts_with(['+', '-']) {
        return None;
    }
    if negative {
        return i64::from_str_radix(&format!("-{digits}"), radix)
            .ok()
            .map(Number::from);
    }
    u64::from_str_radix(digits, radix).ok().map(Number::from)
}

fn float(text: &str) -> Option<Number> {
    let body = text.strip_prefix(['+', '-']).unwrap_or(text);
    let shaped = body.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && body.contains(|c: char| c.is_ascii_digit())
        && body
            .chars()
            .all(|c| c.is_ascii_digit() || "+-.eE".contains(c));
    // Infinities and NaN have no place in any field of a configuration, nor in JSON.
    shaped
        .then(|| text.parse().ok().and_then(Number::from_f64))
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As go-yaml reads plain scalars, booleans and octal numbers above all.
    #[test]
    fn plain_scalars_are_what_go_makes_of_them() {
        for (text, want) in [
            ("yes", Resolved::Text),
            ("on", Resolved::Text),
            ("True", Resolved::Bool(true)),
            ("tRue", Resolved::Text),
            ("~", Resolved::Null),
            ("", Resolved::Null),
            ("0644", Resolved::Number(420.into())),
            ("0o644", Resolved::Number(420.into())),
            ("0x1F", Resolved::Number(31.into())),
            ("0b101", Resolved::Number(5.into())),
            ("-0x10", Resolved::Number((-16).into())),
            ("089", Resolved::Number(Number::from_f64(89.0).unwrap())),
            ("1_000", Resolved::Number(1000.into())),
            ("+5", Resolved::Number(5.into())),
            ("18446744073709551615", Resolved::Number(u64::MAX.into())),
            ("1.5", Resolved::Number(Number::from_f64(1.5).unwrap())),
            (".5", Resolved::Number(Number::from_f64(0.5).unwrap())),
            ("1e3", Resolved::Number(Number::from_f64(1000.0).unwrap())),
            ("1:30", Resolved::Text),
            ("1.2.3", Resolved::Text),
            ("10.0.0.1", Resolved::Text),
            ("--5", Resolved::Text),
            ("-", Resolved::Text),
            (".", Resolved::Text),
            ("2026-11-30", Resolved::Text),
        ] {
            assert_eq!(resolve(text), want, "{text}");
        }
    }

    #[test]
    fn merge_keys_give_what_is_not_there() {
        let nodes = parse("a: &a {x: 1, y: 2}\nb: {y: 3, <<: *a}\n").unwrap();
        let value = nodes[0].to_value();
        assert_eq!(value["b"], serde_json::json!({"x": 1, "y": 3}));
    }
}
