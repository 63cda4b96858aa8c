//! What a person sees of an inspection before typing the machine's UUID (record 0136, UX "Reclaim").
//!
//! [`InspectionView`] is what is shown; [`InspectionView::lines`] is how a terminal shows it. Everything in
//! it came from a machine that may be hostile, so all texts are made safe first.

use super::text::{clean, columns, lay_out};
use ichor_crds::{EtcdMemberView, MachineRole, NodeView, ReclaimInspection, VolumeView};

/// Columns of the labels.
const LABEL: usize = 12;
/// Columns of a value; a list goes on in the next line after that.
const VALUE: usize = 76;

/// An inspection as rows of label and value, with what speaks against the wipe.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InspectionView {
    /// Facts, in the order they are shown; a value has one line or more.
    pub rows: Vec<Row>,
    /// What is legal and probably not meant.
    pub warnings: Vec<String>,
    /// Why the machine may not be wiped as asked.
    pub refusals: Vec<String>,
}

/// One fact of an inspection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// What it is, in one word.
    pub label: &'static str,
    /// What was seen; one entry a line.
    pub values: Vec<String>,
}

impl InspectionView {
    /// The view of what the controller found.
    pub fn of(inspection: &ReclaimInspection) -> Self {
        let rows = [
            Some(row("machine", machine(inspection))),
            Some(row("hostname", hostname(inspection))),
            node(inspection).map(|text| row("node", text)),
            members(inspection),
            Some(list(
                "wiped",
                inspection.wiped.iter().map(|name| clean(name)),
            )),
            Some(list("kept", inspection.kept.iter().map(volume))),
        ];
        Self {
            rows: rows.into_iter().flatten().collect(),
            warnings: inspection.warnings.clone(),
            refusals: inspection.refusals.clone(),
        }
    }

    /// The lines of a terminal, without colours.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for Row { label, values } in &self.rows {
            lines.extend(labelled(label, values));
        }
        for (label, texts) in [("warning", &self.warnings), ("refused", &self.refusals)] {
            for text in texts {
                lines.push(String::new());
                lines.extend(labelled(label, &lay_out(text, VALUE)));
            }
        }
        lines
    }
}

/// `  label     value`, with further lines under the value.
fn labelled(label: &str, values: &[String]) -> Vec<String> {
    let labels = std::iter::once(label).chain(std::iter::repeat(""));
    labels
        .zip(values)
        .map(|(label, value)| format!("  {label:LABEL$}{value}"))
        .collect()
}

fn row(label: &'static str, value: String) -> Row {
    Row {
        label,
        values: vec![value],
    }
}

/// A list in as few lines as its entries fit in.
fn list(label: &'static str, entries: impl Iterator<Item = String>) -> Row {
    let mut values: Vec<String> = Vec::new();
    for entry in entries {
        match values.last_mut() {
            Some(line) if columns(line) + 2 + columns(&entry) <= VALUE => {
                line.push_str(", ");
                line.push_str(&entry);
            }
            Some(line) => {
                line.push(',');
                values.push(entry);
            }
            None => values.push(entry),
        }
    }
    if values.is_empty() {
        values.push("nothing".to_owned());
    }
    Row { label, values }
}

/// `4c4c4544-…   Dell PowerEdge R640, serial 5B5RF13`
fn machine(inspection: &ReclaimInspection) -> String {
    let board = [&inspection.manufacturer, &inspection.product];
    let board: Vec<_> = board
        .into_iter()
        .flatten()
        .map(|text| clean(text))
        .collect();
    let serial = clean(&inspection.identity.serial);
    let serial = (!serial.is_empty()).then(|| format!("serial {serial}"));
    let board = (!board.is_empty()).then(|| board.join(" "));
    let about: Vec<_> = [board, serial].into_iter().flatten().collect();
    let uuid = clean(&inspection.identity.uuid);
    if about.is_empty() {
        return uuid;
    }
    format!("{uuid}   {}", about.join(", "))
}

/// `worker-7, role worker, Talos v1.14.3, cluster prod (R59Lxzv…)`
fn hostname(inspection: &ReclaimInspection) -> String {
    let name = inspection
        .hostname
        .as_deref()
        .map_or_else(|| "unknown".to_owned(), clean);
    let role = match inspection.role {
        Some(role) => format!("role {}", role_name(role)),
        None => "role unknown".to_owned(),
    };
    let version = inspection
        .talos_version
        .as_deref()
        .map(|version| format!("Talos {}", clean(version)));
    [Some(name), Some(role), version, cluster(inspection)]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(", ")
}

/// `cluster prod (R59Lxzv…)`; the name is Ichor's where it manages the cluster.
fn cluster(inspection: &ReclaimInspection) -> Option<String> {
    let name = inspection
        .managed_cluster
        .as_ref()
        .or(inspection.cluster_name.as_ref());
    let id = inspection
        .cluster_id
        .as_deref()
        .map(|id| shorten(&clean(id)));
    let managed = inspection.managed_cluster.is_some();
    match (name, id) {
        (Some(name), Some(id)) if managed => Some(format!("cluster {} ({id})", clean(name))),
        (Some(name), Some(id)) => Some(format!(
            "cluster {} ({id}, not managed by Ichor)",
            clean(name)
        )),
        (Some(name), None) => Some(format!("cluster {}", clean(name))),
        (None, Some(id)) => Some(format!("cluster {id}")),
        (None, None) => None,
    }
}

/// The first characters of a cluster ID, enough to recognise it.
fn shorten(id: &str) -> String {
    const SHOWN: usize = 7;
    if columns(id) <= SHOWN + 1 {
        return id.to_owned();
    }
    let head: String = id.chars().take(SHOWN).collect();
    format!("{head}…")
}

/// What happens to the Kubernetes Node; a cluster that Ichor does not manage has none that concerns it.
fn node(inspection: &ReclaimInspection) -> Option<String> {
    match (&inspection.node, &inspection.managed_cluster) {
        (
            Some(NodeView {
                name,
                matches: true,
            }),
            _,
        ) => Some(format!(
            "{} (its system UUID matches: it will be deleted)",
            clean(name)
        )),
        (
            Some(NodeView {
                name,
                matches: false,
            }),
            _,
        ) => Some(format!(
            "{} (its system UUID is not this machine's: it will be left)",
            clean(name)
        )),
        (None, Some(_)) => Some("none of this host name".to_owned()),
        (None, None) => None,
    }
}

/// The members of etcd with their health, for a control plane.
fn members(inspection: &ReclaimInspection) -> Option<Row> {
    let members = &inspection.etcd_members;
    if members.is_empty() {
        let control_plane = inspection.role == Some(MachineRole::ControlPlane);
        return control_plane.then(|| row("etcd", "members not known".to_owned()));
    }
    let names: Vec<_> = members.iter().map(member_name).collect();
    let width = names.iter().map(|name| columns(name)).max().unwrap_or(0);
    let values = members.iter().zip(names).map(|(member, name)| {
        let own = inspection.etcd_member_id.as_deref() == Some(member.id.as_str());
        format!("{name:width$}   {}", member_state(member, own))
    });
    Some(Row {
        label: "etcd",
        values: values.collect(),
    })
}

/// A member that has not joined yet has no name; its ID tells it apart.
fn member_name(member: &EtcdMemberView) -> String {
    if member.hostname.is_empty() {
        clean(&member.id)
    } else {
        clean(&member.hostname)
    }
}

fn member_state(member: &EtcdMemberView, own: bool) -> String {
    let health = if member.healthy {
        "healthy"
    } else {
        "not healthy, or not known to be"
    };
    let learner = if member.learner {
        ", learner (does not vote)"
    } else {
        ""
    };
    let own = if own { ", this machine" } else { "" };
    format!("{health}{learner}{own}")
}

/// `/dev/nvme1n1 (1.9 TB, user volume "data")`
fn volume(volume: &VolumeView) -> String {
    let size = volume
        .size
        .and_then(|bytes| u64::try_from(bytes).ok())
        .map(size);
    let about: Vec<_> = [size, volume.description.as_deref().map(clean)]
        .into_iter()
        .flatten()
        .collect();
    if about.is_empty() {
        return clean(&volume.name);
    }
    format!("{} ({})", clean(&volume.name), about.join(", "))
}

/// A size as disk vendors print it: powers of 1000, one digit after the point below 100.
fn size(bytes: u64) -> String {
    let mut unit = 1_u64;
    let mut name = "B";
    for larger in ["kB", "MB", "GB", "TB", "PB"] {
        if bytes / unit < 1000 {
            break;
        }
        unit *= 1000;
        name = larger;
    }
    let (whole, tenths) = (bytes / unit, bytes % unit * 10 / unit);
    if whole >= 100 || tenths == 0 {
        format!("{whole} {name}")
    } else {
        format!("{whole}.{tenths} {name}")
    }
}

/// The role as the API writes it.
pub fn role_name(role: MachineRole) -> &'static str {
    match role {
        MachineRole::ControlPlane => "controlplane",
        MachineRole::Worker => "worker",
    }
}

#[cfg(test)]
#[path = "inspection_tests.rs"]
mod tests;
