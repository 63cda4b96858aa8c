//! The real kubectl, as one person.

use crate::controller::NAMESPACE;
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

/// kubectl with one kubeconfig.
#[derive(Clone, Debug)]
pub struct Kubectl {
    bin: PathBuf,
    kubeconfig: PathBuf,
}

/// What a command printed and how it ended.
#[derive(Clone, Debug)]
pub struct Said {
    /// Whether it ended well.
    pub ok: bool,
    /// Exit code, where it was not killed.
    pub code: Option<i32>,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl Kubectl {
    pub(crate) fn new(bin: &Path, kubeconfig: &Path) -> Self {
        Self {
            bin: bin.to_owned(),
            kubeconfig: kubeconfig.to_owned(),
        }
    }

    /// kubectl for a cluster that is not of the tests.
    pub fn of(kubeconfig: &Path) -> Result<Self> {
        Ok(Self::new(&crate::paths::kubernetes()?, kubeconfig))
    }

    /// The kubeconfig it uses.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// The folder that holds kubectl.
    pub fn bin(&self) -> &Path {
        &self.bin
    }

    /// Runs kubectl with `args`, whatever comes of it.
    pub async fn try_run(&self, args: &[&str]) -> Result<Said> {
        self.pipe(args, "").await
    }

    /// Runs kubectl with `args` and gives what it printed; fails when kubectl does.
    pub async fn run(&self, args: &[&str]) -> Result<String> {
        let said = self.try_run(args).await?;
        if !said.ok {
            bail!("kubectl {} failed: {}", args.join(" "), said.err);
        }
        Ok(said.out)
    }

    /// Applies `text`; fails when kubectl does.
    pub async fn apply(&self, text: &str) -> Result<String> {
        let said = self.pipe(&["apply", "-f", "-"], text).await?;
        if !said.ok {
            bail!("kubectl apply failed: {}", said.err);
        }
        Ok(said.out)
    }

    /// Merges `change` (RFC 7386) into an object of Ichor's namespace, whatever comes of it.
    pub async fn merge(
        &self,
        kind: &str,
        name: &str,
        change: &Value,
        flags: &[&str],
    ) -> Result<Said> {
        let change = change.to_string();
        let args = [
            "patch",
            kind,
            name,
            "-n",
            NAMESPACE,
            "--type=merge",
            "-p",
            &change,
        ];
        self.try_run(&[&args, flags].concat()).await
    }

    /// Waits until Ichor's CRDs are served.
    pub async fn established(&self) -> Result<()> {
        self.run(&[
            "wait",
            "--for=condition=Established",
            "--timeout=60s",
            "crd",
            "-l",
            "app.kubernetes.io/name=ichor",
        ])
        .await
        .map(drop)
    }

    /// Makes a Node that no kubelet keeps.
    pub async fn create_node(&self, name: &str, system_uuid: &str) -> Result<()> {
        let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}});
        self.apply(&node.to_string()).await?;
        let status = json!({"status": {"nodeInfo": {"systemUUID": system_uuid, "architecture": "", "bootID": "",
            "containerRuntimeVersion": "", "kernelVersion": "", "kubeProxyVersion": "", "kubeletVersion": "", "machineID": "",
            "operatingSystem": "", "osImage": ""}}});
        let patch = [
            "patch",
            "node",
            name,
            "--subresource=status",
            "--type=merge",
            "-p",
        ];
        let status = status.to_string();
        self.run(&[&patch[..], &[&status]].concat()).await.map(drop)
    }

    /// Runs kubectl with `args` and `input` on its standard input.
    pub async fn pipe(&self, args: &[&str], input: &str) -> Result<Said> {
        let command = Command::new(self.bin.join("kubectl"));
        self.exec(command, args, input).await
    }

    /// Runs another command that reads this kubeconfig, such as `ichor`.
    pub async fn exec(&self, mut command: Command, args: &[&str], input: &str) -> Result<Said> {
        let mut child = command
            .args(args)
            .env("KUBECONFIG", &self.kubeconfig)
            .env("KUBECACHEDIR", self.kubeconfig.with_extension("cache"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("start {command:?}"))?;
        let mut stdin = child.stdin.take().context("no standard input")?;
        // A command that ends without reading its input closes the pipe; that is its right.
        stdin.write_all(input.as_bytes()).await.ok();
        drop(stdin);
        let output = child.wait_with_output().await?;
        Ok(Said {
            ok: output.status.success(),
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }
}
