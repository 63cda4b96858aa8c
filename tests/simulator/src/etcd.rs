//! Membership of a simulated cluster's etcd, shared by its nodes (talos-api.md sections 5, 7 and 8).
//!
//! The rules are those of etcd's strict reconfiguration checks: a change needs a leader, enough started voters must
//! remain, and an active member may only go while the rest keeps a connected majority.

use std::net::IpAddr;
use std::time::{Duration, Instant};

/// One member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// ID, never reused.
    pub id: u64,
    /// Name of the node in the fleet.
    pub node: String,
    /// Hostname it started with; empty until a learner has started.
    pub hostname: String,
    /// Address in its URLs.
    pub address: IpAddr,
    /// Not voting yet.
    pub learner: bool,
    /// Its process runs.
    pub running: bool,
}

/// Why a member cannot be removed. `Display` is etcd's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RemoveError {
    /// The voters that have started would be fewer than a majority of those that remain.
    #[error("etcdserver: re-configuration failed due to not enough started members")]
    NotEnoughStarted,
    /// The connected voters would be fewer than a majority.
    #[error("etcdserver: unhealthy cluster")]
    Unhealthy,
    /// No quorum.
    #[error("etcdserver: no leader")]
    NoLeader,
    /// Unknown ID.
    #[error("etcdserver: member not found")]
    NotFound,
}

/// Etcd of one cluster.
#[derive(Clone, Debug, Default)]
pub struct Etcd {
    members: Vec<Member>,
    leader: Option<u64>,
    last_leader: Option<u64>,
    term: u64,
    index: u64,
    lost: Option<Instant>,
}

impl Etcd {
    /// All members in the order they joined.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// ID of the leader, if there is quorum.
    pub fn leader(&self) -> Option<u64> {
        self.leader
    }

    /// ID of the last leader, whether it still is.
    pub fn last_leader(&self) -> Option<u64> {
        self.last_leader
    }

    /// Raft term and index.
    pub fn raft(&self) -> (u64, u64) {
        (self.term, self.index)
    }

    /// How long quorum has been lost.
    pub fn lost_for(&self) -> Option<Duration> {
        self.lost.map(|since| since.elapsed())
    }

    /// The member with this ID.
    pub fn member(&self, id: u64) -> Option<&Member> {
        self.members.iter().find(|member| member.id == id)
    }

    /// Adds a member: the first of a new cluster votes at once, any other begins as a learner with an empty hostname.
    ///
    /// A member left behind by the same node (same name and address) is swapped for the new one.
    pub fn join(&mut self, node: &str, address: IpAddr) -> u64 {
        self.members.retain(|member| member.node != node);
        let id = rand::random::<u64>() | 1;
        let learner = !self.members.is_empty();
        let hostname = String::new();
        self.members.push(Member {
            id,
            node: node.to_owned(),
            hostname,
            address,
            learner,
            running: false,
        });
        self.index += 1;
        id
    }

    /// The member's process started under this hostname.
    pub fn start(&mut self, id: u64, hostname: &str) {
        if let Some(member) = self.find(id) {
            hostname.clone_into(&mut member.hostname);
            member.running = true;
        }
        self.elect();
    }

    /// The member's process ended.
    pub fn stop(&mut self, id: u64) {
        if let Some(member) = self.find(id) {
            member.running = false;
        }
        self.elect();
    }

    /// Makes a learner a voter.
    pub fn promote(&mut self, id: u64) {
        if let Some(member) = self.find(id) {
            member.learner = false;
        }
        self.index += 1;
        self.elect();
    }

    /// Removes a member under etcd's checks.
    pub fn remove(&mut self, id: u64) -> Result<(), RemoveError> {
        self.may_remove(id)?;
        self.members.retain(|member| member.id != id);
        self.index += 1;
        self.elect();
        Ok(())
    }

    /// Gives the leadership away when `id` has it; the new leader's hostname.
    pub fn forfeit(&mut self, id: u64) -> Option<String> {
        if self.leader != Some(id) {
            return None;
        }
        let next = self
            .voters()
            .find(|member| member.running && member.id != id)?;
        let (next, hostname) = (next.id, next.hostname.clone());
        self.leader = Some(next);
        self.last_leader = self.leader;
        self.term += 1;
        Some(hostname)
    }

    fn may_remove(&self, id: u64) -> Result<(), RemoveError> {
        if self.leader.is_none() {
            return Err(RemoveError::NoLeader);
        }
        let member = self.member(id).ok_or(RemoveError::NotFound)?;
        if member.learner {
            return Ok(());
        }
        let rest: Vec<&Member> = self.voters().filter(|voter| voter.id != id).collect();
        let started = rest
            .iter()
            .filter(|voter| !voter.hostname.is_empty())
            .count();
        if started < rest.len() / 2 + 1 {
            return Err(RemoveError::NotEnoughStarted);
        }
        let connected = rest.iter().filter(|voter| voter.running).count();
        if member.running && connected < rest.len() / 2 + 1 {
            return Err(RemoveError::Unhealthy);
        }
        Ok(())
    }

    fn voters(&self) -> impl Iterator<Item = &Member> {
        self.members.iter().filter(|member| !member.learner)
    }

    fn find(&mut self, id: u64) -> Option<&mut Member> {
        self.members.iter_mut().find(|member| member.id == id)
    }

    fn elect(&mut self) {
        let running: Vec<u64> = self
            .voters()
            .filter(|member| member.running)
            .map(|member| member.id)
            .collect();
        let quorum = running.len() > self.voters().count() / 2;
        if !quorum {
            self.leader = None;
            self.lost.get_or_insert_with(Instant::now);
            return;
        }
        self.lost = None;
        if self.leader.is_none_or(|leader| !running.contains(&leader)) {
            self.leader = running.first().copied();
            self.last_leader = self.leader;
            self.term += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cluster(voters: usize, running: usize) -> (Etcd, Vec<u64>) {
        let mut etcd = Etcd::default();
        let mut ids = Vec::new();
        for number in 0..voters {
            let name = format!("cp-{number}");
            let id = etcd.join(&name, IpAddr::from([127, 0, 0, 1]));
            etcd.start(id, &name);
            etcd.promote(id);
            ids.push(id);
        }
        for id in &ids[running..] {
            etcd.stop(*id);
        }
        (etcd, ids)
    }

    #[test]
    fn removal_follows_etcds_checks() {
        // (voters, running, index removed, outcome)
        let table = [
            (3, 3, 0, Ok(())),
            (3, 2, 2, Ok(())),
            (3, 2, 0, Err(RemoveError::Unhealthy)),
            (3, 1, 0, Err(RemoveError::NoLeader)),
            (2, 2, 1, Ok(())),
            (1, 1, 0, Err(RemoveError::NotEnoughStarted)),
            (5, 4, 0, Ok(())),
        ];
        for (voters, running, index, expected) in table {
            let (mut etcd, ids) = cluster(voters, running);
            assert_eq!(
                etcd.remove(ids[index]),
                expected,
                "{running} of {voters} run, {index} goes"
            );
        }
        assert_eq!(cluster(3, 3).0.remove(1 << 40), Err(RemoveError::NotFound));
    }

    #[test]
    fn quorum_decides_the_leader() {
        let (mut etcd, ids) = cluster(3, 3);
        assert_eq!(etcd.leader(), Some(ids[0]));
        assert_eq!(etcd.forfeit(ids[0]).as_deref(), Some("cp-1"));
        assert_eq!(etcd.forfeit(ids[0]), None);
        etcd.stop(ids[1]);
        assert_eq!(etcd.leader(), Some(ids[0]));
        etcd.stop(ids[0]);
        assert_eq!(etcd.leader(), None);
        assert!(etcd.lost_for().is_some());
        etcd.start(ids[1], "cp-1");
        assert_eq!(etcd.leader(), Some(ids[1]));
    }

    #[test]
    fn a_stale_member_is_swapped() {
        let (mut etcd, ids) = cluster(3, 2);
        let new = etcd.join("cp-2", IpAddr::from([127, 0, 0, 1]));
        assert_ne!(new, ids[2]);
        assert_eq!(etcd.members().len(), 3);
        assert!(
            etcd.member(new)
                .is_some_and(|member| member.learner && member.hostname.is_empty())
        );
    }
}
