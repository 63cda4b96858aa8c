//! Configuration, cluster, etcd member, node name.

use super::Draft;
use crate::config::MachineConfig;
use crate::node::Node;
use crate::proto::specs;
use crate::spec::Role;

pub fn drafts(node: &Node, kind: &str) -> Vec<Draft> {
    let found: Option<Vec<Draft>> = match kind {
        "MachineConfigs.config.talos.dev" => Some(configs(node)),
        "MachineTypes.config.talos.dev" => Some(vec![machine_type(node)]),
        "Infos.cluster.talos.dev" => info(node).map(|info| vec![info]),
        "Identities.cluster.talos.dev" => Some(vec![identity(node)]),
        "EtcdMembers.etcd.talos.dev" => etcd_member(node).map(|member| vec![member]),
        "Nodenames.kubernetes.talos.dev" => nodename(node).map(|name| vec![name]),
        "OSRootSecrets.secrets.talos.dev" => root_secrets(node).map(|secrets| vec![secrets]),
        _ => None,
    };
    found.unwrap_or_default()
}

fn configs(node: &Node) -> Vec<Draft> {
    let (active, persistent) = node.read(|state| (state.config.clone(), state.persistent.clone()));
    let draft = |id: &str, config: MachineConfig| {
        let mut yaml = "|\n".to_owned();
        for line in config.text.lines() {
            if !line.is_empty() {
                yaml.push_str("    ");
            }
            yaml.push_str(line);
            yaml.push('\n');
        }
        let spec = specs::MachineConfig {
            yaml_marshalled: config.text.into_bytes(),
        };
        let mut draft = Draft::new(
            "config",
            "MachineConfigs.config.talos.dev",
            id,
            "",
            &spec,
            yaml,
        );
        draft
            .annotations
            .push(("talos.dev/yaml-spec", "1".to_owned()));
        draft
    };
    let active = active.map(|config| draft("v1alpha1", config));
    active
        .into_iter()
        .chain(persistent.map(|config| draft("persistent", config)))
        .collect()
}

fn machine_type(node: &Node) -> Draft {
    let role = node.read(|state| state.config.as_ref().map(|config| config.role));
    let (machine_type, text) = match role {
        None => (0, "unknown"),
        Some(Role::ControlPlane) => (2, "controlplane"),
        Some(Role::Worker) => (3, "worker"),
    };
    let spec = specs::MachineType { machine_type };
    let owner = "config.MachineTypeController";
    Draft::new(
        "config",
        "MachineTypes.config.talos.dev",
        "machine-type",
        owner,
        &spec,
        format!("{text}\n"),
    )
}

fn info(node: &Node) -> Option<Draft> {
    let config = node.read(|state| state.config.clone())?;
    let yaml = format!(
        "clusterId: {}\nclusterName: {}\n",
        config.cluster_id, config.cluster_name
    );
    let spec = specs::ClusterInfo {
        cluster_id: config.cluster_id,
        cluster_name: config.cluster_name,
    };
    Some(Draft::new(
        "cluster",
        "Infos.cluster.talos.dev",
        "current",
        "cluster.InfoController",
        &spec,
        yaml,
    ))
}

fn identity(node: &Node) -> Draft {
    let node_id = node.read(|state| state.identity.clone());
    let yaml = format!("nodeId: {node_id}\n");
    let owner = "cluster.NodeIdentityController";
    Draft::new(
        "cluster",
        "Identities.cluster.talos.dev",
        "local",
        owner,
        &specs::Identity { node_id },
        yaml,
    )
}

fn etcd_member(node: &Node) -> Option<Draft> {
    let id = node.read(|state| state.member.filter(|_| state.etcd_running))?;
    // Without quorum the resource goes after a while.
    let gone = crate::spec::ms(node.shared.timings.member_gone);
    let lost = node.with_etcd(|etcd| etcd.lost_for());
    if lost.is_some_and(|lost| lost > gone) {
        return None;
    }
    let member_id = format!("{id:016x}");
    let yaml = format!("memberID: {member_id}\n");
    let spec = specs::EtcdMember { member_id };
    Some(Draft::new(
        "etcd",
        "EtcdMembers.etcd.talos.dev",
        "local",
        "etcd.MemberController",
        &spec,
        yaml,
    ))
}

fn nodename(node: &Node) -> Option<Draft> {
    let (nodename, skip) = node.read(|state| {
        let config = state.config.as_ref()?;
        Some((state.hostname(&node.machine), config.skip_node_registration))
    })?;
    let yaml =
        format!("nodename: {nodename}\nhostnameVersion: \"1\"\nskipNodeRegistration: {skip}\n");
    let spec = specs::Nodename {
        nodename,
        hostname_version: "1".to_owned(),
        skip_node_registration: skip,
    };
    Some(Draft::new(
        "k8s",
        "Nodenames.kubernetes.talos.dev",
        "nodename",
        "k8s.NodenameController",
        &spec,
        yaml,
    ))
}

/// Present where Talos has it, so that who may read it is real; its contents are not modelled.
fn root_secrets(node: &Node) -> Option<Draft> {
    node.read(|state| state.config.as_ref().map(|_| ()))?;
    let yaml = "issuingCA: {}\nacceptedCAs: []\n".to_owned();
    let kind = "OSRootSecrets.secrets.talos.dev";
    Some(Draft::new(
        "secrets",
        kind,
        "os",
        "secrets.RootOSController",
        &specs::ClusterInfo::default(),
        yaml,
    ))
}
