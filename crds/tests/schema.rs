//! Every CRD is one that the API server can hold and a person can read: bounded, without null, with a text at each field.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use std::collections::BTreeSet;

fn schemas() -> Vec<(String, JSONSchemaProps)> {
    let crds = ichor_crds::all_crds().into_iter();
    crds.filter_map(|(_, crd)| Some((crd.spec.names.kind.clone(), schema(&crd)?)))
        .collect()
}

fn schema(crd: &CustomResourceDefinition) -> Option<JSONSchemaProps> {
    let version = crd.spec.versions.first()?;
    version.schema.as_ref()?.open_api_v3_schema.clone()
}

/// Calls `see` with every schema below `schema` and its path. Conditions are Kubernetes' own shape.
fn walk(path: &str, schema: &JSONSchemaProps, see: &mut dyn FnMut(&str, &JSONSchemaProps)) {
    see(path, schema);
    for (name, property) in schema.properties.iter().flatten() {
        walk(&format!("{path}.{name}"), property, see);
    }
    if let Some(JSONSchemaPropsOrArray::Schema(items)) = &schema.items
        && !path.ends_with(".conditions")
    {
        walk(&format!("{path}[]"), items, see);
    }
    if let Some(JSONSchemaPropsOrBool::Schema(values)) = &schema.additional_properties {
        walk(&format!("{path}{{}}"), values, see);
    }
}

fn complaints(judge: impl Fn(&str, &JSONSchemaProps) -> Option<String>) -> Vec<String> {
    let mut all = Vec::new();
    for (kind, schema) in schemas() {
        walk(&kind, &schema, &mut |path, schema| {
            all.extend(judge(path, schema).map(|complaint| format!("{path}: {complaint}")));
        });
    }
    all
}

#[test]
fn every_string_list_and_map_is_bounded() {
    assert_eq!(schemas().len(), 8, "kinds");
    let unbounded = complaints(|_, schema| {
        let bounded = match schema.type_.as_deref() {
            Some("string") => {
                schema.max_length.is_some()
                    || schema.enum_.is_some()
                    || schema.format.as_deref() == Some("date-time")
            }
            Some("array") => schema.max_items.is_some(),
            Some("object") => match &schema.additional_properties {
                None => schema.properties.is_some(),
                Some(JSONSchemaPropsOrBool::Schema(_)) => schema.max_properties.is_some(),
                Some(JSONSchemaPropsOrBool::Bool(_)) => false,
            },
            Some("integer" | "boolean") => true,
            _ => false,
        };
        (!bounded).then(|| format!("{:?} without a bound", schema.type_))
    });
    assert!(unbounded.is_empty(), "{unbounded:#?}");
}

/// `has()` in a rule means "is there": a null would pass for a value.
#[test]
fn nothing_is_nullable() {
    let nullable = complaints(|_, schema| {
        let null = schema.enum_.iter().flatten().any(|value| value.0.is_null());
        (null || schema.nullable == Some(true)).then(|| "can be null".to_owned())
    });
    assert!(nullable.is_empty(), "{nullable:#?}");
}

/// What `kubectl explain` prints: whole sentences, without Markdown, in lines that are not broken by hand.
#[test]
fn every_field_says_what_it_is() {
    let unreadable = complaints(|path, schema| {
        // Values of maps and items of lists are explained by what holds them, spec and status by the kind.
        if path.ends_with("[]") || path.ends_with("{}") {
            return None;
        }
        let text = schema.description.as_deref().unwrap_or_default();
        let readable = text.ends_with(['.', ')', '"']) && !text.contains(['`', '\n']);
        let wanted = path.split('.').count() > 2;
        (wanted && !readable).then(|| format!("{text:?}"))
    });
    assert!(unreadable.is_empty(), "{unreadable:#?}");
}

/// The choices of a field are in its text, so that a person need not try them.
#[test]
fn every_choice_is_named_in_the_text_of_its_field() {
    let silent = complaints(|path, schema| {
        let text = schema.description.as_deref().unwrap_or_default();
        let missing: Vec<String> = schema
            .enum_
            .iter()
            .flatten()
            .filter_map(|value| value.0.as_str())
            .filter(|value| !text.contains(value))
            .map(str::to_owned)
            .collect();
        (path.contains(".spec.") && !missing.is_empty()).then(|| format!("{missing:?} in {text:?}"))
    });
    assert!(silent.is_empty(), "{silent:#?}");
}

/// A refusal says what to do, on one line.
#[test]
fn every_rule_has_a_message() {
    let silent = complaints(|_, schema| {
        let rules = schema.x_kubernetes_validations.iter().flatten();
        let silent = rules
            .filter(|rule| {
                rule.message
                    .as_deref()
                    .is_none_or(|message| message.is_empty() || message.contains('\n'))
            })
            .count();
        (silent > 0).then(|| format!("{silent} rules without a message"))
    });
    assert!(silent.is_empty(), "{silent:#?}");
}

#[test]
fn every_kind_is_in_the_category_and_has_a_short_name_conditions_and_columns() {
    for (file, crd) in ichor_crds::all_crds() {
        let names = &crd.spec.names;
        assert_eq!(names.categories, Some(vec!["ichor".to_owned()]), "{file}");
        assert_eq!(names.short_names.as_ref().map(Vec::len), Some(1), "{file}");
        assert_eq!(file, format!("{}.yaml", names.plural));
        let version = crd.spec.versions.first().expect("a version");
        let columns = version.additional_printer_columns.as_deref();
        let last = columns.and_then(<[_]>::last).map(|column| &*column.name);
        assert_eq!(last, Some("Age"), "{file}");
        let schema = schema(&crd).expect("a schema");
        let status = schema.properties.as_ref().and_then(|all| all.get("status"));
        let status = status.and_then(|status| status.properties.as_ref());
        let status = status.expect("a status");
        assert!(status.contains_key("observedGeneration"), "{file}");
        let conditions = status.get("conditions").expect("conditions");
        assert_eq!(
            conditions.x_kubernetes_list_map_keys,
            Some(vec!["type".to_owned()]),
            "{file}"
        );
    }
}

/// The types are for everyone who has an object in hand: they bring no runtime and no client.
#[test]
fn the_types_need_no_runtime() {
    let listed = std::process::Command::new(env!("CARGO"))
        .args([
            "tree",
            "--locked",
            "--offline",
            "--edges=normal",
            "--prefix=none",
        ])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo tree");
    let text = String::from_utf8_lossy(&listed.stdout);
    assert!(text.contains("ichor-crds"), "{listed:?}");
    for line in text.lines() {
        let name = line.split(' ').next().unwrap_or_default();
        assert!(
            ![
                "tokio",
                "hyper",
                "tonic",
                "h2",
                "tower",
                "rustls",
                "kube-client"
            ]
            .contains(&name),
            "the types bring {line}"
        );
    }
}

/// "CRD fields are append-only" (DESIGN section 3): `fields.txt` has a line for every field that there ever was, with
/// its type, one for each of its values, and one where it may be left out. `ICHOR_GENERATE=1` (`make generate`) adds
/// today's and takes none away.
#[test]
fn no_field_or_value_goes_and_none_becomes_required() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fields.txt");
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let known: BTreeSet<String> = text.lines().map(ToOwned::to_owned).collect();
    let today = fields();
    let gone: Vec<_> = known.difference(&today).collect();
    assert!(
        gone.is_empty(),
        "stored objects and those who write them need these: {gone:#?}"
    );
    let demanding: Vec<_> = today
        .difference(&known)
        .filter(|line| is_demanded(line, &known, &today))
        .collect();
    assert!(
        demanding.is_empty(),
        "stored objects have none of these: {demanding:#?}"
    );
    if std::env::var_os("ICHOR_GENERATE").is_some() {
        let lines: Vec<String> = today.into_iter().map(|line| line + "\n").collect();
        std::fs::write(path, lines.concat()).expect("fields.txt");
        return;
    }
    let new: Vec<_> = today.difference(&known).collect();
    assert!(
        new.is_empty(),
        "fields.txt lacks {new:#?}: run `make generate`"
    );
}

/// Whether `line` is a new field that every object of before would need.
fn is_demanded(line: &str, known: &BTreeSet<String>, today: &BTreeSet<String>) -> bool {
    let Some((path, kind)) = line.split_once(' ') else {
        return false;
    };
    let is_field =
        !kind.starts_with("= ") && kind != "may be left out" && !path.ends_with([']', '}']);
    let parent = path
        .rsplit_once('.')
        .map(|(parent, _)| format!("{parent} object"));
    is_field
        && parent.is_some_and(|parent| known.contains(&parent))
        && !today.contains(&format!("{path} may be left out"))
}

#[test]
fn a_new_field_that_every_object_would_need_is_noticed() {
    let set = |lines: &[&str]| {
        lines
            .iter()
            .map(ToString::to_string)
            .collect::<BTreeSet<_>>()
    };
    let known = set(&["Kind.spec object"]);
    for (today, demanded) in [
        (set(&["Kind.spec.new string"]), true),
        (
            set(&["Kind.spec.new string", "Kind.spec.new may be left out"]),
            false,
        ),
        // What is required in a block that is new is required of nobody who has no such block.
        (set(&["Kind.spec.block.new string"]), false),
    ] {
        assert_eq!(
            today.iter().any(|line| is_demanded(line, &known, &today)),
            demanded,
            "{today:?}"
        );
    }
}

fn fields() -> BTreeSet<String> {
    let mut fields = BTreeSet::new();
    for (kind, schema) in schemas() {
        walk(&kind, &schema, &mut |path, schema| {
            let kind = schema.type_.as_deref().unwrap_or("any");
            let format = schema.format.as_deref().unwrap_or_default();
            fields.insert(format!("{path} {kind} {format}").trim_end().to_owned());
            let values = schema.enum_.iter().flatten();
            fields.extend(values.map(|value| format!("{path} = {}", value.0)));
            let required = schema.required.as_deref().unwrap_or_default();
            let names = schema.properties.iter().flatten().map(|(name, _)| name);
            let optional = names.filter(|name| !required.contains(name));
            fields.extend(optional.map(|name| format!("{path}.{name} may be left out")));
        });
    }
    fields
}
