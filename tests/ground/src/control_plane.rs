//! A real Kubernetes control plane as child processes (`tests/controlplane`).

use crate::{Kubectl, paths, pki::KubernetesCa};
use anyhow::{Context, Result};
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde::Deserialize;
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

/// A running control plane; it stops when this is dropped, and dies with the process that started it.
#[derive(Debug)]
pub struct ControlPlane {
    ready: Ready,
    /// The CA that signs its serving certificate and its users.
    pub ca: KubernetesCa,
    folder: TempDir,
    // Closing its standard input stops it; dropping the child does that.
    _process: Child,
}

/// The line the control plane prints when it is ready.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Ready {
    url: String,
    kubeconfig: PathBuf,
    audit_log: PathBuf,
    bin: PathBuf,
}

impl ControlPlane {
    /// Starts a control plane whose CA is `ca`, and waits until it is ready.
    pub async fn start(ca: KubernetesCa) -> Result<Self> {
        Self::start_in(ca, audit_folder()?, None).await
    }

    /// Starts one whose audit log is not kept: for tests that act as the controller's account themselves, or take
    /// its rights away, which says nothing about what the controller needs.
    pub async fn start_apart(ca: KubernetesCa) -> Result<Self> {
        Self::start_in(ca, None, None).await
    }

    /// Starts one whose API server asks the HTTP CONNECT proxy at the socket `proxy` for whatever a Service's address
    /// leads to, as one outside the network of the Pods does. Its audit log is not kept.
    pub async fn start_behind(ca: KubernetesCa, proxy: &Path) -> Result<Self> {
        Self::start_in(ca, None, Some(proxy)).await
    }

    async fn start_in(
        ca: KubernetesCa,
        audit: Option<PathBuf>,
        proxy: Option<&Path>,
    ) -> Result<Self> {
        let mut builder = tempfile::Builder::new();
        builder.prefix("ichor-ground-");
        let folder = match &audit {
            Some(audit) => builder.tempdir_in(audit)?,
            None => builder.tempdir()?,
        };
        let (certificate, key) = ca.write(folder.path())?;
        let data = folder.path().join("control-plane");
        std::fs::create_dir(&data)?;
        let log = std::fs::File::create(folder.path().join("control-plane.log"))?;
        let mut command = Command::new(paths::control_plane()?);
        if let Some(proxy) = proxy {
            command.env("KUBEBUILDER_ASSETS", behind(folder.path(), proxy)?);
        }
        let mut process = command
            .arg("start")
            .arg("--dir")
            .arg(&data)
            .arg("--ca-cert")
            .arg(&certificate)
            .arg("--ca-key")
            .arg(&key)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .kill_on_drop(false)
            .spawn()
            .context("start the control plane")?;
        let stdout = process
            .stdout
            .take()
            .context("the control plane has no output")?;
        let line = BufReader::new(stdout).lines().next_line().await?;
        let Some(line) = line else {
            let said = std::fs::read_to_string(folder.path().join("control-plane.log"))?;
            anyhow::bail!("the control plane ended before it was ready:\n{said}");
        };
        let ready: Ready =
            serde_json::from_str(&line).with_context(|| format!("read its line {line:?}"))?;
        if let Some(audit) = &audit {
            keep_audit_log(&ready.audit_log, folder.path(), audit)?;
        }
        Ok(Self {
            ready,
            ca,
            folder,
            _process: process,
        })
    }

    /// URL of the API server.
    pub fn url(&self) -> &str {
        &self.ready.url
    }

    /// Kubeconfig of a member of `system:masters`.
    pub fn admin_kubeconfig(&self) -> &Path {
        &self.ready.kubeconfig
    }

    /// The audit log, one JSON event a line.
    pub fn audit_log(&self) -> &Path {
        &self.ready.audit_log
    }

    /// The events of the audit log so far; the last line may be half written.
    pub fn audit_events(&self) -> Result<Vec<Value>> {
        let log = std::fs::read_to_string(self.audit_log()).context("the audit log")?;
        let events = log.lines();
        Ok(events
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect())
    }

    /// A folder for the files of whoever uses this control plane; goes with it.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// kubectl as an administrator.
    pub fn kubectl(&self) -> Kubectl {
        self.kubectl_with(self.admin_kubeconfig())
    }

    /// kubectl with another kubeconfig.
    pub fn kubectl_with(&self, kubeconfig: &Path) -> Kubectl {
        Kubectl::new(&self.ready.bin, kubeconfig)
    }

    /// kubectl as user `user` of `groups`, who has a client certificate of this control plane's CA.
    pub fn person(&self, user: &str, groups: &[&str]) -> Result<Kubectl> {
        let pair = self.ca.client(user, groups)?;
        let path = self.folder.path().join(format!("{user}.kubeconfig"));
        let auth = serde_json::json!({
            "client-certificate-data": base64(&pair.certificate),
            "client-key-data": base64(&pair.key),
        });
        self.write_kubeconfig(&path, user, &auth, self.url())?;
        Ok(self.kubectl_with(&path))
    }

    /// Writes a kubeconfig that dials `server` with `auth` (the `user` entry of a kubeconfig).
    pub fn write_kubeconfig(
        &self,
        path: &Path,
        user: &str,
        auth: &serde_json::Value,
        server: &str,
    ) -> Result<()> {
        let config = serde_json::json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "ground",
            "clusters": [{"name": "ground", "cluster": {
                "server": server, "certificate-authority-data": base64(&self.ca.certificate)}}],
            "users": [{"name": user, "user": auth}],
            "contexts": [{"name": "ground", "context": {
                "cluster": "ground", "user": user, "namespace": "ichor-system"}}],
        });
        // Renamed into place: another test may be reading the same person's kubeconfig.
        let new = tempfile::NamedTempFile::new_in(self.folder.path())?;
        std::fs::write(new.path(), serde_json::to_vec_pretty(&config)?)?;
        new.persist(path)?;
        Ok(())
    }

    /// A client as an administrator.
    pub async fn client(&self) -> Result<kube::Client> {
        client(self.admin_kubeconfig()).await
    }
}

/// A folder of the four programs in which kube-apiserver is told about the proxy.
fn behind(folder: &Path, proxy: &Path) -> Result<PathBuf> {
    let programs = paths::kubernetes()?;
    let bin = folder.join("bin");
    std::fs::create_dir(&bin)?;
    for name in ["etcd", "kube-controller-manager", "kubectl"] {
        std::os::unix::fs::symlink(programs.join(name), bin.join(name))?;
    }
    let config = folder.join("egress.json");
    let selection = serde_json::json!({
        "apiVersion": "apiserver.k8s.io/v1beta1", "kind": "EgressSelectorConfiguration",
        "egressSelections": [{"name": "cluster", "connection": {
            "proxyProtocol": "HTTPConnect", "transport": {"uds": {"udsName": proxy}}}}],
    });
    std::fs::write(&config, selection.to_string())?;
    let program = bin.join("kube-apiserver");
    let script = format!(
        "#!/bin/sh\nexec '{}' --egress-selector-config-file='{}' \"$@\"\n",
        programs.join("kube-apiserver").display(),
        config.display()
    );
    std::fs::write(&program, script)?;
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755))?;
    Ok(bin)
}

/// Where the audit logs of a whole test run are kept, when that is wanted.
fn audit_folder() -> Result<Option<PathBuf>> {
    let Some(folder) = std::env::var_os("ICHOR_AUDIT_DIR").filter(|value| !value.is_empty()) else {
        return Ok(None);
    };
    let folder = PathBuf::from(folder);
    std::fs::create_dir_all(&folder)?;
    Ok(Some(folder))
}

/// Who asked, by an event of the audit log: the impersonated where somebody acted for another.
pub fn asked_by(event: &Value) -> Option<&str> {
    let acted = event["impersonatedUser"]["username"].as_str();
    acted.or(event["user"]["username"].as_str())
}

/// Gives the log a second name in `audit`, which stays when the control plane's folder goes. The folder lies in
/// `audit`, so that both are of one file system.
fn keep_audit_log(log: &Path, folder: &Path, audit: &Path) -> Result<()> {
    let name = folder.file_name().context("a folder without a name")?;
    let kept = audit.join(name).with_extension("audit.log");
    std::fs::hard_link(log, &kept)
        .with_context(|| format!("keep the audit log as {}", kept.display()))
}

/// A client of the kubeconfig in a file.
pub async fn client(kubeconfig: &Path) -> Result<kube::Client> {
    // Several rustls providers could be linked; this is the one the product uses. Setting it twice is fine.
    rustls::crypto::ring::default_provider()
        .install_default()
        .ok();
    let config = Kubeconfig::read_from(kubeconfig)?;
    let config =
        kube::Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await?;
    Ok(kube::Client::try_from(config)?)
}

pub(crate) fn base64(text: &str) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(text)
}
