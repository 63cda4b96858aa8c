//! The operations of a JSON patch (RFC 6902), within bounds: copies of copies must not grow without end.

use crate::Error;
use crate::config::{Config, Document};
use crate::yaml::{MAX_BYTES, MAX_DEPTH, MAX_NODES, Node};
use json_patch::jsonptr::Pointer;
use json_patch::{PatchErrorKind, PatchOperation, ReplaceOperation};
use serde_json::Value;

/// At least one operation.
#[derive(Clone)]
pub(super) struct Operations(Vec<PatchOperation>);

impl Operations {
    pub fn read(items: &[Node]) -> Result<Self, Error> {
        if items.is_empty() {
            return Err(Error::EmptyPatch);
        }
        let numbered = items.iter().zip(1..);
        let read = numbered.map(|(item, number)| {
            serde_json::from_value(item.to_value()).map_err(|_| Error::BadOperation { number })
        });
        Ok(Self(read.collect::<Result<_, _>>()?))
    }

    pub fn apply(&self, config: &Config) -> Result<Config, Error> {
        let [document] = config.documents.as_slice() else {
            return Err(Error::JsonPatchOnDocuments {
                documents: config.documents.len(),
            });
        };
        let mut value = document.value.clone();
        let mut written = (0, 0);
        for (operation, number) in self.0.iter().zip(1..) {
            // One by one, so that the error can say which.
            let done = weigh(operation, &value, &mut written)
                .and_then(|()| carry_out(operation, &mut value));
            done.map_err(|reason| Error::Operation {
                number,
                path: operation.path().to_string(),
                reason,
            })?;
        }
        let node = Node::from_value(&value);
        Config::new(vec![Document::read_known(&node)?])
    }
}

/// What an operation will write must fit: no deeper than anything that is read, and not too much of it in sum.
fn weigh(
    operation: &PatchOperation,
    value: &Value,
    written: &mut (usize, usize),
) -> Result<(), &'static str> {
    let at = |from: &Pointer| from.resolve(value).ok();
    let new = match operation {
        PatchOperation::Add(it) => Some(&it.value),
        PatchOperation::Replace(it) => Some(&it.value),
        PatchOperation::Move(it) => at(&it.from),
        PatchOperation::Copy(it) => at(&it.from),
        PatchOperation::Remove(_) | PatchOperation::Test(_) => None,
    };
    let (nodes, depth, bytes) = new.map_or((0, 0, 0), extent);
    written.0 += nodes;
    written.1 += bytes;
    if depth + operation.path().count() > MAX_DEPTH {
        return Err("it would be nested more than 100 deep; Talos has no field that deep");
    }
    if written.0 > MAX_NODES {
        return Err("the operations up to this one write more than 400000 values");
    }
    if written.1 > MAX_BYTES {
        return Err("the operations up to this one write more than 4 MiB of text");
    }
    Ok(())
}

/// Number of values, depth, and bytes of text.
fn extent(value: &Value) -> (usize, usize, usize) {
    let add = |sum: (usize, usize, usize), it| {
        let (nodes, depth, bytes) = extent(it);
        (sum.0 + nodes, sum.1.max(depth + 1), sum.2 + bytes)
    };
    match value {
        Value::Array(items) => items.iter().fold((1, 1, 0), add),
        Value::Object(fields) => {
            let keys = fields.keys().map(String::len).sum();
            fields.values().fold((1, 1, keys), add)
        }
        Value::String(text) => (1, 1, text.len()),
        _ => (1, 1, 0),
    }
}

fn carry_out(operation: &PatchOperation, value: &mut Value) -> Result<(), &'static str> {
    // Talos lets replace add a field to a map that is there, though RFC 6902 does not.
    if let PatchOperation::Replace(ReplaceOperation { path, value: new }) = operation
        && let Some((parent, field)) = path.split_back()
        && let Ok(Value::Object(fields)) = parent.resolve_mut(value)
    {
        fields.insert(field.decoded().into_owned(), new.clone());
        return Ok(());
    }
    json_patch::patch(value, std::slice::from_ref(operation)).map_err(|fault| match fault.kind {
        PatchErrorKind::TestFailed => "the value there is not the one tested for",
        PatchErrorKind::InvalidFromPointer => "there is nothing at the path that from names",
        PatchErrorKind::InvalidPointer => {
            "there is nothing there, or what it stands in is missing; add that first, or correct the path"
        }
        _ => "a value cannot be moved into itself",
    })
}
