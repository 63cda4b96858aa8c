//! The release is upgraded and certificates rotate while somebody asks without pause (DESIGN section 5, FAULTS 2 and 3).

use crate::release::Release;
use crate::rules::things;
use crate::serving::{bundles, shake, trusted};
use anyhow::{Context, Result, ensure};
use ichor_certs::keys;
use ichor_crds::MachineReclaim;
use ichor_ground::control_plane::client;
use ichor_ground::controller::{NAMESPACE, QUICK};
use ichor_ground::wait::within;
use kube::Api;
use kube::api::PostParams;
use serde_json::json;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::task::JoinSet;

/// Somebody who asks for a reclaim in a dry run again and again, through the API server.
struct Asking {
    asked: Arc<AtomicUsize>,
    failed: Arc<Mutex<Vec<String>>>,
    _task: JoinSet<()>,
}

impl Asking {
    async fn start(ichor: &Release<'_>) -> Result<Self> {
        let client = client(ichor.kubectl().kubeconfig()).await?;
        let api: Api<MachineReclaim> = Api::namespaced(client, NAMESPACE);
        let object: MachineReclaim = serde_json::from_value(things::example("MachineReclaim"))?;
        let asked = Arc::<AtomicUsize>::default();
        let failed = Arc::<Mutex<Vec<String>>>::default();
        let (count, errors) = (Arc::clone(&asked), Arc::clone(&failed));
        let mut task = JoinSet::new();
        task.spawn(async move {
            let dry = PostParams {
                dry_run: true,
                ..PostParams::default()
            };
            loop {
                if let Err(error) = api.create(&dry, &object).await {
                    let mut errors = errors.lock().unwrap_or_else(PoisonError::into_inner);
                    errors.push(error.to_string());
                }
                count.fetch_add(1, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        });
        Ok(Self {
            asked,
            failed,
            _task: task,
        })
    }

    /// Fails where one request was not admitted.
    fn all_admitted(&self) -> Result<()> {
        let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        let asked = self.asked.load(Ordering::SeqCst);
        ensure!(
            failed.is_empty() && asked > 10,
            "{} of {asked} requests were not admitted: {failed:?}",
            failed.len()
        );
        Ok(())
    }
}

/// `helm upgrade` to three replicas with other flags: the caBundle stays, and no request is lost.
pub async fn upgrade(ichor: &mut Release<'_>) -> Result<()> {
    let asking = Asking::start(ichor).await?;
    let quick = QUICK.map(|(flag, value)| format!("{flag}={value}"));
    let mut flags: Vec<&str> = ichor.flags();
    flags.extend(quick.iter().map(String::as_str));
    ichor
        .upgrade(&json!({"replicas": 3, "extraArgs": flags}))
        .await?;
    asking.all_admitted()?;
    trusted(ichor).await
}

/// The certificate is deleted, which makes another CA, and from then on follows the short lives of the flags: two further
/// leaves, each shown to somebody who trusts what was stored before.
pub async fn rotates(ichor: &Release<'_>) -> Result<()> {
    let reached = ichor.reach().await?;
    let asking = Asking::start(ichor).await?;
    let seen = RefCell::new((BTreeSet::new(), BTreeSet::new()));
    let secret = "secret/ichor-webhook-tls";
    ichor
        .kubectl()
        .run(&["delete", secret, "-n", NAMESPACE])
        .await?;
    let failed = within(Duration::from_mins(3), "three certificates", async || {
        let stored = bundles(ichor).await?;
        let bundle = stored.values().next().context("a bundle")?;
        // A handshake that fails is nothing to wait over: it is a rotation that somebody noticed.
        let leaf = match shake(reached.address, bundle, false).await {
            Ok(leaf) => leaf,
            Err(error) => return Ok(Some(Some(error))),
        };
        let mut seen = seen.borrow_mut();
        seen.0.insert(leaf);
        seen.1.extend(keys::certificates(bundle));
        Ok((seen.0.len() >= 3).then_some(None))
    })
    .await?;
    if let Some(error) = failed {
        return Err(error.context("a handshake failed during a rotation"));
    }
    let cas = seen.into_inner().1.len();
    ensure!(cas > 2, "only {cas} CAs were seen");
    asking.all_admitted()?;
    trusted(ichor).await
}
