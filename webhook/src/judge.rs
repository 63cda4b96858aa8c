//! The order in which a request is judged (DESIGN section 4), the same for every resource. Pure: the
//! same snapshot has the same verdict.

use crate::common;
use crate::denial::Denial;
use crate::field::FieldError;
use crate::findings::Answer;
use crate::ports::{Access, LookupError};
use crate::request::{Change, Facts, Judged, Rule, Snapshot, Verdict};
use ichor_crds::GROUP;
use std::collections::BTreeMap;

/// Judges one request.
pub fn judge<R: Judged>(snapshot: &Snapshot<R>) -> Verdict {
    // Who may not ask learns nothing but that.
    let denial = namespace(&snapshot.facts)
        .or_else(|| verb(snapshot))
        .or_else(|| R::keeps(snapshot).map(Denial::Forbidden))
        .or_else(|| field_errors(snapshot))
        .or_else(|| unknown(snapshot));
    let warnings = if denial.is_none() {
        R::WARNINGS
            .iter()
            .filter_map(|warning| warning(snapshot))
            .collect()
    } else {
        Vec::new()
    };
    let audit = annotations(&snapshot.facts, denial.as_ref());
    Verdict {
        denial,
        warnings,
        audit,
    }
}

/// Ichor reads its objects in its own namespace only (DESIGN section 3; record 0136): one elsewhere would
/// wait for ever. Said before a verb is asked for, because whoever forgot the namespace has no role
/// there. Metadata of such an object may change, so that it can go.
fn namespace<R: Judged>(facts: &Facts<R>) -> Option<Denial> {
    if facts.spec().is_none() || facts.is_ichors() {
        return None;
    }
    let (kind, here) = (R::KIND, &facts.ichor_namespace);
    let why =
        format!("Ichor reads {kind}s in namespace {here} only: create it there, with -n {here}");
    let error = FieldError::invalid("metadata.namespace", &facts.namespace, why);
    Some(Denial::Invalid(vec![error]))
}

/// The caller holds the verb that the request needs, and a review that cannot be made is a denial that
/// says so (DESIGN section 4).
fn verb<R: Judged>(snapshot: &Snapshot<R>) -> Option<Denial> {
    let needed = R::questions(&snapshot.facts).verb?;
    let (caller, namespace) = (&snapshot.facts.caller, &snapshot.facts.namespace);
    let (verb, resource) = (needed.verb, needed.resource);
    match &snapshot.findings.verb {
        Some(Ok(Access::Allowed)) => None,
        Some(Ok(Access::Denied)) => Some(Denial::Forbidden(format!(
            "user {caller:?} may not {} in namespace {namespace}: needs verb {verb:?} on {resource}.{GROUP} (role {} has it)",
            needed.doing, needed.role
        ))),
        failed => Some(Denial::Unknown {
            what: format!("whether user {caller:?} has verb {verb:?}"),
            error: match failed {
                Some(Err(error)) => error.clone(),
                _ => LookupError::Unreachable,
            },
        }),
    }
}

fn field_errors<R: Judged>(snapshot: &Snapshot<R>) -> Option<Denial> {
    let common: [Rule<R>; 1] = [common::stamped];
    let rules = common.iter().chain(R::RULES);
    let errors: Vec<FieldError> = rules.flat_map(|rule| rule(snapshot)).collect();
    (!errors.is_empty()).then_some(Denial::Invalid(errors))
}

/// What could not be found out is not allowed: a denial that says so (DESIGN section 4).
fn unknown<R: Judged>(snapshot: &Snapshot<R>) -> Option<Denial> {
    let found = &snapshot.findings;
    let asked = R::questions(&snapshot.facts);
    let cluster = asked.cluster.as_deref().unwrap_or_default();
    let secret = asked.secret.as_ref().or(asked.bundle.as_ref());
    let secret = secret
        .or(asked.used_secret.as_ref())
        .map_or("", String::as_str);
    let path = match (&asked.bundle, &asked.used_secret) {
        (Some(_), _) => "spec.secretsBundleRef.name",
        (None, Some(_)) => "Secret",
        (None, None) => "spec.credentialSecretRef.name",
    };
    let backup = asked.backup.as_deref().unwrap_or_default();
    let caller = &snapshot.facts.caller;
    let failed = [
        failure(&found.cluster, || {
            format!("spec.clusterRef.name {cluster:?}")
        }),
        failure(&found.secret_access, || {
            format!("whether user {caller:?} may get Secret {secret:?}")
        }),
        failure(&found.secret_type, || format!("{path} {secret:?}")),
        failure(&found.bundle, || format!("{path} {secret:?}")),
        failure(&found.backup, || format!("TalosEtcdBackup {backup:?}")),
        failure(&found.clusters, || {
            "whether another TalosCluster uses the same secrets".to_owned()
        }),
        failure(&found.cluster_ids, || {
            "whether another TalosCluster has the same cluster ID".to_owned()
        }),
        failure(&found.reclaims, || {
            "whether another MachineReclaim acts on this machine".to_owned()
        }),
        failure(&found.machines, || "what the TalosMachines are".to_owned()),
        failure(&found.called, || {
            "which machine spec.node.name stands for".to_owned()
        }),
        failure(&found.operations, || {
            "whether a TalosOperation is under way".to_owned()
        }),
        failure(&found.storages, || {
            "whether another TalosStorage has a volume of the same name".to_owned()
        }),
        failure(&found.terminating, || {
            "whether the namespace is being deleted".to_owned()
        }),
    ];
    failed.into_iter().flatten().next()
}

#[allow(
    clippy::ref_option,
    reason = "an answer is read as it stands in the findings"
)]
fn failure<T>(answer: &Answer<T>, what: impl FnOnce() -> String) -> Option<Denial> {
    match answer {
        Some(Err(error)) => Some(Denial::Unknown {
            what: what(),
            error: error.clone(),
        }),
        _ => None,
    }
}

/// Annotations for the audit log: who asked is there already, this is for what. Nothing relies on the
/// name, which is empty with generateName (FAULTS 6).
fn annotations<R: Judged>(
    facts: &Facts<R>,
    denial: Option<&Denial>,
) -> BTreeMap<&'static str, String> {
    let decision = match (denial, &facts.change) {
        (Some(denial), _) => format!("denied: {}", denial.reason()),
        (None, Change::Metadata) => "allowed: metadata only".to_owned(),
        (None, _) => "allowed".to_owned(),
    };
    let mut audit = BTreeMap::from([("decision", decision)]);
    audit.extend(R::audit(facts));
    audit
}
