//! Whether a control plane of a cluster is in the middle of a step, read live: a cache may not have seen yet what
//! another process recorded a moment ago.

use super::Purpose;
use crate::controller::reclaim::stored::{self, Requests, Stored};
use ichor_crds::{MachineReclaim, MachineRole};
use kube::ResourceExt;

/// What else is taking a control plane away from `cluster`, if anything is. A recorded reset that cannot be decoded may be of
/// any cluster.
pub(super) async fn other(
    api: &Requests,
    purpose: &Purpose,
    cluster: &str,
) -> Result<Option<String>, kube::Error> {
    let found = stored::all(api)
        .await?
        .into_iter()
        .find_map(|stored| match stored {
            Stored::Known(request) => (is_other(&request, purpose)
                && is_in_transition(&request, cluster))
            .then(|| format!("machinereclaim/{}", request.name_any())),
            Stored::Unreadable(name) => {
                Some(format!("machinereclaim/{name}, which cannot be decoded,"))
            }
        });
    Ok(found)
}

fn is_other(request: &MachineReclaim, purpose: &Purpose) -> bool {
    request.metadata.uid.as_deref() != Some(purpose.uid.as_str())
}

/// From the record of the reset until the member is gone or the machine is back; a machine that never comes back
/// holds up nobody for ever (DESIGN section 18, decision 12), so Overdue ends it as well.
pub(super) fn is_in_transition(request: &MachineReclaim, cluster: &str) -> bool {
    let Some(status) = &request.status else {
        return false;
    };
    let seen = status.inspection.as_ref();
    let of_cluster = seen.is_some_and(|seen| {
        seen.role == Some(MachineRole::ControlPlane)
            && seen.managed_cluster.as_deref() == Some(cluster)
    });
    of_cluster && status.reset.is_some() && !crate::controller::reclaim::left_the_cluster(status)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ichor_crds::{
        MachineReclaimStatus, ReclaimInspection, ReclaimPhase, ReclaimProgress, ResetRecord,
    };
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
    use k8s_openapi::jiff::Timestamp;

    fn request(change: impl FnOnce(&mut MachineReclaimStatus)) -> MachineReclaim {
        let mut status = MachineReclaimStatus {
            phase: ReclaimPhase::Resetting,
            inspection: Some(ReclaimInspection {
                role: Some(MachineRole::ControlPlane),
                managed_cluster: Some("prod".to_owned()),
                ..ReclaimInspection::default()
            }),
            reset: Some(ResetRecord::default()),
            ..MachineReclaimStatus::default()
        };
        change(&mut status);
        let mut request =
            MachineReclaim::new("reclaim-1", ichor_crds::MachineReclaimSpec::default());
        request.status = Some(status);
        request
    }

    #[test]
    fn section_10_a_control_plane_is_in_transition_from_record_to_member_gone() {
        let now = Some(Time(Timestamp::UNIX_EPOCH));
        let progress =
            |progress: ReclaimProgress| request(|status| status.progress = Some(progress));
        for (what, request, want) in [
            ("recorded", request(|_| {}), true),
            ("not recorded", request(|status| status.reset = None), false),
            (
                "a worker",
                request(|status| {
                    status.inspection.as_mut().expect("there").role = Some(MachineRole::Worker);
                }),
                false,
            ),
            (
                "ended",
                request(|status| status.phase = ReclaimPhase::Failed),
                false,
            ),
            (
                "member gone",
                progress(ReclaimProgress {
                    member_gone_at: now.clone(),
                    ..ReclaimProgress::default()
                }),
                false,
            ),
            (
                "returned",
                progress(ReclaimProgress {
                    returned_at: now.clone(),
                    ..ReclaimProgress::default()
                }),
                false,
            ),
            (
                "only stopped",
                progress(ReclaimProgress {
                    stopped_at: now,
                    ..ReclaimProgress::default()
                }),
                true,
            ),
        ] {
            assert_eq!(is_in_transition(&request, "prod"), want, "{what}");
            assert!(!is_in_transition(&request, "stage"), "{what}");
        }
    }
}
