//! What is there when the rules are tried, and the example of each kind.

use super::merge;
use super::people::RECORDER;
use anyhow::{Context, Result, ensure};
use ichor_ground::Kubectl;
use ichor_ground::controller::NAMESPACE;
use ichor_simulator::pki::Bundle;
use serde_json::{Value, json};

/// cp-1, an approved control plane of cluster `prod` that is configured.
pub const CP: &str = "4c4c4544-0042-3510-8052-b4c04f463133";
/// new-1, a machine that waits for approval.
pub const NEW: &str = "9f0c0000-0042-3510-8052-b4c04f463134";
/// worker-1, an approved machine that is not configured yet.
pub const WORKER: &str = "9f0c0000-0042-3510-8052-b4c04f463135";
/// wiped-1, a machine that waits for approval at an address that is being reclaimed.
pub const WIPED: &str = "9f0c0000-0042-3510-8052-b4c04f463136";
/// twin-1, a machine that waits for approval with the hostname of worker-1.
const TWIN: &str = "9f0c0000-0042-3510-8052-b4c04f463137";
/// A fingerprint that no machine has.
pub const OTHER_PRINT: &str = "6MyYvGEYNLhaDCqSeI9zIZPmSsO3a7hQnaMsmcjM2aU=";
const PRINT: &str = "5MyYvGEYNLhaDCqSeI9zIZPmSsO3a7hQnaMsmcjM2aU=";
const CSR: &str = include_str!("csr.pem");

/// The example of a kind, which is accepted as it is.
pub fn example(kind: &str) -> Value {
    let (name, spec) = match kind {
        "MachineReclaim" => (
            "example",
            json!({"address": "10.50.0.7", "clusterRef": {"name": "prod"}, "clusterCredentials": true}),
        ),
        "TalosMachine" => (
            "9f0c0000-0042-3510-8052-b4c04f463139",
            json!({
                "approval": "Approved", "clusterRef": {"name": "prod"}, "role": "worker",
                "identity": {"uuid": "9f0c0000-0042-3510-8052-b4c04f463139", "serial": "5B5RF13", "macs": ["02:00:00:00:00:01"]},
                "endpoint": "10.50.0.9", "hostname": "worker-9", "install": {"disk": "/dev/sda"}, "maintenanceFingerprint": PRINT,
            }),
        ),
        "TalosOperation" => (
            "example",
            json!({"clusterRef": {"name": "prod"}, "kind": "reboot", "node": {"name": "cp-1"}}),
        ),
        "TalosCluster" => (
            "lab",
            json!({
                "endpoint": "https://10.50.0.2:6443", "talosVersion": "v1.13.5", "kubernetesVersion": "v1.35.4",
                "secretsBundleRef": {"name": "lab-bundle"}, "kubernetesAccess": "bundle",
            }),
        ),
        "TalosConfigPatch" => (
            "example",
            json!({"clusterRef": {"name": "prod"}, "patch": "machine:\n  sysctls:\n    net.core.somaxconn: \"65535\"\n"}),
        ),
        "TalosAccessRequest" => (
            "example",
            json!({
                "clusterRef": {"name": "prod"}, "role": "os:reader", "reason": "a disk fails", "duration": "8h", "csr": CSR,
                "approval": "Pending",
            }),
        ),
        "TalosEtcdBackup" => (
            "example",
            json!({
                "clusterRef": {"name": "prod"}, "schedule": "0 3 * * *", "timeZone": "Europe/Berlin",
                "destination": {"volume": {"claimName": "backups"}}, "retention": {"count": 14},
                "encryption": {"recipients": ["age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"]},
            }),
        ),
        _ => (
            "example",
            json!({
                "clusterRef": {"name": "prod"},
                "volumes": [{"name": "data", "diskSelector": {"match": "disk.size > 100u * GB && !system_disk"}, "minSize": "100GiB"}],
            }),
        ),
    };
    object(kind, name, &spec)
}

fn object(kind: &str, name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "ichor.maesh.dev/v1alpha1", "kind": kind,
        "metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec,
    })
}

#[allow(
    clippy::needless_pass_by_value,
    reason = "the change is written where it is given"
)]
fn machine(uuid: &str, hostname: &str, endpoint: &str, change: Value) -> Value {
    let mut machine = example("TalosMachine");
    let own = json!({
        "metadata": {"name": uuid},
        "spec": {"identity": {"uuid": uuid}, "hostname": hostname, "endpoint": endpoint},
    });
    merge(&mut machine, &own);
    merge(&mut machine, &change);
    machine
}

/// What the rules need to find.
pub async fn set_up(admin: &Kubectl) -> Result<()> {
    let secret = |name: &str, text: &str| {
        json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": NAMESPACE},
            "stringData": {"bundle": text},
        })
    };
    let bundle = Bundle::generate()?.yaml()?;
    let pending = json!({"spec": {"approval": "Pending"}});
    let link =
        json!({"spec": {"network": {"addressing": "static", "addresses": ["10.50.0.44/24"]}}});
    let reboot = example("TalosOperation")["spec"].clone();
    let restore = json!({
        "clusterRef": {"name": "prod"}, "kind": "etcdRestore",
        "etcdRestore": {"backupRef": {"name": "nightly"}, "snapshot": "s1", "confirm": "prod"},
    });
    let mut scratch = example("TalosStorage")["spec"].clone();
    scratch["volumes"][0]["name"] = json!("scratch");
    let address = json!({"address": "10.50.0.66", "clusterRef": {"name": "prod"}, "clusterCredentials": true});
    let objects = [
        secret("lab-bundle", &bundle),
        secret("junk", "no bundle"),
        machine(
            CP,
            "cp-1",
            "10.50.0.2",
            json!({"spec": {"role": "controlplane"}}),
        ),
        machine(NEW, "new-1", "10.50.0.3", pending.clone()),
        machine(WORKER, "worker-1", "10.50.0.4", link),
        machine(TWIN, "worker-1", "10.50.0.5", pending.clone()),
        machine(WIPED, "wiped-1", "10.50.0.66", pending),
        object("MachineReclaim", "running", &address),
        object(
            "TalosEtcdBackup",
            "nightly",
            &example("TalosEtcdBackup")["spec"],
        ),
        object("TalosOperation", "reboot-1", &reboot),
        object("TalosOperation", "restore-1", &restore),
        object(
            "TalosConfigPatch",
            "stored",
            &example("TalosConfigPatch")["spec"],
        ),
        object(
            "TalosAccessRequest",
            "asked",
            &example("TalosAccessRequest")["spec"],
        ),
        object("TalosStorage", "stored", &scratch),
    ];
    for object in objects {
        admin
            .apply(&object.to_string())
            .await
            .with_context(|| object.to_string())?;
    }
    add_cluster(admin, "zero").await?;
    let seen =
        json!({"appliedHash": "abc", "talosVersion": "v1.13.5", "kubernetesVersion": "v1.35.4"});
    status(admin, "talosmachine", CP, seen).await?;
    status(
        admin,
        "talosoperation",
        "restore-1",
        json!({"phase": "InProgress", "startedAt": "2026-11-29T23:40:00Z"}),
    )
    .await?;
    status(
        admin,
        "talosoperation",
        "reboot-1",
        json!({"phase": "Completed"}),
    )
    .await
}

/// Adds a TalosCluster, which admission wants a bundle for, and takes the bundle away again.
pub async fn add_cluster(admin: &Kubectl, name: &str) -> Result<()> {
    admin.apply(&talos_cluster(name)?).await?;
    let secret = format!("{name}-bundle");
    admin
        .run(&["delete", "secret", &secret, "-n", NAMESPACE])
        .await
        .map(drop)
}

/// A TalosCluster and the Secret it is made from.
fn talos_cluster(name: &str) -> Result<String> {
    let bundle = Bundle::generate()?.yaml()?;
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": format!("{name}-bundle"), "namespace": NAMESPACE},
        "stringData": {"bundle": bundle},
    });
    let cluster = json!({
        "apiVersion": "ichor.maesh.dev/v1alpha1", "kind": "TalosCluster",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "endpoint": "https://10.0.0.1:6443", "talosVersion": "v1.13.5", "kubernetesVersion": "v1.35.4",
            "secretsBundleRef": {"name": format!("{name}-bundle")}, "kubernetesAccess": "self",
        },
    });
    Ok(json!({"apiVersion": "v1", "kind": "List", "items": [secret, cluster]}).to_string())
}

/// Writes a status, as the controller would.
async fn status(admin: &Kubectl, kind: &str, name: &str, status: Value) -> Result<()> {
    let who = [RECORDER, &["--subresource=status"]].concat();
    let status = json!({"status": status});
    let said = admin.merge(kind, name, &status, &who).await?;
    ensure!(said.ok, "{}", said.err);
    Ok(())
}
