//! Several controllers beside each other, as the Deployment runs them: each has its own proxy to the API server with a
//! trap in it, and the API server reaches their webhooks through one Service.

use crate::controller::{free_address, install};
use crate::pki::KubernetesCa;
use crate::proxy::Proxy;
use crate::service::Service;
use crate::trap::Trap;
use crate::{
    ClusterSetup, ControlPlane, Controller, ControllerOptions, GroundCluster, Kubectl, eventually,
};
use anyhow::Result;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A control plane with Ichor installed, and a Service for the webhooks of the replicas.
#[derive(Debug)]
pub struct Replicas {
    /// The control plane.
    pub plane: Arc<ControlPlane>,
    /// How replicas are started.
    pub options: ControllerOptions,
    service: Service,
    started: &'static AtomicUsize,
}

/// One controller.
#[derive(Debug)]
pub struct Replica {
    /// The process.
    pub controller: Controller,
    /// The trap in its way to the API server.
    pub trap: Trap,
    webhook: SocketAddr,
    proxy: Proxy,
}

impl Replicas {
    /// A control plane with Ichor installed and no replica.
    pub async fn start(ichor: &Path) -> Result<Self> {
        let plane = ControlPlane::start(KubernetesCa::generate()?).await?;
        let service = TcpListener::bind("127.0.0.1:0")?;
        install(&plane.kubectl(), service.local_addr()?.port()).await?;
        Self::over(Arc::new(plane), &service, ichor)
    }

    /// No replica yet over a control plane with Ichor installed, whose webhook configurations name the port of `service`.
    pub fn over(plane: Arc<ControlPlane>, service: &TcpListener, ichor: &Path) -> Result<Self> {
        static STARTED: AtomicUsize = AtomicUsize::new(0);
        Ok(Self {
            plane,
            options: ControllerOptions::new(ichor, free_address()?),
            service: Service::start(service)?,
            started: &STARTED,
        })
    }

    /// Starts a replica and waits until it is ready.
    pub async fn replica(&self) -> Result<Replica> {
        let trap = Trap::default();
        let proxy = Proxy::start(&self.plane, trap.gate()).await?;
        let number = self.started.fetch_add(1, Ordering::SeqCst);
        let options = ControllerOptions {
            webhook: free_address()?,
            server: Some(proxy.url()),
            name: format!("controller-{number}"),
            ..self.options.clone()
        };
        let controller = Controller::start(&self.plane, &options).await?;
        self.service.add(options.webhook);
        Ok(Replica {
            controller,
            trap,
            webhook: options.webhook,
            proxy,
        })
    }

    /// Kills a replica at once.
    pub async fn kill(&self, mut replica: Replica) -> Result<()> {
        self.service.remove(replica.webhook);
        replica.controller.kill().await
    }

    /// Asks a replica to stop and gives how it ended.
    pub async fn terminate(&self, replica: &mut Replica) -> Result<ExitStatus> {
        self.service.remove(replica.webhook);
        replica.controller.terminate().await
    }

    /// Stops a replica where it is. It is not ready then, so the Service does not lead to it.
    pub async fn pause(&self, replica: &Replica) -> Result<()> {
        self.service.remove(replica.webhook);
        replica.controller.pause().await
    }

    /// Starts a simulated cluster that manages itself.
    pub async fn cluster(&self, setup: &ClusterSetup) -> Result<GroundCluster> {
        GroundCluster::start(&self.plane, &self.plane, setup).await
    }

    /// kubectl as a person who holds exactly the role `ichor-operator`.
    pub async fn operator(&self, user: &str) -> Result<Kubectl> {
        crate::world::operator(&self.plane, user).await
    }
}

impl Replica {
    /// Cuts its connections to the API server.
    pub fn cut(&self) {
        self.proxy.cut();
    }

    /// Waits until it leads.
    pub async fn leads(&self) -> Result<()> {
        eventually("a replica to lead", async || {
            Ok(self.controller.leads().await?.then_some(()))
        })
        .await
    }
}
