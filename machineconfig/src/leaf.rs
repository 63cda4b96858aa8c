//! Text with a form of its own: read as Talos reads it, kept as Talos writes it.

use crate::decode::integer;
use crate::schema::{self, Leaf, Type};
use crate::yaml::Resolved;
use serde_json::Value;
use std::net::{IpAddr, SocketAddr};

/// Reads a scalar; nothing when it is none of the kind. Null where it counts as not written.
pub(crate) fn read(leaf: Leaf, resolved: &Resolved, text: &str) -> Option<Value> {
    let said = |ok: bool| ok.then(|| text.into());
    match leaf {
        Leaf::Address if text.is_empty() => Some(text.into()),
        Leaf::Address => address(text).map(Value::from),
        Leaf::AddressPort if text.is_empty() => Some(text.into()),
        Leaf::AddressPort => text
            .parse()
            .ok()
            .map(|it: SocketAddr| it.to_string().into()),
        Leaf::Prefix if text.is_empty() => Some(text.into()),
        Leaf::Prefix => prefix(text).map(Value::from),
        Leaf::Bytes => said(text == "******" || is_base64(text)),
        Leaf::Cel => Some(text.into()),
        Leaf::ByteSize => {
            said(text.is_empty() || bytes(text.strip_prefix('-').unwrap_or(text)).is_some())
        }
        Leaf::Size if text.contains('%') => said(is_percentage(text)),
        Leaf::Size => read(Leaf::ByteSize, resolved, text),
        Leaf::DiskSize => bytes(text).map(disk_size),
        Leaf::DiskMatcher => disk_matcher(text),
        Leaf::Duration => match resolved {
            Resolved::Number(number) if number.as_u64() == Some(0) => Some("0s".into()),
            Resolved::Text => duration(text).map(|it| write_duration(it).into()),
            _ => None,
        },
        Leaf::HardwareAddress => hardware_address(text).map(Value::from),
        Leaf::PortRange => port_range(resolved, text),
        Leaf::Url => said(is_url(text)),
    }
}

/// What a value of the type is, for a person who wrote something else.
pub(crate) fn expected(ty: &Type) -> String {
    let words = match ty {
        Type::Pointer(inner) => return expected(inner),
        Type::Enum(name) => {
            let names = schema::names(name).iter().filter(|it| !it.is_empty());
            let names: Vec<&str> = names.map(String::as_str).take(12).collect();
            return format!("one of {}", names.join(", "));
        }
        Type::Int { min, max } => return format!("a whole number from {min} to {max}"),
        Type::Text | Type::Trimmed => "text",
        Type::Bool => "true or false",
        Type::Float => "a number",
        Type::Any => "a value",
        Type::List(_) | Type::Keyed(_) => "a list",
        Type::Object | Type::Map(_) | Type::Struct(_) | Type::Pem(_) => "a map of fields",
        Type::Args => "a map of argument names to text or a list of text",
        Type::Leaf(leaf) => match leaf {
            Leaf::Address => "an IP address",
            Leaf::AddressPort => "an IP address and a port",
            Leaf::Bytes => "base64",
            Leaf::ByteSize => "a size such as 10GiB",
            Leaf::Cel => "a CEL expression",
            Leaf::DiskMatcher => "a size with a comparison, such as >= 10GB",
            Leaf::DiskSize => "a size such as 10 GB",
            Leaf::Duration => "a duration such as 1h30m",
            Leaf::HardwareAddress => "a hardware address such as 52:54:00:00:00:01",
            Leaf::PortRange => "a port or a range such as 1000-2000",
            Leaf::Prefix => "a subnet such as 10.0.0.0/8",
            Leaf::Size => "a size such as 10GiB or 50%",
            Leaf::Url => "a URL",
        },
    };
    words.to_owned()
}

fn address(text: &str) -> Option<String> {
    let (address, zone) = match text.split_once('%') {
        Some((address, zone)) if !zone.is_empty() => (address, Some(zone)),
        Some(_) => return None,
        None => (text, None),
    };
    match (address.parse().ok()?, zone) {
        (IpAddr::V4(_), Some(_)) => None,
        (parsed, Some(zone)) => Some(format!("{parsed}%{zone}")),
        (parsed, None) => Some(parsed.to_string()),
    }
}

fn prefix(text: &str) -> Option<String> {
    let (address, bits) = text.rsplit_once('/')?;
    let address: IpAddr = address.parse().ok()?;
    let plain =
        bits.bytes().all(|it| it.is_ascii_digit()) && (bits.len() == 1 || !bits.starts_with('0'));
    let bits: u8 = bits.parse().ok()?;
    let most = if address.is_ipv4() { 32 } else { 128 };
    (plain && bits <= most).then(|| format!("{address}/{bits}"))
}

/// Standard base64 with padding; line breaks do not count.
fn is_base64(text: &str) -> bool {
    let text = text.replace(['\n', '\r'], "");
    let body = text.trim_end_matches('=');
    let padding = text.len() - body.len();
    text.len().is_multiple_of(4)
        && padding <= 2
        && body
            .bytes()
            .all(|it| it.is_ascii_alphanumeric() || it == b'+' || it == b'/')
}

fn is_percentage(text: &str) -> bool {
    let Some(number) = text.strip_suffix('%') else {
        return false;
    };
    let number = number.strip_prefix('-').unwrap_or(number);
    number
        .parse()
        .is_ok_and(|it: f64| (0.0..=100.0).contains(&it))
}

const UNITS: [&str; 7] = ["", "k", "m", "g", "t", "p", "e"];

/// A number of bytes with a unit: `10GiB`, `10 GB`, `10g`.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "below 2^64 and not negative by then; a fraction of a byte does not count"
)]
fn bytes(text: &str) -> Option<u64> {
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.' && c != ',')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let number: f64 = number.replace(',', "").parse().ok()?;
    let unit = unit.trim().to_lowercase();
    let unit = unit.strip_suffix('b').unwrap_or(&unit);
    let (base, unit) = match unit.strip_suffix('i') {
        Some("") => return None,
        Some(unit) => (1024_f64, unit),
        None => (1000_f64, unit),
    };
    let power = i32::try_from(UNITS.iter().position(|it| *it == unit)?).ok()?;
    let sum = number * base.powi(power);
    (sum < 18_446_744_073_709_551_615.0).then_some(sum as u64)
}

/// Sizes of partitions are written as a person would where that loses nothing.
#[allow(
    clippy::cast_precision_loss,
    reason = "what it loses is seen by reading it again"
)]
fn disk_size(size: u64) -> Value {
    let short = || {
        let mut power = 0;
        while power < 6 && size / 1000_u64.pow(power + 1) > 0 {
            power += 1;
        }
        let unit = ["B", "kB", "MB", "GB", "TB", "PB", "EB"].get(power as usize)?;
        let value = size as f64 / 1000_f64.powi(i32::try_from(power).ok()?);
        let value = (value * 10.0 + 0.5).floor() / 10.0;
        let text = match (size, value) {
            (..10, _) => format!("{size} B"),
            (_, ..10.0) => format!("{value:.1} {unit}"),
            _ => format!("{value:.0} {unit}"),
        };
        (bytes(&text) == Some(size)).then_some(text)
    };
    match size % 1000 {
        0 => short().map_or(size.into(), Value::from),
        _ => size.into(),
    }
}

fn disk_matcher(text: &str) -> Option<Value> {
    let text = text.trim();
    let size = [">=", "<=", ">", "<", "=="]
        .iter()
        .find_map(|it| text.strip_prefix(it))
        .unwrap_or(text);
    bytes(size.trim()).map(|_| text.into())
}

/// Nanoseconds of a duration as Go writes it: `1h30m`, `1.5s`, `-2ms`.
fn duration(text: &str) -> Option<i64> {
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut sum: i128 = 0;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, tail) = rest.split_at(end);
        let end = tail
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(end);
        let unit: i128 = match unit {
            "ns" => 1,
            "us" | "\u{b5}s" | "\u{3bc}s" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            _ => return None,
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
            return None;
        }
        let digits = |text: &str| -> Option<i128> {
            match text {
                "" => Some(0),
                text => text.parse().ok(),
            }
        };
        let short = fraction.get(..fraction.len().min(18))?;
        let scale = 10_i128.pow(u32::try_from(short.len()).ok()?);
        sum = sum
            .checked_add(digits(whole)?.checked_mul(unit)?)?
            .checked_add(digits(short)?.checked_mul(unit)? / scale)?;
        rest = tail;
    }
    i64::try_from(if negative { -sum } else { sum }).ok()
}

fn write_duration(nanoseconds: i64) -> String {
    let sign = if nanoseconds < 0 { "-" } else { "" };
    let all = nanoseconds.unsigned_abs();
    let fraction = |value: u64, unit: u64, name: &str| {
        let text = format!(
            "{}.{:0>9}",
            value / unit,
            value % unit * (1_000_000_000 / unit)
        );
        let text = text.trim_end_matches('0').trim_end_matches('.');
        format!("{text}{name}")
    };
    let body = match all {
        0 => "0s".to_owned(),
        1..1_000 => format!("{all}ns"),
        1_000..1_000_000 => fraction(all, 1_000, "\u{b5}s"),
        1_000_000..1_000_000_000 => fraction(all, 1_000_000, "ms"),
        _ => {
            let seconds = fraction(all % 60_000_000_000, 1_000_000_000, "s");
            match (all / 3_600_000_000_000, all / 60_000_000_000 % 60) {
                (0, 0) => seconds,
                (0, minutes) => format!("{minutes}m{seconds}"),
                (hours, minutes) => format!("{hours}h{minutes}m{seconds}"),
            }
        }
    };
    format!("{sign}{body}")
}

fn hardware_address(text: &str) -> Option<String> {
    let digits = text.replace(':', "").to_lowercase();
    let hex = digits.len().is_multiple_of(2) && digits.bytes().all(|it| it.is_ascii_hexdigit());
    let pairs = (0..digits.len()).step_by(2);
    let pairs = pairs.filter_map(|at| digits.get(at..at + 2));
    hex.then(|| pairs.collect::<Vec<_>>().join(":"))
}

fn port_range(resolved: &Resolved, text: &str) -> Option<Value> {
    if let Some(port) = integer(resolved, 0, u16::MAX.into()) {
        return Some(port.into());
    }
    let port = |text: &str| -> Option<u16> {
        let plain = text.bytes().all(|it| it.is_ascii_digit());
        plain.then(|| text.parse().ok()).flatten()
    };
    let (low, high) = text.split_once('-')?;
    match (port(low)?, port(high)?) {
        (low, high) if low == high => Some(low.into()),
        (low, high) => Some(format!("{low}-{high}").into()),
    }
}

/// Go's parser of URLs refuses little: control characters, half escapes, a scheme that is none, a port that is none.
fn is_url(text: &str) -> bool {
    let escapes = || {
        text.match_indices('%').all(|(at, _)| {
            let digits = text.as_bytes().get(at + 1..at + 3);
            digits.is_some_and(|it| it.iter().all(u8::is_ascii_hexdigit))
        })
    };
    let parts = UrlParts::of(text);
    let scheme = match text.split_once(':') {
        Some((scheme, _)) if !scheme.contains(['/', '?', '#']) => {
            scheme.starts_with(|c: char| c.is_ascii_alphabetic())
                && scheme
                    .bytes()
                    .all(|it| it.is_ascii_alphanumeric() || b"+-.".contains(&it))
        }
        _ => true,
    };
    let host = parts.host.rsplit('@').next().unwrap_or_default();
    let port = match host.rsplit_once(':') {
        Some((before, port)) if !before.contains(':') || before.ends_with(']') => {
            port.bytes().all(|it| it.is_ascii_digit())
        }
        _ => true,
    };
    !text.chars().any(|it| it.is_ascii_control())
        && !parts.host.contains(' ')
        && escapes()
        && scheme
        && port
}

/// A URL in the parts of which Talos merges each on its own: one that is empty leaves the old one as it was.
pub(crate) struct UrlParts<'a> {
    scheme: &'a str,
    host: &'a str,
    path: &'a str,
    query: &'a str,
    fragment: &'a str,
}

impl<'a> UrlParts<'a> {
    fn of(text: &'a str) -> Self {
        let (text, fragment) = text.split_once('#').unwrap_or((text, ""));
        let (text, query) = text.split_once('?').unwrap_or((text, ""));
        let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
        let (host, path) = match rest {
            rest if scheme.is_empty() => ("", rest),
            rest => rest.split_at(rest.find('/').unwrap_or(rest.len())),
        };
        Self {
            scheme,
            host,
            path,
            query,
            fragment,
        }
    }
}

/// The URL that two give when they are merged.
pub(crate) fn merge_urls(left: &str, right: &str) -> String {
    let (left, right) = (UrlParts::of(left), UrlParts::of(right));
    let pick = |left: &str, right: &str| if right.is_empty() { left } else { right }.to_owned();
    let mut url = pick(left.scheme, right.scheme);
    if !url.is_empty() {
        url += "://";
    }
    url += &pick(left.host, right.host);
    url += &pick(left.path, right.path);
    for (mark, left, right) in [
        ('?', left.query, right.query),
        ('#', left.fragment, right.fragment),
    ] {
        let part = pick(left, right);
        if !part.is_empty() {
            url.push(mark);
            url += &part;
        }
    }
    url
}
