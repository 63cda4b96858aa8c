//! Sizes, percentages and durations.

use serde_json::Value;

pub(super) fn is_percentage(text: &str) -> bool {
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
pub(super) fn bytes(text: &str) -> Option<u64> {
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
pub(super) fn disk_size(size: u64) -> Value {
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

pub(super) fn disk_matcher(text: &str) -> Option<Value> {
    let text = text.trim();
    let size = [">=", "<=", ">", "<", "=="]
        .iter()
        .find_map(|it| text.strip_prefix(it))
        .unwrap_or(text);
    bytes(size.trim()).map(|_| text.into())
}

/// Nanoseconds of a duration as Go writes it: `1h30m`, `1.5s`, `-2ms`.
pub(super) fn duration(text: &str) -> Option<i64> {
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

pub(super) fn write_duration(nanoseconds: i64) -> String {
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
