//! The story that every point interrupts: a person reclaims a machine, types its UUID, and asks again where that is
//! what the result says.

use crate::points::Scenario;
use anyhow::{Context, Result, ensure};
use ichor_crds::conditions::reclaim as reason;
use ichor_crds::{MachineReclaim, MachineReclaimStatus, ReclaimPhase};
use ichor_ground::controller::NAMESPACE;
use ichor_ground::wait::within;
use ichor_ground::{ClusterSetup, GroundCluster, Kubectl, Replica, Replicas, Request, eventually};
use ichor_simulator::{Action, Call, Fault, NodeHandle};
use k8s_openapi::api::core::v1::Node;
use kube::Api;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Longest story: a takeover, the time after which a record counts as not observed, and a slow machine.
const LONGEST: Duration = Duration::from_mins(2);

/// gRPC code of a node on which something else runs: FailedPrecondition.
const BUSY: i32 = 9;

/// A cluster with one machine to reclaim.
pub struct Stage {
    /// The cluster.
    pub cluster: GroundCluster,
    /// The machine.
    pub target: NodeHandle,
    short: &'static str,
    alice: Kubectl,
    requests: Api<MachineReclaim>,
    nodes: Api<Node>,
}

impl Stage {
    /// Sets the stage: a new cluster, its Nodes registered, its TalosCluster judged, the leader's trap empty.
    pub async fn set(
        replicas: &Replicas,
        alice: &Kubectl,
        scenario: Scenario,
        leader: &Replica,
    ) -> Result<Self> {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let name = format!("crash-{}", NUMBER.fetch_add(1, Ordering::SeqCst));
        let (setup, short) = match scenario {
            Scenario::Worker | Scenario::Busy => (ClusterSetup::new(&name), "orphan-1"),
            Scenario::ControlPlane => {
                let setup = ClusterSetup {
                    control_planes: 2,
                    orphans: 0,
                    orphan_control_planes: 1,
                    ..ClusterSetup::new(&name)
                };
                (setup, "orphan-cp-1")
            }
        };
        leader.leads().await?;
        let cluster = replicas.cluster(&setup).await?;
        let client = replicas.plane.client().await?;
        let stage = Self {
            target: cluster.node(short)?,
            short,
            alice: alice.clone(),
            requests: Api::namespaced(client.clone(), NAMESPACE),
            nodes: Api::all(client.clone()),
            cluster,
        };
        let clusters: Api<ichor_crds::TalosCluster> = Api::namespaced(client, NAMESPACE);
        eventually("the Node and the judged TalosCluster", async || {
            let judged = clusters.get(&name).await?.status.is_some();
            Ok((judged && stage.node_exists().await?).then_some(()))
        })
        .await?;
        leader.trap.set(None);
        if scenario == Scenario::Busy {
            let refusal = Action::Refuse {
                code: BUSY,
                message: "another sequence is in progress".to_owned(),
            };
            stage.target.fault(Fault::on("Reset", refusal).times(1));
        }
        Ok(stage)
    }

    /// Tells the story to its end, whatever happens to the controllers meanwhile.
    pub async fn tell(&self) -> Result<(Request, MachineReclaimStatus)> {
        let address = self.target.address();
        let request = eventually("the request to be admitted", async || {
            let asked = Request::create(&self.alice, address, &self.cluster.name).await;
            asked.map(Some)
        })
        .await?;
        let told = within(LONGEST, "the end of the story", async || {
            let seen = self.requests.get(&request.name).await?;
            let status = seen.status.unwrap_or_default();
            if status.phase.is_final() {
                return Ok(Some(status));
            }
            if status.phase == ReclaimPhase::AwaitingConfirmation
                && seen.spec.confirm_uuid.is_none()
            {
                request.confirm(self.target.uuid()).await?;
            }
            Ok(None)
        })
        .await;
        let status = match told {
            Ok(status) => status,
            Err(error) => {
                let now = request.status().await;
                return Err(error.context(format!("it is stuck: {now:?}")));
            }
        };
        if status.phase == ReclaimPhase::Done {
            ensure!(!self.node_exists().await?, "Done, and the Node is there");
        } else {
            ensure!(self.node_exists().await?, "not Done, and the Node is gone");
        }
        Ok((request, status))
    }

    /// Whether the end is one that DESIGN section 18, decision 1 allows.
    pub fn is_legal(&self, status: &MachineReclaimStatus) -> Result<()> {
        let resets = self.resets();
        ensure!(resets.len() <= 1, "more than one reset: {resets:?}");
        if status.phase == ReclaimPhase::Done {
            ensure!(
                resets.len() == 1 && self.target.in_maintenance(),
                "Done, and not wiped: {status:?}"
            );
            return Ok(());
        }
        let not_observed = status.phase == ReclaimPhase::Failed
            && status
                .conditions
                .iter()
                .any(|condition| condition.reason == reason::RECORDED_NOT_OBSERVED)
            && status
                .result
                .as_deref()
                .is_some_and(|text| text.contains("recorded, not observed; ask again"));
        ensure!(not_observed, "not a legal end: {status:?}");
        ensure!(!self.target.in_maintenance(), "wiped, and not Done");
        Ok(())
    }

    /// "ask again" is what the result says, so it has to work: with one reset more.
    pub async fn ask_again(&self) -> Result<()> {
        let before = self.resets().len();
        let (_, status) = self.tell().await?;
        ensure!(
            status.phase == ReclaimPhase::Done && self.target.in_maintenance(),
            "asked again: {status:?}"
        );
        ensure!(self.resets().len() == before + 1, "asked again");
        Ok(())
    }

    /// The resets that any node was asked for and did not refuse.
    fn resets(&self) -> Vec<Call> {
        let nodes = self.cluster.fleet.nodes().iter();
        let calls = nodes.flat_map(|node| node.calls_of("Reset"));
        calls
            .filter(|call| call.code.as_deref() != Some("FailedPrecondition"))
            .collect()
    }

    /// The calls of each node so far, by method.
    pub fn calls(&self) -> Vec<(String, Vec<String>)> {
        let prefix = format!("{}-", self.cluster.name);
        let nodes = self.cluster.fleet.nodes().iter();
        nodes
            .map(|node| {
                let short = node.name().trim_start_matches(&prefix).to_owned();
                let methods = node.calls().into_iter().map(|call| call.name().to_owned());
                (short, methods.collect())
            })
            .collect()
    }

    /// Removes the objects of the cluster, so that the next one is alone.
    pub async fn clear(self, replicas: &Replicas) -> Result<()> {
        let kubectl = replicas.plane.kubectl();
        // Approved machines and their cluster go only as abandoned ones.
        let abandon = format!("{}=true", ichor_crds::ABANDON);
        let owned = "talosmachines,talosclusters";
        kubectl
            .run(&[
                "annotate",
                owned,
                "--all",
                "-n",
                NAMESPACE,
                "--overwrite",
                &abandon,
            ])
            .await?;
        let all = "machinereclaims,talosmachines,talosclusters";
        kubectl
            .run(&["delete", all, "--all", "-n", NAMESPACE])
            .await?;
        let secret = format!("{}-bundle", self.cluster.name);
        kubectl
            .run(&["delete", "secret", &secret, "-n", NAMESPACE])
            .await?;
        // First the machines, else they register again.
        drop(self.cluster);
        kubectl.run(&["delete", "nodes", "--all"]).await.map(drop)
    }

    async fn node_exists(&self) -> Result<bool> {
        let name = format!("{}-{}", self.cluster.name, self.short);
        let found = self.nodes.get_opt(&name).await;
        Ok(found.context("look at the Node")?.is_some())
    }
}
