use super::*;
use ichor_crds::MachineIdentity;

fn text(inspection: &ReclaimInspection) -> String {
    InspectionView::of(inspection).lines().join("\n")
}

fn volume_view(name: &str, size: Option<i64>, description: Option<&str>) -> VolumeView {
    VolumeView {
        name: name.to_owned(),
        size,
        description: description.map(str::to_owned),
    }
}

/// The orphan of UX.md.
pub fn orphan() -> ReclaimInspection {
    ReclaimInspection {
        identity: MachineIdentity {
            uuid: "4c4c4544-0042-3510-8052-b4c04f463133".to_owned(),
            serial: "5B5RF13".to_owned(),
            macs: vec!["02:00:00:00:00:07".to_owned()],
        },
        manufacturer: Some("Dell".to_owned()),
        product: Some("PowerEdge R640".to_owned()),
        hostname: Some("worker-7".to_owned()),
        role: Some(MachineRole::Worker),
        talos_version: Some("v1.14.3".to_owned()),
        cluster_id: Some("R59LxzvK2mQ0cTq8Jc5nqkZqgM4F1bHhYj3d9p7s6w4=".to_owned()),
        cluster_name: Some("prod".to_owned()),
        managed_cluster: Some("prod".to_owned()),
        wiped: vec!["STATE".to_owned(), "EPHEMERAL".to_owned()],
        kept: vec![
            volume_view(
                "/dev/nvme1n1",
                Some(1_920_383_410_176),
                Some("user volume \"data\""),
            ),
            volume_view("META", None, None),
        ],
        node: Some(NodeView {
            name: "worker-7".to_owned(),
            matches: true,
        }),
        warnings: vec![
            "this machine still runs the configuration of prod. To keep it instead: \
             ichor adopt --cluster prod --add-machine 10.5.0.7"
                .to_owned(),
        ],
        ..ReclaimInspection::default()
    }
}

fn member(id: &str, hostname: &str, healthy: bool, learner: bool) -> EtcdMemberView {
    EtcdMemberView {
        id: id.to_owned(),
        hostname: hostname.to_owned(),
        learner,
        healthy,
    }
}

#[test]
fn an_orphan_worker() {
    insta::assert_snapshot!(text(&orphan()));
}

#[test]
fn a_control_plane_that_would_break_quorum() {
    let inspection = ReclaimInspection {
        hostname: Some("cp-1".to_owned()),
        role: Some(MachineRole::ControlPlane),
        etcd_member_id: Some("9c1e7f2a00000001".to_owned()),
        etcd_members: vec![
            member("9c1e7f2a00000001", "cp-1", true, false),
            member("9c1e7f2a00000002", "cp-22", true, false),
            member("9c1e7f2a00000003", "cp-3", false, false),
            member("9c1e7f2a00000004", "", true, true),
        ],
        node: Some(NodeView {
            name: "cp-1".to_owned(),
            matches: false,
        }),
        refusals: vec![
            "2 of 3 voting members are healthy; without cp-1, 1 of 2 would be, and etcd needs 2: \
             bring cp-3 back, or wipe it anyway with: ichor machine reclaim 10.5.0.2 --cluster prod --force"
                .to_owned(),
        ],
        ..orphan()
    };
    insta::assert_snapshot!(text(&inspection));
}

#[test]
fn a_machine_of_a_cluster_ichor_does_not_manage() {
    let inspection = ReclaimInspection {
        managed_cluster: None,
        cluster_name: Some("lab".to_owned()),
        node: None,
        warnings: Vec::new(),
        kept: (1..=9)
            .map(|n| {
                volume_view(
                    &format!("/dev/nvme{n}n1"),
                    Some(512_110_190_592),
                    Some("disk"),
                )
            })
            .collect(),
        ..orphan()
    };
    insta::assert_snapshot!(text(&inspection));
}

#[test]
fn a_machine_that_says_little_and_lies() {
    let inspection = ReclaimInspection {
        identity: MachineIdentity {
            uuid: "4c4c4544-0042-3510-8052-b4c04f463133".to_owned(),
            ..MachineIdentity::default()
        },
        hostname: Some("\u{1b}[1Aworker-7\r".to_owned()),
        role: Some(MachineRole::ControlPlane),
        warnings: vec!["its name is \u{202e}gnorw".to_owned()],
        ..ReclaimInspection::default()
    };
    let shown = text(&inspection);
    assert!(!shown.contains(['\u{1b}', '\r', '\u{202e}']), "{shown:?}");
    insta::assert_snapshot!(shown);
}

#[test]
fn sizes_are_those_on_the_label_of_a_disk() {
    for (bytes, want) in [
        (0, "0 B"),
        (999, "999 B"),
        (1_000, "1 kB"),
        (1_550, "1.5 kB"),
        (104_857_600, "104 MB"),
        (1_920_383_410_176, "1.9 TB"),
        (18_000_207_937_536, "18 TB"),
        (u64::MAX, "18446 PB"),
    ] {
        assert_eq!(size(bytes), want, "{bytes}");
    }
}
