//! Ichor's controller as a process under its own ServiceAccount, never as an administrator.

use crate::{ControlPlane, Kubectl, control_plane::client, eventually};
use anyhow::{Context, Result, ensure};
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::Api;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};

/// Namespace of Ichor.
pub const NAMESPACE: &str = "ichor-system";

/// How a controller is started.
#[derive(Clone, Debug)]
pub struct ControllerOptions {
    /// The binary `ichor`.
    pub binary: PathBuf,
    /// What it runs: "controller" or "webhook".
    pub role: &'static str,
    /// Where its webhook listens; the manifests must name this port.
    pub webhook: SocketAddr,
    /// Further flags; the defaults of [`ControllerOptions::new`] shorten every interval.
    pub flags: Vec<String>,
    /// The API server it dials, where that is not the control plane itself but a proxy of the test.
    pub server: Option<String>,
    /// Further environment variables.
    pub env: Vec<(String, String)>,
    /// A name for its log.
    pub name: String,
}

impl ControllerOptions {
    /// A controller that allows loopback addresses and waits seconds where the default is minutes.
    pub fn new(binary: &Path, webhook: SocketAddr) -> Self {
        let flags = [
            "--allow-local-addresses",
            "--lease-duration=5s",
            "--lease-renew-deadline=3s",
            "--lease-retry=500ms",
            "--recheck-interval=1s",
            "--watch-interval=200ms",
            "--observe-timeout=8s",
            "--overdue=20s",
            "--shutdown-delay=100ms",
            "--log-format=text",
        ];
        Self {
            binary: binary.to_owned(),
            role: "controller",
            webhook,
            flags: flags.map(str::to_owned).to_vec(),
            server: None,
            env: Vec::new(),
            name: "controller".to_owned(),
        }
    }

    /// The same with another value of a flag, such as `--observe-timeout`.
    #[must_use]
    pub fn with(mut self, flag: &str, value: &str) -> Self {
        self.flags
            .retain(|known| known.split('=').next() != Some(flag));
        self.flags.push(format!("{flag}={value}"));
        self
    }
}

/// Flags of a rotation every few seconds, with CAs that go on for long after it, as the default has them: a busy computer makes
/// it late and breaks nothing.
pub const QUICK: [(&str, &str); 5] = [
    ("--serving-ca-lifetime", "90s"),
    ("--serving-ca-renew-before", "84s"),
    ("--serving-cert-lifetime", "60s"),
    ("--serving-cert-renew-before", "30s"),
    ("--serving-propagation", "2500ms"),
];

/// A running controller; dropped, it is killed.
#[derive(Debug)]
pub struct Controller {
    process: Child,
    _leash: Child,
    admin: SocketAddr,
    log: PathBuf,
}

impl Controller {
    /// Starts the controller and waits until it is ready: its certificate verifies against the stored caBundle.
    pub async fn start(plane: &ControlPlane, options: &ControllerOptions) -> Result<Self> {
        let controller = Self::spawn(plane, options).await?;
        controller.ready().await?;
        Ok(controller)
    }

    /// Starts the controller and does not wait.
    pub async fn spawn(plane: &ControlPlane, options: &ControllerOptions) -> Result<Self> {
        let kubeconfig = service_account_kubeconfig(plane, options).await?;
        let admin = free_address()?;
        let log = plane.folder().join(format!("{}.log", options.name));
        let file = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(&log)?;
        let process = Command::new(&options.binary)
            .arg(options.role)
            .arg(format!("--namespace={NAMESPACE}"))
            .arg(format!("--webhook-address={}", options.webhook))
            .arg(format!("--admin-address={admin}"))
            .args(&options.flags)
            .env("KUBECONFIG", &kubeconfig)
            .env(
                "ICHOR_LOG",
                "info,ichor=debug,ichor_talos=debug,ichor_webhook=debug",
            )
            .env("POD_NAME", &options.name)
            .envs(options.env.iter().cloned())
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file)
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("start {}", options.binary.display()))?;
        let leash = leash(process.id().context("the controller ended at once")?)?;
        Ok(Self {
            process,
            _leash: leash,
            admin,
            log,
        })
    }

    /// Where `/readyz` and `/metrics` are.
    pub fn admin(&self) -> SocketAddr {
        self.admin
    }

    /// Waits until `/readyz` says so.
    pub async fn ready(&self) -> Result<()> {
        let waited = eventually("the controller to be ready", async || {
            Ok((self.get("/readyz").await?.0 == 200).then_some(()))
        })
        .await;
        waited.with_context(|| format!("its log:\n{}", tail(&self.log())))
    }

    /// What it has logged.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Status code and body of a path of its admin server.
    pub async fn get(&self, path: &str) -> Result<(u16, String)> {
        let mut stream = tokio::net::TcpStream::connect(self.admin).await?;
        let request = format!("GET {path} HTTP/1.1\r\nHost: admin\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        let code = answer
            .split(' ')
            .nth(1)
            .and_then(|c| c.parse().ok())
            .context("no status line")?;
        let body = answer
            .split_once("\r\n\r\n")
            .map(|(_, body)| body.to_owned())
            .unwrap_or_default();
        Ok((code, body))
    }

    /// Whether it holds the leader's lease, by its own metrics.
    pub async fn leads(&self) -> Result<bool> {
        let (_, metrics) = self.get("/metrics").await?;
        let held = "leader_election_master_status{name=\"ichor-controller\"} 1";
        Ok(metrics.lines().any(|line| line == held))
    }

    /// Process ID, while it runs.
    pub fn pid(&self) -> Result<i32> {
        let pid = self.process.id().context("the controller has ended")?;
        Ok(i32::try_from(pid)?)
    }

    /// Whether it has ended by itself, and how.
    pub fn ended(&mut self) -> Result<Option<std::process::ExitStatus>> {
        Ok(self.process.try_wait()?)
    }

    /// Waits as long as it takes until it ends by itself.
    pub async fn ended_at_last(&mut self) -> Result<std::process::ExitStatus> {
        Ok(self.process.wait().await?)
    }

    /// Waits until it ends by itself.
    pub async fn ends(&mut self) -> Result<std::process::ExitStatus> {
        let ended = tokio::time::timeout(crate::wait::PATIENCE, self.process.wait()).await;
        Ok(ended.context("the controller did not end by itself")??)
    }

    /// Kills it at once (SIGKILL) and waits until it is gone.
    pub async fn kill(&mut self) -> Result<()> {
        self.process.kill().await.context("kill the controller")
    }

    /// Asks it to stop (SIGTERM) and waits for its end.
    pub async fn terminate(&mut self) -> Result<std::process::ExitStatus> {
        signal(self.pid()?, "TERM").await?;
        let ended = tokio::time::timeout(Duration::from_mins(1), self.process.wait()).await;
        Ok(ended.context("the controller did not end within a minute of SIGTERM")??)
    }

    /// Stops it where it is (SIGSTOP): it neither runs nor dies.
    pub async fn pause(&self) -> Result<()> {
        signal(self.pid()?, "STOP").await
    }

    /// Lets a stopped one go on (SIGCONT).
    pub async fn resume(&self) -> Result<()> {
        signal(self.pid()?, "CONT").await
    }
}

/// Kills process `pid` when this process is gone, however it ended: a test that is killed leaves nothing behind.
fn leash(pid: u32) -> Result<Child> {
    let mut shell = Command::new("sh");
    shell.args([
        "-c",
        "read -r _ || kill -KILL \"$1\"",
        "sh",
        &pid.to_string(),
    ]);
    shell
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    shell.spawn().context("start the leash of the controller")
}

/// The last lines of a log, for a failure's message.
pub fn tail(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(40)..].join("\n")
}

async fn signal(pid: i32, name: &str) -> Result<()> {
    let status = Command::new("kill")
        .arg(format!("-{name}"))
        .arg(pid.to_string())
        .status()
        .await?;
    ensure!(status.success(), "kill -{name} {pid} failed");
    Ok(())
}

/// A loopback address with a port that nobody listens on.
pub fn free_address() -> Result<SocketAddr> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?)
}

/// Applies the manifests of the ground with the port of the webhook.
pub async fn install(kubectl: &Kubectl, webhook_port: u16) -> Result<()> {
    let overlay = crate::paths::workspace().join("manifests/overlays/ground");
    let overlay = overlay.to_str().context("a path that is UTF-8")?;
    let rendered = kubectl
        .run(&[
            "kustomize",
            "--load-restrictor=LoadRestrictionsNone",
            overlay,
        ])
        .await?;
    let rendered = rendered.replace("port: 9443", &format!("port: {webhook_port}"));
    // The kinds have to be there before objects of them; a second apply changes nothing.
    eventually("the manifests to apply", async || {
        kubectl.apply(&rendered).await.map(Some)
    })
    .await?;
    kubectl.established().await
}

async fn service_account_kubeconfig(
    plane: &ControlPlane,
    options: &ControllerOptions,
) -> Result<PathBuf> {
    let accounts: Api<ServiceAccount> =
        Api::namespaced(client(plane.admin_kubeconfig()).await?, NAMESPACE);
    let request = TokenRequest {
        spec: Some(TokenRequestSpec {
            expiration_seconds: Some(7200),
            ..TokenRequestSpec::default()
        }),
        ..TokenRequest::default()
    };
    let token = accounts
        .create_token_request(
            "ichor-controller",
            &kube::api::PostParams::default(),
            &request,
        )
        .await?;
    let token = token
        .status
        .context("a token request without a token")?
        .token;
    let path = plane.folder().join(format!("{}.kubeconfig", options.name));
    let server = options.server.as_deref().unwrap_or(plane.url());
    plane.write_kubeconfig(
        &path,
        "ichor-controller",
        &serde_json::json!({"token": token}),
        server,
    )?;
    Ok(path)
}
