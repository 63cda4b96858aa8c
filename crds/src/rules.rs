//! Rules in CEL that several kinds share. Their messages say what to do.

use kube::core::Rule;

/// The parts of a lower-case UUID in hexadecimal.
const UUID: &str = "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$";

/// `field` of a spec stays as it was created: it can be neither set nor cleared nor changed. Written at the level of
/// the spec, because a rule at the field itself is not asked when the field comes or goes.
pub(crate) fn fixed(field: &str, advice: &str) -> Rule {
    Rule::new(same(field)).message(&*format!(
        "{field} cannot be set, cleared or changed after creation; {advice}"
    ))
}

/// CEL: `field` is as it was.
pub(crate) fn same(field: &str) -> String {
    format!(
        "has(self.{field}) == has(oldSelf.{field}) && (!has(self.{field}) || self.{field} == oldSelf.{field})"
    )
}

/// A required reference to the cluster that never changes.
pub(crate) fn fixed_cluster(kind: &str) -> Rule {
    Rule::new("self.clusterRef == oldSelf.clusterRef")
        .message(&*format!(
            "clusterRef cannot change after creation; create another {kind}"
        ))
        .field_path(".clusterRef")
}

/// The block called like the kind is there for that kind, and for no other.
pub(crate) fn block_of(kind: &str) -> Rule {
    Rule::new(format!("(self.kind == '{kind}') == has(self.{kind})")).message(&*format!(
        "kind {kind} needs the block {kind}, and no other kind may have it"
    ))
}

/// A release such as v1.14.3.
pub(crate) fn version(example: &str) -> Rule {
    Rule::new("self.matches('^v[0-9]+[.][0-9]+[.][0-9]+(-[0-9A-Za-z.-]+)?$')")
        .message(&*format!("must be a version such as {example}"))
}

/// A lower-case SMBIOS UUID, which is the name of a TalosMachine.
pub(crate) fn machine_name() -> Rule {
    Rule::new(format!("self.matches('{UUID}')")).message(
        "must be the name of a TalosMachine: its lower-case UUID, as \"kubectl get talosmachines\" shows it",
    )
}

/// A list of names of machines.
pub(crate) fn machine_names() -> Rule {
    Rule::new(format!("self.all(name, name.matches('{UUID}'))")).message(
        "must be names of TalosMachines: lower-case UUIDs, as \"kubectl get talosmachines\" shows them",
    )
}

/// The UUID of an identity is one, in lower case.
pub(crate) fn identity_uuid() -> Rule {
    Rule::new(format!("self.uuid.matches('{UUID}')"))
        .message("must be a lower-case UUID such as 4c4c4544-0042-3510-8052-b4c04f463133")
        .field_path(".uuid")
}

/// A duration of hours, minutes and seconds between two bounds.
pub(crate) fn duration(least: &str, most: &str, example: &str) -> Rule {
    Rule::new(format!(
        "self.matches('^([0-9]{{1,6}}h)?([0-9]{{1,6}}m)?([0-9]{{1,6}}s)?$') && self != '' && duration(self) >= duration('{least}') && duration(self) <= duration('{most}')"
    ))
    .message(&*format!(
        "must be a duration from {least} to {most} in hours, minutes and seconds, such as {example}"
    ))
}
