//! Each test is a sentence of record 0136 or of the sections that stand beside it.

use super::*;
use ichor_crds::{EtcdMemberView, LocalReference, MachineIdentity, ReclaimInspection};

const UUID: &str = "4c4c4544-0042-3510-8052-b4c04f463133";
const SWAPPED: &str = "44454c4c-4200-1035-8052-b4c04f463133";

fn identity() -> MachineIdentity {
    MachineIdentity {
        uuid: UUID.to_owned(),
        serial: "5B5RF13".to_owned(),
        macs: vec!["02:00:00:00:00:07".to_owned()],
    }
}

fn orphan() -> Facts {
    Facts {
        inspection: ReclaimInspection {
            identity: identity(),
            role: Some(MachineRole::Worker),
            managed_cluster: Some("prod".to_owned()),
            cluster_name: Some("prod".to_owned()),
            ..ReclaimInspection::default()
        },
        cluster_id_agrees: true,
        ..Facts::default()
    }
}

/// The first member is the machine itself.
fn control_plane(members: &[(&str, bool)]) -> Facts {
    let mut facts = orphan();
    facts.etcd = EtcdAnswer::Answers;
    facts.inspection.role = Some(MachineRole::ControlPlane);
    facts.inspection.etcd_member_id = members.first().map(|(id, _)| (*id).to_owned());
    facts.inspection.etcd_members = members
        .iter()
        .map(|(id, healthy)| EtcdMemberView {
            id: (*id).to_owned(),
            healthy: *healthy,
            ..EtcdMemberView::default()
        })
        .collect();
    facts
}

fn spec() -> MachineReclaimSpec {
    MachineReclaimSpec {
        address: "10.5.0.7".to_owned(),
        cluster_ref: Some(LocalReference::new("prod")),
        cluster_credentials: Some(true),
        ..MachineReclaimSpec::default()
    }
}

fn approved(uuid: &str) -> Vec<ApprovedMachine> {
    vec![ApprovedMachine {
        uuid: uuid.parse().expect(uuid),
        name: "worker-3".to_owned(),
        cluster: "prod".to_owned(),
    }]
}

fn judge(spec: &MachineReclaimSpec, facts: &Facts, approved: &[ApprovedMachine]) -> Assessment {
    assess(&Case {
        spec,
        facts,
        approved,
    })
}

#[test]
fn record_0136_an_orphan_of_a_managed_cluster_warns_and_does_not_loop() {
    let said = judge(&spec(), &orphan(), &[]);
    assert_eq!(said.refusals, Vec::<String>::new());
    assert_eq!(
        said.warnings,
        [
            "this machine still runs the configuration of prod. To keep it instead: ichor adopt --cluster prod --add-machine 10.5.0.7"
        ]
    );
    assert!(said.graceful);
}

#[test]
fn record_0136_an_approved_machine_is_refused_with_remove_node_and_not_with_adopt() {
    for uuid in [UUID, SWAPPED] {
        let said = judge(&spec(), &orphan(), &approved(uuid));
        assert_eq!(
            said.refusals,
            [format!(
                "10.5.0.7 is the approved machine {uuid} (worker-3) of cluster prod. Use Remove node: ichor node remove worker-3"
            )]
        );
        let all = format!("{:?}{:?}", said.refusals, said.warnings);
        assert!(!all.contains("adopt"), "{all}");
    }
}

#[test]
fn record_0136_no_refusal_of_an_orphan_points_to_adopt() {
    let mut silent = control_plane(&[("a", true)]);
    silent.etcd = EtcdAnswer::Silent;
    for facts in [
        control_plane(&[("a", true)]),
        control_plane(&[("a", true), ("b", false)]),
        silent,
    ] {
        let said = judge(&spec(), &facts, &[]);
        assert!(!said.refusals.is_empty());
        assert!(!said.refusals.concat().contains("adopt"), "{said:?}");
    }
}

#[test]
fn record_0136_a_node_of_another_managed_cluster_is_refused() {
    let mut facts = orphan();
    facts.inspection.managed_cluster = Some("stage".to_owned());
    let said = judge(&spec(), &facts, &[]);
    assert_eq!(said.refusals.len(), 1);
    assert!(
        said.refusals[0].contains("is a machine of cluster stage, not of prod"),
        "{said:?}"
    );
}

#[test]
fn section_5_the_ca_decides_whatever_cluster_id_a_machine_claims() {
    let mut facts = orphan();
    facts.cluster_id_agrees = false;
    let said = judge(&spec(), &facts, &[]);
    let text = said.refusals.concat();
    assert!(
        text.contains("does not say to which cluster") && text.contains("talosctl reset"),
        "{said:?}"
    );
    facts.inspection.cluster_id = Some("other".to_owned());
    let text = judge(&spec(), &facts, &[]).refusals.concat();
    assert!(
        text.contains("another cluster, of ID other") && text.contains("talosctl reset"),
        "{text}"
    );

    let mut facts = orphan();
    facts.inspection.managed_cluster = None;
    facts.claims_only = Some("prod".to_owned());
    let said = judge(&spec(), &facts, &[]);
    assert_eq!(said.refusals, Vec::<String>::new());
    assert!(
        said.warnings.concat().contains("claims to belong to prod"),
        "{said:?}"
    );
    assert!(
        !said.warnings.concat().contains("adopt"),
        "no orphan of a managed cluster"
    );
}

#[test]
fn record_0136_quorum_and_the_last_control_plane_need_force_and_the_typed_name() {
    for (what, facts, refused) in [
        (
            "three healthy",
            control_plane(&[("a", true), ("b", true), ("c", true)]),
            None,
        ),
        (
            "one of three is down",
            control_plane(&[("a", true), ("b", true), ("c", false)]),
            Some("would lose quorum: 1 of the 2"),
        ),
        (
            "FAULTS 17: one of two",
            control_plane(&[("a", true), ("b", true)]),
            Some("one of two voting members"),
        ),
        (
            "the last",
            control_plane(&[("a", true)]),
            Some("is the last control plane of prod"),
        ),
        ("no member", control_plane(&[]), None),
    ] {
        let said = judge(&spec(), &facts, &[]);
        let Some(text) = refused else {
            assert_eq!(said.refusals, Vec::<String>::new(), "{what}");
            continue;
        };
        assert!(said.refusals.concat().contains(text), "{what}: {said:?}");
        let mut forced = spec();
        forced.force = Some(true);
        let said = judge(&forced, &facts, &[]);
        assert_eq!(said.refusals, Vec::<String>::new(), "{what}");
        assert_eq!(said.cluster_name_needed.as_deref(), Some("prod"), "{what}");
        assert!(said.warnings.concat().contains(text), "{what}: {said:?}");
        // What etcd would not let go has to go without being asked.
        let stuck = said.warnings.concat().contains("--force-ungraceful");
        assert_eq!(stuck, text.contains("quorum"), "{what}: {said:?}");
    }
}

/// There is nothing to type, so the refusal says what does work.
#[test]
fn force_needs_a_name_that_can_be_typed() {
    let mut facts = control_plane(&[("a", true)]);
    (
        facts.inspection.managed_cluster,
        facts.inspection.cluster_name,
    ) = (None, None);
    for force in [None, Some(true)] {
        let asked = MachineReclaimSpec {
            cluster_ref: None,
            force,
            ..spec()
        };
        let said = judge(&asked, &facts, &[]);
        assert!(
            said.refusals
                .concat()
                .contains("talosctl reset -n 10.5.0.7"),
            "{said:?}"
        );
        assert_eq!(said.cluster_name_needed, None);
    }
}

#[test]
fn record_0136_the_reset_is_graceful_when_the_cluster_answers() {
    let three = [("a", true), ("b", true), ("c", true)];
    let mut silent = control_plane(&[]);
    silent.etcd = EtcdAnswer::Silent;
    let mut ungraceful = spec();
    ungraceful.force_ungraceful = Some(true);
    for (what, spec, facts, graceful) in [
        ("a worker", spec(), orphan(), true),
        ("a member", spec(), control_plane(&three), true),
        (
            "forceUngraceful",
            ungraceful.clone(),
            control_plane(&three),
            false,
        ),
        ("etcd is silent", ungraceful, silent, false),
        (
            "the last member cannot leave",
            spec(),
            control_plane(&[("a", true)]),
            false,
        ),
    ] {
        assert_eq!(judge(&spec, &facts, &[]).graceful, graceful, "{what}");
    }
}

#[test]
fn record_0136_a_control_plane_whose_cluster_does_not_answer_needs_force_ungraceful() {
    let mut facts = control_plane(&[]);
    facts.etcd = EtcdAnswer::Silent;
    let mut asked = spec();
    let said = judge(&asked, &facts, &[]);
    assert!(
        said.refusals.concat().contains("--force-ungraceful"),
        "{said:?}"
    );
    asked.force = Some(true);
    assert!(
        !judge(&asked, &facts, &[]).refusals.is_empty(),
        "force is something else"
    );
    asked.force = None;
    asked.force_ungraceful = Some(true);
    assert_eq!(judge(&asked, &facts, &[]).refusals, Vec::<String>::new());
}

/// DESIGN section 11: removing the last control plane needs force and the typed name, also where its etcd is down.
#[test]
fn record_0136_a_silent_control_plane_without_others_is_the_last_one() {
    let mut facts = control_plane(&[]);
    facts.etcd = EtcdAnswer::Silent;
    facts.alone = true;
    let mut asked = spec();
    asked.force_ungraceful = Some(true);
    let said = judge(&asked, &facts, &[]).refusals.concat();
    assert!(said.contains("last control plane"), "{said}");
    asked.force = Some(true);
    let said = judge(&asked, &facts, &[]);
    assert_eq!(said.refusals, Vec::<String>::new());
    assert_eq!(said.cluster_name_needed.as_deref(), Some("prod"));
    assert!(!said.graceful);
}

#[test]
fn section_11_an_ungraceful_reset_names_the_member_it_leaves() {
    let mut asked = spec();
    asked.force_ungraceful = Some(true);
    let facts = control_plane(&[("8e9e05c52164694d", true), ("b", true), ("c", true)]);
    let said = judge(&asked, &facts, &[]);
    assert!(
        said.warnings
            .concat()
            .contains("etcd member 8e9e05c52164694d"),
        "{said:?}"
    );
    // The members that remain include the one that is left: three of four with one more down is no majority.
    let facts = control_plane(&[("a", true), ("b", true), ("c", true), ("d", false)]);
    assert!(
        judge(&asked, &facts, &[])
            .refusals
            .concat()
            .contains("lose quorum")
    );
    assert_eq!(judge(&spec(), &facts, &[]).refusals, Vec::<String>::new());
}

#[test]
fn faults_13_a_machine_without_an_identity_of_its_own_is_refused() {
    for (what, identity) in [
        (
            "no UUID",
            MachineIdentity {
                uuid: String::new(),
                ..identity()
            },
        ),
        (
            "no MACs",
            MachineIdentity {
                macs: Vec::new(),
                ..identity()
            },
        ),
        (
            "a filler UUID and no serial",
            MachineIdentity {
                uuid: "00000000-0000-0000-0000-000000000000".to_owned(),
                serial: String::new(),
                ..identity()
            },
        ),
    ] {
        let mut facts = orphan();
        facts.inspection.identity = identity;
        let said = judge(&spec(), &facts, &[]);
        assert!(
            said.refusals
                .concat()
                .contains("cannot be told from other machines"),
            "{what}: {said:?}"
        );
    }
}
