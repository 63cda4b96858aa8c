//! What admission fills in (DESIGN section 4, step 2): one text for an address and for a UUID, and who
//! asked. The patch is minimal, empty where nothing changes, and running it again changes nothing.

use super::stored::StoredReclaim;
use ichor_crds::{NodeAddress, REQUESTED_BY, SystemUuid};
use json_patch::jsonptr::PointerBuf;
use json_patch::{AddOperation, Patch, PatchOperation, RemoveOperation, ReplaceOperation};
use serde_json::{Value, json};

/// The patch for an object that `caller` creates (`old` is `None`) or changes.
pub(crate) fn mutate(
    caller: &str,
    object: &StoredReclaim<'_>,
    old: Option<&StoredReclaim<'_>>,
) -> Patch {
    let requester = match old {
        None => Some(caller),
        Some(old) => old.annotation(REQUESTED_BY),
    };
    let mut operations: Vec<PatchOperation> = requested_by(object, requester).into_iter().collect();
    operations.extend(spec(object, old));
    Patch(operations)
}

/// The requester is whoever created the object: set at creation whatever was given, restored at each
/// change, so that nobody can set or change it by hand.
fn requested_by(object: &StoredReclaim<'_>, want: Option<&str>) -> Option<PatchOperation> {
    let path = || at(&["metadata", "annotations", REQUESTED_BY]);
    let value = |by: &str| Value::String(by.to_owned());
    match (object.annotation(REQUESTED_BY), want) {
        (now, want) if now == want => None,
        (Some(_), None) => Some(PatchOperation::Remove(RemoveOperation { path: path() })),
        (Some(_), Some(by)) => Some(replace(path(), value(by))),
        (None, Some(by)) if object.annotations().is_some() => {
            Some(PatchOperation::Add(AddOperation {
                path: path(),
                value: value(by),
            }))
        }
        (None, Some(by)) => Some(PatchOperation::Add(AddOperation {
            path: at(&["metadata", "annotations"]),
            value: json!({ REQUESTED_BY: by }),
        })),
        (None, None) => None,
    }
}

/// Canonical address and lower-case UUID. A spec that does not change is left as it is stored, also when
/// it was stored before this webhook ran: a finalizer must come off without a change of spec (FAULTS 5).
fn spec(object: &StoredReclaim<'_>, old: Option<&StoredReclaim<'_>>) -> Vec<PatchOperation> {
    if old.is_some_and(|old| old.same_spec(object)) {
        return Vec::new();
    }
    // A spec that cannot be read is refused by the API server's schema and by the judge, not changed.
    let Ok(new) = object.spec() else {
        return Vec::new();
    };
    let stored = old.and_then(|old| old.spec().ok());
    let address = canonical_address(
        &new.address,
        stored.as_ref().map(|old| old.address.as_str()),
    );
    let uuid = new.confirm_uuid.as_deref();
    let canonical_uuid = uuid.and_then(|text| text.parse::<SystemUuid>().ok());
    [
        ("address", Some(new.address.as_str()), address),
        (
            "confirmUUID",
            uuid,
            canonical_uuid.map(|uuid| uuid.to_string()),
        ),
    ]
    .into_iter()
    .filter_map(|(field, now, want)| {
        let want = want.filter(|want| now != Some(want))?;
        Some(replace(at(&["spec", field]), Value::String(want)))
    })
    .collect()
}

/// The canonical text of an address; the stored text where both mean one address, so that applying the
/// same file again changes nothing.
fn canonical_address(given: &str, stored: Option<&str>) -> Option<String> {
    let address: NodeAddress = given.parse().ok()?;
    let same = stored.filter(|text| text.parse() == Ok(address));
    Some(same.map_or_else(|| address.to_string(), ToOwned::to_owned))
}

fn replace(path: PointerBuf, value: Value) -> PatchOperation {
    PatchOperation::Replace(ReplaceOperation { path, value })
}

fn at(tokens: &[&str]) -> PointerBuf {
    PointerBuf::from_tokens(tokens.iter().copied())
}
