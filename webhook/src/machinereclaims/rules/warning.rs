//! What is legal and probably not meant (DESIGN section 4). Each is shorter than the 256 characters
//! after which the API server cuts it.

use crate::machinereclaims::snapshot::{Change, Snapshot};
use crate::machinereclaims::stored::inspected;
use ichor_crds::{MachineReclaimSpec, MachineReclaimStatus, MachineRole, SystemUuid};

/// All warnings for an allowed request.
pub(crate) fn all(snapshot: &Snapshot) -> Vec<String> {
    let empty = MachineReclaimStatus::default();
    let (spec, status) = match &snapshot.facts.change {
        Change::Create { spec } => (spec, &empty),
        Change::Spec { spec, status, .. } => (spec, status.as_ref()),
        Change::Metadata => return Vec::new(),
    };
    let rules = [
        force,
        confirm_cluster_name,
        force_ungraceful,
        confirm_uuid,
        ended,
    ];
    rules.iter().filter_map(|rule| rule(spec, status)).collect()
}

type Warning = Option<String>;

/// `force` needs the typed cluster name (record 0136).
fn force(spec: &MachineReclaimSpec, _: &MachineReclaimStatus) -> Warning {
    (spec.force == Some(true) && spec.confirm_cluster_name.is_none()).then(|| {
        "spec.force has no effect until spec.confirmClusterName holds the name of the cluster"
            .to_owned()
    })
}

/// The typed cluster name is for `force`, and is the cluster's.
fn confirm_cluster_name(spec: &MachineReclaimSpec, status: &MachineReclaimStatus) -> Warning {
    let typed = spec.confirm_cluster_name.as_deref()?;
    if spec.force != Some(true) {
        return Some("spec.confirmClusterName has no effect without spec.force".to_owned());
    }
    let inspection = status.inspection.as_ref();
    let known = [
        spec.cluster_ref
            .as_ref()
            .map(|cluster| cluster.name.as_str()),
        inspection.and_then(|seen| seen.managed_cluster.as_deref()),
        inspection.and_then(|seen| seen.cluster_name.as_deref()),
    ];
    let mut known = known.into_iter().flatten();
    let first = known.next()?;
    (first != typed && known.all(|name| name != typed)).then(|| {
        format!(
            "spec.confirmClusterName {} is not the cluster's name {}",
            short(typed),
            short(first)
        )
    })
}

/// `forceUngraceful` is for a control plane whose cluster does not answer (record 0136).
fn force_ungraceful(spec: &MachineReclaimSpec, status: &MachineReclaimStatus) -> Warning {
    if spec.force_ungraceful != Some(true) {
        return None;
    }
    let inspection = status.inspection.as_ref();
    let member = inspection.and_then(|seen| seen.etcd_member_id.as_deref());
    Some(match (inspection.and_then(|seen| seen.role), member) {
        (Some(MachineRole::Worker), _) => {
            "spec.forceUngraceful: the machine is a worker; its pods are not drained, and a graceful reset needs no etcd".to_owned()
        }
        (_, Some(member)) => format!(
            "spec.forceUngraceful: the machine does not leave etcd; its member {} stays and has to be removed by hand",
            short(member)
        ),
        _ => "spec.forceUngraceful: the machine is not drained and does not leave etcd; meant for a control plane whose cluster does not answer".to_owned(),
    })
}

/// A wrong UUID is admitted and wipes nothing: the request stays in `AwaitingConfirmation` with condition
/// `UUIDMismatch` (DESIGN section 18, decision 15).
fn confirm_uuid(spec: &MachineReclaimSpec, status: &MachineReclaimStatus) -> Warning {
    let typed: SystemUuid = spec.confirm_uuid.as_deref()?.parse().ok()?;
    let machine = inspected(status)?;
    if typed == machine {
        return None;
    }
    Some(if typed.same_board(machine) {
        format!(
            "spec.confirmUUID is the machine's UUID in another byte order: type it as {machine}"
        )
    } else {
        format!(
            "spec.confirmUUID {typed} is not the UUID of the machine, {machine}: nothing is wiped"
        )
    })
}

/// Nothing follows from changing a request that has ended.
fn ended(_: &MachineReclaimSpec, status: &MachineReclaimStatus) -> Warning {
    status.phase.is_final().then(|| {
        format!(
            "this request has ended ({:?}), so the change has no effect: create another MachineReclaim",
            status.phase
        )
    })
}

/// A name as far as it fits into a warning.
fn short(text: &str) -> String {
    let mut shown: String = text.chars().take(60).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    format!("{shown:?}")
}
