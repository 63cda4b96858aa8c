//! What the control plane of the tests has no kubelet, no Deployment controller and no kube-proxy for: the replicas of the
//! installed Deployment, as processes under its ServiceAccount with its own flags, behind the address of its Service.
//!
//! Only what a process outside a Pod needs is added to the flags: addresses of its own to listen on, and a kubeconfig.

use crate::cluster::Ground;
use crate::common;
use anyhow::{Context, Result, ensure};
use ichor_ground::controller::{NAMESPACE, free_address};
use ichor_ground::{Balancer, Controller, ControllerOptions};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{PodSpec, Service};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::Api;
use std::collections::VecDeque;
use std::net::{SocketAddr, TcpListener};

/// Name of the Deployment.
pub const DEPLOYMENT: &str = "ichor-controller";
/// Name of the Service.
pub const SERVICE: &str = "ichor-webhook";

/// The running replicas.
pub struct Pods {
    running: VecDeque<Controller>,
    flags: Vec<String>,
    started: usize,
    balancer: Balancer,
    /// Where the Service leads.
    pub service: SocketAddr,
}

impl Pods {
    pub fn new() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        Ok(Self {
            running: VecDeque::new(),
            flags: Vec::new(),
            started: 0,
            service: listener.local_addr()?,
            balancer: Balancer::start(listener)?,
        })
    }

    /// Makes of the Deployment and the Service as they are now what Kubernetes would, and waits until it is so.
    pub async fn follow(&mut self, ground: &Ground) -> Result<()> {
        let client = ground.plane.client().await?;
        let deployments: Api<Deployment> = Api::namespaced(client.clone(), NAMESPACE);
        let Some(deployment) = deployments.get_opt(DEPLOYMENT).await? else {
            return self.shrink(0).await;
        };
        let service = Api::<Service>::namespaced(client, NAMESPACE)
            .get(SERVICE)
            .await?;
        let spec = deployment.spec.context("a Deployment without spec")?;
        let replicas = usize::try_from(spec.replicas.unwrap_or(1))?;
        let labels = spec.template.metadata.unwrap_or_default().labels;
        let pod = spec.template.spec.context("a template without spec")?;
        let selected = service.spec.as_ref().and_then(|s| s.selector.as_ref());
        ensure!(
            selected.is_some_and(|wanted| wanted
                .iter()
                .all(|(key, value)| labels.as_ref().and_then(|l| l.get(key)) == Some(value))),
            "the Service selects no Pod of the Deployment: {selected:?}, {labels:?}"
        );
        ground.egress.route(address(&service, &pod)?, self.service);

        let flags = flags(&pod)?;
        let mut old = 0;
        if flags != self.flags {
            self.flags = flags;
            old = self.running.len();
        }
        // maxUnavailable 0, maxSurge 1: a new one is ready before an old one is told to stop.
        while self.running.len() < replicas + old {
            self.start(ground).await?;
            if old > 0 {
                old -= 1;
                self.stop().await?;
            }
        }
        self.shrink(replicas).await
    }

    async fn start(&mut self, ground: &Ground) -> Result<()> {
        self.started += 1;
        let webhook = free_address()?;
        let options = ControllerOptions {
            flags: self.flags.clone(),
            env: vec![("NODE_NAME".to_owned(), "conformance".to_owned())],
            name: format!("controller-{}", self.started),
            ..ControllerOptions::new(common::ichor(), webhook)
        };
        let pod = Controller::start(&ground.plane, &options).await?;
        self.balancer.add(webhook, pod.admin());
        self.running.push_back(pod);
        Ok(())
    }

    /// Ends the oldest, as a kubelet does.
    async fn stop(&mut self) -> Result<()> {
        let mut pod = self.running.pop_front().context("a replica")?;
        let ended = pod.terminate().await?;
        ensure!(
            ended.success(),
            "a replica ended with {ended}:\n{}",
            pod.log()
        );
        Ok(())
    }

    async fn shrink(&mut self, replicas: usize) -> Result<()> {
        while self.running.len() > replicas {
            self.stop().await?;
        }
        Ok(())
    }
}

/// The address at which the API server dials the Service, if it leads to where the webhook listens in a Pod.
fn address(service: &Service, pod: &PodSpec) -> Result<String> {
    let spec = service.spec.as_ref().context("a Service without spec")?;
    let ports = spec.ports.iter().flatten();
    let port = ports.clone().find(|port| port.port == 443);
    let port =
        port.context("the Service has no port 443, which the webhook configurations name")?;
    let listens = container_ports(pod).find(|(name, _)| match &port.target_port {
        Some(IntOrString::String(target)) => name == target,
        _ => false,
    });
    ensure!(
        listens.is_some_and(|(_, number)| number == 9443),
        "the Service does not lead to port 9443, where the webhook listens by default: {port:?}, {listens:?}"
    );
    let ip = spec.cluster_ip.as_ref().context("no cluster IP")?;
    Ok(format!("{ip}:{}", port.port))
}

fn container_ports(pod: &PodSpec) -> impl Iterator<Item = (&str, i32)> {
    let ports = pod.containers[0].ports.iter().flatten();
    ports.map(|port| {
        (
            port.name.as_deref().unwrap_or_default(),
            port.container_port,
        )
    })
}

/// The flags of the Pods' container, without those that [`Controller`] gives itself.
fn flags(pod: &PodSpec) -> Result<Vec<String>> {
    ensure!(
        pod.service_account_name.as_deref() == Some("ichor-controller"),
        "the Pods run under another account: {:?}",
        pod.service_account_name
    );
    let args = pod.containers[0].args.clone().unwrap_or_default();
    let namespace = format!("--namespace={NAMESPACE}");
    match args.as_slice() {
        [command, first, flags @ ..] if command == "controller" && *first == namespace => {
            Ok(flags.to_vec())
        }
        _ => anyhow::bail!("the container is not started as `controller {namespace} …`: {args:?}"),
    }
}
