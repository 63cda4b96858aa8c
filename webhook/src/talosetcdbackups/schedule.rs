//! When snapshots are taken: cron with a time zone (DESIGN section 12).

use crate::field::FieldError;
use croner::Cron;
use ichor_crds::TalosEtcdBackup;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::str::FromStr;

/// Minutes between two snapshots that need no warning.
const OFTEN: i64 = 5;

type Snapshot = crate::request::Snapshot<TalosEtcdBackup>;

/// Cron can be read, and its time comes at all: the 30th of February never does.
pub(super) fn schedule(snapshot: &Snapshot) -> Vec<FieldError> {
    let Some(text) = snapshot.facts.spec().map(|spec| &spec.schedule) else {
        return Vec::new();
    };
    let old = snapshot
        .facts
        .change_of_spec()
        .map(|(_, old)| &old.schedule);
    if old == Some(text) {
        return Vec::new();
    }
    let why = match Cron::from_str(text) {
        _ if text.split_whitespace().count() != 5 => {
            "must be the five fields of cron (minute, hour, day of month, month, day of week), such as \"0 3 * * *\" for every day at three"
        }
        Err(_) => {
            "cannot be read as cron: minute, hour, day of month, month, day of week, such as \"0 3 * * *\" for every day at three"
        }
        // Any day will do to ask from: schedules have no year.
        Ok(cron) => {
            match cron.find_next_occurrence(&Timestamp::UNIX_EPOCH.to_zoned(TimeZone::UTC), false) {
                Ok(_) => return Vec::new(),
                Err(_) => "never comes: no month has such a day",
            }
        }
    };
    vec![FieldError::invalid("spec.schedule", text, why)]
}

/// A snapshot reads all of etcd, from a control plane that has other work.
pub(super) fn often(snapshot: &Snapshot) -> Option<String> {
    let text = &snapshot.facts.spec()?.schedule;
    let shortest = shortest_minutes(text).filter(|minutes| *minutes < OFTEN)?;
    Some(format!(
        "spec.schedule {text:?} takes snapshots {shortest}m apart: each reads all of etcd, and the next waits while one is taken"
    ))
}

/// The shortest time between two snapshots of a week, looked for in as many as a day has of those that are not
/// too often.
fn shortest_minutes(text: &str) -> Option<i64> {
    let cron = Cron::from_str(text).ok()?;
    let start = Timestamp::UNIX_EPOCH.to_zoned(TimeZone::UTC);
    let week = start.timestamp().as_second() + 7 * 24 * 3600;
    let times = cron.iter_after(start);
    let times: Vec<i64> = times
        .map(|time| time.timestamp().as_second())
        .take_while(|time| *time < week)
        .take(300)
        .collect();
    let pairs = times.iter().zip(times.iter().skip(1));
    pairs.map(|(one, next)| (next - one) / 60).min()
}

pub(super) fn time_zone(snapshot: &Snapshot) -> Vec<FieldError> {
    let name = snapshot
        .facts
        .spec()
        .and_then(|spec| spec.time_zone.as_ref());
    let unknown = name.filter(|name| TimeZone::get(name).is_err());
    let error = unknown.map(|name| {
        let why = "is no time zone of the IANA database, such as Europe/Berlin or Etc/UTC";
        FieldError::invalid("spec.timeZone", name, why)
    });
    error.into_iter().collect()
}
