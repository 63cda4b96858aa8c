use super::*;
use crate::stored::Stored;
use proptest::prelude::*;
use serde_json::value::to_raw_value;
use serde_json::{Value, json};

const REQUEST: &str = "ichor.maesh.dev/request-id";

/// The patch without the request's ID, which has its own test.
fn patch(caller: &str, object: &Value, old: Option<&Value>) -> Vec<Value> {
    let mut operations = whole_patch(caller, object, old);
    for operation in &mut operations {
        let value = operation.get_mut("value");
        if let Some(all) = value.and_then(Value::as_object_mut) {
            all.remove(REQUEST);
        }
    }
    let of_id = |one: &Value| {
        one["path"]
            .as_str()
            .is_some_and(|path| path.ends_with("request-id"))
            || one["value"] == json!({})
    };
    operations.retain(|one| !of_id(one));
    operations
}

fn whole_patch(caller: &str, object: &Value, old: Option<&Value>) -> Vec<Value> {
    let object = to_raw_value(object).expect("object");
    let old = old.map(|old| to_raw_value(old).expect("old object"));
    let old = old
        .as_deref()
        .map(|old| Stored::decode(old).expect("old object"));
    let object = Stored::decode(&object).expect("object");
    let spec = object.spec().expect("a spec");
    let mut snapshot = snapshot(create(spec));
    snapshot.facts.caller = caller.to_owned();
    snapshot.facts.old_annotations.clear();
    if let Some(old) = &old {
        snapshot.facts.old_annotations = old.ichors();
        let (before, spec) = (
            old.spec().expect("the old spec"),
            object.spec().expect("a spec"),
        );
        snapshot.facts.change = if old.same_spec(&object) {
            Change::Metadata
        } else {
            update(before, MachineReclaimStatus::default(), spec)
        };
    }
    let patch = crate::mutate::patch(&snapshot, &object, old.as_ref());
    match serde_json::to_value(patch).expect("patch") {
        Value::Array(operations) => operations,
        other => panic!("{other}"),
    }
}

fn apply(object: &Value, operations: &[Value]) -> Value {
    let patch: json_patch::Patch =
        serde_json::from_value(Value::Array(operations.to_vec())).expect("patch");
    let mut object = object.clone();
    json_patch::patch(&mut object, &patch.0).expect("the patch applies");
    object
}

fn object(annotations: Value, address: &str, uuid: Value) -> Value {
    let mut object =
        json!({"metadata": {}, "spec": {"address": address}, "status": {"phase": "Pending"}});
    if !annotations.is_null() {
        object["metadata"]["annotations"] = annotations;
    }
    if !uuid.is_null() {
        object["spec"]["confirmUUID"] = uuid;
    }
    object
}

const BY: &str = "/metadata/annotations/ichor.maesh.dev~1requested-by";

#[test]
fn the_creator_is_recorded_whatever_was_given() {
    let by_alice = json!({"ichor.maesh.dev/requested-by": "alice"});
    for (annotations, want) in [
        (
            Value::Null,
            json!([{"op": "add", "path": "/metadata/annotations", "value": by_alice}]),
        ),
        (
            json!({}),
            json!([{"op": "add", "path": BY, "value": "alice"}]),
        ),
        (
            json!({"a": "b"}),
            json!([{"op": "add", "path": BY, "value": "alice"}]),
        ),
        (
            json!({"ichor.maesh.dev/requested-by": "bob"}),
            json!([{"op": "replace", "path": BY, "value": "alice"}]),
        ),
        (by_alice.clone(), json!([])),
    ] {
        let operations = patch("alice", &object(annotations, "10.5.0.7", Value::Null), None);
        assert_eq!(Value::Array(operations), want);
    }
}

#[test]
fn the_request_is_recorded_where_the_spec_changes_and_only_there() {
    let with = |id: Option<&str>, address: &str| {
        let id = id.map_or(json!({}), |id| json!({REQUEST: id}));
        object(id, address, Value::Null)
    };
    let (first, forged) = (
        "0d7b1f9e-6a53-4c38-8f5e-2c1b7a9d4e60",
        "f0f0f0f0-0000-4000-8000-000000000000",
    );
    let (here, there) = ("10.5.0.7", "fc00:22::2");
    for (what, new, old, want) in [
        ("created", with(None, here), None, Some(REVIEW)),
        (
            "created, forged",
            with(Some(forged), here),
            None,
            Some(REVIEW),
        ),
        (
            "changed",
            with(Some(first), there),
            Some(with(Some(first), here)),
            Some(REVIEW),
        ),
        (
            "changed, dropped",
            with(None, there),
            Some(with(Some(first), here)),
            Some(REVIEW),
        ),
        (
            "as it was",
            with(Some(first), here),
            Some(with(Some(first), here)),
            Some(first),
        ),
        (
            "as it was, forged",
            with(Some(forged), here),
            Some(with(Some(first), here)),
            Some(first),
        ),
        (
            "as it was, dropped",
            with(None, here),
            Some(with(Some(first), here)),
            Some(first),
        ),
        (
            "as it was, never recorded",
            with(Some(forged), here),
            Some(with(None, here)),
            None,
        ),
        (
            "in its own writing",
            with(Some(first), "FC00:22::2"),
            Some(with(Some(first), there)),
            Some(first),
        ),
    ] {
        let operations = whole_patch("alice", &new, old.as_ref());
        let stored = apply(&new, &operations);
        assert_eq!(
            stored["metadata"]["annotations"][REQUEST].as_str(),
            want,
            "{what}"
        );
    }
}

#[test]
fn nobody_changes_the_requester_afterwards() {
    let by = |name: &str| json!({"ichor.maesh.dev/requested-by": name});
    for (old, new, want) in [
        (by("alice"), by("alice"), json!([])),
        (
            by("alice"),
            by("mallory"),
            json!([{"op": "replace", "path": BY, "value": "alice"}]),
        ),
        (
            by("alice"),
            json!({}),
            json!([{"op": "add", "path": BY, "value": "alice"}]),
        ),
        (
            by("alice"),
            Value::Null,
            json!([{"op": "add", "path": "/metadata/annotations", "value": by("alice")}]),
        ),
        (
            Value::Null,
            by("mallory"),
            json!([{"op": "remove", "path": BY}]),
        ),
        (Value::Null, Value::Null, json!([])),
    ] {
        let old = object(old, "10.5.0.7", Value::Null);
        let operations = patch("mallory", &object(new, "10.5.0.7", Value::Null), Some(&old));
        assert_eq!(Value::Array(operations), want);
    }
}

#[test]
fn addresses_and_uuids_have_one_text() {
    let by = json!({"ichor.maesh.dev/requested-by": "alice"});
    let upper = UUID.to_uppercase();
    for (address, uuid, want) in [
        ("10.5.0.7", Value::Null, json!([])),
        (
            "FC00:22:0::2",
            Value::Null,
            json!([{"op": "replace", "path": "/spec/address", "value": "fc00:22::2"}]),
        ),
        (
            "10.5.0.7",
            json!(upper),
            json!([{"op": "replace", "path": "/spec/confirmUUID", "value": UUID}]),
        ),
        // What is wrong is refused as it was given, not made into something else.
        ("worker-7", json!("YES"), json!([])),
    ] {
        let operations = patch("alice", &object(by.clone(), address, uuid), None);
        assert_eq!(Value::Array(operations), want);
    }
}

#[test]
fn what_is_stored_is_left_as_it_is() {
    // Stored before this webhook ran: the finalizer must come off without a change of spec.
    let stored = object(Value::Null, "FC00:22::2", Value::Null);
    assert_eq!(patch("alice", &stored, Some(&stored)), [] as [Value; 0]);
    // The same file applied again, in its own writing of the address.
    let stored = object(Value::Null, "fc00:22::2", Value::Null);
    let again = object(Value::Null, "FC00:22::2", json!(UUID));
    let operations = patch("alice", &again, Some(&stored));
    assert_eq!(
        Value::Array(operations),
        json!([{"op": "replace", "path": "/spec/address", "value": "fc00:22::2"}])
    );
}

fn texts() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        Just(json!({})),
        Just(json!({"a": "b"})),
        "[a-z]{0,5}".prop_map(|by| json!({"ichor.maesh.dev/requested-by": by, "x": "y"})),
    ]
}

fn addresses() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<std::net::IpAddr>().prop_map(|ip| ip.to_string()),
        any::<std::net::Ipv6Addr>().prop_map(|ip| format!(" [{ip}]").to_uppercase()),
        "[0-9a-fA-F:. ]{0,12}",
    ]
}

fn uuids() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<[u8; 4]>().prop_map(|b| {
            json!(format!(
                "{:02X}{:02x}{:02X}{:02x}-0042-3510-8052-B4C04F463133",
                b[0], b[1], b[2], b[3]
            ))
        }),
        "[0-9a-fA-F -]{0,36}".prop_map(Value::from),
    ]
}

fn objects() -> impl Strategy<Value = Value> {
    (texts(), addresses(), uuids()).prop_map(|(texts, address, uuid)| object(texts, &address, uuid))
}

proptest! {
    #[test]
    fn mutating_again_changes_nothing(
        caller in "[a-z:]{0,8}",
        given in objects(),
        old in proptest::option::of(objects()),
    ) {
        let once = apply(&given, &whole_patch(&caller, &given, old.as_ref()));
        prop_assert_eq!(whole_patch(&caller, &once, old.as_ref()), Vec::<Value>::new());
        prop_assert_eq!(&once["status"], &given["status"]);
    }

    #[test]
    fn every_operation_of_a_patch_changes_something(given in objects(), old in proptest::option::of(objects())) {
        let operations = whole_patch("alice", &given, old.as_ref());
        for at in 0..operations.len() {
            prop_assert_ne!(apply(&given, &operations[..at]), apply(&given, &operations[..=at]));
        }
    }
}
