//! The servers under load that are made of Ichor's own parts: its webhook, and a handler that does nothing
//! behind the same TLS and the same server.

use crate::review::{BUCKET, BUNDLE, CLUSTER, WORKER};
use anyhow::{Context, Result};
use axum::Router;
use axum::routing::post;
use bytes::Bytes;
use ichor_ground::control_plane;
use ichor_ground::controller::NAMESPACE;
use ichor_webhook::stub::Stub;
use ichor_webhook::{
    BundleLookup, LiveCluster, MUTATE_MACHINERECLAIMS, Metrics, ServeOptions, Settings,
    VALIDATE_MACHINERECLAIMS, WebhookState, router, serve as serve_tls, server_config,
};
use prometheus_client::registry::Registry;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

#[derive(clap::Args)]
pub struct Args {
    /// Answer every review without reading it.
    #[arg(long)]
    nothing: bool,
    /// Folder with tls.crt and tls.key.
    #[arg(long)]
    cert_dir: PathBuf,
    /// Ask this API server for access reviews and references, instead of a stub.
    #[arg(long)]
    kubeconfig: Option<PathBuf>,
}

/// Serves until standard input ends.
pub async fn serve(args: Args) -> Result<()> {
    // As `ichor controller` logs by default.
    tracing_subscriber::fmt()
        .json()
        .with_max_level(tracing_subscriber::filter::LevelFilter::INFO)
        .with_writer(std::io::stderr)
        .init();
    let metrics = Metrics::register(&mut Registry::default());
    let routes = if args.nothing {
        nothing()
    } else {
        webhook(args.kubeconfig.as_deref(), &metrics).await?
    };
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", json!({"addr": listener.local_addr()?}));
    let tls = server_config(Arc::new(certificate(&args.cert_dir)?), None)?;
    let stop = CancellationToken::new();
    let serving = serve_tls(
        listener,
        tls,
        routes,
        ServeOptions::default(),
        metrics,
        stop,
    );
    let mut input = Vec::new();
    tokio::select! {
        ended = serving => Ok(ended?),
        read = async { tokio::io::stdin().read_to_end(&mut input).await } => Ok(read.map(drop)?),
    }
}

/// Takes the body in, as any webhook must, and says yes.
fn nothing() -> Router {
    const YES: &str = r#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"705ab4f5-6393-11e8-b7cc-42010a800002","allowed":true}}"#;
    let yes = |_: Bytes| async { ([(http::header::CONTENT_TYPE, "application/json")], YES) };
    Router::new()
        .route(MUTATE_MACHINERECLAIMS, post(yes))
        .route(VALIDATE_MACHINERECLAIMS, post(yes))
}

async fn webhook(kubeconfig: Option<&Path>, metrics: &Metrics) -> Result<Router> {
    let settings = Settings::new(NAMESPACE);
    let state = if let Some(kubeconfig) = kubeconfig {
        let cluster = Arc::new(LiveCluster::new(control_plane::client(kubeconfig).await?));
        WebhookState::new(settings, cluster.clone(), cluster, metrics.clone())
    } else {
        let stub = Arc::new(stub());
        WebhookState::new(settings, stub.clone(), stub, metrics.clone())
    };
    Ok(router(state))
}

/// What the reviews refer to, as the stub of the peer holds it.
fn stub() -> Stub {
    let sound = |id: &str| BundleLookup::Sound {
        cluster_id: id.to_owned(),
    };
    let mut stub = Stub::default();
    stub.objects
        .insert("talosmachines", vec![worker("10.5.0.17")]);
    let opaque = "Opaque".to_owned();
    stub.secrets.insert(BUCKET.to_owned(), opaque);
    for (secret, id) in [(BUNDLE, "edge"), ("prod-bundle", CLUSTER)] {
        stub.bundles.insert(secret.to_owned(), sound(id));
    }
    stub
}

/// The worker of the cluster, at `address`.
pub fn worker(address: &str) -> Value {
    json!({
        "apiVersion": "ichor.maesh.dev/v1alpha1", "kind": "TalosMachine",
        "metadata": {"name": WORKER, "namespace": NAMESPACE},
        "spec": {
            "clusterRef": {"name": CLUSTER}, "approval": "Approved", "role": "worker",
            "identity": {"uuid": WORKER, "serial": "5B5RF17", "macs": ["02:00:0a:05:00:17"]},
            "endpoint": address, "hostname": "worker-7", "install": {"disk": "/dev/nvme0n1"},
            "maintenanceFingerprint": "q1Xg8mM0bXq6h3m1m0c2r5t8u1w4x7z0A3C6E9H2K5M=",
        },
    })
}

fn certificate(folder: &Path) -> Result<SingleCertAndKey> {
    let read = |name: &str| {
        let path = folder.join(name);
        std::fs::read(&path).with_context(|| format!("read {}", path.display()))
    };
    let leaf = CertificateDer::from_pem_slice(&read("tls.crt")?)?;
    let key = PrivateKeyDer::from_pem_slice(&read("tls.key")?)?;
    let provider = rustls::crypto::ring::default_provider();
    let pair = CertifiedKey::from_der(vec![leaf], key, &provider)?;
    Ok(SingleCertAndKey::from(pair))
}
