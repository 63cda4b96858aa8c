//! From YAML to typed values: what Talos's own decoder takes, refuses and fills in (go-yaml into Go's types, then a
//! check for fields that no type has). Fields that are null are left out.

use crate::schema::{self, Leaf, Type};
use crate::yaml::{Data, Node, Resolved};
use crate::{Error, leaf};
use serde_json::{Map, Number, Value};

/// Reads a node as a type; nothing for null.
pub(crate) fn decode(node: &Node, ty: &Type, path: &str) -> Result<Option<Value>, Error> {
    if let Type::Pointer(inner) = ty {
        return decode(node, inner, path);
    }
    if node.is_null() {
        return Ok(None);
    }
    match (ty, &node.data) {
        (Type::Any, _) => Ok(node.to_value()),
        (Type::Struct(name), Data::Map(entries)) => structure(entries, name, path),
        (Type::Pem(fields), Data::Map(entries)) => pem(entries, fields, path),
        (Type::Object, Data::Map(entries)) => map(entries, &Type::Any, path),
        (Type::Args, Data::Map(entries)) => arguments(entries, path),
        (Type::Map(of), Data::Map(entries)) => map(entries, of, path),
        (Type::List(of), Data::List(items)) => list(items, of, path),
        (Type::Keyed(name), Data::List(items)) => match schema::keyed(name) {
            Some(keyed) => list(items, &keyed.of, path),
            None => Ok(Value::Null),
        },
        (_, Data::Scalar { text, .. }) => scalar(node, text, ty)
            .ok_or_else(|| leaf::expected(ty))
            .map_err(|expected| wrong(path, node, expected)),
        _ => Err(wrong(path, node, leaf::expected(ty))),
    }
    .map(Some)
}

fn wrong(path: &str, node: &Node, expected: String) -> Error {
    Error::WrongType {
        path: path.to_owned(),
        line: node.line,
        expected,
    }
}

/// The path of a field below another.
pub(crate) fn below(path: &str, field: &str) -> String {
    if path.is_empty() || path.ends_with(": ") {
        format!("{path}{field}")
    } else {
        format!("{path}.{field}")
    }
}

fn structure(entries: &[(String, Node)], name: &str, path: &str) -> Result<Value, Error> {
    let fields = schema::fields(name);
    let mut read = Map::new();
    for (key, node) in entries {
        let path = below(path, key);
        let Some(field) = fields.get(key) else {
            let line = node.line;
            return Err(Error::UnknownField { path, line });
        };
        if let Some(value) = decode(node, &field.ty, &path)? {
            read.insert(key.clone(), value);
        }
    }
    Ok(Value::Object(read))
}

/// What is not written is there and empty.
fn pem(entries: &[(String, Node)], fields: &[String], path: &str) -> Result<Value, Error> {
    let mut read: Map<_, _> = fields.iter().map(|it| (it.clone(), "".into())).collect();
    for (key, node) in entries {
        let path = below(path, key);
        if !fields.contains(key) {
            let line = node.line;
            return Err(Error::UnknownField { path, line });
        }
        if let Some(value) = decode(node, &Type::Leaf(Leaf::Bytes), &path)? {
            read.insert(key.clone(), value);
        }
    }
    Ok(Value::Object(read))
}

/// A key without a value gives the value that is empty in its type.
fn map(entries: &[(String, Node)], of: &Type, path: &str) -> Result<Value, Error> {
    let mut read = Map::new();
    for (key, node) in entries {
        let empty = || match of {
            Type::Text => Value::String(String::new()),
            _ => Value::Null,
        };
        let value = decode(node, of, &below(path, key))?.unwrap_or_else(empty);
        read.insert(key.clone(), value);
    }
    Ok(Value::Object(read))
}

fn list(items: &[Node], of: &Type, path: &str) -> Result<Value, Error> {
    let mut read = Vec::new();
    for (index, node) in items.iter().enumerate() {
        let path = format!("{path}[{index}]");
        match decode(node, of, &path)? {
            Some(value) => read.push(value),
            // Go drops it where the item is a plain value, and would hand on a nil pointer otherwise.
            None if matches!(of, Type::Pointer(_)) => {
                return Err(wrong(&path, node, leaf::expected(of)));
            }
            None => {}
        }
    }
    Ok(Value::Array(read))
}

fn arguments(entries: &[(String, Node)], path: &str) -> Result<Value, Error> {
    let texts = Type::List(Box::new(Type::Text));
    let mut read = Map::new();
    for (key, node) in entries {
        let ty = match node.data {
            Data::List(_) => &texts,
            _ => &Type::Text,
        };
        let value = decode(node, ty, &below(path, key))?;
        read.insert(key.clone(), value.unwrap_or_default());
    }
    Ok(Value::Object(read))
}

/// A scalar in the form in which it is kept, or nothing when it is none of the type.
fn scalar(node: &Node, text: &str, ty: &Type) -> Option<Value> {
    let resolved = node.resolved()?;
    match ty {
        Type::Text => Some(text.into()),
        Type::Trimmed => Some(
            text.trim_start_matches(['\t', '\n', '\u{b}', '\u{c}', '\r'])
                .into(),
        ),
        Type::Bool => boolean(&resolved, text).map(Value::Bool),
        Type::Int { min, max } => integer(&resolved, *min, *max).map(Value::Number),
        Type::Float => match resolved {
            Resolved::Number(number) => Some(number.into()),
            _ => None,
        },
        Type::Enum(name) => enumeration(schema::names(name), text).map(Value::from),
        Type::Leaf(leaf) => leaf::read(*leaf, &resolved, text),
        _ => None,
    }
}

/// Names count in lower case too; nothing is the first name where the last one is empty.
fn enumeration<'a>(names: &'a [String], text: &str) -> Option<&'a str> {
    let lower = text.to_lowercase();
    let fits = |it: &&String| !it.is_empty() && (*it == text || **it == lower);
    match names {
        [zero, .., last] if last.is_empty() && text.is_empty() => Some(zero),
        names => names.iter().find(fits).map(String::as_str),
    }
}

/// Where the type says boolean, Go takes YAML 1.1's words too.
fn boolean(resolved: &Resolved, text: &str) -> Option<bool> {
    match (resolved, text) {
        (Resolved::Bool(flag), _) => Some(*flag),
        (Resolved::Text, "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON") => Some(true),
        (Resolved::Text, "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF") => Some(false),
        _ => None,
    }
}

/// A whole number, also one written like `5.0`, in its bounds.
pub(crate) fn integer(resolved: &Resolved, min: i64, max: u64) -> Option<Number> {
    let Resolved::Number(number) = resolved else {
        return None;
    };
    let whole = number
        .as_i128()
        .or_else(|| number.as_f64().and_then(whole))?;
    if whole < i128::from(min) || whole > i128::from(max) {
        return None;
    }
    u64::try_from(whole)
        .map(Number::from)
        .or_else(|_| i64::try_from(whole).map(Number::from))
        .ok()
}

#[allow(
    clippy::cast_possible_truncation,
    reason = "a whole number below 2^64 fits"
)]
fn whole(number: f64) -> Option<i128> {
    (number.fract() == 0.0 && number.abs() < 18_446_744_073_709_551_616.0).then_some(number as i128)
}
