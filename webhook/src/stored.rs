//! An object as it stands in a review: decoded only as far as it is looked at.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// What kubectl apply keeps of the file it applied.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// How the annotations that mean something to Ichor begin.
const ICHORS: &str = "ichor.maesh.dev/";

/// The object; spec and status are still text.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Stored<'a> {
    #[serde(borrow, default)]
    metadata: Metadata<'a>,
    #[serde(borrow, default)]
    spec: Option<&'a RawValue>,
    #[serde(borrow, default)]
    status: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata<'a> {
    #[serde(default)]
    name: Box<str>,
    #[serde(default)]
    annotations: Option<BTreeMap<String, String>>,
    #[serde(borrow, default)]
    managed_fields: Option<&'a RawValue>,
}

impl<'a> Stored<'a> {
    pub(crate) fn decode(text: &'a RawValue) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text.get())
    }

    pub(crate) fn name(&self) -> &str {
        &self.metadata.name
    }

    /// Its annotations, `None` where there is no map to add to.
    pub(crate) fn annotations(&self) -> Option<&BTreeMap<String, String>> {
        self.metadata.annotations.as_ref()
    }

    pub(crate) fn annotation(&self, key: &str) -> Option<&str> {
        self.annotations()?.get(key).map(String::as_str)
    }

    /// The annotations that mean something to Ichor.
    pub(crate) fn ichors(&self) -> BTreeMap<String, String> {
        let all = self.annotations().into_iter().flatten();
        all.filter(|(key, _)| key.starts_with(ICHORS))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect()
    }

    pub(crate) fn spec<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.spec.map_or("{}", RawValue::get))
    }

    /// The status, empty before the controller wrote one.
    pub(crate) fn status<T: DeserializeOwned + Default>(&self) -> Result<T, serde_json::Error> {
        self.status
            .map_or_else(|| Ok(T::default()), |text| serde_json::from_str(text.get()))
    }

    /// Whether both specs say the same, also in fields that this version does not know: what a newer
    /// version's field means is not for an older one to wave through.
    pub(crate) fn same_spec(&self, other: &Self) -> bool {
        let (mine, theirs) = (self.spec.map(RawValue::get), other.spec.map(RawValue::get));
        if mine == theirs {
            return true;
        }
        let value = |text: Option<&str>| serde_json::from_str::<Value>(text.unwrap_or("null"));
        matches!((value(mine), value(theirs)), (Ok(a), Ok(b)) if a == b)
    }

    /// Whether the annotation `key` comes from a file that is applied: it would be set again and again.
    pub(crate) fn applies_annotation(&self, key: &str) -> bool {
        let in_last = self
            .annotation(LAST_APPLIED)
            .and_then(|text| serde_json::from_str::<Value>(text).ok())
            .is_some_and(|file| file["metadata"]["annotations"].get(key).is_some());
        let field = format!("f:{key}");
        let managers = self.metadata.managed_fields.map(RawValue::get);
        let managers = managers.and_then(|text| serde_json::from_str::<Vec<Value>>(text).ok());
        let mut managers = managers.unwrap_or_default().into_iter();
        in_last
            || managers.any(|entry| {
                let annotations = &entry["fieldsV1"]["f:metadata"]["f:annotations"];
                entry["operation"] == "Apply" && annotations.get(&field).is_some()
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_annotation_of_an_applied_file_is_told_from_one_set_by_hand() {
        let key = "ichor.maesh.dev/retry";
        let file = json!({"metadata": {"annotations": {key: "true"}}}).to_string();
        let fields = json!({"f:metadata": {"f:annotations": {"f:ichor.maesh.dev/retry": {}}}});
        for (metadata, want) in [
            (json!({"annotations": {key: "true"}}), false),
            (
                json!({"annotations": {key: "true", LAST_APPLIED: file}}),
                true,
            ),
            (
                json!({"annotations": {key: "true", LAST_APPLIED: "{}"}}),
                false,
            ),
            (
                json!({"managedFields": [{"operation": "Apply", "fieldsV1": fields}]}),
                true,
            ),
            (
                json!({"managedFields": [{"operation": "Update", "fieldsV1": fields}]}),
                false,
            ),
            (json!({"managedFields": "?"}), false),
        ] {
            let text = json!({"metadata": metadata}).to_string();
            let stored: Stored<'_> = serde_json::from_str(&text).expect("an object");
            assert_eq!(stored.applies_annotation(key), want, "{text}");
        }
    }
}
