//! The patch is tried: it "parses and applies to a rendered sample of the cluster, and in the result every
//! CA, accepted CA, token, cluster ID and secret, encryption secret, service account key and Talos API access
//! grant is what it was without the patch" (DESIGN section 4).

use crate::field::FieldError;
use crate::findings::known;
use crate::ports::ClusterLookup;
use ichor_crds::{MachineRole, TalosCluster, TalosConfigPatch, TalosConfigPatchSpec};
use ichor_machineconfig::{Config, Patch, protected_changes, sample};

type Snapshot = crate::request::Snapshot<TalosConfigPatch>;

/// Something that is wrong with a patch, and the machines it is wrong for. Texts name fields and lines, never
/// values: those may be secret.
#[derive(Debug, PartialEq, Eq)]
enum Defect {
    Unreadable(String),
    NoSample(String),
    DoesNotApply(&'static str, String),
    Protected(&'static str, String),
}

/// The roles of machines and what they are called.
const ROLES: [(&str, MachineRole); 2] = [
    ("control plane", MachineRole::ControlPlane),
    ("worker", MachineRole::Worker),
];

/// What is wrong with the patch. "A stored patch that breaks a newer rule may be updated as long as it does
/// not get worse" (DESIGN section 4): what was wrong with it before is no reason to refuse.
pub(super) fn patch(snapshot: &Snapshot) -> Vec<FieldError> {
    let (Some(cluster), Some(spec)) = (cluster(snapshot), snapshot.facts.spec()) else {
        return Vec::new();
    };
    let mut defects = trial(cluster, spec);
    if let Some((_, old)) = snapshot.facts.change_of_spec()
        && !defects.is_empty()
    {
        let before = trial(cluster, old);
        let moved = moved(cluster, old, spec);
        defects.retain(|defect| {
            moved.contains(defect) || !before.iter().any(|old| defect.is_no_worse_than(old))
        });
    }
    let errors = texts(&defects).into_iter();
    errors
        .map(|text| FieldError::forbidden("spec.patch", text))
        .collect()
}

/// The protected fields that two patches leave different: what is trusted instead may not be exchanged, either.
fn moved(
    cluster: &TalosCluster,
    old: &TalosConfigPatchSpec,
    new: &TalosConfigPatchSpec,
) -> Vec<Defect> {
    let mut moved = Vec::new();
    let patches = (Patch::parse(&old.patch), Patch::parse(&new.patch));
    let (Ok(old), Ok(new)) = patches else {
        return moved;
    };
    for (name, role) in ROLES {
        let base = base(cluster, role);
        let results = base.and_then(|base| Some((old.apply(&base).ok()?, new.apply(&base).ok()?)));
        let paths = results.map(|(old, new)| protected_changes(&old, &new));
        let paths = paths.into_iter().flatten();
        moved.extend(paths.map(|path| Defect::Protected(name, path)));
    }
    moved
}

/// What stays wrong draws a warning.
pub(super) fn still_broken(snapshot: &Snapshot) -> Option<String> {
    let (spec, _) = snapshot.facts.change_of_spec()?;
    let defects = texts(&trial(cluster(snapshot)?, spec));
    let first: String = defects.first()?.chars().take(180).collect();
    Some(format!(
        "the patch was stored with a fault and still has it: {first}"
    ))
}

/// The cluster to try the patch for.
fn cluster(snapshot: &Snapshot) -> Option<&TalosCluster> {
    match known(&snapshot.findings.cluster)? {
        ClusterLookup::Found(cluster) => Some(cluster),
        ClusterLookup::Missing { .. } => None,
    }
}

/// Tries the patch on the sample of each role that it is for.
fn trial(cluster: &TalosCluster, spec: &TalosConfigPatchSpec) -> Vec<Defect> {
    let patch = match Patch::parse(&spec.patch) {
        Ok(patch) => patch,
        Err(error) => return vec![Defect::Unreadable(error.to_string())],
    };
    let only = spec.target.as_ref().and_then(|target| target.role);
    let mut defects = Vec::new();
    for (name, role) in ROLES {
        if only.is_some_and(|only| only != role) {
            continue;
        }
        let Some(base) = base(cluster, role) else {
            return vec![Defect::NoSample(contract(cluster).to_owned())];
        };
        match patch.try_on(&base) {
            Ok(paths) => {
                defects.extend(paths.into_iter().map(|path| Defect::Protected(name, path)));
            }
            Err(error) => {
                let text = format!("contract {}: {error}", contract(cluster));
                defects.push(Defect::DoesNotApply(name, text));
            }
        }
    }
    defects
}

/// What the cluster's machines of a role are rendered from.
fn base(cluster: &TalosCluster, role: MachineRole) -> Option<Config> {
    sample(contract(cluster), role == MachineRole::ControlPlane)
}

fn contract(cluster: &TalosCluster) -> &str {
    let contract = &cluster.spec.version_contract;
    contract.as_deref().unwrap_or(&cluster.spec.talos_version)
}

impl Defect {
    /// Whether what was wrong before covers this. Lines do not count: a comment moves them.
    fn is_no_worse_than(&self, old: &Self) -> bool {
        match (self, old) {
            (Self::Unreadable(_) | Self::DoesNotApply(..), Self::Unreadable(_))
            | (Self::NoSample(_), Self::NoSample(_)) => true,
            (Self::DoesNotApply(role, _), Self::DoesNotApply(old, _)) => role == old,
            _ => self == old,
        }
    }
}

/// The defects in words, the protected fields of a role together.
fn texts(defects: &[Defect]) -> Vec<String> {
    let mut texts = Vec::new();
    let mut protected: Vec<(&str, Vec<&str>)> = Vec::new();
    for defect in defects {
        match defect {
            Defect::Unreadable(error) => texts.push(short(error)),
            Defect::NoSample(contract) => texts.push(format!(
                "there is no sample of contract {contract} to try it on: set spec.versionContract of the cluster to one of v1.9 to v1.14"
            )),
            Defect::DoesNotApply(role, error) => {
                texts.push(format!("does not apply to a {role} of {}", short(error)));
            }
            Defect::Protected(role, path) => match protected.last_mut() {
                Some((last, paths)) if last == role => paths.push(path),
                _ => protected.push((role, vec![path])),
            },
        }
    }
    texts.extend(protected.into_iter().map(|(role, paths)| {
        let paths = paths.join(", ");
        format!("changes on a {role} what makes it trust its cluster, and no patch may: {paths}; take it out")
    }));
    texts
}

/// Errors repeat names as they were written, which may be as long as the patch.
fn short(error: &str) -> String {
    match error.char_indices().nth(400) {
        Some((end, _)) => format!("{}…", error.get(..end).unwrap_or_default()),
        None => error.to_owned(),
    }
}
