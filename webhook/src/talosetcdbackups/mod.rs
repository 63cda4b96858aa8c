//! Admission of talosetcdbackups (DESIGN section 12).

mod recipient;
mod schedule;
mod shape;
#[cfg(test)]
mod tests;

use crate::common::{cluster_exists, named};
use crate::findings::Questions;
use crate::handler::Paths;
use crate::request::{Facts, Judged, Rule, Warning};
use ichor_crds::{TalosEtcdBackup, TalosEtcdBackupSpec, TalosEtcdBackupStatus};

impl Judged for TalosEtcdBackup {
    const KIND: &'static str = "TalosEtcdBackup";
    const RESOURCE: &'static str = "talosetcdbackups";
    const PATHS: Paths = Paths {
        mutate: "/mutate/talosetcdbackups",
        validate: "/validate/talosetcdbackups",
    };
    type Spec = TalosEtcdBackupSpec;
    type Status = TalosEtcdBackupStatus;

    const RULES: &'static [Rule<Self>] = &[
        shape::references,
        schedule::schedule,
        schedule::time_zone,
        shape::retention,
        shape::destination,
        shape::credentials,
        recipient::recipients,
        cluster_exists,
    ];
    const WARNINGS: &'static [Warning<Self>] =
        &[shape::unencrypted, shape::backup_now, schedule::often];

    /// Asked again when the destination changes: whoever sends the snapshots elsewhere uses the Secret.
    fn questions(facts: &Facts<Self>) -> Questions {
        let Some(spec) = facts.spec().filter(|_| facts.is_ichors()) else {
            return Questions::default();
        };
        let old = facts.change_of_spec().map(|(_, old)| old);
        let same = old.is_some_and(|old| old.destination == spec.destination);
        Questions {
            cluster: named(Some(&spec.cluster_ref)).filter(|_| old.is_none()),
            used_secret: shape::secret(spec).filter(|_| !same),
            ..Questions::default()
        }
    }

    fn audit(facts: &Facts<Self>) -> Vec<(&'static str, String)> {
        let Some(spec) = facts.spec() else {
            return Vec::new();
        };
        let destination = &spec.destination;
        let s3 = destination
            .s3
            .as_ref()
            // What is refused for its password is not written down either.
            .map(|s3| match s3.endpoint.rsplit_once('@') {
                Some((_, host)) => format!("{host}/{}", s3.bucket),
                None => format!("{}/{}", s3.endpoint, s3.bucket),
            });
        let volume = destination
            .volume
            .as_ref()
            .map(|volume| format!("volume {}", volume.claim_name));
        vec![
            ("cluster", spec.cluster_ref.name.clone()),
            ("destination", s3.or(volume).unwrap_or_default()),
            ("encrypted", spec.encryption.is_some().to_string()),
        ]
    }
}
