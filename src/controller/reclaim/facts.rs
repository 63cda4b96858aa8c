//! What one look at a machine and at the objects around it gave. Everything here is plain data: the rules
//! work on it, and nothing in it can talk to anybody.

use ichor_crds::{MachineIdentity, MachineReclaim, ReclaimInspection, SystemUuid};
use k8s_openapi::jiff::Timestamp;

/// What the inspection of a machine gave, read over one connection.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// What is shown to the person; without warnings and refusals, which the assessment adds.
    pub inspection: ReclaimInspection,
    /// Whether etcd answered on the machine itself.
    pub etcd: EtcdAnswer,
    /// Whether no other control plane of its managed cluster is known: nobody but the machine could list the members.
    pub alone: bool,
    /// Whether the machine claims the cluster ID of the managed cluster whose CA vouched for its certificate.
    pub cluster_id_agrees: bool,
    /// A managed cluster whose ID the machine claims, while that cluster's CA did not vouch for it.
    pub claims_only: Option<String>,
    /// Why its Kubernetes Node could not be looked at, in Ichor's words.
    pub node_unavailable: Option<String>,
}

/// Whether etcd answers on a machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EtcdAnswer {
    /// The machine is a worker.
    #[default]
    NoControlPlane,
    /// It listed the members.
    Answers,
    /// A control plane on which etcd does not answer: it cannot leave by itself.
    Silent,
}

/// An approved machine, as the rules need it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovedMachine {
    /// Its UUID.
    pub uuid: SystemUuid,
    /// Its host name, where one is known; else its object's name.
    pub name: String,
    /// Its cluster.
    pub cluster: String,
}

/// Another request, as the rules need it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rival {
    /// Name of the request.
    pub name: String,
    /// UID of the request.
    pub uid: String,
    /// When it was created.
    pub created: Option<Timestamp>,
    /// The address it is for, as text in canonical form.
    pub address: String,
    /// The machine it is for, once that was inspected.
    pub uuid: Option<SystemUuid>,
    /// Whether its reset is recorded.
    pub recorded: bool,
    /// Whether it may still act.
    pub active: bool,
}

impl Rival {
    /// A request, as others see it.
    pub fn of(request: &MachineReclaim) -> Self {
        let status = request.status.as_ref();
        let identity = status.and_then(|status| {
            let recorded = status.reset.as_ref().map(|reset| &reset.identity);
            recorded.or_else(|| status.inspection.as_ref().map(|seen| &seen.identity))
        });
        let recorded = status.is_some_and(|status| status.reset.is_some());
        let ended = status.is_some_and(|status| status.phase.is_final());
        let leaving = request.metadata.deletion_timestamp.is_some();
        Self {
            name: request.metadata.name.clone().unwrap_or_default(),
            uid: request.metadata.uid.clone().unwrap_or_default(),
            created: request.metadata.creation_timestamp.as_ref().map(|at| at.0),
            address: canonical(&request.spec.address),
            uuid: identity.and_then(MachineIdentity::system_uuid),
            recorded,
            active: !ended && (recorded || !leaving),
        }
    }

    /// Whether both requests are for one machine or one address (DESIGN section 18, decision 11).
    fn collides(&self, other: &Self) -> bool {
        let same_board = match (self.uuid, other.uuid) {
            (Some(mine), Some(theirs)) => mine.same_board(theirs),
            _ => false,
        };
        self.address == other.address || same_board
    }

    /// Whether this request came before the other. What is recorded comes before what is not, because it
    /// cannot be taken back; else the older one, and the UID where both were created in one second.
    fn precedes(&self, other: &Self) -> bool {
        let key = |rival: &Self| (!rival.recorded, rival.created, rival.uid.clone());
        key(self) < key(other)
    }
}

/// The request that keeps `me` from acting: at most one actor on a machine (DESIGN section 18, decision 11).
pub fn rival<'a>(me: &Rival, others: &'a [Rival]) -> Option<&'a Rival> {
    others
        .iter()
        .filter(|other| other.uid != me.uid && other.active)
        .find(|other| other.collides(me) && other.precedes(me))
}

/// An address in its one text form; a text that is no address stays as it is.
pub fn canonical(address: &str) -> String {
    address
        .parse::<ichor_crds::NodeAddress>()
        .map_or_else(|_| address.to_owned(), |address| address.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOARD: &str = "4c4c4544-0042-3510-8052-b4c04f463133";
    const SWAPPED: &str = "44454c4c-4200-1035-8052-b4c04f463133";

    fn request(uid: &str, age: i64, address: &str, board: Option<&str>) -> Rival {
        Rival {
            name: format!("reclaim-{uid}"),
            uid: uid.to_owned(),
            created: Timestamp::from_second(1_000 - age).ok(),
            address: address.to_owned(),
            uuid: board.and_then(|text| text.parse().ok()),
            recorded: false,
            active: true,
        }
    }

    #[test]
    fn decision_11_a_second_reclaim_of_the_uuid_or_address_is_refused() {
        let me = request("b", 10, "10.5.0.7", Some(BOARD));
        let recorded = |mut rival: Rival| {
            rival.recorded = true;
            rival
        };
        let ended = |mut rival: Rival| {
            rival.active = false;
            rival
        };
        for (what, other, blocks) in [
            (
                "older, same address",
                request("a", 20, "10.5.0.7", None),
                true,
            ),
            (
                "younger, same address",
                request("c", 5, "10.5.0.7", None),
                false,
            ),
            (
                "older, same board",
                request("a", 20, "10.5.0.8", Some(BOARD)),
                true,
            ),
            (
                "older, both byte orders",
                request("a", 20, "10.5.0.8", Some(SWAPPED)),
                true,
            ),
            (
                "older, another machine",
                request("a", 20, "10.5.0.8", None),
                false,
            ),
            (
                "same second, lesser UID",
                request("a", 10, "10.5.0.7", None),
                true,
            ),
            (
                "same second, greater UID",
                request("c", 10, "10.5.0.7", None),
                false,
            ),
            (
                "younger and recorded",
                recorded(request("c", 5, "10.5.0.7", None)),
                true,
            ),
            (
                "older and ended",
                ended(request("a", 20, "10.5.0.7", None)),
                false,
            ),
            ("itself", me.clone(), false),
        ] {
            assert_eq!(rival(&me, &[other]).is_some(), blocks, "{what}");
        }
    }

    #[test]
    fn of_two_requests_exactly_one_may_act() {
        let one = request("a", 10, "10.5.0.7", Some(BOARD));
        let two = request("b", 10, "10.5.0.8", Some(SWAPPED));
        let both = [one.clone(), two.clone()];
        let blocked = [&one, &two].map(|me| rival(me, &both).is_some());
        assert_eq!(blocked, [false, true]);
    }
}
