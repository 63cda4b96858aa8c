//! A control plane with Ichor installed and its controller running.

use crate::controller::{NAMESPACE, free_address, install};
use crate::pki::KubernetesCa;
use crate::{ClusterSetup, ControlPlane, Controller, ControllerOptions, GroundCluster, Kubectl};
use anyhow::Result;
use std::path::Path;
use tokio::sync::OnceCell;

/// A control plane with Ichor installed, and its controller.
#[derive(Debug)]
pub struct World {
    /// The control plane.
    pub plane: ControlPlane,
    /// The controller; tests that kill it start another one.
    pub controller: Controller,
    /// How the controller was started.
    pub options: ControllerOptions,
}

impl World {
    /// Starts a world whose controller is the binary at `ichor`.
    pub async fn start(ichor: &Path) -> Result<Self> {
        let (plane, options) = Self::without_controller(ichor).await?;
        let controller = Controller::start(&plane, &options).await?;
        Ok(Self {
            plane,
            controller,
            options,
        })
    }

    /// A world whose audit log is not kept (see [`ControlPlane::start_apart`]).
    pub async fn start_apart(ichor: &Path) -> Result<Self> {
        let plane = ControlPlane::start_apart(KubernetesCa::generate()?).await?;
        let options = options(ichor)?;
        install(&plane.kubectl(), options.webhook.port()).await?;
        let controller = Controller::start(&plane, &options).await?;
        Ok(Self {
            plane,
            controller,
            options,
        })
    }

    /// A control plane with Ichor installed, and how to start its controller.
    pub async fn without_controller(ichor: &Path) -> Result<(ControlPlane, ControllerOptions)> {
        let plane = ControlPlane::start(KubernetesCa::generate()?).await?;
        let options = options(ichor)?;
        install(&plane.kubectl(), options.webhook.port()).await?;
        Ok((plane, options))
    }

    /// The one world of a test binary, started by whoever asks first.
    pub async fn shared(ichor: &Path) -> Result<&'static Self> {
        static WORLD: OnceCell<World> = OnceCell::const_new();
        WORLD.get_or_try_init(|| Self::start(ichor)).await
    }

    /// Starts a simulated cluster that manages itself in this world's control plane.
    pub async fn cluster(&self, setup: &ClusterSetup) -> Result<GroundCluster> {
        GroundCluster::start(&self.plane, &self.plane, setup).await
    }

    /// kubectl as a person who holds exactly the role `ichor-operator`.
    pub async fn operator(&self, user: &str) -> Result<Kubectl> {
        operator(&self.plane, user).await
    }
}

/// A controller that is alone and lives as long as its world: nobody waits for its lease, so that a busy computer may
/// keep it from renewing for as long as in production and longer.
fn options(ichor: &Path) -> Result<ControllerOptions> {
    let options = ControllerOptions::new(ichor, free_address()?);
    Ok(options
        .with("--lease-duration", "20s")
        .with("--lease-renew-deadline", "15s")
        .with("--lease-retry", "2s"))
}

/// kubectl as a person who holds exactly the role `ichor-operator`, in Ichor's namespace.
pub async fn operator(plane: &ControlPlane, user: &str) -> Result<Kubectl> {
    let binding = format!("{user}-is-operator");
    let user_flag = format!("--user={user}");
    let bind = [
        "create",
        "rolebinding",
        &binding,
        "--clusterrole=ichor-operator",
        &user_flag,
        "-n",
        NAMESPACE,
    ];
    let said = plane.kubectl().try_run(&bind).await?;
    anyhow::ensure!(
        said.ok || said.err.contains("already exists"),
        "bind the operator role: {}",
        said.err
    );
    plane.person(user, &[])
}
