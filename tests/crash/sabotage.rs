//! What happens to the process at a point, while the story is told.

use crate::points::{Deed, Point, Site};
use crate::story::Stage;
use anyhow::Result;
use ichor_crds::MachineReclaimStatus;
use ichor_ground::trap::{Spot, Trap};
use ichor_ground::{Replica, Replicas, eventually, proxy::When};
use ichor_simulator::{Action, Fault, NodeHandle};
use std::time::Duration;
use tokio::sync::Notify;

/// What came of a point.
pub struct Played {
    /// Who leads now.
    pub leader: Replica,
    /// Whether the process was struck at the point.
    pub reached: bool,
    /// How the story ended.
    pub status: MachineReclaimStatus,
}

/// How the process and the point met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Met {
    /// It was struck there.
    There,
    /// It was struck at another step, or ended by itself before: it goes on as after a kill, at another point.
    Elsewhere,
    /// The story was over before: it had fewer steps this time.
    Never,
}

/// Tells the story and strikes the leader at `point`.
pub async fn play(
    replicas: &Replicas,
    stage: &Stage,
    leader: Replica,
    point: &Point,
) -> Result<Played> {
    let standby = match point.deed {
        Deed::StopBefore | Deed::StopAfter => Some(replicas.replica().await?),
        Deed::KillBefore | Deed::KillAfter => None,
    };
    let ambush = Ambush::lay(stage, &leader, point)?;
    let over = Notify::new();
    let told = async {
        let told = stage.tell().await;
        over.notify_one();
        told
    };
    let struck = async {
        let (mut leader, met) = strike(replicas, &ambush, leader, standby, &over).await?;
        // A busy computer may keep a replica from its lease, which ends it; the Deployment would start it again.
        if met == Met::Never {
            return anyhow::Ok((leader, met));
        }
        loop {
            let ended = tokio::select! {
                ended = leader.controller.ended_at_last() => ended,
                () = over.notified() => return Ok((leader, met)),
            };
            ended?;
            leader = replicas.replica().await?;
        }
    };
    let (struck, told) = tokio::join!(struck, told);
    let (leader, met) = struck?;
    let log = leader.controller.log();
    let told = told.map_err(|error| error.context(ichor_ground::controller::tail(&log)));
    Ok(Played {
        leader,
        reached: met == Met::There,
        status: told?.1,
    })
}

/// Lets a story be told to its end, and starts a leader again that a busy computer kept from its lease, as a Deployment does.
pub async fn supervised(
    replicas: &Replicas,
    mut leader: Replica,
    story: impl Future<Output = Result<()>>,
) -> Result<Replica> {
    let mut story = std::pin::pin!(story);
    loop {
        let ended = tokio::select! {
            told = &mut story => {
                let log = leader.controller.log();
                told.map_err(|error| error.context(ichor_ground::controller::tail(&log)))?;
                return Ok(leader);
            }
            ended = leader.controller.ended_at_last() => ended,
        };
        println!("     a replica ended by itself: {}", ended?);
        leader = replicas.replica().await?;
    }
}

/// Waits for the point and strikes; gives who leads then.
async fn strike(
    replicas: &Replicas,
    ambush: &Ambush<'_>,
    mut leader: Replica,
    standby: Option<Replica>,
    over: &Notify,
) -> Result<(Replica, Met)> {
    let there = tokio::select! {
        there = ambush.sprung(&leader.trap) => Some(there),
        ended = leader.controller.ended_at_last() => {
            ended?;
            ambush.lift();
            if let Some(standby) = standby {
                replicas.kill(standby).await?;
            }
            return Ok((replicas.replica().await?, Met::Elsewhere));
        }
        () = over.notified() => None,
    };
    if let Some(there) = there {
        there?;
        let met = if ambush.is_at(&leader.trap) {
            Met::There
        } else {
            Met::Elsewhere
        };
        return Ok((ambush.carry_out(replicas, leader, standby).await?, met));
    }
    // The story had fewer steps this time: what the leader writes later must not spring it.
    leader.trap.set(None);
    ambush.lift();
    if let Some(standby) = standby {
        replicas.kill(standby).await?;
    }
    Ok((leader, Met::Never))
}

/// What waits for the process at a point.
struct Ambush<'a> {
    stage: &'a Stage,
    deed: Deed,
    node: Option<NodeHandle>,
    /// What the write there does.
    write: Option<(usize, String)>,
}

impl<'a> Ambush<'a> {
    fn lay(stage: &'a Stage, leader: &Replica, point: &Point) -> Result<Self> {
        let deed = point.deed;
        let node = match &point.site {
            Site::Write { step, .. } => {
                let when = match deed {
                    Deed::KillBefore | Deed::StopBefore => When::Before,
                    Deed::KillAfter | Deed::StopAfter => When::After,
                };
                leader.trap.set(Some(Spot { step: *step, when }));
                None
            }
            Site::Call {
                node,
                number,
                method,
            } => {
                let node = stage.cluster.node(node)?;
                let fault = Fault::always(action(deed));
                node.fault(match method.as_str() {
                    // There is one, wherever among the others it comes.
                    "Reset" => Fault::on("Reset", action(deed)).times(1),
                    _ => fault.after(u32::try_from(*number)?).times(1),
                });
                Some(node)
            }
        };
        let write = match &point.site {
            Site::Write { step, label, .. } => Some((*step, label.clone())),
            Site::Call { .. } => None,
        };
        Ok(Self {
            stage,
            deed,
            node,
            write,
        })
    }

    /// Whether what is held is what the recorded run had there: a step more before it moves all that follow.
    fn is_at(&self, trap: &Trap) -> bool {
        let steps = trap.steps();
        let write = self.write.as_ref();
        write.is_none_or(|(step, label)| steps.get(*step) == Some(label))
    }

    /// Waits until the process is at the point.
    async fn sprung(&self, trap: &Trap) -> Result<()> {
        let Some(node) = &self.node else {
            trap.snapped().await;
            return Ok(());
        };
        // A fault that struck is gone, or has no times left.
        while node.faults().iter().any(|fault| fault.times != Some(0)) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        if matches!(self.deed, Deed::KillAfter | Deed::StopAfter) {
            let target = &self.stage.target;
            eventually("the reset to begin", async || {
                Ok((target.stage() != ichor_simulator::Stage::Running).then_some(()))
            })
            .await?;
        }
        Ok(())
    }

    /// Strikes; gives who leads afterwards.
    async fn carry_out(
        &self,
        replicas: &Replicas,
        mut leader: Replica,
        standby: Option<Replica>,
    ) -> Result<Replica> {
        let Some(standby) = standby else {
            replicas.kill(leader).await?;
            self.lift();
            return replicas.replica().await;
        };
        replicas.pause(&leader).await?;
        standby.leads().await?;
        // What was on the wire arrives late, and only then the process learns of anything.
        leader.trap.release();
        self.lift();
        leader.controller.resume().await?;
        // It held the lease and lost it: nothing but its end is safe.
        leader.controller.ends().await?;
        Ok(standby)
    }

    fn lift(&self) {
        if let Some(node) = &self.node {
            node.clear_faults();
        }
    }
}

/// A killed process must not have its call carried out later; that of a stopped one waits on the wire.
fn action(deed: Deed) -> Action {
    match deed {
        Deed::KillBefore => Action::Hang,
        Deed::StopBefore => Action::Hold,
        Deed::KillAfter | Deed::StopAfter => Action::LoseAnswer,
    }
}
