//! Durations as people write them on a command line: `15s`, `1m30s`, `90d`.

use jiff::{Span, SpanRelativeTo, Unit};
use std::time::Duration;

/// Longest duration that is taken: ten years. Beyond it, times overflow and nobody meant it.
const MAX: Duration = Duration::from_hours(10 * 366 * 24);

/// Reads a duration; a day has 24 hours. Negative and empty ones, and those of more than ten years, are refused.
pub fn parse(text: &str) -> Result<Duration, String> {
    let refuse = || format!("{text:?} is not a duration such as 15s, 1m30s or 90d");
    let span: Span = text.trim().parse().map_err(|_| refuse())?;
    let seconds = span
        .total((Unit::Second, SpanRelativeTo::days_are_24_hours()))
        .map_err(|_| refuse())?;
    let duration = Duration::try_from_secs_f64(seconds).map_err(|_| refuse())?;
    if duration > MAX {
        return Err(format!("{text:?} is longer than ten years"));
    }
    Ok(duration)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_as_people_write_them() {
        for (text, want) in [
            ("15s", Some(Duration::from_secs(15))),
            ("1m30s", Some(Duration::from_secs(90))),
            ("250ms", Some(Duration::from_millis(250))),
            ("90d", Some(Duration::from_hours(2160))),
            ("-5s", None),
            ("11y", None),
            ("200000d", None),
            ("", None),
            ("15", None),
        ] {
            assert_eq!(parse(text).ok(), want, "{text}");
        }
    }
}
