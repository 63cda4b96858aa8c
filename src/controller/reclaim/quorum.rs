//! Whether etcd survives that a member goes (record 0136 "Quorum"; DESIGN section 18, decision 10; FAULTS 17).

use ichor_crds::EtcdMemberView;

/// What the removal of a member does to its cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Quorum holds.
    Holds,
    /// It is the last voting member: the cluster ends.
    Last,
    /// One of two: the one that remains cannot lose anything any more.
    OneOfTwo {
        /// Whether the other one is healthy.
        other_healthy: bool,
    },
    /// Too few healthy members remain.
    Breaks {
        /// Healthy voting members that remain.
        healthy: usize,
        /// Voting members that remain.
        remaining: usize,
    },
}

/// The effect of removing the member `id` from `members`.
///
/// Decision 10: the voting healthy members that remain have to be a majority of the voting members that
/// remain; learners do not count; the dead may go, since a dead member is none of the healthy ones. When it
/// does not leave (`leaves` false: an ungraceful reset) it stays listed as a dead member and counts among those
/// that remain.
///
/// FAULTS 17 is stricter than decision 10 where one of two goes: one healthy member of one is a majority by
/// decision 10, and a cluster that the next fault ends. It is refused as well, unless forced.
pub fn effect(members: &[EtcdMemberView], id: &str, leaves: bool) -> Effect {
    let voters = || members.iter().filter(|member| !member.learner);
    if !voters().any(|member| member.id == id) {
        // A learner, or no member (any more): nothing that votes goes.
        return Effect::Holds;
    }
    let others = || voters().filter(|member| member.id != id);
    let healthy = others().filter(|member| member.healthy).count();
    let remaining = others().count() + usize::from(!leaves);
    match others().count() {
        0 => Effect::Last,
        1 => Effect::OneOfTwo {
            other_healthy: healthy == 1,
        },
        _ if healthy >= majority(remaining) => Effect::Holds,
        _ => Effect::Breaks { healthy, remaining },
    }
}

/// The smallest majority of `number` voting members.
fn majority(number: usize) -> usize {
    number / 2 + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `v` a healthy voter, `d` a dead one, `l` a learner; the first is the one that goes.
    fn members(kinds: &str) -> Vec<EtcdMemberView> {
        kinds
            .chars()
            .enumerate()
            .map(|(at, kind)| EtcdMemberView {
                id: format!("{at:x}"),
                hostname: format!("cp-{at}"),
                learner: kind == 'l',
                healthy: kind == 'v',
            })
            .collect()
    }

    #[test]
    fn decision_10_voting_healthy_members_are_a_majority_of_those_that_remain() {
        let breaks = |healthy, remaining| Effect::Breaks { healthy, remaining };
        for (kinds, leaves, want) in [
            ("v", true, Effect::Last),
            ("d", true, Effect::Last),
            ("vl", true, Effect::Last),
            (
                "vv",
                true,
                Effect::OneOfTwo {
                    other_healthy: true,
                },
            ),
            (
                "vd",
                true,
                Effect::OneOfTwo {
                    other_healthy: false,
                },
            ),
            (
                "vvl",
                true,
                Effect::OneOfTwo {
                    other_healthy: true,
                },
            ),
            ("vvv", true, Effect::Holds),
            ("vvd", true, breaks(1, 2)),
            ("vdd", true, breaks(0, 2)),
            ("dvv", true, Effect::Holds),
            ("dvd", true, breaks(1, 2)),
            ("lvd", true, Effect::Holds),
            ("vvvd", true, Effect::Holds),
            ("vvvvv", true, Effect::Holds),
            ("vvvdd", true, breaks(2, 4)),
            ("dvvvd", true, Effect::Holds),
            // An ungraceful reset leaves a dead member behind, which counts among those that remain.
            ("vvv", false, Effect::Holds),
            ("vvd", false, breaks(1, 3)),
            ("vvvd", false, breaks(2, 4)),
            ("v", false, Effect::Last),
        ] {
            assert_eq!(
                effect(&members(kinds), "0", leaves),
                want,
                "{kinds} {leaves}"
            );
        }
    }

    #[test]
    fn faults_17_a_healthy_one_of_three_with_one_down_stays_and_the_dead_one_goes() {
        let three = members("vvd");
        assert_ne!(effect(&three, "0", true), Effect::Holds);
        assert_eq!(effect(&three, "2", true), Effect::Holds);
    }

    #[test]
    fn what_is_no_member_can_break_nothing() {
        assert_eq!(effect(&members("vd"), "ff", true), Effect::Holds);
        assert_eq!(effect(&[], "ff", true), Effect::Holds);
    }
}
