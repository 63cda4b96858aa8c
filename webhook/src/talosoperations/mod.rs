//! Admission of talosoperations (DESIGN section 4; records 0067 and 0095).

mod consent;
mod immutable;
mod node;
mod reference;
mod shape;
#[cfg(test)]
mod tests;
mod upgrade;
mod warning;

use crate::common::{self, cluster_exists, named};
use crate::findings::{Questions, Verb};
use crate::handler::Paths;
use crate::ports::Selector;
use crate::request::{Change, Facts, Judged, Rule, Snapshot, Warning};
use ichor_crds::{
    OperationKind, TalosMachine, TalosOperation, TalosOperationSpec, TalosOperationStatus,
};
use serde_json::Value;

impl Judged for TalosOperation {
    const KIND: &'static str = "TalosOperation";
    const RESOURCE: &'static str = "talosoperations";
    const PATHS: Paths = Paths {
        mutate: "/mutate/talosoperations",
        validate: "/validate/talosoperations",
    };
    type Spec = TalosOperationSpec;
    type Status = TalosOperationStatus;

    const RULES: &'static [Rule<Self>] = &[
        shape::reference_names,
        shape::block_of_the_kind,
        consent::is_typed,
        immutable::all_but_paused,
        immutable::a_started_restore_goes_on,
        cluster_exists,
        node::stands_for_one_machine,
        upgrade::talos,
        upgrade::kubernetes,
        upgrade::cilium,
        reference::control_planes,
        reference::backup,
        reference::identity,
    ];
    const WARNINGS: &'static [Warning<Self>] = &[
        warning::waits,
        warning::snapshot,
        warning::retry,
        warning::retry_value,
    ];

    fn questions(facts: &Facts<Self>) -> Questions {
        let Change::Create { spec } = &facts.change else {
            return Questions::default();
        };
        if !facts.is_ichors() {
            return Questions::default();
        }
        let cluster = named(Some(&spec.cluster_ref));
        let of_cluster = |name: &String| Selector::Field("spec.clusterRef.name", name.clone());
        let restore = spec.etcd_restore.as_ref();
        let needs_machines = !matches!(
            spec.kind,
            OperationKind::Shutdown | OperationKind::EtcdRestore | OperationKind::CiliumUpgrade
        );
        Questions {
            verb: verb(spec),
            machines: cluster
                .iter()
                .filter(|_| needs_machines)
                .map(of_cluster)
                .collect(),
            operations: cluster.iter().map(of_cluster).collect(),
            backup: restore.and_then(|restore| named(Some(&restore.backup_ref))),
            used_secret: restore.and_then(|restore| named(restore.identity_secret_ref.as_ref())),
            cluster,
            ..Questions::default()
        }
    }

    /// Only a one-machine operation that is created: what its name stands for.
    fn filling(facts: &Facts<Self>) -> Questions {
        let asked = Self::questions(facts);
        let is_node = facts.spec().is_some_and(|spec| spec.node.is_some());
        Questions {
            machines: if is_node { asked.machines } else { Vec::new() },
            ..Questions::default()
        }
    }

    fn fill(snapshot: &Snapshot<Self>) -> Vec<(&'static str, Value)> {
        let machine = node::filled(snapshot);
        machine
            .map(|name| ("/node/machine", Value::String(name)))
            .into_iter()
            .collect()
    }

    fn audit(facts: &Facts<Self>) -> Vec<(&'static str, String)> {
        let Some(spec) = facts.spec() else {
            return Vec::new();
        };
        let mut audit = vec![
            ("cluster", spec.cluster_ref.name.clone()),
            ("kind", kind_name(spec.kind)),
            ("paused", (spec.paused == Some(true)).to_string()),
        ];
        if let Some(node) = &spec.node {
            audit.push(("node", node.name.clone()));
            audit.push(("force", (node.force == Some(true)).to_string()));
            audit.extend(node.machine.clone().map(|machine| ("machine", machine)));
        }
        audit.extend(target(spec).map(|version| ("version", version.to_owned())));
        if let Some(restore) = &spec.etcd_restore {
            audit.push((
                "snapshot",
                format!("{}/{}", restore.backup_ref.name, restore.snapshot),
            ));
        }
        audit
    }
}

/// "`reset`, `remove` and `etcdRestore` need verb `wipe` on `talosmachines`" (DESIGN section 4), and so
/// does `replaceControlPlane`, which wipes the machine that goes.
fn verb(spec: &TalosOperationSpec) -> Option<Verb> {
    let node = spec.node.as_ref().and_then(|node| node.machine.clone());
    let replaced = spec
        .replace_control_plane
        .as_ref()
        .map(|block| block.machine.clone());
    let (doing, name) = match spec.kind {
        OperationKind::Reset => ("reset machines", node),
        OperationKind::Remove => ("remove machines", node),
        OperationKind::ReplaceControlPlane => ("replace control planes", replaced),
        OperationKind::EtcdRestore => ("restore etcd", None),
        _ => return None,
    };
    Some(Verb {
        verb: "wipe",
        resource: TalosMachine::RESOURCE,
        name: name.unwrap_or_default(),
        doing,
        role: "ichor-admin",
    })
}

/// The kind as people write it.
fn kind_name(kind: OperationKind) -> String {
    common::written(&kind)
}

/// The version that an upgrade leads to.
fn target(spec: &TalosOperationSpec) -> Option<&str> {
    let talos = spec
        .talos_upgrade
        .as_ref()
        .map(|block| block.version.as_str());
    let kubernetes = spec
        .kubernetes_upgrade
        .as_ref()
        .map(|block| block.version.as_str());
    let cilium = spec
        .cilium_upgrade
        .as_ref()
        .map(|block| block.version.as_str());
    talos.or(kubernetes).or(cilium)
}
