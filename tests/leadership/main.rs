//! Several controllers beside each other: one acts, the webhook is on all; what the leader does ends with its lease; a
//! steady state writes nothing; watches that break and objects that cannot be read stop nobody (FAULTS 31 to 35).
//!
//! FAULTS 34 (a dead task ends the process) has its tests in `src/runtime/supervisor.rs` and `src/controller/workers.rs`:
//! no request from outside ends a task.

#[path = "../common/mod.rs"]
mod common;

mod lease;
mod steady;
mod takeover;
mod watches;

use anyhow::Result;
use ichor_ground::cluster::UNSEEN;
use ichor_ground::controller::{NAMESPACE, install};
use ichor_ground::pki::KubernetesCa;
use ichor_ground::{ControlPlane, Kubectl, Replicas};
use serde_json::{Value, json};
use std::net::TcpListener;
use std::sync::Arc;
use tokio::sync::{Mutex, MutexGuard, OnceCell};

/// Replicas over the control plane of this test binary. There is one leader in it at a time, so the tests take turns.
struct Turn {
    replicas: Replicas,
    _alone: MutexGuard<'static, ()>,
}

impl std::ops::Deref for Turn {
    type Target = Replicas;

    fn deref(&self) -> &Replicas {
        &self.replicas
    }
}

/// Leases that a busy computer does not end, where a test is not about leases.
const PATIENT: [(&str, &str); 2] = [
    ("--lease-duration", "15s"),
    ("--lease-renew-deadline", "12s"),
];

/// No replica yet, started with these flags in place of the ground's.
async fn replicas(flags: &[(&str, &str)]) -> Result<Turn> {
    static ALONE: Mutex<()> = Mutex::const_new(());
    static PLANE: OnceCell<(Arc<ControlPlane>, TcpListener)> = OnceCell::const_new();
    let alone = ALONE.lock().await;
    let started = PLANE.get_or_try_init(|| async {
        let plane = ControlPlane::start(KubernetesCa::generate()?).await?;
        let service = TcpListener::bind("127.0.0.1:0")?;
        install(&plane.kubectl(), service.local_addr()?.port()).await?;
        anyhow::Ok((Arc::new(plane), service))
    });
    let (plane, service) = started.await?;
    // Who led before is gone, perhaps killed: nobody waits for the end of its lease.
    let lease = ["delete", "lease", "ichor-controller", "-n", NAMESPACE];
    let forget = [&lease[..], &["--ignore-not-found"]].concat();
    plane.kubectl().run(&forget).await?;
    let mut replicas = Replicas::over(Arc::clone(plane), service, common::ichor())?;
    for (flag, value) in flags {
        replicas.options = replicas.options.clone().with(flag, value);
    }
    Ok(Turn {
        replicas,
        _alone: alone,
    })
}

/// Lets every webhook of Ichor leave out what has the label [`UNSEEN`], or see all again.
async fn leave_out_unseen(kubectl: &Kubectl, out: bool) -> Result<()> {
    let selector = if out {
        json!({"matchExpressions": [{"key": UNSEEN, "operator": "DoesNotExist"}]})
    } else {
        json!({})
    };
    for kind in [
        "validatingwebhookconfiguration",
        "mutatingwebhookconfiguration",
    ] {
        let text = kubectl.run(&["get", kind, "ichor", "-o", "json"]).await?;
        let all: Value = serde_json::from_str(&text)?;
        let webhooks = all["webhooks"].as_array().map_or(0, Vec::len);
        let selectors = (0..webhooks).map(|number| {
            json!({"op": "replace", "path": format!("/webhooks/{number}/objectSelector"), "value": selector})
        });
        let patch = selectors.collect::<Value>().to_string();
        let args = ["patch", kind, "ichor", "--type=json", "-p", &patch];
        kubectl.run(&args).await?;
    }
    Ok(())
}

/// Whether any condition has this reason.
fn has_reason(status: &ichor_crds::MachineReclaimStatus, reason: &str) -> bool {
    status.conditions.iter().any(|one| one.reason == reason)
}
