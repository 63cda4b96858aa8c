//! The cluster of the suite: a control plane of the tests, or the one that `CONFORMANCE_KUBECONFIG` names. The tests take
//! turns on it, and each finds it without Ichor.

use crate::egress::Egress;
use crate::removal;
use anyhow::{Context, Result, bail, ensure};
use ichor_ground::kubectl::Said;
use ichor_ground::pki::KubernetesCa;
use ichor_ground::{ControlPlane, Kubectl, paths};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use tempfile::TempDir;
use tokio::process::Command;
use tokio::sync::{Mutex, MutexGuard};

/// A cluster to install the chart on.
pub struct Cluster {
    /// kubectl as an administrator.
    pub kubectl: Kubectl,
    /// Where the control plane is one of the tests: it has no kubelet, and simulated nodes are in its reach.
    pub ground: Option<Ground>,
    helm: PathBuf,
    // What Helm keeps of its own.
    home: TempDir,
}

/// What stands beside a control plane of the tests.
pub struct Ground {
    pub plane: ControlPlane,
    pub egress: Egress,
}

/// The cluster, while it is one test's.
pub struct Turn {
    cluster: Arc<Cluster>,
    _turn: MutexGuard<'static, ()>,
}

impl Deref for Turn {
    type Target = Cluster;

    fn deref(&self) -> &Cluster {
        &self.cluster
    }
}

impl Cluster {
    /// Waits for the other tests and gives the cluster, without anything of Ichor on it.
    pub async fn claim() -> Result<Turn> {
        static TURN: Mutex<()> = Mutex::const_new(());
        // Whoever waits holds it, and it goes with the last.
        static SHARED: Mutex<Weak<Cluster>> = Mutex::const_new(Weak::new());
        let mut shared = SHARED.lock().await;
        let cluster = match shared.upgrade() {
            Some(cluster) => cluster,
            None => Arc::new(Self::start().await?),
        };
        *shared = Arc::downgrade(&cluster);
        drop(shared);
        let turn = TURN.lock().await;
        let there = removal::left(&cluster).await?;
        ensure!(
            there.is_empty(),
            "the suite installs Ichor and removes it with all its objects, so it needs a cluster without it; an earlier \
             failure leaves the cluster to be looked at. There are: {}",
            there.join(" ")
        );
        Ok(Turn {
            cluster,
            _turn: turn,
        })
    }

    async fn start() -> Result<Self> {
        let (kubectl, ground) = if let Some(path) = given("CONFORMANCE_KUBECONFIG") {
            (Kubectl::of(Path::new(&path))?, None)
        } else {
            let egress = Egress::start()?;
            let ca = KubernetesCa::generate()?;
            let plane = ControlPlane::start_behind(ca, &egress.socket()).await?;
            (plane.kubectl(), Some(Ground { plane, egress }))
        };
        Ok(Self {
            kubectl,
            ground,
            helm: helm().await?,
            home: tempfile::Builder::new().prefix("ichor-ground-").tempdir()?,
        })
    }

    /// Runs Helm, which knows nothing of the settings of whoever runs the tests.
    pub async fn helm(&self, args: &[&str], values: &str) -> Result<String> {
        let mut command = Command::new(&self.helm);
        for folder in ["HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME"] {
            command.env(folder, self.home.path().join(folder));
        }
        let Said { ok, out, err, .. } = self.kubectl.exec(command, args, values).await?;
        ensure!(ok, "helm {}: {err}", args.join(" "));
        Ok(out)
    }
}

/// Says what the cluster cannot show, so that nobody takes it for shown.
pub fn cannot_show(what: &str, why: &str) {
    println!("NOT SHOWN ON THIS CLUSTER: {what}: {why}");
}

/// A variable that is set to something.
pub fn given(variable: &str) -> Option<String> {
    std::env::var(variable).ok().filter(|text| !text.is_empty())
}

/// Helm's program, which the chart is tested with.
async fn helm() -> Result<PathBuf> {
    let script = paths::workspace().join("scripts/helm");
    let built = Command::new(&script).output().await?;
    if !built.status.success() {
        bail!(
            "{}: {}",
            script.display(),
            String::from_utf8_lossy(&built.stderr)
        );
    }
    let path = String::from_utf8(built.stdout).context("a path that is UTF-8")?;
    Ok(PathBuf::from(path.trim()))
}
