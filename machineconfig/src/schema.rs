//! What is known of Talos's documents, read once from `data/talos.json`.

use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

/// The kind of the document that has none: machine, cluster, debug, persist.
pub(crate) const MAIN: &str = "v1alpha1";

/// The type of a field, as far as reading, merging and deleting go by it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Type {
    Text,
    /// Text whose blank lines at the start do not count.
    Trimmed,
    Bool,
    Int {
        min: i64,
        max: u64,
    },
    Float,
    Any,
    /// A map of anything.
    Object,
    /// Command line arguments: text or a list of it by name.
    Args,
    Leaf(Leaf),
    /// A certificate, a key or both, of these fields: it has all of them or is not there.
    Pem(Vec<String>),
    /// The name of an enumeration.
    Enum(String),
    /// Tells what is not there from what is there and empty.
    Pointer(Box<Self>),
    List(Box<Self>),
    /// The name of a list whose items merge by a field.
    Keyed(String),
    Map(Box<Self>),
    /// The name of a struct.
    Struct(String),
}

/// Text with a form of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leaf {
    Address,
    AddressPort,
    Bytes,
    ByteSize,
    Cel,
    DiskMatcher,
    DiskSize,
    Duration,
    HardwareAddress,
    PortRange,
    Prefix,
    Size,
    Url,
}

pub(crate) struct Field {
    pub ty: Type,
    /// The patch's value takes the place of the old one instead of being merged with it.
    pub replace: bool,
}

/// A list whose items merge by the first of the fields that the patch's item has.
pub(crate) struct Keyed {
    pub of: Type,
    pub by: Vec<String>,
    /// The patch's item takes the place of the old one.
    pub replace: bool,
}

pub(crate) struct Kind {
    pub ty: Type,
    pub named: bool,
    pub conflicts: Vec<String>,
}

#[derive(Default)]
pub(crate) struct Schema {
    kinds: HashMap<String, Kind>,
    structs: HashMap<String, BTreeMap<String, Field>>,
    lists: HashMap<String, Keyed>,
    enums: HashMap<String, Vec<String>>,
}

static SCHEMA: LazyLock<Schema> = LazyLock::new(|| {
    // A table that cannot be read knows no kind, and everything is refused; a test reads it.
    serde_json::from_str(include_str!("../data/talos.json"))
        .map(|table: Value| Schema::read(&table))
        .unwrap_or_default()
});

pub(crate) fn kind(name: &str) -> Option<&'static Kind> {
    SCHEMA.kinds.get(name)
}

/// The fields of a struct; none for one that is not known.
pub(crate) fn fields(name: &str) -> &'static BTreeMap<String, Field> {
    static NONE: BTreeMap<String, Field> = BTreeMap::new();
    SCHEMA.structs.get(name).unwrap_or(&NONE)
}

pub(crate) fn keyed(name: &str) -> Option<&'static Keyed> {
    SCHEMA.lists.get(name)
}

/// The names of an enumeration, that of its zero value first.
pub(crate) fn names(name: &str) -> &'static [String] {
    SCHEMA.enums.get(name).map_or(&[], Vec::as_slice)
}

impl Schema {
    fn read(table: &Value) -> Self {
        let mut schema = Self {
            enums: entries(&table["enums"], texts),
            ..Self::default()
        };
        let lists = &table["lists"];
        let ty = |notation: &Value| {
            let text = notation.as_str().unwrap_or_default();
            parse(text, lists, &schema.enums)
        };
        let read_lists = entries(lists, |list| Keyed {
            of: ty(&list["of"]),
            by: texts(&list["by"]),
            replace: list["replace"] == true,
        });
        let kinds = entries(&table["kinds"], |kind| Kind {
            ty: ty(&kind["type"]),
            named: kind["named"] == true,
            conflicts: texts(&kind["conflicts"]),
        });
        let structs = entries(&table["structs"], |fields| {
            entries(fields, |notation| {
                let text = notation.as_str().unwrap_or_default();
                Field {
                    ty: parse(text.trim_end_matches(" replace"), lists, &schema.enums),
                    replace: text.ends_with(" replace"),
                }
            })
            .into_iter()
            .collect()
        });
        (schema.lists, schema.kinds, schema.structs) = (read_lists, kinds, structs);
        schema
    }
}

fn entries<T>(map: &Value, read: impl Fn(&Value) -> T) -> HashMap<String, T> {
    let fields = map.as_object().into_iter().flatten();
    fields.map(|(k, v)| (k.clone(), read(v))).collect()
}

fn texts(list: &Value) -> Vec<String> {
    let items = list.as_array().into_iter().flatten();
    items
        .filter_map(|it| it.as_str().map(str::to_owned))
        .collect()
}

/// Reads the notation of a type: `*` pointer, `[]` list, `map[]` map by name, then a word or the name of a type.
fn parse(text: &str, lists: &Value, enums: &HashMap<String, Vec<String>>) -> Type {
    let inner = |rest| Box::new(parse(rest, lists, enums));
    if let Some(rest) = text.strip_prefix('*') {
        return Type::Pointer(inner(rest));
    }
    if let Some(rest) = text.strip_prefix("[]") {
        return Type::List(inner(rest));
    }
    if let Some(rest) = text.strip_prefix("map[]") {
        return Type::Map(inner(rest));
    }
    let int = |min, max| Type::Int { min, max };
    match text {
        "string" => Type::Text,
        "trimmed" => Type::Trimmed,
        "bool" => Type::Bool,
        "int" | "int64" => int(i64::MIN, i64::MAX.unsigned_abs()),
        "int32" => int(i32::MIN.into(), i32::MAX.unsigned_abs().into()),
        "int16" => int(i16::MIN.into(), i16::MAX.unsigned_abs().into()),
        "int8" => int(i8::MIN.into(), i8::MAX.unsigned_abs().into()),
        "uint" | "uint64" => int(0, u64::MAX),
        "uint32" => int(0, u32::MAX.into()),
        "uint16" => int(0, u16::MAX.into()),
        "uint8" => int(0, u8::MAX.into()),
        "float32" | "float64" => Type::Float,
        "any" => Type::Any,
        "object" => Type::Object,
        "args" => Type::Args,
        "address" => Type::Leaf(Leaf::Address),
        "addressport" => Type::Leaf(Leaf::AddressPort),
        "bytes" => Type::Leaf(Leaf::Bytes),
        "bytesize" => Type::Leaf(Leaf::ByteSize),
        "cel" => Type::Leaf(Leaf::Cel),
        "diskmatcher" => Type::Leaf(Leaf::DiskMatcher),
        "disksize" => Type::Leaf(Leaf::DiskSize),
        "duration" => Type::Leaf(Leaf::Duration),
        "hardwareaddress" => Type::Leaf(Leaf::HardwareAddress),
        "portrange" => Type::Leaf(Leaf::PortRange),
        "prefix" => Type::Leaf(Leaf::Prefix),
        "size" => Type::Leaf(Leaf::Size),
        "url" => Type::Leaf(Leaf::Url),
        name if name.starts_with("pem ") => {
            Type::Pem(name.split(' ').skip(1).map(str::to_owned).collect())
        }
        name if lists.get(name).is_some() => Type::Keyed(name.to_owned()),
        name if enums.contains_key(name) => Type::Enum(name.to_owned()),
        name => Type::Struct(name.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table is read, and every type in it leads somewhere.
    #[test]
    fn every_type_is_known() {
        fn known(ty: &Type) -> bool {
            match ty {
                Type::Pointer(inner) | Type::List(inner) | Type::Map(inner) => known(inner),
                Type::Struct(name) => SCHEMA.structs.contains_key(name),
                Type::Keyed(name) => keyed(name).is_some_and(|it| known(&it.of)),
                _ => true,
            }
        }
        assert!(SCHEMA.kinds.len() > 80 && SCHEMA.structs.len() > 200);
        assert!(kind(MAIN).is_some() && kind("HostnameConfig").is_some());
        for (name, entry) in &SCHEMA.kinds {
            assert!(known(&entry.ty), "{name}");
        }
        for (name, fields) in &SCHEMA.structs {
            for (field, entry) in fields {
                assert!(known(&entry.ty), "{name}.{field}: {:?}", entry.ty);
            }
        }
    }
}
