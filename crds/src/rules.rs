//! Rules in CEL that several kinds share. Their messages say what to do.

use kube::core::Rule;

/// The parts of a lower-case UUID in hexadecimal.
const UUID: &str = "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$";

/// `field` of a spec stays as it was created: it can be neither set nor cleared nor changed. Written at the level of
/// the spec, because a rule at the field itself is not asked when the field comes or goes.
pub(crate) fn fixed(field: &str, advice: &str) -> Rule {
    Rule::new(same(field))
        .message(&*format!(
            "{field} cannot be set, cleared or changed after creation; {advice}"
        ))
        .field_path(format!(".{field}"))
}

/// CEL: `field` is as it was.
fn same(field: &str) -> String {
    same_in("", field)
}

/// CEL: `field` of the spec is as it was, seen from the object.
pub(crate) fn same_of_spec(field: &str) -> String {
    same_in(".spec", field)
}

fn same_in(at: &str, field: &str) -> String {
    format!(
        "has(self{at}.{field}) == has(oldSelf{at}.{field}) && (!has(self{at}.{field}) || self{at}.{field} == oldSelf{at}.{field})"
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

/// The block of an operation, which never changes.
pub(crate) fn fixed_block(block: &str) -> Rule {
    fixed(block, "create another TalosOperation")
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

/// Five fields of cron, each a list of values, ranges and steps.
pub(crate) fn cron() -> Rule {
    let months = "0?[1-9]|1[0-2]|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec";
    let days = "[0-7]|sun|mon|tue|wed|thu|fri|sat";
    let fields = [
        "[0-5]?[0-9]",
        "[01]?[0-9]|2[0-3]",
        "0?[1-9]|[12][0-9]|3[01]",
        months,
        days,
    ]
    .map(|value| {
        let part = format!("([*]|({value})(-({value}))?)(/[1-9][0-9]?)?");
        format!("{part}(,{part})*")
    });
    Rule::new(format!("self.matches('(?i)^{}$')", fields.join(" "))).message(
        "must be the five fields of cron (minute, hour, day of month, month, day of week), such as \"0 3 * * *\" for every day at three",
    )
}

/// A size as Talos reads it.
pub(crate) fn size(relative: &str, example: &str) -> Rule {
    Rule::new(format!(
        "self.matches('^[0-9]+([.][0-9]+)?([kKMGTP]i?B|B{relative})$')"
    ))
    .message(&*format!("must be a size such as {example}"))
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

/// The name of an object that a reference points to.
pub(crate) fn object_name() -> Rule {
    Rule::new("self.matches('^[a-z0-9]([a-z0-9-]*[a-z0-9])?([.][a-z0-9]([a-z0-9-]*[a-z0-9])?)*$')").message(
        "is not the name of an object: lower-case letters, digits, \"-\" and \".\", at most 253",
    )
}

/// A reference to an image of containers: no blank or line break gets into a configuration.
pub(crate) fn image() -> Rule {
    Rule::new("self.matches('^[A-Za-z0-9[][A-Za-z0-9._:/@+[\\\\]-]*$')")
        .message("must be the reference of an image, such as ghcr.io/siderolabs/installer:v1.14.3")
}

/// MAC addresses as an identity holds them.
pub(crate) fn identity_macs() -> Rule {
    Rule::new(
        "!has(self.macs) || self.macs.all(mac, mac.matches('^[0-9a-f]{2}(:[0-9a-f]{2}){5,19}$'))",
    )
    .message("must be MAC addresses in lower case with colons, such as 02:00:0a:05:00:07")
    .field_path(".macs")
}

/// A DNS name in lower case.
pub(crate) fn dns_name(example: &str) -> Rule {
    Rule::new(
        "self.matches('^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?([.][a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$')",
    )
    .message(&*format!(
        "must be a name of lower-case letters, digits, dashes and dots, such as {example}"
    ))
}

/// A field holds PEM blocks of one label, and certainly no private key. Asked at the level above the field: a refusal at
/// the field itself would print what was pasted.
pub(crate) fn pem(field: &str, label: &str, what: &str) -> Rule {
    Rule::new(format!(
        "!has(self.{field}) || (self.{field}.trim().startsWith('-----BEGIN {label}-----') && !self.{field}.contains('PRIVATE KEY'))"
    ))
    .message(&*format!(
        "must be {what} in PEM (-----BEGIN {label}-----), and no private key"
    ))
    .field_path(format!(".{field}"))
}
