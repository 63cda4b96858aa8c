//! Steady load while certificates rotate: reviews straight to the webhooks of all replicas, over new and old
//! connections, and dry runs through the API server, which keeps its connections. Every failure is kept.

use crate::client::Connection;
use crate::fleet::{Fleet, bundle};
use anyhow::{Context, Result, ensure};
use hyper::body::Bytes;
use ichor_crds::MachineReclaim;
use ichor_ground::controller::NAMESPACE;
use ichor_ground::eventually;
use ichor_ground::handshake::Trusts;
use ichor_webhook::MUTATE_MACHINERECLAIMS;
use kube::Api;
use kube::api::PostParams;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

/// The variable that asks for rates.
const RATE: &str = "ICHOR_ROTATION_RATE";
/// Requests a second of one client, each of which waits for its answer.
const A_CLIENT: u32 = 8;
/// Most dry runs that were under way to a replica when it was killed, at the usual rate.
const UNDER_WAY: usize = 8;
/// Reviews over one connection before the next handshake; every fourth client never makes another one.
const REVIEWS_A_HANDSHAKE: u64 = 10;
/// Failures kept for the message.
const KEPT: usize = 20;

/// Requests a second.
#[derive(Clone, Copy, Debug)]
pub struct Rates {
    /// Straight to the webhooks.
    pub straight: u32,
    /// Through the API server.
    pub through: u32,
}

impl Rates {
    /// What `ICHOR_ROTATION_RATE` says as `STRAIGHT,THROUGH` (`500,50` is the figure of the goals); without it a rate
    /// that leaves a small computer time for other tests.
    pub fn of_environment() -> Result<Self> {
        let Ok(text) = std::env::var(RATE) else {
            return Ok(Self {
                straight: 60,
                through: 10,
            });
        };
        let (straight, through) = text
            .split_once(',')
            .context("ICHOR_ROTATION_RATE is not STRAIGHT,THROUGH")?;
        Ok(Self {
            straight: straight.trim().parse()?,
            through: through.trim().parse()?,
        })
    }
}

/// What has happened so far.
#[derive(Debug, Default)]
pub struct Tally {
    pub reviews: AtomicU64,
    pub handshakes: AtomicU64,
    pub dry_runs: AtomicU64,
    /// Dry runs that the webhook did not answer within the API server's 5 s. On a computer that is busy with other
    /// things that says nothing of certificates, so it is a failure only where the rates were asked for.
    late: AtomicU64,
    failed: AtomicU64,
    failures: Mutex<Vec<String>>,
    leaves: Mutex<BTreeMap<SocketAddr, BTreeSet<Vec<u8>>>>,
    /// Connections that are in use, by target.
    busy: Mutex<BTreeMap<SocketAddr, usize>>,
}

impl Tally {
    fn fail_dry_run(&self, error: kube::Error) {
        let late = error.to_string().contains("context deadline exceeded");
        if late && std::env::var_os(RATE).is_none() {
            self.late.fetch_add(1, Ordering::Relaxed);
        } else {
            self.fail("through the API server", &error.into());
        }
    }

    fn fail(&self, what: &str, error: &anyhow::Error) {
        self.failed.fetch_add(1, Ordering::Relaxed);
        let mut failures = lock(&self.failures);
        if failures.len() < KEPT {
            failures.push(format!("{what}: {error:#}"));
        }
    }

    /// How many different leaves a replica has shown.
    pub fn leaves(&self, webhook: SocketAddr) -> usize {
        lock(&self.leaves).get(&webhook).map_or(0, BTreeSet::len)
    }
}

/// A connection in use.
struct Busy<'a>(&'a Tally, SocketAddr);

impl<'a> Busy<'a> {
    fn with(tally: &'a Tally, target: SocketAddr) -> Self {
        *lock(&tally.busy).entry(target).or_default() += 1;
        Self(tally, target)
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        *lock(&self.0.busy).entry(self.1).or_default() -= 1;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Load that goes on until it is ended.
pub struct Load {
    pub tally: Arc<Tally>,
    targets: watch::Sender<Vec<SocketAddr>>,
    tasks: JoinSet<()>,
}

impl Load {
    /// Load on these webhooks and on the API server of the fleet. `request` is what the dry runs ask for.
    pub async fn start(
        fleet: &Fleet,
        targets: Vec<SocketAddr>,
        request: &MachineReclaim,
        rates: Rates,
    ) -> Result<Self> {
        let tally = Arc::<Tally>::default();
        let (targets, seen) = watch::channel(targets);
        let trusts = Arc::new(Mutex::new(fleet.bundle().await?));
        let mut tasks = JoinSet::new();
        tasks.spawn(follow(fleet.client.clone(), Arc::clone(&trusts)));
        for number in 0..clients(rates.straight) {
            let client = Straight {
                number,
                alpn: if number % 2 == 0 { "h2" } else { "http/1.1" },
                keeps: number % 4 == 3,
                tally: Arc::clone(&tally),
                targets: seen.clone(),
                trusts: Arc::clone(&trusts),
            };
            tasks.spawn(client.run(every(rates.straight)));
        }
        for _ in 0..clients(rates.through) {
            let requests = Api::namespaced(fleet.client.clone(), NAMESPACE);
            tasks.spawn(dry_runs(
                requests,
                request.clone(),
                Arc::clone(&tally),
                every(rates.through),
            ));
        }
        Ok(Self {
            tally,
            targets,
            tasks,
        })
    }

    /// Straight reviews go to these webhooks from now on; waits until none is under way to another one.
    pub async fn aim(&self, targets: Vec<SocketAddr>) -> Result<()> {
        self.targets.send_replace(targets.clone());
        eventually("the others to be left alone", async || {
            let busy = lock(&self.tally.busy);
            let left = busy
                .iter()
                .all(|(target, number)| *number == 0 || targets.contains(target));
            Ok(left.then_some(()))
        })
        .await
    }

    /// Fails if anything did so far.
    pub fn is_clean(&self) -> Result<()> {
        let failures = lock(&self.tally.failures).join("\n");
        let failed = self.tally.failed.load(Ordering::Relaxed);
        ensure!(failed == 0, "{failed} failed:\n{failures}");
        Ok(())
    }

    /// Fails if anything did but what a killed replica had begun: an API server does not send a review again whose
    /// connection broke.
    pub fn is_clean_but_for_the_dead(&self) -> Result<()> {
        let failures = lock(&self.tally.failures);
        let broke = [
            "EOF",
            "connection reset",
            "connection refused",
            "broken pipe",
        ];
        let excused = |failure: &&String| {
            failure.starts_with("through") && broke.iter().any(|text| failure.contains(text))
        };
        let others: Vec<_> = failures.iter().filter(|one| !excused(one)).collect();
        ensure!(others.is_empty(), "failed: {others:#?}");
        ensure!(failures.len() <= UNDER_WAY, "too many: {failures:#?}");
        Ok(())
    }

    /// Ends the load and gives what was done.
    pub async fn end(mut self, title: &str) -> Arc<Tally> {
        self.tasks.shutdown().await;
        let count = |of: &AtomicU64| of.load(Ordering::Relaxed);
        println!(
            "{title}: {} reviews and {} handshakes straight, {} dry runs through the API server, {} late, {} failed",
            count(&self.tally.reviews),
            count(&self.tally.handshakes),
            count(&self.tally.dry_runs),
            count(&self.tally.late),
            count(&self.tally.failed)
        );
        self.tally
    }
}

/// How many clients share a rate, two at least.
fn clients(rate: u32) -> u32 {
    rate.div_ceil(A_CLIENT).max(2)
}

/// Time between two requests of one of them.
fn every(rate: u32) -> Duration {
    Duration::from_secs(1) * clients(rate) / rate.max(1)
}

/// Trusts what is stored, as late as an API server's watch might be.
async fn follow(client: kube::Client, trusts: Arc<Mutex<Vec<u8>>>) {
    loop {
        // While one configuration is written and the other is not, what was known before is trusted.
        if let Ok(stored) = bundle(&client).await {
            *lock(&trusts) = stored;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

struct Straight {
    number: u32,
    alpn: &'static str,
    keeps: bool,
    tally: Arc<Tally>,
    targets: watch::Receiver<Vec<SocketAddr>>,
    trusts: Arc<Mutex<Vec<u8>>>,
}

impl Straight {
    async fn run(self, every: Duration) {
        let body = review();
        let mut ticks = ticks(every);
        let mut turn = self.number as usize;
        loop {
            let targets = self.targets.borrow().clone();
            let target = targets[turn % targets.len()];
            turn += 1;
            if let Err(error) = self.talk(target, &body, &mut ticks).await {
                self.tally
                    .fail(&format!("straight to {target} over {}", self.alpn), &error);
                ticks.tick().await;
            }
        }
    }

    /// One connection, until it was used enough or its replica is no target any more.
    async fn talk(
        &self,
        target: SocketAddr,
        body: &Bytes,
        ticks: &mut tokio::time::Interval,
    ) -> Result<()> {
        let _busy = Busy::with(&self.tally, target);
        let trusts = Trusts {
            bundle: lock(&self.trusts).clone(),
            ..Trusts::default()
        };
        let mut connection = Connection::open(target, &trusts, self.alpn)
            .await
            .context("handshake")?;
        self.tally.handshakes.fetch_add(1, Ordering::Relaxed);
        lock(&self.tally.leaves)
            .entry(target)
            .or_default()
            .insert(connection.leaf.clone());
        let mut sent = 0;
        while self.keeps || sent < REVIEWS_A_HANDSHAKE {
            ticks.tick().await;
            if !self.targets.borrow().contains(&target) {
                break;
            }
            if !connection.review(MUTATE_MACHINERECLAIMS, body).await? {
                ensure!(sent > 0, "told to go before the first review");
                break;
            }
            self.tally.reviews.fetch_add(1, Ordering::Relaxed);
            sent += 1;
        }
        Ok(())
    }
}

async fn dry_runs(
    requests: Api<MachineReclaim>,
    request: MachineReclaim,
    tally: Arc<Tally>,
    every: Duration,
) {
    let dry = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    let mut ticks = ticks(every);
    loop {
        ticks.tick().await;
        match requests.create(&dry, &request).await {
            Ok(_) => drop(tally.dry_runs.fetch_add(1, Ordering::Relaxed)),
            Err(error) => tally.fail_dry_run(error),
        }
    }
}

fn ticks(every: Duration) -> tokio::time::Interval {
    let mut ticks = tokio::time::interval(every);
    // A busy computer is late; it need not catch up.
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

/// A review as an API server sends it for a creation.
fn review() -> Bytes {
    let kind = json!({"group": "ichor.maesh.dev", "version": "v1alpha1", "kind": "MachineReclaim"});
    let resource =
        json!({"group": "ichor.maesh.dev", "version": "v1alpha1", "resource": "machinereclaims"});
    let review = json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
            "kind": kind, "resource": resource, "requestKind": kind, "requestResource": resource,
            "name": "reclaim-x7k2p", "namespace": NAMESPACE, "operation": "CREATE", "dryRun": true,
            "userInfo": {"username": "alice", "groups": ["system:authenticated"]},
            "object": {
                "apiVersion": "ichor.maesh.dev/v1alpha1", "kind": "MachineReclaim",
                "metadata": {"name": "reclaim-x7k2p", "namespace": NAMESPACE},
                "spec": {"address": "10.5.0.7", "clusterRef": {"name": "prod"}, "clusterCredentials": true},
            },
            "oldObject": null,
            "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
        },
    });
    Bytes::from(review.to_string())
}

/// What the dry runs ask for: the machine at `address` of a managed cluster.
pub fn request(cluster: &str, address: &str) -> Result<MachineReclaim> {
    let request = json!({
        "apiVersion": "ichor.maesh.dev/v1alpha1", "kind": "MachineReclaim",
        "metadata": {"generateName": "dry-", "namespace": NAMESPACE},
        "spec": {"address": address, "clusterRef": {"name": cluster}, "clusterCredentials": true},
    });
    Ok(serde_json::from_value(request)?)
}
