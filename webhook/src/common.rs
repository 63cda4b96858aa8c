//! Rules and words that more than one resource has.

use crate::field::FieldError;
use crate::findings::known;
use crate::ports::{Access, ClusterLookup};
use crate::request::{Change, Facts, Judged, Snapshot};
use ichor_crds::{
    DECIDED_BY, LocalReference, NodeAddress, REQUEST_ID, REQUESTED_BY, REQUESTED_BY_UID,
    is_request_id,
};
use serde::Serialize;

/// The annotations that admission writes, and nobody sets or changes by hand (DESIGN section 4, step 2):
/// who created the object, by name and uid, who decided about it, and the request that last said what it shall be.
pub(crate) fn stamps<R: Judged>(
    facts: &Facts<R>,
    spec_changes: bool,
) -> [(&'static str, Option<&str>); 4] {
    let was = |key: &str| facts.old_annotations.get(key).map(String::as_str);
    let (caller, uid) = (Some(facts.caller.as_str()), facts.caller_uid.as_deref());
    let (by, by_uid) = match facts.change {
        Change::Create { .. } => (caller, uid),
        _ => (was(REQUESTED_BY), was(REQUESTED_BY_UID)),
    };
    let decided = if R::decides(facts) {
        caller
    } else {
        was(DECIDED_BY)
    };
    let request = if spec_changes {
        Some(facts.review.as_str())
    } else {
        was(REQUEST_ID)
    };
    [
        (REQUESTED_BY, by),
        (REQUESTED_BY_UID, by_uid),
        (DECIDED_BY, decided),
        (REQUEST_ID, request),
    ]
}

/// They are what the mutating webhook wrote, also where it did not run or another one ran after it: then
/// they may be missing, and nothing is forged.
pub(crate) fn stamped<R: Judged>(snapshot: &Snapshot<R>) -> Vec<FieldError> {
    let facts = &snapshot.facts;
    if matches!(facts.change, Change::Delete { .. }) {
        return Vec::new();
    }
    let spec_changes = facts.spec().is_some();
    let forged = |(key, want): &(&str, Option<&str>)| {
        let (now, was) = (facts.annotations.get(*key), facts.old_annotations.get(*key));
        // Each webhook is asked by a review of its own: the mutating one's ID cannot be known here.
        if *key == REQUEST_ID && spec_changes {
            return now.is_some_and(|id| !is_request_id(id));
        }
        now.map(String::as_str) != *want && !(now.is_none() && was.is_none())
    };
    let errors = stamps(facts, spec_changes)
        .into_iter()
        .filter(forged)
        .map(|(key, _)| {
            let why = format!("{key} is set by admission and cannot be set or changed by hand");
            FieldError::forbidden("metadata.annotations", why)
        });
    errors.collect()
}

/// The cluster that `spec.clusterRef` names exists in the Ichor namespace (record 0136).
pub(crate) fn cluster_exists<R: Judged>(snapshot: &Snapshot<R>) -> Vec<FieldError> {
    let Some(ClusterLookup::Missing { existing }) = known(&snapshot.findings.cluster) else {
        return Vec::new();
    };
    let name = R::questions(&snapshot.facts).cluster.unwrap_or_default();
    let namespace = &snapshot.facts.namespace;
    let mut names = existing.clone();
    names.sort();
    let there = match names.as_slice() {
        [] => "there is none".to_owned(),
        [one] => format!("there is {one}"),
        many => format!("there are {}", many.join(", ")),
    };
    let why = format!("no TalosCluster of that name in namespace {namespace}; {there}");
    vec![FieldError::not_found("spec.clusterRef.name", &name, why)]
}

/// The name that a reference holds, where it can be looked up.
pub(crate) fn named(reference: Option<&LocalReference>) -> Option<String> {
    let name = &reference?.name;
    is_object_name(name).then(|| name.clone())
}

/// References name objects; what cannot be a name is refused before it is looked up.
pub(crate) fn reference_name(
    path: &'static str,
    reference: Option<&LocalReference>,
) -> Option<FieldError> {
    let name = &reference?.name;
    let why =
        "is not the name of an object: lower-case letters, digits, \"-\" and \".\", at most 253";
    (!is_object_name(name)).then(|| FieldError::invalid(path, name, why))
}

/// Whether `name` can name an object. Anything else is never put into the path of a request.
pub(crate) fn is_object_name(name: &str) -> bool {
    let label = |part: &str| {
        let bytes = part.as_bytes();
        let end = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
        end(bytes.first())
            && end(bytes.last())
            && bytes
                .iter()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || *b == b'-')
    };
    name.len() <= 253 && name.split('.').all(label)
}

/// The canonical text of an address; the stored text where both mean one address, so that applying the
/// same file again changes nothing.
pub(crate) fn canonical_address(given: &str, stored: Option<&str>) -> Option<String> {
    let address: NodeAddress = given.parse().ok()?;
    let same = stored.filter(|text| text.parse() == Ok(address));
    Some(same.map_or_else(|| address.to_string(), ToOwned::to_owned))
}

/// An address of a list has one text in it. Lists are not rewritten as single fields are: they are sets with an owner of
/// each item, who applies it as they wrote it (DESIGN section 18, decision 17), and every comparison reads the address, not
/// the text. `lists` are the list as it would be and as it is; items may have prefix lengths.
pub(crate) fn one_text(
    path: &'static str,
    [list, old]: [&[String]; 2],
) -> impl Iterator<Item = FieldError> {
    let address = |text: &str| text.split('/').next()?.parse::<NodeAddress>().ok();
    let new = list.iter().filter(|text| !old.contains(text));
    new.filter_map(move |text| {
        let mine = address(text)?;
        let mut others = list.iter().filter(|other| *other != text);
        let other = others.find(|other| address(other) == Some(mine))?;
        let why =
            format!("is the address of {other}, which is in the list: take one of the two out");
        Some(FieldError::duplicate(path, text, why))
    })
}

/// A URL without user name and password. What is refused is not repeated: it may be a password. No URL of a service needs
/// the sign that ends them.
pub(crate) fn no_user_info(path: &'static str, url: &str) -> Option<FieldError> {
    let why = "a URL with \"@\" may hold a user name and a password, which everybody would read: take them out";
    url.contains('@').then(|| FieldError::forbidden(path, why))
}

/// The address of a node, and one that is dialled without `--allow-local-addresses` (DESIGN section 5).
pub(crate) fn node_address<R: Judged>(
    snapshot: &Snapshot<R>,
    path: &'static str,
    text: &str,
) -> Option<FieldError> {
    let why = match text.parse::<NodeAddress>() {
        Err(error) => error.to_string(),
        Ok(address) if address.is_local() && !snapshot.facts.allow_local_addresses => {
            "is a loopback or link-local address, which the controller does not dial without --allow-local-addresses".to_owned()
        }
        Ok(_) => return None,
    };
    Some(FieldError::invalid(path, text, why))
}

/// The seconds of a duration such as 8h30m, where it is one.
pub(crate) fn seconds(text: &str) -> Option<u64> {
    let (mut total, mut rest) = (0_u64, text);
    for (unit, factor) in [('h', 3600), ('m', 60), ('s', 1)] {
        if let Some((number, after)) = rest.split_once(unit) {
            total = total.checked_add(number.parse::<u64>().ok()?.checked_mul(factor)?)?;
            rest = after;
        }
    }
    (rest.is_empty() && !text.is_empty()).then_some(total)
}

/// A reference to the cluster that never changes after creation.
pub(crate) fn fixed_cluster<R: Judged>(
    now: Option<&LocalReference>,
    was: Option<&LocalReference>,
) -> Vec<FieldError> {
    if was.is_none() || now == was {
        return Vec::new();
    }
    let why = format!("cannot change after creation; create another {}", R::KIND);
    vec![FieldError::forbidden("spec.clusterRef", why)]
}

/// An enum of the API as it is written in an object.
pub(crate) fn written<T: Serialize>(value: &T) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}

/// A Secret that the controller will read for the caller, with `keys`: it is there, and who may not `get` it does not have
/// it used for them, and does not learn whether it is there (no confused deputy, DESIGN section 4).
pub(crate) fn used_secret<R: Judged>(
    snapshot: &Snapshot<R>,
    path: &'static str,
    name: Option<String>,
    keys: &str,
) -> Vec<FieldError> {
    let Some(name) = name else {
        return Vec::new();
    };
    let (caller, namespace) = (&snapshot.facts.caller, &snapshot.facts.namespace);
    if known(&snapshot.findings.secret_type) == Some(&None) {
        let why = format!("no Secret of that name in namespace {namespace}; create it with {keys}");
        return vec![FieldError::not_found(path, &name, why)];
    }
    if known(&snapshot.findings.secret_access) != Some(&Access::Denied) {
        return Vec::new();
    }
    let why = format!(
        "user {caller:?} may not get Secret {name:?} in namespace {namespace}, so Ichor does not use it for them: needs verb \"get\" on secrets"
    );
    vec![FieldError::forbidden(path, why)]
}

/// A name as far as it fits into a warning.
pub(crate) fn short(text: &str) -> String {
    let mut shown: String = text.chars().take(60).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    format!("{shown:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_hours_minutes_and_seconds_in_this_order() {
        for (text, want) in [
            ("8h", Some(28_800)),
            ("1h30m", Some(5_400)),
            ("10m5s", Some(605)),
            ("0s", Some(0)),
            ("", None),
            ("5", None),
            ("5s1h", None),
            ("5d", None),
            ("-5m", None),
            ("99999999999999999999h", None),
        ] {
            assert_eq!(seconds(text), want, "{text}");
        }
    }
}
