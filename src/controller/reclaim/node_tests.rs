//! Record 0136, "The Kubernetes Node", sentence by sentence.

use super::*;
use ichor_crds::{
    EtcdMemberView, MachineReclaimSpec, MachineReclaimStatus, NodeView, ReclaimProgress,
    ResetRecord,
};

const UUID: &str = "4c4c4544-0042-3510-8052-b4c04f463133";
const SWAPPED: &str = "44454c4c-4200-1035-8052-b4c04f463133";
const OTHER: &str = "5f1e0000-0042-3510-8052-b4c04f463133";

fn request(
    confirmed: Option<&str>,
    change: impl FnOnce(&mut MachineReclaimStatus),
) -> MachineReclaim {
    let mut request = MachineReclaim::new(
        "reclaim-1",
        MachineReclaimSpec {
            address: "10.5.0.7".to_owned(),
            confirm_uuid: confirmed.map(str::to_owned),
            ..MachineReclaimSpec::default()
        },
    );
    let mut status = MachineReclaimStatus {
        inspection: Some(ReclaimInspection::default()),
        reset: Some(ResetRecord {
            graceful: true,
            ..ResetRecord::default()
        }),
        ..MachineReclaimStatus::default()
    };
    change(&mut status);
    request.status = Some(status);
    request
}

fn found(system_uuid: &str) -> NodeSight {
    NodeSight::Found {
        name: "worker-7".to_owned(),
        uid: "node-uid".to_owned(),
        resource_version: "42".to_owned(),
        system_uuid: system_uuid.to_owned(),
    }
}

fn judge(confirmed: Option<&str>, machine: &str, node: &str) -> NodeStep {
    decide(
        &request(confirmed, |_| {}),
        machine.parse().ok(),
        found(node),
    )
}

fn words(step: NodeStep) -> String {
    match step {
        NodeStep::Leave(words) => words,
        NodeStep::Delete { name, .. } => panic!("{name} would be deleted"),
    }
}

#[test]
fn record_0136_the_node_is_deleted_only_when_its_system_uuid_is_the_machines() {
    let delete = NodeStep::Delete {
        name: "worker-7".to_owned(),
        uid: "node-uid".to_owned(),
        resource_version: "42".to_owned(),
    };
    assert_eq!(judge(Some(UUID), UUID, UUID), delete);
    assert_eq!(judge(Some(UUID), UUID, &UUID.to_uppercase()), delete);
    assert_eq!(
        judge(Some(UUID), UUID, SWAPPED),
        delete,
        "decision 9: with the name, which agrees"
    );
    for other in [OTHER, "", "nonsense"] {
        assert!(
            words(judge(Some(UUID), UUID, other)).contains("kubectl delete node worker-7"),
            "{other}"
        );
    }
}

#[test]
fn section_4_a_forged_status_deletes_no_node_that_nobody_confirmed() {
    for confirmed in [None, Some(OTHER), Some(SWAPPED), Some("")] {
        assert!(
            words(judge(confirmed, UUID, UUID)).contains("nobody confirmed"),
            "{confirmed:?}"
        );
    }
    // The machine that answers now is not the one that was confirmed.
    assert!(words(judge(Some(UUID), OTHER, UUID)).contains("nobody confirmed"));
}

#[test]
fn faults_13_a_uuid_that_tells_no_boards_apart_deletes_nothing() {
    let filler = "03000200-0400-0500-0006-000700080009";
    assert!(words(judge(Some(filler), filler, filler)).contains("kubectl delete node"));
}

#[test]
fn record_0136_a_custom_node_name_leaves_the_node_and_names_the_command() {
    let missing = || NodeSight::Missing {
        name: "worker-7".to_owned(),
    };
    let custom = request(Some(UUID), |status| {
        status.inspection.as_mut().expect("there").node = Some(NodeView {
            name: "rack-4-slot-2".to_owned(),
            matches: false,
        });
    });
    let left = words(decide(&custom, UUID.parse().ok(), missing()));
    assert!(left.contains("kubectl delete node rack-4-slot-2"), "{left}");
    // The host name is another machine's: that one's Node is not what is left.
    let left = words(decide(&custom, UUID.parse().ok(), found(OTHER)));
    assert!(left.contains("kubectl delete node rack-4-slot-2"), "{left}");
    assert!(!left.contains("kubectl delete node worker-7"), "{left}");
    let plain = request(Some(UUID), |_| {});
    assert_eq!(
        words(decide(&plain, UUID.parse().ok(), missing())),
        "there is no Kubernetes node worker-7"
    );
}

#[test]
fn the_result_line_says_what_happened_and_what_is_left() {
    let member = |id: &str| EtcdMemberView {
        id: id.to_owned(),
        ..EtcdMemberView::default()
    };
    let control_plane = |graceful: bool, members: Vec<EtcdMemberView>| {
        request(Some(UUID), |status| {
            let seen = status.inspection.as_mut().expect("there");
            seen.etcd_member_id = Some("8e9e05c52164694d".to_owned());
            seen.etcd_members = members;
            status.reset.as_mut().expect("there").graceful = graceful;
        })
    };
    let both = || vec![member("8e9e05c52164694d"), member("b")];
    let done = "wiped and in maintenance mode; Kubernetes node cp-1 deleted";
    let node = "Kubernetes node cp-1 deleted";
    assert_eq!(result(&control_plane(true, both()), node), done);
    let left = result(&control_plane(false, both()), node);
    assert!(
        left.contains("talosctl etcd remove-member 8e9e05c52164694d"),
        "{left}"
    );
    let last = control_plane(false, vec![member("8e9e05c52164694d")]);
    assert_eq!(result(&last, node), done, "the cluster ended with it");
    let moved = request(Some(UUID), |status| {
        status.progress = Some(ReclaimProgress {
            returned_address: Some("10.5.0.99".to_owned()),
            ..ReclaimProgress::default()
        });
    });
    assert!(result(&moved, node).starts_with("wiped and in maintenance mode at 10.5.0.99;"));
}

#[test]
fn faults_14_a_node_is_looked_for_in_lower_case() {
    let seen = ReclaimInspection {
        hostname: Some("Worker-7".to_owned()),
        ..ReclaimInspection::default()
    };
    assert_eq!(name_of(&seen).as_deref(), Some("worker-7"));
    assert_eq!(name_of(&ReclaimInspection::default()), None);
}

#[test]
fn only_what_can_be_a_nodes_name_is_looked_up() {
    for (hostname, want) in [
        ("worker-7", Some("worker-7")),
        ("Worker-7.Example", Some("worker-7.example")),
        ("", None),
        ("../secrets", None),
        ("a/b", None),
        ("a?b", None),
        ("-a", None),
        (".", None),
        ("wörker", None),
    ] {
        let seen = ReclaimInspection {
            hostname: Some(hostname.to_owned()),
            ..ReclaimInspection::default()
        };
        assert_eq!(name_of(&seen).as_deref(), want, "{hostname:?}");
    }
}
