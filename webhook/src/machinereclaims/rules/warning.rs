//! What is legal and probably not meant (DESIGN section 4). Each is shorter than the 256 characters
//! after which the API server cuts it.

use crate::common::short;
use crate::machinereclaims::{inspected, typed};
use ichor_crds::{MachineReclaim, MachineRole};

type Snapshot = crate::request::Snapshot<MachineReclaim>;

/// `force` needs the typed cluster name (record 0136).
pub(crate) fn force(snapshot: &Snapshot) -> Option<String> {
    let spec = snapshot.facts.spec()?;
    (spec.force == Some(true) && spec.confirm_cluster_name.is_none()).then(|| {
        "spec.force has no effect until spec.confirmClusterName holds the name of the cluster"
            .to_owned()
    })
}

/// The typed cluster name is for `force`, and is the cluster's.
pub(crate) fn confirm_cluster_name(snapshot: &Snapshot) -> Option<String> {
    let (spec, status) = (snapshot.facts.spec()?, snapshot.facts.status());
    let typed = spec.confirm_cluster_name.as_deref()?;
    if spec.force != Some(true) {
        return Some("spec.confirmClusterName has no effect without spec.force".to_owned());
    }
    let inspection = status.and_then(|status| status.inspection.as_ref());
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
pub(crate) fn force_ungraceful(snapshot: &Snapshot) -> Option<String> {
    let (spec, status) = (snapshot.facts.spec()?, snapshot.facts.status());
    if spec.force_ungraceful != Some(true) {
        return None;
    }
    let inspection = status.and_then(|status| status.inspection.as_ref());
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
pub(crate) fn confirm_uuid(snapshot: &Snapshot) -> Option<String> {
    let (spec, status) = (snapshot.facts.spec()?, snapshot.facts.status());
    let (typed, machine) = (typed(spec)?, inspected(status?)?);
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
pub(crate) fn ended(snapshot: &Snapshot) -> Option<String> {
    let status = snapshot.facts.status()?;
    status.phase.is_final().then(|| {
        format!(
            "this request has ended ({:?}), so the change has no effect: create another MachineReclaim",
            status.phase
        )
    })
}
