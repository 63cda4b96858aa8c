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

use crate::candidates::Called;
use crate::common::{self, cluster_exists, named};
use crate::findings::{Questions, Verb};
use crate::handler::Paths;
use crate::ports::Selector;
use crate::request::{Change, Facts, Judged, Rule, Snapshot, Warning};
use ichor_crds::{
    NodeOperation, OperationKind, SystemUuid, TalosMachine, TalosOperation, TalosOperationSpec,
    TalosOperationStatus,
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
        let called = |node: &NodeOperation| {
            let (cluster, name) = (cluster.clone()?, node.name.clone());
            Some(Called { cluster, name })
        };
        Questions {
            verb: verb(spec),
            machines: machines(spec),
            called: spec.node.as_ref().and_then(called),
            operations: cluster.iter().map(of_cluster).collect(),
            backup: restore.and_then(|restore| named(Some(&restore.backup_ref))),
            used_secret: restore.and_then(|restore| named(restore.identity_secret_ref.as_ref())),
            cluster,
            ..Questions::default()
        }
    }

    /// Only a one-machine operation that is created: what its name stands for.
    fn filling(facts: &Facts<Self>) -> Questions {
        Questions {
            called: Self::questions(facts).called,
            ..Questions::default()
        }
    }

    fn fill(snapshot: &Snapshot<Self>) -> Vec<(&'static str, Value)> {
        let machine = node::filled(snapshot).map(|name| ("/node/machine", name));
        let replaced = snapshot.facts.spec().map(replacement_texts);
        let texts = machine.into_iter().chain(replaced.into_iter().flatten());
        texts
            .map(|(path, text)| (path, Value::String(text)))
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

/// The machines of a replacement as they are named: UUIDs in lower case.
fn replacement_texts(spec: &TalosOperationSpec) -> Vec<(&'static str, String)> {
    let Some(block) = &spec.replace_control_plane else {
        return Vec::new();
    };
    let texts = [
        ("/replaceControlPlane/machine", &block.machine),
        ("/replaceControlPlane/replacement", &block.replacement),
        ("/replaceControlPlane/confirm", &block.confirm),
    ];
    let canonical = |text: &str| Some(text.parse::<SystemUuid>().ok()?.to_string());
    let texts = texts.into_iter();
    texts
        .filter_map(|(path, text)| Some((path, canonical(text)?)))
        .collect()
}

/// The machines that matter: what runs in the cluster that is upgraded, and the two control planes of a replacement.
fn machines(spec: &TalosOperationSpec) -> Vec<Selector> {
    if let Some(block) = &spec.replace_control_plane {
        let names = [&block.machine, &block.replacement].into_iter();
        let names = names.filter(|name| common::is_object_name(name));
        return names.map(Selector::name).collect();
    }
    let upgrades = spec.talos_upgrade.is_some() || spec.kubernetes_upgrade.is_some();
    let cluster = named(Some(&spec.cluster_ref)).filter(|_| upgrades);
    let of_cluster = |name| Selector::Field("spec.clusterRef.name", name);
    cluster.map(of_cluster).into_iter().collect()
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
