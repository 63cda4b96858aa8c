//! Admission of talosconfigpatches (DESIGN section 4, FAULTS 10). A patch is root on the node: who may write
//! one is RBAC's to say.

#[cfg(test)]
mod tests;
mod trial;

use crate::common::{self, cluster_exists, named, reference_name};
use crate::field::FieldError;
use crate::findings::Questions;
use crate::handler::Paths;
use crate::request::{Facts, Judged, Rule, Snapshot, Warning};
use crate::target::labels;
use ichor_crds::{TalosConfigPatch, TalosConfigPatchSpec, TalosConfigPatchStatus};

impl Judged for TalosConfigPatch {
    const KIND: &'static str = "TalosConfigPatch";
    const RESOURCE: &'static str = "talosconfigpatches";
    const PATHS: Paths = Paths {
        mutate: "/mutate/talosconfigpatches",
        validate: "/validate/talosconfigpatches",
    };
    /// The greatest patch takes about a second to try.
    const TAKES_LONG: bool = true;
    type Spec = TalosConfigPatchSpec;
    type Status = TalosConfigPatchStatus;

    const RULES: &'static [Rule<Self>] = &[cluster_name, target, cluster_exists, trial::patch];
    const WARNINGS: &'static [Warning<Self>] = &[trial::still_broken];

    fn questions(facts: &Facts<Self>) -> Questions {
        let spec = facts.spec().filter(|_| facts.is_ichors());
        Questions {
            cluster: spec.and_then(|spec| named(Some(&spec.cluster_ref))),
            ..Questions::default()
        }
    }

    /// Never the text: it may hold passwords.
    fn audit(facts: &Facts<Self>) -> Vec<(&'static str, String)> {
        let Some(spec) = facts.spec() else {
            return Vec::new();
        };
        let role = spec.target.as_ref().and_then(|target| target.role);
        vec![
            ("cluster", spec.cluster_ref.name.clone()),
            (
                "role",
                role.map_or("all".to_owned(), |role| common::written(&role)),
            ),
            ("priority", spec.priority.to_string()),
            ("bytes", spec.patch.len().to_string()),
        ]
    }
}

fn cluster_name(snapshot: &Snapshot<TalosConfigPatch>) -> Vec<FieldError> {
    let now = snapshot.facts.spec().map(|spec| &spec.cluster_ref);
    let old = snapshot
        .facts
        .change_of_spec()
        .map(|(_, old)| &old.cluster_ref);
    let mut errors = common::fixed_cluster::<TalosConfigPatch>(now, old);
    errors.extend(reference_name("spec.clusterRef.name", now));
    errors
}

fn target(snapshot: &Snapshot<TalosConfigPatch>) -> Vec<FieldError> {
    labels(snapshot.facts.spec().and_then(|spec| spec.target.as_ref()))
}
