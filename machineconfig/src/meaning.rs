//! What a document means: its fields without those that say nothing.

use crate::config::Document;
use crate::schema::{self, Type};
use serde_json::{Map, Value};

/// The fields of a document without those that are empty where Talos does not tell empty from absent.
pub(crate) fn of(document: &Document) -> Value {
    match document.kind_entry() {
        Some(kind) => strip(&kind.ty, &document.value).unwrap_or_default(),
        None => document.value.clone(),
    }
}

/// A value without what is empty in it; nothing if it is empty itself. A pointer to something empty is not.
fn strip(ty: &Type, value: &Value) -> Option<Value> {
    match (ty, value) {
        (Type::Pointer(inner), value) => {
            Some(strip(inner, value).unwrap_or_else(|| empty(inner, value)))
        }
        (Type::Struct(name), Value::Object(fields)) => {
            let known = schema::fields(name);
            let kept = fields.iter().filter_map(|(key, value)| {
                let ty = known.get(key).map_or(&Type::Any, |it| &it.ty);
                strip(ty, value).map(|value| (key.clone(), value))
            });
            let kept: Map<_, _> = kept.collect();
            (!kept.is_empty()).then_some(Value::Object(kept))
        }
        (Type::Map(of), Value::Object(fields)) => {
            let stripped = |value| strip(of, value).unwrap_or_else(|| empty(of, value));
            let kept = fields.iter().map(|(k, v)| (k.clone(), stripped(v)));
            (!fields.is_empty()).then(|| Value::Object(kept.collect()))
        }
        (Type::List(of), Value::Array(items)) => list(of, items),
        (Type::Keyed(name), Value::Array(items)) => list(
            &schema::keyed(name).map_or(Type::Any, |it| it.of.clone()),
            items,
        ),
        (Type::Bool, Value::Bool(false)) => None,
        (Type::Object | Type::Args, Value::Object(fields)) if fields.is_empty() => None,
        (ty, value) if crate::merge::is_zero(ty, value) => None,
        (Type::Leaf(_), Value::String(text)) if text.is_empty() => None,
        (_, value) => Some(value.clone()),
    }
}

fn list(of: &Type, items: &[Value]) -> Option<Value> {
    let stripped = items
        .iter()
        .map(|it| strip(of, it).unwrap_or_else(|| empty(of, it)));
    (!items.is_empty()).then(|| stripped.collect())
}

fn empty(ty: &Type, value: &Value) -> Value {
    match (ty, value) {
        (_, Value::Object(_)) => Value::Object(Map::new()),
        (_, Value::Array(_)) => Value::Array(Vec::new()),
        _ => value.clone(),
    }
}
