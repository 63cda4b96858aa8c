//! Strategic merge, as Talos merges two documents of a kind: what the patch does not name stays, maps merge, lists grow
//! unless their field is replaced or their items have a merge key, and a value that is empty changes nothing unless the
//! field tells empty from absent (a pointer in Talos's types).

use crate::decode::below;
use crate::schema::{self, Keyed, Leaf, Type};
use crate::{Error, leaf};
use serde_json::{Map, Value};
use std::collections::HashMap;

type Merged = Result<Option<Value>, Error>;

/// Merges two values of a type. With `whole`, the right one takes the place of the left one.
pub(crate) fn merge(
    ty: &Type,
    left: Option<Value>,
    right: Option<Value>,
    whole: bool,
    path: &str,
) -> Merged {
    match ty {
        Type::Pointer(inner) => match (left, right) {
            (left, None) => Ok(left),
            (None, right) => Ok(right),
            (Some(left), Some(right)) => pointed(inner, left, right, whole, path),
        },
        // Talos hands these on as they are in the patch, also when they are not there.
        Type::Bool | Type::Leaf(Leaf::Cel | Leaf::ByteSize) => Ok(right),
        Type::Leaf(Leaf::Address | Leaf::AddressPort | Leaf::Prefix) => Err(fixed(path)),
        Type::Struct(name) => match (left, right) {
            (None, right) => Ok(right),
            (left, Some(Value::Object(fields))) if whole && fields.is_empty() => Ok(left),
            (_, right @ Some(_)) if whole => Ok(right),
            (left, None) if whole => Ok(left),
            (Some(left), right) => structs(name, left, right, path).map(Some),
        },
        _ => match (left, right) {
            (left, None) => Ok(left),
            (left, Some(right)) if is_zero(ty, &right) => Ok(left),
            // Items of the patch that have the same key merge with one another.
            (None, Some(right)) if matches!(ty, Type::Keyed(_)) => {
                values(ty, Value::Array(Vec::new()), right, path).map(Some)
            }
            (None, right) => Ok(right),
            (_, right) if whole => Ok(right),
            (Some(left), Some(right)) => values(ty, left, right, path).map(Some),
        },
    }
}

/// Both pointers point at something: plain values are replaced even by zero.
fn pointed(ty: &Type, left: Value, right: Value, whole: bool, path: &str) -> Merged {
    match ty {
        Type::Text | Type::Int { .. } | Type::Float | Type::Enum(_) => Ok(Some(right)),
        Type::Leaf(Leaf::DiskMatcher) => Err(fixed(path)),
        _ => merge(ty, Some(left), Some(right), whole, path),
    }
}

fn structs(name: &str, left: Value, right: Option<Value>, path: &str) -> Result<Value, Error> {
    let (mut left, mut right) = (object(left), right.map(object).unwrap_or_default());
    for (key, field) in schema::fields(name) {
        let (old, new) = (left.remove(key), right.remove(key));
        if let Some(value) = merge(&field.ty, old, new, field.replace, &below(path, key))? {
            left.insert(key.clone(), value);
        }
    }
    Ok(Value::Object(left))
}

fn values(ty: &Type, left: Value, right: Value, path: &str) -> Result<Value, Error> {
    match ty {
        Type::List(_) => Ok(appended(left, right)),
        Type::Keyed(name) => match schema::keyed(name) {
            Some(keyed) => by_key(keyed, left, right, path),
            None => Ok(right),
        },
        Type::Map(of) => {
            let mut merged = object(left);
            for (key, new) in object(right) {
                let old = merged.remove(&key).filter(|it| !it.is_null());
                let value = match old {
                    Some(old) => merge(of, Some(old), Some(new), false, &below(path, &key))?,
                    None => Some(new),
                };
                merged.extend(value.map(|value| (key, value)));
            }
            Ok(Value::Object(merged))
        }
        Type::Args => {
            let mut merged = object(left);
            merged.extend(object(right));
            Ok(Value::Object(merged))
        }
        Type::Object | Type::Any => anything(left, right, path),
        Type::Leaf(Leaf::Url) => Ok(match (left.as_str(), right.as_str()) {
            (Some(old), Some(new)) => leaf::merge_urls(old, new).into(),
            _ => right,
        }),
        // A size in bytes hides one in percent.
        Type::Leaf(Leaf::Size) => {
            let percent = |it: &Value| it.as_str().is_some_and(|it| it.contains('%'));
            let hidden = percent(&right) && !percent(&left) && !is_zero(ty, &left);
            Ok(if hidden { left } else { right })
        }
        _ => Ok(right),
    }
}

/// Whether Talos takes the value for one that was not written.
pub(crate) fn is_zero(ty: &Type, value: &Value) -> bool {
    match (ty, value) {
        (Type::Leaf(Leaf::Bytes | Leaf::HardwareAddress), _) => false,
        (Type::Leaf(Leaf::Duration), Value::String(text)) => text == "0s",
        (Type::Enum(name), Value::String(text)) => schema::names(name).first() == Some(text),
        (_, Value::String(text)) => text.is_empty(),
        (_, Value::Number(number)) => number.as_f64() == Some(0.0),
        (Type::Args | Type::Object, Value::Object(fields)) => fields.is_empty(),
        _ => false,
    }
}

fn fixed(path: &str) -> Error {
    Error::Unmergeable {
        path: path.to_owned(),
        reason: "Talos cannot merge into what holds this value; delete that ($patch: delete) in a patch of its own and write it anew in a later one",
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

fn appended(left: Value, right: Value) -> Value {
    match (left, right) {
        (Value::Array(mut items), Value::Array(more)) => {
            items.extend(more);
            Value::Array(items)
        }
        (_, right) => right,
    }
}

fn by_key(keyed: &Keyed, left: Value, right: Value, path: &str) -> Result<Value, Error> {
    let (Value::Array(mut items), Value::Array(more)) = (left, right) else {
        return Ok(Value::Null);
    };
    let mut index = Index::default();
    for (at, item) in items.iter().enumerate() {
        index.add(keyed, item, at);
    }
    for new in more {
        let found = index.find(keyed, &items, &new);
        match found.and_then(|at| Some((at, items.get_mut(at)?))) {
            Some((_, old)) if keyed.replace => *old = new,
            Some((at, old)) => {
                let path = format!("{path}[]");
                if let Some(merged) = merge(&keyed.of, Some(old.take()), Some(new), false, &path)? {
                    *old = merged;
                }
                index.add(keyed, old, at);
            }
            None => {
                // Rules that take an old one's place look for it among the old ones only.
                if !keyed.replace {
                    index.add(keyed, &new, items.len());
                }
                items.push(new);
            }
        }
    }
    Ok(Value::Array(items))
}

/// Where the items of a list are, by the fields that they merge by.
#[derive(Default)]
struct Index(HashMap<(usize, String), usize>);

impl Index {
    /// Takes an item in. Of several with the same key the first is found; of rules that are replaced, the last.
    fn add(&mut self, keyed: &Keyed, item: &Value, at: usize) {
        for key in keys(keyed, item) {
            let first = self.0.entry(key).or_insert(at);
            *first = if keyed.replace { at } else { at.min(*first) };
        }
    }

    /// An item goes by the first key that it has. What was found before may have got another key since.
    fn find(&self, keyed: &Keyed, items: &[Value], new: &Value) -> Option<usize> {
        let key = keys(keyed, new).next()?;
        let at = *self.0.get(&key)?;
        let mut current = keys(keyed, items.get(at)?);
        current.any(|it| it == key).then_some(at)
    }
}

/// The keys of an item. The only key of its kind counts when it is empty, too.
fn keys<'a>(keyed: &'a Keyed, item: &'a Value) -> impl Iterator<Item = (usize, String)> + 'a {
    let empty = |it: &Value| it.is_null() || it.as_str() == Some("") || it.as_u64() == Some(0);
    let fields = keyed.by.iter().enumerate();
    fields.filter_map(move |(number, field)| match &item[field] {
        value if !empty(value) => Some((number, value.to_string())),
        _ => (keyed.by.len() == 1).then(|| (number, String::new())),
    })
}

/// Merges values without a type. Here their own types must agree.
fn anything(left: Value, right: Value, path: &str) -> Result<Value, Error> {
    let differ = |reason| Error::Unmergeable {
        path: path.to_owned(),
        reason,
    };
    match (left, right) {
        (Value::Object(mut merged), Value::Object(more)) => {
            for (key, new) in more {
                let value = match merged.remove(&key) {
                    None | Some(Value::Null) => new,
                    Some(old) => anything(old, new, &below(path, &key))?,
                };
                merged.insert(key, value);
            }
            Ok(Value::Object(merged))
        }
        (left @ Value::Array(_), right @ Value::Array(_)) => Ok(appended(left, right)),
        (Value::Bool(_), right @ Value::Bool(_)) => Ok(right),
        (Value::String(old), Value::String(new)) => {
            Ok(Value::String(if new.is_empty() { old } else { new }))
        }
        (Value::Number(old), Value::Number(new)) if old.is_f64() == new.is_f64() => {
            let zero = new.as_f64() == Some(0.0);
            Ok(Value::Number(if zero { old } else { new }))
        }
        (_, Value::Null) => Err(differ(
            "null takes nothing away here; use $patch: delete to remove it",
        )),
        _ => Err(differ(
            "the configuration has a value of another type there; delete it first, in a patch of its own ($patch: delete)",
        )),
    }
}
