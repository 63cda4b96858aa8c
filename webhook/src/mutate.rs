//! What admission fills in (DESIGN section 4, step 2): who asked, and what the resource says itself. The
//! patch is minimal, empty where nothing changes, and running it again changes nothing.

use crate::common::stamps;
use crate::request::{Judged, Snapshot};
use crate::stored::Stored;
use json_patch::jsonptr::PointerBuf;
use json_patch::{AddOperation, Patch, PatchOperation, RemoveOperation, ReplaceOperation};
use serde_json::{Value, json};

/// The patch for the object of a request, in place of `old`.
pub(crate) fn patch<R: Judged>(
    snapshot: &Snapshot<R>,
    object: &Stored<'_>,
    old: Option<&Stored<'_>>,
) -> Patch {
    // A spec that does not change is left as it is stored, also when it was stored before this webhook
    // ran: a finalizer must come off without a change of spec (FAULTS 5).
    let filled = match snapshot.facts.spec() {
        Some(_) => spec(object, R::fill(snapshot)),
        None => Vec::new(),
    };
    let changes = snapshot.facts.spec().is_some() && !restores(object, old, &filled);
    let mut operations = annotations(object, &stamps(&snapshot.facts, changes));
    operations.extend(filled);
    Patch(operations)
}

/// Whether the spec becomes what is stored by what is filled in: the same file, applied again in its own writing, is
/// no new request.
fn restores(object: &Stored<'_>, old: Option<&Stored<'_>>, filled: &[PatchOperation]) -> bool {
    let value = |stored: &Stored<'_>| stored.spec::<Value>().unwrap_or_default();
    let Some(old) = old.filter(|_| !filled.is_empty()) else {
        return false;
    };
    let mut new = json!({"spec": value(object)});
    json_patch::patch(&mut new, filled).is_ok() && new["spec"] == value(old)
}

/// Each annotation as it has to be: set whatever was given, restored at each change, so that nobody can
/// set or change it by hand.
fn annotations(object: &Stored<'_>, stamps: &[(&str, Option<&str>)]) -> Vec<PatchOperation> {
    let at = |key: &str| PointerBuf::from_tokens(["metadata", "annotations", key]);
    if object.annotations().is_none() {
        let wanted = stamps
            .iter()
            .filter_map(|(key, want)| Some(((*key).to_owned(), (*want)?.into())));
        let all: serde_json::Map<String, Value> = wanted.collect();
        let path = PointerBuf::from_tokens(["metadata", "annotations"]);
        return if all.is_empty() {
            Vec::new()
        } else {
            vec![add(path, all.into())]
        };
    }
    let operation = |(key, want): &(&str, Option<&str>)| match (object.annotation(key), *want) {
        (now, want) if now == want => None,
        (_, None) => Some(PatchOperation::Remove(RemoveOperation { path: at(key) })),
        (Some(_), Some(want)) => Some(replace(at(key), want.into())),
        (None, Some(want)) => Some(add(at(key), want.into())),
    };
    stamps.iter().filter_map(operation).collect()
}

fn spec(object: &Stored<'_>, filled: Vec<(&'static str, Value)>) -> Vec<PatchOperation> {
    if filled.is_empty() {
        return Vec::new();
    }
    let now: Value = object.spec().unwrap_or_default();
    let operation = |(pointer, want): (&'static str, Value)| {
        let path = PointerBuf::parse(format!("/spec{pointer}")).ok()?;
        match now.pointer(pointer) {
            Some(value) if *value == want => None,
            Some(_) => Some(replace(path, want)),
            None => Some(add(path, want)),
        }
    };
    filled.into_iter().filter_map(operation).collect()
}

fn add(path: PointerBuf, value: Value) -> PatchOperation {
    PatchOperation::Add(AddOperation { path, value })
}

fn replace(path: PointerBuf, value: Value) -> PatchOperation {
    PatchOperation::Replace(ReplaceOperation { path, value })
}
