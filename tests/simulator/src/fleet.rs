//! A fleet: the machines, and what they share (etcd of each cluster, CA keys as trustd would use them).

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, Weak};

use anyhow::{Context, Result};
use tokio_util::sync::CancellationToken;

use crate::config::{self, Loaded, MachineConfig};
use crate::etcd::Etcd;
use crate::lock;
use crate::node::{Machine, Node, NodeHandle, WeakNode};
use crate::pki::{Authority, Bundle};
use crate::spec::{ClusterSpec, FleetSpec, NodeSpec, Role, StartMode, Timings};

/// The Talos port.
pub const PORT: u16 = 50_000;

/// What all machines of a fleet share.
pub struct Shared {
    /// Ends everything.
    pub root: CancellationToken,
    /// How long things take.
    pub timings: Timings,
    etcd: Mutex<HashMap<String, Etcd>>,
    nodes: Mutex<Vec<WeakNode>>,
    bundles: Vec<Bundle>,
}

impl Shared {
    /// All machines that still exist.
    pub(crate) fn nodes(&self) -> Vec<Arc<Node>> {
        lock(&self.nodes).iter().filter_map(Weak::upgrade).collect()
    }

    /// The machine at an address.
    pub(crate) fn at(&self, address: IpAddr) -> Option<Arc<Node>> {
        self.nodes()
            .into_iter()
            .find(|node| node.read(|state| state.address == address))
    }

    /// Who signs a node's server certificate: its own CA key, or a control plane's through trustd.
    ///
    /// Where the fleet holds no control plane of that CA they are taken to be elsewhere, and the bundle signs.
    pub(crate) fn signer_for(&self, config: &MachineConfig) -> Option<Authority> {
        let ca = config.ca.as_ref()?;
        if !ca.key.is_empty() {
            return Some(ca.clone());
        }
        let mut known = false;
        for node in self.nodes() {
            let found = node.read(|state| {
                let other = state.config.as_ref()?.ca.clone()?;
                (other.certificate == ca.certificate && !other.key.is_empty())
                    .then_some((other, state.serving))
            });
            match found {
                Some((authority, true)) => return Some(authority),
                Some((_, false)) => known = true,
                None => {}
            }
        }
        if known {
            return None;
        }
        let authorities = self.bundles.iter().filter_map(|bundle| bundle.os_ca().ok());
        authorities
            .into_iter()
            .find(|authority| authority.certificate == ca.certificate)
    }
}

impl Node {
    /// Reads or changes the etcd of the machine's cluster.
    pub(crate) fn with_etcd<T>(&self, act: impl FnOnce(&mut Etcd) -> T) -> T {
        let cluster = self.read(|state| {
            let config = state.config.as_ref().or(state.persistent.as_ref());
            config
                .map(|config| config.cluster_id.clone())
                .unwrap_or_default()
        });
        act(lock(&self.shared.etcd).entry(cluster).or_default())
    }
}

struct Cluster {
    spec: ClusterSpec,
    bundle: Bundle,
}

/// A running fleet. Dropping it stops every listener, connection and sequence.
pub struct Fleet {
    shared: Arc<Shared>,
    nodes: Vec<NodeHandle>,
    clusters: Vec<Cluster>,
    port: u16,
}

impl Fleet {
    /// Starts a fleet; every machine that begins with an API answers when this returns.
    pub async fn start(spec: FleetSpec) -> Result<Self> {
        let clusters = spec
            .clusters
            .into_iter()
            .map(Cluster::new)
            .collect::<Result<Vec<_>>>()?;
        let shared = Arc::new(Shared {
            root: CancellationToken::new(),
            timings: spec.timings,
            etcd: Mutex::default(),
            nodes: Mutex::default(),
            bundles: clusters
                .iter()
                .map(|cluster| cluster.bundle.clone())
                .collect(),
        });
        let mut fleet = Self {
            shared,
            nodes: Vec::new(),
            clusters,
            port: spec.port.unwrap_or(PORT),
        };
        // Control planes first: they sign the workers' certificates.
        let (first, later): (Vec<_>, Vec<_>) = spec
            .nodes
            .into_iter()
            .partition(|node| node.role == Role::ControlPlane);
        for node in first.into_iter().chain(later) {
            fleet.add(node).await?;
        }
        for cluster in &fleet.clusters {
            crate::kube::keep_nodes(&fleet.shared, &cluster.spec, cluster.bundle.cluster_id())
                .await?;
        }
        Ok(fleet)
    }

    /// Adds a machine to a running fleet.
    pub async fn add(&mut self, spec: NodeSpec) -> Result<NodeHandle> {
        anyhow::ensure!(
            self.nodes.iter().all(|node| node.name() != spec.name),
            "two nodes are named {:?}",
            spec.name
        );
        let configured = spec.mode == StartMode::Configured;
        let node = Node::new(Machine::new(spec, self.port)?, Arc::clone(&self.shared));
        if configured {
            self.configure(&node)?;
        }
        lock(&self.shared.nodes).push(Arc::downgrade(&node));
        node.begin()
            .await
            .with_context(|| format!("starting node {:?}", node.machine.name))?;
        let handle = NodeHandle { node };
        self.nodes.push(handle.clone());
        Ok(handle)
    }

    fn configure(&self, node: &Arc<Node>) -> Result<()> {
        let spec = &node.machine.spec;
        let name = spec
            .cluster
            .as_deref()
            .with_context(|| format!("node {:?} is configured but names no cluster", spec.name))?;
        let text = self.machine_config(name, &node.machine.hostname, spec.role)?;
        let Loaded::Complete(config) =
            config::load(text.as_bytes(), false, false).map_err(anyhow::Error::msg)?
        else {
            anyhow::bail!("the generated configuration has no v1alpha1 document");
        };
        node.change(|state| {
            state.persistent = Some((*config).clone());
            state.config = Some(*config);
        });
        let bootstrapped = self.cluster(name)?.spec.bootstrapped.unwrap_or(true);
        if spec.role == Role::ControlPlane && bootstrapped {
            let id = node.with_etcd(|etcd| {
                let id = etcd.join(&spec.name, spec.address);
                etcd.start(id, &node.machine.hostname);
                etcd.promote(id);
                id
            });
            node.change(|state| {
                state.member = Some(id);
                state.etcd_running = true;
            });
        }
        Ok(())
    }

    /// The machine of this name.
    pub fn node(&self, name: &str) -> Result<NodeHandle> {
        let node = self.nodes.iter().find(|node| node.name() == name);
        node.cloned()
            .with_context(|| format!("the fleet has no node {name:?}"))
    }

    /// All machines.
    pub fn nodes(&self) -> &[NodeHandle] {
        &self.nodes
    }

    /// Secrets of a cluster.
    pub fn secrets(&self, cluster: &str) -> Result<&Bundle> {
        Ok(&self.cluster(cluster)?.bundle)
    }

    /// Secrets of a cluster as `talosctl gen secrets` writes them.
    pub fn bundle(&self, cluster: &str) -> Result<String> {
        self.secrets(cluster)?.yaml()
    }

    /// A talosconfig with an `os:admin` certificate; its endpoints are the cluster's control planes.
    pub fn admin_talosconfig(&self, cluster: &str) -> Result<String> {
        let members = self.nodes.iter().map(|node| &node.node.machine.spec);
        let endpoints: Vec<String> = members
            .filter(|spec| {
                spec.cluster.as_deref() == Some(cluster) && spec.role == Role::ControlPlane
            })
            .map(|spec| spec.address.to_string())
            .collect();
        self.secrets(cluster)?
            .admin_talosconfig(cluster, &endpoints)
    }

    /// A machine configuration of a cluster, to be applied to a node in maintenance.
    pub fn machine_config(&self, cluster: &str, hostname: &str, role: Role) -> Result<String> {
        let cluster = self.cluster(cluster)?;
        let endpoint = cluster
            .spec
            .endpoint
            .as_deref()
            .unwrap_or("https://127.0.0.1:6443");
        config::generate(
            &cluster.bundle,
            &cluster.spec.name,
            endpoint,
            hostname,
            role,
        )
    }

    /// Begins to keep the Kubernetes Nodes of a cluster's machines, for a control plane that came after the fleet.
    pub async fn keep_kubernetes(&self, cluster: &str, kubeconfig: &str) -> Result<()> {
        let client = crate::kube::client(kubeconfig).await?;
        crate::kube::keep(
            &self.shared,
            client,
            self.cluster(cluster)?.bundle.cluster_id(),
        );
        Ok(())
    }

    /// Etcd members of a cluster, in the order they joined.
    pub fn etcd_members(&self, cluster: &str) -> Result<Vec<crate::etcd::Member>> {
        let id = self.cluster(cluster)?.bundle.cluster_id().to_owned();
        Ok(lock(&self.shared.etcd)
            .get(&id)
            .map(|etcd| etcd.members().to_vec())
            .unwrap_or_default())
    }

    fn cluster(&self, name: &str) -> Result<&Cluster> {
        let cluster = self
            .clusters
            .iter()
            .find(|cluster| cluster.spec.name == name);
        cluster.with_context(|| format!("the fleet has no cluster {name:?}"))
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        self.shared.root.cancel();
    }
}

impl Cluster {
    fn new(spec: ClusterSpec) -> Result<Self> {
        let bundle = match (&spec.bundle, &spec.bundle_file) {
            (Some(text), _) => Bundle::parse(text)?,
            (None, Some(file)) => Bundle::parse(
                &std::fs::read_to_string(file).with_context(|| format!("reading bundle {file}"))?,
            )?,
            (None, None) => Bundle::generate()?,
        };
        Ok(Self { spec, bundle })
    }
}
