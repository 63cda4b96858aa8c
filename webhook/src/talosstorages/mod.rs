//! Admission of talosstorages (DESIGN section 12).

mod names;
mod selector;
#[cfg(test)]
mod tests;

use crate::common::{cluster_exists, fixed_cluster, named, reference_name};
use crate::field::FieldError;
use crate::findings::Questions;
use crate::handler::Paths;
use crate::ports::Selector;
use crate::request::{Facts, Judged, Rule, Snapshot, Warning};
use crate::target::labels;
use ichor_crds::{TalosStorage, TalosStorageSpec, TalosStorageStatus, UserVolume};

impl Judged for TalosStorage {
    const KIND: &'static str = "TalosStorage";
    const RESOURCE: &'static str = "talosstorages";
    const PATHS: Paths = Paths {
        mutate: "/mutate/talosstorages",
        validate: "/validate/talosstorages",
    };
    type Spec = TalosStorageSpec;
    type Status = TalosStorageStatus;

    const RULES: &'static [Rule<Self>] = &[
        references,
        target,
        selectors,
        sizes,
        names::taken,
        cluster_exists,
    ];
    const WARNINGS: &'static [Warning<Self>] = &[system_disk, taken_out, names::perhaps_taken];

    fn questions(facts: &Facts<Self>) -> Questions {
        let spec = facts.spec().filter(|_| facts.is_ichors());
        Questions {
            cluster: spec.and_then(|spec| named(Some(&spec.cluster_ref))),
            storages: spec.map(|_| Selector::All).into_iter().collect(),
            ..Questions::default()
        }
    }

    fn audit(facts: &Facts<Self>) -> Vec<(&'static str, String)> {
        let Some(spec) = facts.spec() else {
            return Vec::new();
        };
        let volumes: Vec<&str> = spec
            .volumes
            .iter()
            .map(|volume| volume.name.as_str())
            .collect();
        vec![
            ("cluster", spec.cluster_ref.name.clone()),
            ("volumes", volumes.join(",")),
        ]
    }
}

fn references(snapshot: &Snapshot<TalosStorage>) -> Vec<FieldError> {
    let now = snapshot.facts.spec().map(|spec| &spec.cluster_ref);
    let old = snapshot
        .facts
        .change_of_spec()
        .map(|(_, old)| &old.cluster_ref);
    let mut errors = fixed_cluster::<TalosStorage>(now, old);
    errors.extend(reference_name("spec.clusterRef.name", now));
    errors
}

fn target(snapshot: &Snapshot<TalosStorage>) -> Vec<FieldError> {
    labels(snapshot.facts.spec().and_then(|spec| spec.target.as_ref()))
}

fn volumes(snapshot: &Snapshot<TalosStorage>) -> &[UserVolume] {
    snapshot
        .facts
        .spec()
        .map_or(&[], |spec| spec.volumes.as_slice())
}

/// An expression that was accepted once is not refused again.
fn selectors(snapshot: &Snapshot<TalosStorage>) -> Vec<FieldError> {
    let old = snapshot.facts.change_of_spec().map(|(_, old)| old);
    let stored = |it: &UserVolume| {
        old.is_some_and(|old| {
            old.volumes
                .iter()
                .any(|was| was.disk_selector == it.disk_selector)
        })
    };
    let volumes = volumes(snapshot).iter().enumerate();
    let new = volumes.filter(|(_, volume)| !stored(volume));
    let errors = new.filter_map(|(at, volume)| {
        let expression = &volume.disk_selector.expression;
        let path = format!("spec.volumes[{at}].diskSelector.match");
        Some(FieldError::invalid(
            path,
            expression,
            selector::wrong(expression)?,
        ))
    });
    errors.collect()
}

/// A least size is no more than the greatest.
fn sizes(snapshot: &Snapshot<TalosStorage>) -> Vec<FieldError> {
    let crossed = volumes(snapshot)
        .iter()
        .enumerate()
        .filter_map(|(at, volume)| {
            let (least, most) = (volume.min_size.as_deref()?, volume.max_size.as_deref()?);
            (bytes(least)? > bytes(most)?).then(|| {
                let path = format!("spec.volumes[{at}].minSize");
                FieldError::invalid(path, least, format!("is more than maxSize {most}"))
            })
        });
    crossed.collect()
}

/// The bytes of a size such as 100GiB; nothing for a share of the disk.
fn bytes(size: &str) -> Option<f64> {
    let digits = size.find(|sign: char| !sign.is_ascii_digit() && sign != '.')?;
    let (number, unit) = size.split_at(digits);
    let base = if unit.contains('i') {
        1024_f64
    } else {
        1000_f64
    };
    let power = match unit.chars().next()? {
        'B' => 0,
        'k' | 'K' => 1,
        'M' => 2,
        'G' => 3,
        'T' => 4,
        'P' => 5,
        _ => return None,
    };
    Some(number.parse::<f64>().ok()? * base.powi(power))
}

fn system_disk(snapshot: &Snapshot<TalosStorage>) -> Option<String> {
    let mut open = volumes(snapshot)
        .iter()
        .filter(|volume| !volume.disk_selector.expression.contains("system_disk"));
    let volume = &open.next()?.name;
    Some(format!(
        "volume {volume:?} may be put on the system disk, too; add !system_disk to its diskSelector to keep them apart"
    ))
}

/// "Taking a volume out of the list does not wipe it" (its documentation).
fn taken_out(snapshot: &Snapshot<TalosStorage>) -> Option<String> {
    let (spec, old) = snapshot.facts.change_of_spec()?;
    let is_kept = |volume: &&UserVolume| spec.volumes.iter().any(|kept| kept.name == volume.name);
    let gone = old.volumes.iter().find(|volume| !is_kept(volume))?;
    Some(format!(
        "volume {:?} is taken out of the list and not wiped: its data stays on the disks",
        gone.name
    ))
}
