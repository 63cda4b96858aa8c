//! What the API server of the judges knows and says: the input chooses one of these.

use axum::Router;
use ichor_webhook::stub::{Stub, cluster};
use ichor_webhook::{Access, BundleLookup, LookupError, Metrics, Settings, WebhookState, router};
use prometheus_client::registry::Registry;
use serde_json::{Value, json};
use std::sync::{Arc, OnceLock};

const CP: &str = "4c4c4544-0042-3510-8052-b4c04f463133";
const WORKER: &str = "9f0c0000-0042-3510-8052-b4c04f463134";
const NEW: &str = "9f0c0000-0042-3510-8052-b4c04f463135";

/// The webhook over one API server in memory.
pub struct World {
    pub router: Router,
    /// The world that knows the same, in which everything is allowed and found out.
    pub frank: usize,
    at: usize,
}

impl World {
    /// Whether everything is allowed and found out.
    pub fn is_frank(&self) -> bool {
        self.frank == self.at
    }
}

/// What a question comes to.
type Answers = (
    Result<Access, LookupError>,
    Result<Access, LookupError>,
    Result<(), LookupError>,
);

/// All of them: what is there times what is answered. The first holds everything and allows everything.
pub fn all() -> &'static [World] {
    static WORLDS: OnceLock<Vec<World>> = OnceLock::new();
    WORLDS.get_or_init(|| {
        let (yes, no) = (Ok(Access::Allowed), Ok(Access::Denied));
        let unknown = || Err(LookupError::Deadline);
        let answers: [Answers; 6] = [
            (yes.clone(), yes.clone(), Ok(())),
            (no.clone(), yes.clone(), Ok(())),
            (unknown(), yes.clone(), Ok(())),
            (yes.clone(), no, Ok(())),
            (yes.clone(), unknown(), Ok(())),
            (yes.clone(), yes, Err(LookupError::Unreachable)),
        ];
        let there = [full(), broken(), Vec::new()];
        let mut worlds = Vec::new();
        for (objects, terminating) in there.iter().flat_map(|it| [(it, false), (it, true)]) {
            let frank = worlds.len();
            for (verb, get_secret, lookup) in &answers {
                let stub = Stub {
                    verb: verb.clone(),
                    get_secret: get_secret.clone(),
                    lookup: lookup.clone(),
                    objects: objects.iter().cloned().collect(),
                    secrets: ["pasted", "s3", "age"]
                        .map(|name| (name.to_owned(), "ichor.maesh.dev/talosconfig".to_owned()))
                        .into(),
                    bundles: bundles(),
                    nodes: [("node-3".to_owned(), NEW.to_owned())].into(),
                    terminating,
                    ..Stub::default()
                };
                let at = worlds.len();
                let router = serve(stub);
                worlds.push(World { router, frank, at });
            }
        }
        worlds
    })
}

fn serve(stub: Stub) -> Router {
    let stub = Arc::new(stub);
    let metrics = Metrics::register(&mut Registry::default());
    router(WebhookState::new(
        Settings::new("ichor-system"),
        stub.clone(),
        stub,
        metrics,
    ))
}

fn bundles() -> std::collections::BTreeMap<String, BundleLookup> {
    let sound = |id: &str| BundleLookup::Sound {
        cluster_id: id.to_owned(),
    };
    [
        ("prod-bundle".to_owned(), sound("id-1")),
        ("prod-secrets".to_owned(), sound("id-2")),
        ("lab-bundle".to_owned(), sound("id-2")),
        ("empty".to_owned(), BundleLookup::NoKey),
    ]
    .into()
}

/// Objects that stand in each other's way, by resource; names are those of the seeds.
fn full() -> Vec<(&'static str, Vec<Value>)> {
    let of_prod = |mut spec: Value| {
        spec["clusterRef"] = json!({"name": "prod"});
        spec
    };
    let machine = |uuid: &str, approval: &str, hostname: &str, last: u8| {
        let spec = of_prod(json!({
            "approval": approval, "role": "controlplane", "hostname": hostname, "endpoint": format!("10.5.0.{last}"),
            "identity": {"uuid": uuid}, "install": {"disk": "/dev/sda"},
            "network": {"addressing": "static", "addresses": [format!("fc00:22::{last}/64")]},
        }));
        let status = json!({"talosVersion": "v1.13.5", "kubernetesVersion": "v1.35.4", "nodeName": format!("node-{last}")});
        object("TalosMachine", uuid, spec, status)
    };
    let node =
        |machine: &str| json!({"kind": "remove", "node": {"name": machine, "machine": machine}});
    let restore = json!({"kind": "etcdRestore", "etcdRestore": {"backupRef": {"name": "nightly"}, "snapshot": "s1", "confirm": "prod"}});
    let volumes = json!({"volumes": [{"name": "data", "diskSelector": {"match": "!system_disk"}, "minSize": "100GiB"}]});
    let inspected = json!({"phase": "Resetting", "inspection": {"identity": {"uuid": WORKER}}});
    let backup =
        json!({"schedule": "0 3 * * *", "destination": {"volume": {"claimName": "backups"}}});
    vec![
        ("talosclusters", vec![cluster("prod"), cluster("lab")]),
        (
            "talosmachines",
            vec![
                machine(CP, "Approved", "cp-1", 2),
                machine(WORKER, "Approved", "worker-7", 7),
                machine(NEW, "Pending", "worker-7", 8),
            ],
        ),
        (
            "talosoperations",
            vec![
                object(
                    "TalosOperation",
                    "op-1",
                    of_prod(node(WORKER)),
                    json!({"phase": "InProgress"}),
                ),
                object(
                    "TalosOperation",
                    "op-2",
                    of_prod(node(CP)),
                    json!({"phase": "Completed"}),
                ),
                object(
                    "TalosOperation",
                    "op-3",
                    of_prod(restore),
                    json!({"startedAt": "2026-11-29T23:40:00Z"}),
                ),
            ],
        ),
        (
            "machinereclaims",
            vec![
                object(
                    "MachineReclaim",
                    "r-1",
                    json!({"address": "10.5.0.7", "confirmUUID": WORKER}),
                    inspected,
                ),
                object(
                    "MachineReclaim",
                    "r-2",
                    json!({"address": "10.5.0.8"}),
                    json!({"phase": "Done"}),
                ),
            ],
        ),
        (
            "talosetcdbackups",
            vec![object(
                "TalosEtcdBackup",
                "nightly",
                of_prod(backup),
                json!({"snapshots": [{"name": "s1"}]}),
            )],
        ),
        (
            "talosstorages",
            vec![object("TalosStorage", "data", of_prod(volumes), json!({}))],
        ),
    ]
}

/// The same as a newer version may have stored it: in each object something that cannot be read.
fn broken() -> Vec<(&'static str, Vec<Value>)> {
    let mut all = full();
    for object in all.iter_mut().flat_map(|(_, objects)| objects) {
        for (half, field) in [
            ("spec", "kubernetesAccess"),
            ("spec", "role"),
            ("spec", "destination"),
            ("spec", "volumes"),
            ("status", "phase"),
        ] {
            if object[half].get(field).is_some() {
                object[half][field] = json!("?");
            }
        }
    }
    all
}

#[allow(
    clippy::needless_pass_by_value,
    reason = "spec and status are written where they are given"
)]
fn object(kind: &str, name: &str, spec: Value, status: Value) -> Value {
    json!({
        "apiVersion": "ichor.maesh.dev/v1alpha1", "kind": kind,
        "metadata": {"name": name, "namespace": "ichor-system"}, "spec": spec, "status": status,
    })
}
