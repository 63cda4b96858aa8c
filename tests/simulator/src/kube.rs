//! Kubernetes Nodes, kept as kubelets would keep them.
//!
//! A kubelet registers once per start: a Node that somebody deletes stays gone until the machine boots again, and a
//! machine in maintenance has no kubelet. Heartbeats simply stop when the power does; what that means for `Ready` is
//! the controller manager's to say.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use anyhow::{Context, Result};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Node as KubernetesNodeObject;
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::{Value, json};
use tracing::debug;

use crate::fleet::Shared;
use crate::node::{Node, Stage};
use crate::spec::{ClusterSpec, Role, ms};

/// Keeps the Nodes of a cluster's machines while the fleet runs, if the description gives a kubeconfig.
pub(crate) async fn keep_nodes(
    shared: &Arc<Shared>,
    cluster: &ClusterSpec,
    cluster_id: &str,
) -> Result<()> {
    let Some(file) = &cluster.kubeconfig else {
        return Ok(());
    };
    keep(shared, client(file).await?, cluster_id);
    Ok(())
}

/// A client from a kubeconfig file.
pub(crate) async fn client(file: &str) -> Result<Client> {
    let kubeconfig =
        Kubeconfig::read_from(file).with_context(|| format!("reading kubeconfig {file}"))?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    Client::try_from(config).with_context(|| format!("using kubeconfig {file}"))
}

/// Keeps the Nodes of the machines configured for a cluster.
pub(crate) fn keep(shared: &Arc<Shared>, client: Client, cluster_id: &str) {
    let root = shared.root.clone();
    let heartbeat = ms(shared.timings.heartbeat);
    let mut keeper = Keeper {
        client,
        cluster_id: cluster_id.to_owned(),
        registered: HashMap::new(),
    };
    let shared: Weak<Shared> = Arc::downgrade(shared);
    tokio::spawn(async move {
        let run = async {
            while let Some(shared) = shared.upgrade() {
                keeper.round(&shared).await;
                drop(shared);
                tokio::time::sleep(heartbeat).await;
            }
        };
        tokio::select! {
            () = root.cancelled() => {}
            () = run => {}
        }
    });
}

struct Keeper {
    client: Client,
    cluster_id: String,
    /// Machine → (boot ID, Node name) of the registration.
    registered: HashMap<String, (String, String)>,
}

impl Keeper {
    async fn round(&mut self, shared: &Shared) {
        for node in shared.nodes() {
            let Some(kubelet) = Kubelet::of(&node, &self.cluster_id) else {
                continue;
            };
            if let Err(error) = self.sync(&node, &kubelet).await {
                debug!(node = node.machine.name, %error, "kubelet's round failed");
            }
        }
    }

    async fn sync(&mut self, node: &Node, kubelet: &Kubelet) -> Result<(), kube::Error> {
        let nodes: Api<KubernetesNodeObject> = Api::all(self.client.clone());
        let start = (kubelet.boot_id.clone(), kubelet.name.clone());
        if self.registered.get(&node.machine.name) != Some(&start) {
            let object =
                serde_json::from_value(kubelet.object()).map_err(kube::Error::SerdeError)?;
            match nodes.create(&PostParams::default(), &object).await {
                Ok(_) => {}
                Err(kube::Error::Api(status)) if status.code == 409 => {}
                Err(error) => return Err(error),
            }
            self.registered.insert(node.machine.name.clone(), start);
        }
        let status = json!({ "status": kubelet.status() });
        match nodes
            .patch_status(
                &kubelet.name,
                &PatchParams::default(),
                &Patch::Strategic(status),
            )
            .await
        {
            Ok(_) => self.renew(kubelet).await,
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            Err(error) => Err(error),
        }
    }

    async fn renew(&self, kubelet: &Kubelet) -> Result<(), kube::Error> {
        let leases: Api<Lease> = Api::namespaced(self.client.clone(), "kube-node-lease");
        let lease = json!({
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": { "name": kubelet.name, "namespace": "kube-node-lease" },
            "spec": { "holderIdentity": kubelet.name, "leaseDurationSeconds": 40, "renewTime": micro_time() },
        });
        match leases
            .patch(
                &kubelet.name,
                &PatchParams::default(),
                &Patch::Merge(&lease),
            )
            .await
        {
            Err(kube::Error::Api(status)) if status.code == 404 => {
                let object = serde_json::from_value(lease).map_err(kube::Error::SerdeError)?;
                leases
                    .create(&PostParams::default(), &object)
                    .await
                    .map(|_| ())
            }
            outcome => outcome.map(|_| ()),
        }
    }
}

/// What a machine's kubelet says about it.
struct Kubelet {
    name: String,
    hostname: String,
    boot_id: String,
    system_uuid: String,
    internal_ip: String,
    control_plane: bool,
    talos_version: String,
}

impl Kubelet {
    /// The kubelet of a machine, if one runs for this cluster.
    fn of(node: &Node, cluster_id: &str) -> Option<Self> {
        node.read(|state| {
            let config = state
                .config
                .as_ref()
                .filter(|config| config.cluster_id == cluster_id)?;
            let registers = !config.skip_node_registration && !state.kubernetes_node.skip;
            let runs = state.on && state.serving && state.runtime && state.stage == Stage::Running;
            let other = &state.kubernetes_node;
            let hostname = state.hostname(&node.machine);
            (registers && runs).then(|| Self {
                name: other.name.clone().unwrap_or_else(|| hostname.clone()),
                boot_id: state.boot_id.clone(),
                system_uuid: other
                    .system_uuid
                    .clone()
                    .unwrap_or_else(|| node.machine.uuid.clone()),
                internal_ip: other
                    .internal_ip
                    .clone()
                    .unwrap_or_else(|| state.address.to_string()),
                control_plane: config.role == Role::ControlPlane,
                talos_version: node.machine.spec.talos_version.clone(),
                hostname,
            })
        })
    }

    fn object(&self) -> Value {
        let mut labels = json!({
            "kubernetes.io/hostname": self.hostname,
            "kubernetes.io/os": "linux",
            "kubernetes.io/arch": "amd64",
        });
        let mut taints = json!([]);
        if self.control_plane {
            labels["node-role.kubernetes.io/control-plane"] = json!("");
            taints =
                json!([{ "key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule" }]);
        }
        json!({
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": { "name": self.name, "labels": labels },
            "spec": { "taints": taints },
            "status": self.status(),
        })
    }

    fn status(&self) -> Value {
        let now = crate::clock::now()
            .strftime("%Y-%m-%dT%H:%M:%SZ")
            .to_string();
        let condition = |kind: &str, status: &str, reason: &str| json!({ "type": kind, "status": status, "reason": reason, "message": "", "lastHeartbeatTime": now });
        json!({
            "addresses": [
                { "type": "InternalIP", "address": self.internal_ip },
                { "type": "Hostname", "address": self.hostname },
            ],
            "conditions": [
                condition("MemoryPressure", "False", "KubeletHasSufficientMemory"),
                condition("DiskPressure", "False", "KubeletHasNoDiskPressure"),
                condition("PIDPressure", "False", "KubeletHasSufficientPID"),
                condition("Ready", "True", "KubeletReady"),
            ],
            "capacity": { "cpu": "2", "memory": "4Gi", "pods": "110" },
            "allocatable": { "cpu": "2", "memory": "4Gi", "pods": "110" },
            "nodeInfo": {
                "machineID": self.system_uuid.replace('-', ""),
                "systemUUID": self.system_uuid,
                "bootID": self.boot_id,
                "kernelVersion": "6.18.0-talos",
                "osImage": format!("Talos ({})", self.talos_version),
                "containerRuntimeVersion": "containerd://2.1.4",
                "kubeletVersion": "v1.37.2",
                "kubeProxyVersion": "",
                "operatingSystem": "linux",
                "architecture": "amd64",
            },
        })
    }
}

fn micro_time() -> String {
    crate::clock::now()
        .strftime("%Y-%m-%dT%H:%M:%S%.6fZ")
        .to_string()
}
