//! A simulated Talos cluster with the objects that make it a managed one.

use crate::addresses::Subnet;
use crate::controller::NAMESPACE;
use crate::{ControlPlane, Kubectl, control_plane::base64};
use anyhow::{Context, Result};
use ichor_simulator::pki::{Algorithm, Authority, Bundle};
use ichor_simulator::{ClusterSpec, Fleet, FleetSpec, NodeHandle, NodeSpec, Role, Timings};
use serde_json::{Value, json};

/// Label of what no webhook sees, where a test has them leave such objects out.
pub const UNSEEN: &str = "stored-before";

/// What a cluster is made of. Nodes are named `NAME-cp-1`, `NAME-worker-1`, `NAME-orphan-1`, …
#[derive(Clone, Debug)]
pub struct ClusterSetup {
    /// Name of the cluster.
    pub name: String,
    /// Control planes with an approved TalosMachine.
    pub control_planes: u8,
    /// Workers with an approved TalosMachine.
    pub workers: u8,
    /// Workers without a TalosMachine.
    pub orphans: u8,
    /// Control planes without a TalosMachine.
    pub orphan_control_planes: u8,
    /// `kubernetesAccess` of the TalosCluster.
    pub access: &'static str,
    /// Changes the description of a node before it starts.
    pub adjust: fn(&mut NodeSpec),
    /// Algorithm of the bundle's Talos API CA.
    pub os_ca: Algorithm,
    /// How long things take on the nodes.
    pub timings: Timings,
}

impl ClusterSetup {
    /// A cluster with `orphans` orphaned workers, one control plane and nothing else.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            control_planes: 1,
            workers: 0,
            orphans: 1,
            orphan_control_planes: 0,
            access: "self",
            adjust: |_| {},
            os_ca: Algorithm::Ed25519,
            timings: Timings::default(),
        }
    }
}

/// A running simulated cluster; it stops when this is dropped.
pub struct GroundCluster {
    /// Name of the cluster and of its TalosCluster.
    pub name: String,
    /// The nodes.
    pub fleet: Fleet,
    /// The secrets bundle.
    pub bundle: Bundle,
    kubectl: Kubectl,
    // Holds the addresses.
    _subnet: Subnet,
}

impl GroundCluster {
    /// Starts the nodes, lets them register in `kubernetes`, and creates the objects in `plane`, where Ichor
    /// runs. Both are the same control plane for a cluster that manages itself.
    pub async fn start(
        plane: &ControlPlane,
        kubernetes: &ControlPlane,
        setup: &ClusterSetup,
    ) -> Result<Self> {
        let subnet = Subnet::claim()?;
        let kubernetes_ca = Authority {
            certificate: kubernetes.ca.certificate.clone(),
            key: kubernetes.ca.key.clone(),
        };
        // A CA that has been in use: certificates are backdated, and never to before their CA.
        let now = time::OffsetDateTime::now_utc();
        let (since, until) = (
            now - time::Duration::days(1),
            now + time::Duration::days(3650),
        );
        let os_ca = Authority::valid(setup.os_ca, Some("talos"), since, until)?;
        let bundle = Bundle::around(&os_ca, &kubernetes_ca)?;
        let fleet = Fleet::start(FleetSpec {
            clusters: vec![ClusterSpec {
                name: setup.name.clone(),
                bundle: Some(bundle.yaml()?),
                endpoint: Some(kubernetes.url().to_owned()),
                kubeconfig: Some(kubernetes.admin_kubeconfig().display().to_string()),
                bootstrapped: Some(true),
                ..ClusterSpec::default()
            }],
            nodes: nodes(setup, &subnet),
            timings: setup.timings.clone(),
            ..FleetSpec::default()
        })
        .await?;
        let cluster = Self {
            name: setup.name.clone(),
            fleet,
            bundle,
            kubectl: plane.kubectl(),
            _subnet: subnet,
        };
        cluster.create_objects(setup, kubernetes.url()).await?;
        Ok(cluster)
    }

    /// The node called `NAME-SHORT`, such as `orphan-1`.
    pub fn node(&self, short: &str) -> Result<NodeHandle> {
        self.fleet
            .node(&format!("{}-{short}", self.name))
            .with_context(|| format!("node {short}"))
    }

    /// Makes a node an approved machine of the cluster.
    pub async fn approve(&self, short: &str, role: &str) -> Result<()> {
        let node = self.node(short)?;
        self.apply(&machine(&self.name, &node, role, "Approved"))
            .await
    }

    /// The same as it would be stored without the webhook: see [`UNSEEN`].
    pub async fn approve_unseen(&self, short: &str, role: &str) -> Result<()> {
        let mut machine = machine(&self.name, &self.node(short)?, role, "Approved");
        machine["metadata"]["labels"] = json!({UNSEEN: "yes"});
        self.apply(&machine).await
    }

    /// Gives a node a TalosMachine of another approval.
    pub async fn register(&self, short: &str, approval: &str) -> Result<()> {
        let node = self.node(short)?;
        self.apply(&machine(&self.name, &node, "worker", approval))
            .await
    }

    /// Replaces the bundle Secret by `yaml`.
    pub async fn replace_bundle(&self, yaml: &str) -> Result<()> {
        self.apply(&bundle_secret(&self.name, yaml)).await
    }

    /// kubectl as an administrator of the control plane where Ichor runs.
    pub fn kubectl(&self) -> &Kubectl {
        &self.kubectl
    }

    /// How often a reset has been asked of any node, whatever came of it.
    pub fn resets(&self) -> usize {
        self.fleet
            .nodes()
            .iter()
            .map(|node| node.calls_of("Reset").len())
            .sum()
    }

    async fn apply(&self, object: &Value) -> Result<()> {
        self.kubectl.apply(&object.to_string()).await.map(drop)
    }

    async fn create_objects(&self, setup: &ClusterSetup, endpoint: &str) -> Result<()> {
        let mut objects = vec![
            bundle_secret(&self.name, &self.bundle.yaml()?),
            json!({
                "apiVersion": "ichor.maesh.dev/v1alpha1", "kind": "TalosCluster",
                "metadata": {"name": self.name, "namespace": NAMESPACE},
                "spec": {
                    "endpoint": endpoint, "talosVersion": "v1.14.0", "kubernetesVersion": "v1.37.2",
                    "secretsBundleRef": {"name": secret_name(&self.name)}, "kubernetesAccess": setup.access,
                },
            }),
        ];
        for (prefix, count, role) in [
            ("cp", setup.control_planes, "controlplane"),
            ("worker", setup.workers, "worker"),
        ] {
            for number in 1..=count {
                objects.push(machine(
                    &self.name,
                    &self.node(&format!("{prefix}-{number}"))?,
                    role,
                    "Approved",
                ));
            }
        }
        self.apply(&json!({"apiVersion": "v1", "kind": "List", "items": objects}))
            .await
    }
}

fn nodes(setup: &ClusterSetup, subnet: &Subnet) -> Vec<NodeSpec> {
    let groups = [
        ("cp", setup.control_planes, Role::ControlPlane),
        ("orphan-cp", setup.orphan_control_planes, Role::ControlPlane),
        ("worker", setup.workers, Role::Worker),
        ("orphan", setup.orphans, Role::Worker),
    ];
    let names = groups.into_iter().flat_map(|(prefix, count, role)| {
        (1..=count).map(move |number| (format!("{prefix}-{number}"), role))
    });
    (1_u8..)
        .zip(names)
        .map(|(number, (short, role))| {
            let mut node = NodeSpec {
                name: format!("{}-{short}", setup.name),
                address: subnet.address(number),
                mode: ichor_simulator::StartMode::Configured,
                role,
                cluster: Some(setup.name.clone()),
                ..NodeSpec::default()
            };
            (setup.adjust)(&mut node);
            node
        })
        .collect()
}

fn secret_name(cluster: &str) -> String {
    format!("{cluster}-bundle")
}

fn bundle_secret(cluster: &str, yaml: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": secret_name(cluster), "namespace": NAMESPACE},
        "data": {"bundle": base64(yaml)},
    })
}

fn machine(cluster: &str, node: &NodeHandle, role: &str, approval: &str) -> Value {
    let uuid = node.uuid().to_lowercase();
    json!({
        "apiVersion": "ichor.maesh.dev/v1alpha1", "kind": "TalosMachine",
        "metadata": {"name": uuid, "namespace": NAMESPACE},
        "spec": {
            "clusterRef": {"name": cluster}, "approval": approval, "role": role,
            "identity": {"uuid": uuid, "serial": node.serial(), "macs": node.macs()},
            "endpoint": node.address().to_string(), "hostname": node.hostname(),
            "install": {"disk": "/dev/sda"},
            "maintenanceFingerprint": "5MyYvGEYNLhaDCqSeI9zIZPmSsO3a7hQnaMsmcjM2aU=",
        },
    })
}
