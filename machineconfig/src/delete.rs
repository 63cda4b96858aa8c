//! `$patch: delete`: found in a patch, taken out of it, and carried out on a document.

use crate::Error;
use crate::decode::below;
use crate::schema::{self, Leaf, Type};
use crate::yaml::{Data, Node};
use serde_json::{Map, Value};

/// What is to be deleted from a document: the document itself where the path is empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Delete {
    path: Vec<String>,
    /// For an item of a list: the field by which it is found, and its text.
    item: Option<(String, String)>,
}

/// Takes every `$patch: delete` out of a document of a patch. Says whether something is left to be merged.
pub(crate) fn take(document: &mut Node) -> Result<(Vec<Delete>, bool), Error> {
    let mut walk = Walk::default();
    let gone = walk.node(document, false)?;
    Ok((walk.found, !gone && says_something(document)))
}

/// Whether a document has more than the fields that say which one it is. `apiVersion` counts as more, to Talos too.
fn says_something(document: &Node) -> bool {
    match &document.data {
        Data::Map(entries) => entries.iter().any(|(key, value)| {
            value.text().is_none() || !["version", "kind", "name"].contains(&key.as_str())
        }),
        _ => true,
    }
}

#[derive(Default)]
struct Walk {
    path: Vec<String>,
    found: Vec<Delete>,
}

impl Walk {
    /// Whether the node is to go from its parent: it was a delete, or deletes were all it had.
    fn node(&mut self, node: &mut Node, in_list: bool) -> Result<bool, Error> {
        match &mut node.data {
            Data::Scalar { .. } => Ok(false),
            Data::Map(entries) => {
                let mut gone = Vec::with_capacity(entries.len());
                for at in 0..entries.len() {
                    let Some((key, value)) = entries.get_mut(at) else {
                        break;
                    };
                    if key == "$patch" && value.text() == Some("delete") {
                        let item = in_list.then(|| selector(entries, at)).transpose();
                        self.delete(item, node.line)?;
                        return Ok(true);
                    }
                    self.path.push(key.clone());
                    gone.push(self.node(value, false)?);
                    self.path.pop();
                }
                let mut flags = gone.iter();
                entries.retain(|_| flags.next() != Some(&true));
                Ok(entries.is_empty() && gone.contains(&true))
            }
            Data::List(items) => {
                let before = items.len();
                let mut kept = Vec::with_capacity(before);
                for mut item in std::mem::take(items) {
                    self.path.push(format!("[{}]", kept.len()));
                    let gone = self.node(&mut item, true)?;
                    self.path.pop();
                    if !gone {
                        kept.push(item);
                    }
                }
                *items = kept;
                Ok(before > 0 && items.is_empty())
            }
        }
    }

    fn delete(
        &mut self,
        item: Result<Option<(String, String)>, &'static str>,
        line: usize,
    ) -> Result<(), Error> {
        let inside = |it: &String| it.starts_with('[');
        let refused = |reason| Error::BadDelete {
            path: written(&self.path),
            line,
            reason,
        };
        let item = item.map_err(refused)?;
        if item.is_none() && self.path.iter().any(inside) {
            return Err(refused(
                "it deletes whole items of a list, not fields of one; put it beside the field that names the item",
            ));
        }
        let path = self.path.clone();
        self.found.push(Delete { path, item });
        Ok(())
    }
}

/// The first field of a list's item beside `$patch`: by it the item is found.
fn selector(entries: &[(String, Node)], delete: usize) -> Result<(String, String), &'static str> {
    let mut fields = entries.iter().enumerate();
    let first = fields.find(|(at, _)| *at != delete).map(|(_, it)| it);
    let (key, value) =
        first.ok_or("in a list it needs a field that says which item, such as name")?;
    Ok((key.clone(), value.text().unwrap_or_default().to_owned()))
}

/// A path as a person writes it.
fn written(path: &[String]) -> String {
    let start = String::new();
    path.iter().fold(start, |all, part| match part {
        index if index.starts_with('[') => all + index,
        field => below(&all, field),
    })
}

impl Delete {
    /// Whether the whole document is to go.
    pub fn is_whole(&self) -> bool {
        self.path.is_empty()
    }

    /// Deletes from a document of a type.
    pub fn apply(&self, ty: &Type, document: &mut Value, name: &str) -> Result<(), Error> {
        let item = self
            .item
            .as_ref()
            .map(|(key, text)| (key.as_str(), text.as_str()));
        if remove(ty, document, &self.path, item) {
            return Ok(());
        }
        let path = below(name, &written(&self.path));
        Err(Error::NothingToDelete {
            path: match item {
                Some((key, _)) => format!("{path} (the item with this {key})"),
                None => path,
            },
        })
    }
}

/// Removes what is at a path. A field that the type has and the document has not is removed already; what stands above
/// it must be there, as Talos wants it.
fn remove(ty: &Type, value: &mut Value, path: &[String], item: Option<(&str, &str)>) -> bool {
    let Some((first, rest)) = path.split_first() else {
        return false;
    };
    match ty {
        Type::Pointer(inner) => !value.is_null() && remove(inner, value, path, item),
        Type::Struct(name) => {
            let Some(field) = schema::fields(name).get(first) else {
                return false;
            };
            let Value::Object(fields) = value else {
                // A struct that Go holds in place is there even when nothing in it is.
                return remove(ty, &mut Value::Object(Map::new()), path, item);
            };
            if rest.is_empty() {
                fields.remove(first);
                return true;
            }
            let mut absent = Value::Null;
            remove(
                &field.ty,
                fields.get_mut(first).unwrap_or(&mut absent),
                rest,
                item,
            )
        }
        Type::Map(of) => remove_key(of, value, first, rest, item),
        Type::Object | Type::Any => remove_key(&Type::Any, value, first, rest, item),
        Type::Args => remove_key(&Type::Text, value, first, rest, item),
        Type::List(of) => rest.is_empty() && remove_item(of, value, item),
        Type::Keyed(name) => match schema::keyed(name) {
            Some(keyed) => rest.is_empty() && remove_item(&keyed.of, value, item),
            None => false,
        },
        _ => false,
    }
}

fn remove_key(
    of: &Type,
    value: &mut Value,
    key: &str,
    rest: &[String],
    item: Option<(&str, &str)>,
) -> bool {
    let Value::Object(fields) = value else {
        return false;
    };
    match fields.get_mut(key) {
        None => false,
        Some(_) if rest.is_empty() => fields.remove(key).is_some(),
        Some(inner) => remove(of, inner, rest, item),
    }
}

/// Removes the first item whose field has the text. Only text can be compared, in Talos's patcher too.
fn remove_item(of: &Type, value: &mut Value, item: Option<(&str, &str)>) -> bool {
    let (Some((key, text)), Value::Array(items)) = (item, value) else {
        return false;
    };
    let of = match of {
        Type::Pointer(inner) => inner,
        other => other,
    };
    let Type::Struct(name) = of else {
        return false;
    };
    let comparable = match schema::fields(name).get(key).map(|it| &it.ty) {
        Some(Type::Pointer(inner)) => matches!(**inner, Type::Leaf(Leaf::Url)),
        Some(Type::Text | Type::Trimmed | Type::Enum(_)) => true,
        Some(Type::Leaf(leaf)) => *leaf != Leaf::Bytes && !text.is_empty(),
        _ => false,
    };
    let found = items
        .iter()
        .position(|it| it[key].as_str().unwrap_or_default() == text);
    match found {
        Some(at) if comparable => {
            items.remove(at);
            true
        }
        _ => false,
    }
}
