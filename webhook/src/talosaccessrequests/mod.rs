//! Admission of talosaccessrequests: one person asks, another decides (DESIGN sections 4 and 12).

mod decision;
mod shape;
#[cfg(test)]
mod tests;

use crate::common::{self, cluster_exists, named};
use crate::findings::{Questions, Verb};
use crate::handler::Paths;
use crate::request::{Change, Facts, Judged, Rule, Warning};
use ichor_crds::{
    REQUESTED_BY, TalosAccessRequest, TalosAccessRequestSpec, TalosAccessRequestStatus,
};

impl Judged for TalosAccessRequest {
    const KIND: &'static str = "TalosAccessRequest";
    const RESOURCE: &'static str = "talosaccessrequests";
    const PATHS: Paths = Paths {
        mutate: "/mutate/talosaccessrequests",
        validate: "/validate/talosaccessrequests",
    };
    type Spec = TalosAccessRequestSpec;
    type Status = TalosAccessRequestStatus;

    const RULES: &'static [Rule<Self>] = &[
        shape::cluster_name,
        shape::reason,
        shape::duration,
        shape::csr,
        decision::only_approval_changes,
        decision::begins_pending,
        decision::is_final,
        decision::is_never_the_requesters,
        cluster_exists,
    ];
    const WARNINGS: &'static [Warning<Self>] = &[shape::admin];

    fn questions(facts: &Facts<Self>) -> Questions {
        if !facts.is_ichors() {
            return Questions::default();
        }
        let created = match &facts.change {
            Change::Create { spec } => Some(spec),
            _ => None,
        };
        Questions {
            verb: Self::decides(facts).then(|| Verb {
                verb: "approve",
                resource: Self::RESOURCE,
                name: facts.name.clone(),
                doing: "decide about access to the Talos API",
                role: "ichor-approver",
            }),
            cluster: created.and_then(|spec| named(Some(&spec.cluster_ref))),
            ..Questions::default()
        }
    }

    fn decides(facts: &Facts<Self>) -> bool {
        let change = facts.change_of_spec();
        change.is_some_and(|(spec, old)| spec.approval != old.approval)
    }

    fn audit(facts: &Facts<Self>) -> Vec<(&'static str, String)> {
        let Some(spec) = facts.spec() else {
            return Vec::new();
        };
        let requester = facts.annotations.get(REQUESTED_BY).cloned();
        vec![
            ("cluster", spec.cluster_ref.name.clone()),
            ("role", spec.role.as_str().to_owned()),
            ("duration", spec.duration.clone()),
            ("approval", common::written(&spec.approval)),
            ("requester", requester.unwrap_or_default()),
        ]
    }
}
