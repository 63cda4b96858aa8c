//! Text with a form of its own: read as Talos reads it, kept as Talos writes it.

mod quantity;
mod url;

pub(crate) use url::merge_urls;

use crate::decode::integer;
use crate::schema::{self, Leaf, Type};
use crate::yaml::Resolved;
use quantity::{bytes, disk_matcher, disk_size, duration, is_percentage, write_duration};
use serde_json::Value;
use std::net::{IpAddr, SocketAddr};
use url::is_url;

/// Reads a scalar; nothing when it is none of the kind. Null where it counts as not written.
pub(crate) fn read(leaf: Leaf, resolved: &Resolved, text: &str) -> Option<Value> {
    let said = |ok: bool| ok.then(|| text.into());
    match leaf {
        Leaf::Address | Leaf::AddressPort | Leaf::Prefix if text.is_empty() => Some(text.into()),
        Leaf::Address => address(text).map(Value::from),
        Leaf::AddressPort => text
            .parse()
            .ok()
            .map(|it: SocketAddr| it.to_string().into()),
        Leaf::Prefix => prefix(text).map(Value::from),
        Leaf::Bytes => said(text == "******" || is_base64(text)),
        Leaf::Cel => said(true),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::resolve;

    #[test]
    fn leaves_are_kept_as_talos_writes_them() {
        for (leaf, text, want) in [
            (Leaf::Duration, "90m", Some("1h30m0s")),
            (Leaf::Duration, "1.5s", Some("1.5s")),
            (Leaf::Duration, "1500us", Some("1.5ms")),
            (Leaf::Duration, "-2h", Some("-2h0m0s")),
            (Leaf::Duration, "0", Some("0s")),
            (Leaf::Duration, "5", None),
            (Leaf::Duration, "1x", None),
            (Leaf::Duration, "h", None),
            (Leaf::Address, "FD00::1", Some("fd00::1")),
            (Leaf::Address, "10.0.0.256", None),
            (Leaf::Address, "10.0.0.1%eth0", None),
            (Leaf::Prefix, "2001:DB8::/32", Some("2001:db8::/32")),
            (Leaf::Prefix, "10.0.0.0/33", None),
            (Leaf::Prefix, "10.0.0.0/08", None),
            (Leaf::Prefix, "10.0.0.0", None),
            (Leaf::AddressPort, "[fd00::1]:80", Some("[fd00::1]:80")),
            (Leaf::AddressPort, "10.0.0.1", None),
            (Leaf::HardwareAddress, "AA:bb:cc", Some("aa:bb:cc")),
            (Leaf::HardwareAddress, "AA:b", None),
            (Leaf::Bytes, "YQ==", Some("YQ==")),
            (Leaf::Bytes, "YQ=", None),
            (Leaf::Size, "50%", Some("50%")),
            (Leaf::Size, "101%", None),
            (Leaf::Size, "10GiB", Some("10GiB")),
            (Leaf::ByteSize, "50%", None),
            (Leaf::DiskSize, "1500000", Some("1.5 MB")),
            (Leaf::DiskMatcher, " >= 10GB ", Some(">= 10GB")),
            (Leaf::DiskMatcher, "=> 10GB", None),
            (Leaf::PortRange, "443-443", Some("443")),
            (Leaf::PortRange, "1-2", Some("1-2")),
            (Leaf::PortRange, "70000", None),
            (Leaf::Url, "https://a:6443/x", Some("https://a:6443/x")),
            (Leaf::Url, "https://a:b", None),
            (Leaf::Url, "1https://a", None),
        ] {
            let value = read(leaf, &resolve(text), text);
            let value = value.map(|it| it.as_str().map_or(it.to_string(), str::to_owned));
            assert_eq!(value.as_deref(), want, "{leaf:?} {text}");
        }
    }

    #[test]
    fn urls_merge_by_their_parts() {
        for (left, right, want) in [
            ("https://a:1/x?y=z", "https://b", "https://b/x?y=z"),
            ("https://a", "tcp://b:5/", "tcp://b:5/"),
        ] {
            assert_eq!(merge_urls(left, right), want);
        }
    }
}
