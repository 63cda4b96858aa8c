//! What values an expression has, and what goes with what. Where Talos's own checker would follow a value that is not known
//! further, it is [`Type::Unsure`] here, which goes with everything.

use std::fmt;

/// The type of a value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Type {
    Bool,
    Int,
    UInt,
    Double,
    Text,
    Bytes,
    Null,
    Timestamp,
    Duration,
    /// The disk itself.
    Disk,
    List(Box<Type>),
    Map(Box<(Type, Type)>),
    /// A type, such as `string`.
    Kind,
    /// What `dyn` gives.
    Dyn,
    /// Not followed any further.
    Unsure,
}

use Type::{
    Bool, Bytes, Disk, Double, Duration, Dyn, Int, List, Map, Null, Text, Timestamp, UInt, Unsure,
};

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Bool => "bool",
            Int => "int",
            UInt => "uint",
            Double => "double",
            Text => "string",
            Bytes => "bytes",
            Null => "null",
            Timestamp => "timestamp",
            Duration => "duration",
            Disk => "disk",
            List(_) => "list",
            Map(_) => "map",
            Self::Kind => "type",
            Dyn => "dyn",
            Unsure => "value",
        })
    }
}

/// The fields of a disk (Talos 1.13).
pub(super) const FIELDS: [(&str, Type); 16] = [
    ("size", UInt),
    ("io_size", UInt),
    ("sector_size", UInt),
    ("readonly", Bool),
    ("model", Text),
    ("serial", Text),
    ("modalias", Text),
    ("wwid", Text),
    ("bus_path", Text),
    ("sub_system", Text),
    ("transport", Text),
    ("rotational", Bool),
    ("cdrom", Bool),
    ("dev_path", Text),
    ("pretty_size", Text),
    ("uuid", Text),
];
/// Its fields that are lists of texts.
pub(super) const LISTS: [&str; 2] = ["secondary_disks", "symlinks"];

/// Sizes that a number is multiplied by.
pub(super) const UNITS: [&str; 12] = [
    "KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "kB", "MB", "GB", "TB", "PB", "EB",
];
const TYPES: [&str; 10] = [
    "bool",
    "bytes",
    "double",
    "int",
    "list",
    "map",
    "null_type",
    "string",
    "type",
    "uint",
];

/// The type of a name.
pub(super) fn name(name: &str) -> Option<Type> {
    match name {
        "disk" => Some(Disk),
        "system_disk" => Some(Bool),
        _ if UNITS.contains(&name) => Some(UInt),
        _ if TYPES.contains(&name) => Some(Type::Kind),
        _ => None,
    }
}

/// The type of a field of a value; an error is the type, which has no such field.
pub(super) fn field(of: Type, name: &str) -> Result<Type, Type> {
    match of {
        Disk if LISTS.contains(&name) => Ok(list(Text)),
        Disk => {
            let mut all = FIELDS.into_iter();
            all.find(|(field, _)| *field == name)
                .map(|(_, its)| its)
                .ok_or(Disk)
        }
        Map(entry) => Ok(entry.1),
        Dyn | Unsure => Ok(Unsure),
        other => Err(other),
    }
}

/// Parts that the type of a list or a map has at most: each macro could double them.
const PARTS: usize = 100;

pub(super) fn list(of: Type) -> Type {
    if of.parts() > PARTS {
        return Unsure;
    }
    List(Box::new(of))
}

pub(super) fn map(keys: Type, values: Type) -> Type {
    if keys.parts() + values.parts() > PARTS {
        return Unsure;
    }
    Map(Box::new((keys, values)))
}

impl Type {
    fn parts(&self) -> usize {
        match self {
            List(of) => 1 + of.parts(),
            Map(entry) => 1 + entry.0.parts() + entry.1.parts(),
            _ => 1,
        }
    }

    fn is_open(&self) -> bool {
        matches!(self, Dyn | Unsure)
    }

    /// Whether this may be a value of `other`.
    pub(super) fn may_be(&self, other: &Self) -> bool {
        let nullable = |one: &Self| matches!(one, Null | Disk | Timestamp | Duration);
        match (self, other) {
            (List(a), List(b)) => a.may_be(b),
            (Map(a), Map(b)) => a.0.may_be(&b.0) && a.1.may_be(&b.1),
            (Null, one) | (one, Null) if !one.is_open() => nullable(one),
            (a, b) => a.is_open() || b.is_open() || a == b,
        }
    }

    /// What both are.
    pub(super) fn join(self, other: &Self) -> Option<Self> {
        match (&self, other) {
            (a, b) if a == b => Some(self),
            (a, b) if a.may_be(b) => Some(Unsure),
            _ => None,
        }
    }
}

/// What an operator between two values gives.
pub(super) fn operator(sign: &str, left: &Type, right: &Type) -> Option<Type> {
    let same = |all: &[Type]| {
        let open = left.is_open() || right.is_open();
        let all = || {
            all.iter()
                .filter(|one| left.may_be(one) && right.may_be(one))
        };
        match all().count() {
            0 => None,
            1 => all().next().cloned(),
            _ if open => Some(Unsure),
            _ => all().next().cloned(),
        }
    };
    match sign {
        "&&" | "||" => (left.may_be(&Bool) && right.may_be(&Bool)).then_some(Bool),
        "==" | "!=" => left.may_be(right).then_some(Bool),
        _ if orders(sign) => {
            let ordered = [Bool, Int, UInt, Double, Text, Bytes, Timestamp, Duration];
            same(&ordered).map(|_| Bool)
        }
        "in" => match right {
            List(of) => left.may_be(of).then_some(Bool),
            Map(entry) => left.may_be(&entry.0).then_some(Bool),
            other => other.is_open().then_some(Bool),
        },
        "%" => same(&[Int, UInt]),
        // A null may be either, so that what comes out is not known.
        "+" | "-" if times(left, right) && times(right, left) => Some(match (sign, left, right) {
            ("+" | "-", Timestamp, Duration) | ("+", Duration, Timestamp) => Timestamp,
            ("-", Timestamp, Timestamp) | (_, Duration, Duration) => Duration,
            (_, Timestamp, Timestamp) | ("-", Duration, Timestamp) => return None,
            _ => Unsure,
        }),
        "+" => match (left, right) {
            (List(a), List(b)) => Some(list(a.as_ref().clone().join(b)?)),
            (List(_), open) | (open, List(_)) if open.is_open() => Some(Unsure),
            _ => same(&[Int, UInt, Double, Text, Bytes]),
        },
        "-" | "*" | "/" => same(&[Int, UInt, Double]),
        _ => None,
    }
}

/// Whether `one` is a time or a duration, or may be where `other` is.
fn times(one: &Type, other: &Type) -> bool {
    let is = |one: &Type| matches!(one, Timestamp | Duration | Null);
    is(one) || (one.is_open() && is(other))
}

fn orders(sign: &str) -> bool {
    matches!(sign, "<" | "<=" | ">" | ">=")
}

/// Whether it puts numbers of two types in order.
pub(super) fn orders_numbers(sign: &str, left: &Type, right: &Type) -> bool {
    let number = |one: &Type| matches!(one, Int | UInt | Double);
    orders(sign) && number(left) && number(right)
}

/// What stands at a place of a list or under a key of a map.
pub(super) fn index(of: &Type, by: &Type) -> Option<Type> {
    match of {
        List(element) => by.may_be(&Int).then(|| element.as_ref().clone()),
        Map(entry) => by.may_be(&entry.0).then(|| entry.1.clone()),
        other => other.is_open().then_some(Unsure),
    }
}

/// What a call comes to.
pub(super) enum Call {
    /// There is no such function.
    Unknown,
    /// It does not take what it is given.
    Misused,
    Gives(Type),
}

/// What a function gives. `on` is what stands before the dot.
pub(super) fn function(name: &str, on: Option<&Type>, given: &[Type]) -> Call {
    let is = |one: &Type, kinds: &[Type]| kinds.iter().any(|kind| one.may_be(kind));
    let (of, more) = match on {
        Some(on) => (Some(on), given),
        None => (given.first(), given.get(1..).unwrap_or_default()),
    };
    let of = |kinds: &[Type]| of.is_some_and(|of| is(of, kinds));
    let then = |holds: bool, result: Type| {
        if holds {
            Call::Gives(result)
        } else {
            Call::Misused
        }
    };
    let convert =
        |kinds: &[Type], result: Type| then(on.is_none() && more.is_empty() && of(kinds), result);
    match name {
        "size" => {
            let kinds = [Text, Bytes, list(Unsure), Map(Box::new((Unsure, Unsure)))];
            then(more.is_empty() && of(&kinds), Int)
        }
        "contains" | "startsWith" | "endsWith" => then(
            on.is_some() && of(&[Text]) && more.len() == 1 && is(&more[0], &[Text]),
            Bool,
        ),
        "matches" => then(
            of(&[Text]) && more.len() == 1 && is(&more[0], &[Text]),
            Bool,
        ),
        "glob" => then(
            on.is_none() && of(&[Text]) && more.len() == 1 && is(&more[0], &[Text]),
            Bool,
        ),
        "getFullYear" | "getMonth" | "getDayOfYear" | "getDayOfMonth" | "getDate"
        | "getDayOfWeek" | "getHours" | "getMinutes" | "getSeconds" | "getMilliseconds" => {
            let zone = more.is_empty() || (more.len() == 1 && is(&more[0], &[Text]));
            let part = name.ends_with("onds") || matches!(name, "getHours" | "getMinutes");
            let at = of(&[Timestamp]) && zone;
            then(
                on.is_some() && (at || (part && more.is_empty() && of(&[Duration]))),
                Int,
            )
        }
        "bool" => convert(&[Bool, Text], Bool),
        "bytes" => convert(&[Bytes, Text], Bytes),
        "double" => convert(&[Double, Int, Text, UInt], Double),
        "duration" => convert(&[Duration, Int, Text], Duration),
        "int" => convert(&[Int, Double, Duration, Text, Timestamp, UInt], Int),
        "string" => convert(
            &[Text, Bool, Bytes, Double, Duration, Int, Timestamp, UInt],
            Text,
        ),
        "timestamp" => convert(&[Timestamp, Int, Text], Timestamp),
        "uint" => convert(&[UInt, Double, Int, Text], UInt),
        "type" => then(on.is_none() && given.len() == 1, Type::Kind),
        "dyn" => then(on.is_none() && given.len() == 1, Dyn),
        _ => Call::Unknown,
    }
}
