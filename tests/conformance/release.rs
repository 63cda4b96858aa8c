//! The chart, installed.

use crate::cluster::{Cluster, given};
use crate::pods::{DEPLOYMENT, Pods, SERVICE};
use crate::rules::people::people;
use crate::rules::things;
use anyhow::{Context, Result, bail, ensure};
use ichor_ground::controller::NAMESPACE;
use ichor_ground::{Kubectl, eventually, paths};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::process::Stdio;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

/// How long Pods may take to come or to go.
const ROLLOUT: &str = "--timeout=3m";

/// An installed release.
pub struct Release<'a> {
    pub cluster: &'a Cluster,
    pods: Option<Pods>,
}

/// A way to the webhook's Service from outside the cluster.
pub struct Reached {
    pub address: SocketAddr,
    _forward: Option<Child>,
}

impl<'a> Release<'a> {
    /// Installs the chart as docs/install.md says, and waits until the webhook answers.
    pub async fn install(cluster: &'a Cluster) -> Result<Self> {
        let pods = match cluster.ground {
            Some(_) => Some(Pods::new()?),
            None => None,
        };
        let mut ichor = Self { cluster, pods };
        let values = ichor.values()?;
        let namespace = paths::workspace().join("manifests/base/namespace.yaml");
        let namespace = namespace.to_str().context("a path that is UTF-8")?;
        ichor.kubectl().run(&["apply", "-f", namespace]).await?;
        ichor.helm("install", &[], &values).await?;
        ichor.kubectl().established().await?;
        people(ichor.kubectl()).await?;
        ichor.settled().await?;
        ichor.answers().await?;
        Ok(ichor)
    }

    /// Changes values of the release.
    pub async fn upgrade(&mut self, values: &Value) -> Result<()> {
        self.helm("upgrade", &["--reuse-values"], values).await?;
        self.settled().await
    }

    pub async fn scale(&mut self, replicas: u8) -> Result<()> {
        let deployment = format!("deployment/{DEPLOYMENT}");
        let replicas = format!("--replicas={replicas}");
        self.kubectl()
            .run(&["scale", &deployment, &replicas, "-n", NAMESPACE])
            .await?;
        self.settled().await
    }

    /// Takes the release away and waits until its Pods have ended.
    pub async fn uninstall(&mut self) -> Result<()> {
        self.cluster
            .helm(&["uninstall", "ichor", "-n", NAMESPACE], "")
            .await?;
        self.settled().await
    }

    pub fn kubectl(&self) -> &Kubectl {
        &self.cluster.kubectl
    }

    /// Flags for what is near: simulated nodes on loopback, and a person who waits.
    pub fn flags(&self) -> Vec<&'static str> {
        match self.pods {
            Some(_) => vec![
                "--allow-local-addresses",
                "--recheck-interval=1s",
                "--watch-interval=200ms",
                "--shutdown-delay=1s",
            ],
            None => Vec::new(),
        }
    }

    async fn helm(&self, verb: &str, flags: &[&str], values: &Value) -> Result<()> {
        let chart = paths::workspace().join("manifests/chart");
        let chart = chart.to_str().context("a path that is UTF-8")?;
        let args = [verb, "ichor", chart, "-n", NAMESPACE, "-f", "-"];
        let args = [&args, flags].concat();
        self.cluster
            .helm(&args, &values.to_string())
            .await
            .map(drop)
    }

    fn values(&self) -> Result<Value> {
        let mut values = json!({
            "log": {"format": "text", "filter": "info,ichor=debug,ichor_webhook=debug"},
            "monitoring": {"dashboard": {"enabled": true}},
            "extraArgs": self.flags(),
        });
        if self.pods.is_none() {
            let image = given("CONFORMANCE_IMAGE");
            let image = image.as_deref().and_then(|image| image.rsplit_once(':'));
            let (repository, tag) = image.context(
                "CONFORMANCE_IMAGE is not set to NAME:TAG: the image, which the nodes of the cluster have",
            )?;
            values["image"] = json!({"repository": repository, "tag": tag, "pullPolicy": "Never"});
        }
        Ok(values)
    }

    /// Waits until what runs is what the Deployment says.
    async fn settled(&mut self) -> Result<()> {
        let cluster = self.cluster;
        match (&mut self.pods, &cluster.ground) {
            (Some(pods), Some(ground)) => pods.follow(ground).await,
            _ => rolled_out(&cluster.kubectl).await,
        }
    }

    /// Waits until the webhook answers; what it says about a cluster that is not there, nobody else can.
    pub async fn answers(&self) -> Result<()> {
        eventually("the webhook to answer", async || {
            let mut example = things::example("MachineReclaim");
            example["spec"]["clusterRef"]["name"] = json!("nowhere");
            let args = ["create", "--dry-run=server", "-f", "-"];
            let said = self.kubectl().pipe(&args, &example.to_string()).await?;
            let unknown =
                "spec.clusterRef.name: Not found: \"nowhere\": no TalosCluster of that name";
            ensure!(said.err.contains(unknown), "{said:?}");
            Ok(Some(()))
        })
        .await
    }

    /// A way to the Service; where Pods run, kubectl makes it.
    pub async fn reach(&self) -> Result<Reached> {
        if let Some(pods) = &self.pods {
            return Ok(Reached {
                address: pods.service,
                _forward: None,
            });
        }
        let mut forward = Command::new(self.kubectl().bin().join("kubectl"))
            .args(["port-forward", "-n", NAMESPACE, "--address=127.0.0.1"])
            .args([&format!("service/{SERVICE}"), ":443"])
            .env("KUBECONFIG", self.kubectl().kubeconfig())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let out = forward.stdout.take().context("no standard output")?;
        let line = BufReader::new(out).lines().next_line().await?;
        let line = line.context("kubectl port-forward ended at once")?;
        let address = line
            .strip_prefix("Forwarding from ")
            .and_then(|rest| rest.split(' ').next())
            .with_context(|| format!("kubectl port-forward said {line:?}"))?
            .parse()?;
        Ok(Reached {
            address,
            _forward: Some(forward),
        })
    }
}

/// Where Kubernetes runs the Pods: waits for the Deployment, or for the end of its Pods where it has none.
async fn rolled_out(kubectl: &Kubectl) -> Result<()> {
    let deployment = format!("deployment/{DEPLOYMENT}");
    let get = ["get", &deployment, "-n", NAMESPACE, "-o"];
    let found = kubectl
        .try_run(&[&get[..], &["jsonpath={.spec.replicas}"]].concat())
        .await?;
    if !found.ok || found.out == "0" {
        let pods = [
            "wait",
            "--for=delete",
            "pod",
            "-n",
            NAMESPACE,
            ROLLOUT,
            "-l",
        ];
        let of = "app.kubernetes.io/component=controller";
        return kubectl.run(&[&pods[..], &[of]].concat()).await.map(drop);
    }
    let said = kubectl
        .try_run(&["rollout", "status", &deployment, "-n", NAMESPACE, ROLLOUT])
        .await?;
    if said.ok {
        return Ok(());
    }
    let conditions = "jsonpath={range .status.conditions[*]}{.type}={.status} {.reason}: {.message}{\"\\n\"}{end}";
    let mut why = kubectl.run(&[&get[..], &[conditions]].concat()).await?;
    if why.is_empty() {
        why.push_str("it has no conditions: nothing on this cluster looks after Deployments\n");
    }
    for look in [
        &["get", "replicasets,pods", "-n", NAMESPACE, "-o", "wide"][..],
        &["get", "events", "-n", NAMESPACE, "--sort-by=.lastTimestamp"],
        &[
            "logs",
            &deployment,
            "-n",
            NAMESPACE,
            "--tail=40",
            "--all-pods",
        ],
    ] {
        let seen = kubectl.try_run(look).await?;
        why = format!(
            "{why}\nkubectl {}:\n{}{}",
            look.join(" "),
            seen.out,
            seen.err
        );
    }
    bail!(
        "the Deployment {DEPLOYMENT} does not become available: {}{}\n{why}",
        said.out,
        said.err
    )
}
