//! When snapshots are taken: cron with a time zone (DESIGN section 12).

use crate::field::FieldError;
use croner::Cron;
use ichor_crds::TalosEtcdBackup;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::str::FromStr;

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
