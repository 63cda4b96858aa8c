//! "Reference to an existing, readable bundle that no other cluster uses (nor its cluster ID)" (DESIGN
//! section 4).

use crate::common::{named, used_secret};
use crate::field::FieldError;
use crate::findings::{found, known};
use crate::ports::BundleLookup;
use crate::request::Change;
use ichor_crds::{BUNDLE_KEY, TalosCluster};
use kube::ResourceExt;

type Snapshot = crate::request::Snapshot<TalosCluster>;

const PATH: &str = "spec.secretsBundleRef.name";

/// The controller reads the bundle with its own rights and makes certificates from it: only for a caller
/// who may `get` it. Nobody else learns what is in it, or whether it is there.
pub(super) fn is_the_callers(snapshot: &Snapshot) -> Vec<FieldError> {
    used_secret(snapshot, PATH, bundle(snapshot), BUNDLE_KEY)
}

pub(super) fn is_sound(snapshot: &Snapshot) -> Vec<FieldError> {
    let (Some(name), Some(lookup)) = (bundle(snapshot), known(&snapshot.findings.bundle)) else {
        return Vec::new();
    };
    let namespace = &snapshot.facts.namespace;
    let make = format!(
        "store what talosctl gen secrets wrote: kubectl create secret generic NAME -n {namespace} --from-file={BUNDLE_KEY}=secrets.yaml"
    );
    let error = match lookup {
        BundleLookup::Sound { .. } => return Vec::new(),
        BundleLookup::NoSecret => {
            let why = format!("no Secret of that name in namespace {namespace}; {make}");
            FieldError::not_found(PATH, &name, why)
        }
        BundleLookup::NoKey => {
            let why = format!("the Secret has no key {BUNDLE_KEY:?}; {make}");
            FieldError::invalid(PATH, &name, why)
        }
        // Its text names the defect and no secret.
        BundleLookup::Defect(defect) => FieldError::invalid(PATH, &name, defect.to_string()),
    };
    vec![error]
}

/// Two clusters of one bundle would trust each other's administrators.
pub(super) fn is_nobody_elses(snapshot: &Snapshot) -> Vec<FieldError> {
    let Some(name) = bundle(snapshot) else {
        return Vec::new();
    };
    let clusters = found(&snapshot.findings.clusters).iter();
    let mut others = clusters.filter(|other| other.name_any() != snapshot.facts.name);
    let id = match known(&snapshot.findings.bundle) {
        Some(BundleLookup::Sound { cluster_id }) => Some(cluster_id),
        _ => None,
    };
    let ids = found(&snapshot.findings.cluster_ids);
    let error = others.find_map(|other| {
        let called = other.metadata.name.as_deref().unwrap_or_default();
        if other.spec.secrets_bundle_ref.name == name {
            let why = format!("TalosCluster {called:?} is made from it: make a bundle of its own for each cluster, with talosctl gen secrets");
            return Some(FieldError::duplicate(PATH, &name, why));
        }
        let theirs = ids.iter().find(|(cluster, _)| cluster == called);
        if theirs.is_none() && !other.is_whole() && named(Some(&other.spec.secrets_bundle_ref)).is_none() {
            let why = format!("TalosCluster {called:?} may be made from it{}", other.note());
            return Some(FieldError::duplicate(PATH, &name, why));
        }
        (id.is_some() && theirs.map(|(_, id)| id) == id).then(|| {
            let why = format!("TalosCluster {called:?} has the same cluster ID: it is the same cluster, or a copy of its secrets; make a new bundle with talosctl gen secrets");
            FieldError::duplicate(PATH, &name, why)
        })
    });
    error.into_iter().collect()
}

/// The Secret of a cluster that is created.
fn bundle(snapshot: &Snapshot) -> Option<String> {
    match &snapshot.facts.change {
        Change::Create { spec } => named(Some(&spec.secrets_bundle_ref)),
        _ => None,
    }
}
