//! A real API server with Ichor's manifests and this webhook, which runs under the controller's account.
//! No controller runs, so a request stays as admission let it in.

use anyhow::{Context, Result, ensure};
use ichor_crds::MachineReclaim;
use ichor_ground::controller::{NAMESPACE, install};
use ichor_ground::pki::KubernetesCa;
use ichor_ground::{ControlPlane, Kubectl, control_plane};
use ichor_simulator::pki::Bundle;
use ichor_webhook::{
    LiveCluster, Metrics, ServeOptions, Settings, WebhookState, router, serve, server_config,
};
use kube::api::{Api, PostParams};
use prometheus_client::registry::Registry;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use serde_json::{Value, json};
use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

/// Kinds that are judged; each has a webhook in both configurations.
const KINDS: usize = 8;

pub(crate) struct World {
    pub(crate) plane: ControlPlane,
    /// kubectl as an administrator.
    pub(crate) admin: Kubectl,
    /// Kubeconfig of the controller's account, which may write status.
    controller: PathBuf,
}

impl World {
    /// The one world of all tests.
    pub(crate) async fn shared() -> &'static Self {
        static WORLD: OnceCell<World> = OnceCell::const_new();
        WORLD.get_or_try_init(Self::start).await.expect("a world")
    }

    async fn start() -> Result<Self> {
        let plane = ControlPlane::start_apart(KubernetesCa::generate()?).await?;
        let admin = plane.kubectl();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        install(&admin, listener.local_addr()?.port()).await?;
        // The policy refuses most of what follows before the webhook sees it; these tests are about the
        // webhook alone.
        let policy = [
            "delete",
            "validatingadmissionpolicybinding",
            "ichor-reclaim",
        ];
        admin.run(&policy).await?;
        let kubeconfig = controller_kubeconfig(&plane, &admin).await?;
        let tls = server_config(Arc::new(certificate(&plane.ca)?), None)?;
        run(listener, tls, kubeconfig.clone())?;
        trust(&admin, &plane.ca.certificate).await?;
        admin.apply(&cluster("prod")).await?;
        Ok(Self {
            plane,
            admin,
            controller: kubeconfig,
        })
    }

    /// The ports with the rights of the controller's account.
    pub(crate) async fn live(&self) -> LiveCluster {
        let client = control_plane::client(&self.controller).await;
        LiveCluster::new(client.expect("a client"))
    }

    /// kubectl as a new user with exactly the role `ichor-operator`.
    pub(crate) async fn operator(&self, user: &str) -> Kubectl {
        ichor_ground::world::operator(&self.plane, user)
            .await
            .expect("an operator")
    }

    /// Merges `status` into that of the reclaim `name`, as the controller does.
    pub(crate) async fn report(&self, name: &str, status: &Value) {
        let client = control_plane::client(&self.controller)
            .await
            .expect("a client");
        let reclaims: Api<MachineReclaim> = Api::namespaced(client, NAMESPACE);
        let mut object = reclaims.get(name).await.expect("the reclaim");
        object.status = Some(serde_json::from_value(status.clone()).expect("a status"));
        let params = PostParams::default();
        let written = reclaims.replace_status(name, &params, &object);
        written.await.expect("the status is written");
    }

    /// The audit annotations of this webhook for a request that `user` made for `address`.
    pub(crate) async fn audited(&self, user: &str, address: &str) -> Value {
        let found = ichor_ground::eventually("the audit event", async || {
            let log = std::fs::read_to_string(self.plane.audit_log())?;
            let mut events = log
                .lines()
                .filter_map(|line| serde_json::from_str::<Value>(line).ok());
            Ok(events.find_map(|event| {
                let annotations = &event["annotations"];
                let named = annotations["machinereclaims.ichor.maesh.dev/address"] == address;
                let by = event["impersonatedUser"]["username"].as_str();
                let by = by.or(event["user"]["username"].as_str());
                (named && by == Some(user)).then(|| annotations.clone())
            }))
        });
        found.await.expect("an audit event")
    }
}

/// Runs the server on a thread of its own: a test's runtime ends with the test.
fn run(listener: TcpListener, tls: Arc<rustls::ServerConfig>, kubeconfig: PathBuf) -> Result<()> {
    listener.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    std::thread::spawn(move || {
        let served: Result<()> = runtime.block_on(async {
            let cluster = Arc::new(LiveCluster::new(control_plane::client(&kubeconfig).await?));
            let metrics = Metrics::register(&mut Registry::default());
            let settings = Settings::new(NAMESPACE);
            let state = WebhookState::new(settings, cluster.clone(), cluster, metrics.clone());
            let listener = tokio::net::TcpListener::from_std(listener)?;
            let options = ServeOptions::default();
            let never = CancellationToken::new();
            serve(listener, tls, router(state), options, metrics, never).await?;
            Ok(())
        });
        served.expect("the webhook serves");
    });
    Ok(())
}

fn certificate(ca: &KubernetesCa) -> Result<SingleCertAndKey> {
    let pair = ca.server(
        IpAddr::V4(Ipv4Addr::LOCALHOST),
        "ichor-webhook.ichor-system.svc",
    )?;
    let leaf = CertificateDer::from_pem_slice(pair.certificate.as_bytes())?;
    let key = PrivateKeyDer::from_pem_slice(pair.key.as_bytes())?;
    let provider = rustls::crypto::ring::default_provider();
    let key = CertifiedKey::from_der(vec![leaf], key, &provider)?;
    Ok(SingleCertAndKey::from(key))
}

/// Puts the CA into both webhook configurations.
async fn trust(admin: &Kubectl, ca: &str) -> Result<()> {
    use base64::Engine as _;
    let bundle = base64::engine::general_purpose::STANDARD.encode(ca);
    let add = |at: usize| json!({"op": "add", "path": format!("/webhooks/{at}/clientConfig/caBundle"), "value": bundle});
    let patch: Value = (0..KINDS).map(add).collect();
    for kind in [
        "mutatingwebhookconfiguration",
        "validatingwebhookconfiguration",
    ] {
        let patch = patch.to_string();
        admin
            .run(&["patch", kind, "ichor", "--type=json", "-p", &patch])
            .await?;
    }
    // The API server takes the change up in its own time.
    ichor_ground::eventually("the webhook to answer", async || {
        let said = try_create(
            admin,
            &reclaim("", &json!({"address": "10.255.0.1"})),
            &["--dry-run=server"],
        )
        .await;
        ensure!(!said.err.contains("failed calling webhook"), "{}", said.err);
        Ok(Some(()))
    })
    .await
}

async fn controller_kubeconfig(plane: &ControlPlane, admin: &Kubectl) -> Result<PathBuf> {
    let token = [
        "create",
        "token",
        "ichor-controller",
        "-n",
        NAMESPACE,
        "--duration=2h",
    ];
    let token = admin.run(&token).await.context("a token")?;
    let path = plane.folder().join("webhook.kubeconfig");
    plane.write_kubeconfig(
        &path,
        "ichor-controller",
        &json!({"token": token.trim()}),
        plane.url(),
    )?;
    Ok(path)
}

/// A TalosCluster and the Secret it is made from.
pub(crate) fn cluster(name: &str) -> String {
    let bundle = Bundle::generate().and_then(|bundle| bundle.yaml());
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": format!("{name}-bundle"), "namespace": NAMESPACE},
        "stringData": {"bundle": bundle.expect("a bundle")}
    });
    let cluster = json!({
        "apiVersion": "ichor.maesh.dev/v1alpha1",
        "kind": "TalosCluster",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "endpoint": "https://10.5.0.2:6443",
            "talosVersion": "v1.14.0",
            "kubernetesVersion": "v1.37.0",
            "secretsBundleRef": {"name": format!("{name}-bundle")},
            "kubernetesAccess": "self"
        }
    });
    json!({"apiVersion": "v1", "kind": "List", "items": [secret, cluster]}).to_string()
}

/// A MachineReclaim; without a name it has a generated one.
pub(crate) fn reclaim(name: &str, spec: &Value) -> Value {
    let metadata = if name.is_empty() {
        json!({"generateName": "reclaim-", "namespace": NAMESPACE})
    } else {
        json!({"name": name, "namespace": NAMESPACE})
    };
    json!({
        "apiVersion": "ichor.maesh.dev/v1alpha1",
        "kind": "MachineReclaim",
        "metadata": metadata,
        "spec": spec
    })
}

/// A spec with the credentials of cluster `prod`.
pub(crate) fn orphan(address: &str) -> Value {
    json!({"address": address, "clusterRef": {"name": "prod"}, "clusterCredentials": true})
}

/// Creates `object`, whatever comes of it.
pub(crate) async fn try_create(
    kubectl: &Kubectl,
    object: &Value,
    flags: &[&str],
) -> ichor_ground::kubectl::Said {
    let mut args = vec!["create", "-f", "-"];
    args.extend_from_slice(flags);
    kubectl
        .pipe(&args, &object.to_string())
        .await
        .expect("kubectl runs")
}

/// Merges `patch` into the reclaim `name`, whatever comes of it.
pub(crate) async fn try_patch(
    kubectl: &Kubectl,
    name: &str,
    patch: &Value,
    flags: &[&str],
) -> ichor_ground::kubectl::Said {
    let patch = patch.to_string();
    let mut args = vec![
        "patch",
        "machinereclaim",
        name,
        "-n",
        NAMESPACE,
        "--type=merge",
        "-p",
        &patch,
    ];
    args.extend_from_slice(flags);
    kubectl.try_run(&args).await.expect("kubectl runs")
}

/// The reclaim `name` as it is stored.
pub(crate) async fn stored(kubectl: &Kubectl, name: &str) -> Value {
    let get = ["get", "machinereclaim", name, "-n", NAMESPACE, "-o", "json"];
    serde_json::from_str(&kubectl.run(&get).await.expect("it is there")).expect("JSON")
}
