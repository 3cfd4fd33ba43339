//! Traffic: what it costs that the replicas of a gang lie apart.

use std::collections::BTreeMap;

use crate::model::{GangFacts, GangId, Model, NodeId, RoleId};

/// `count` replicas of a role on a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Spot {
    pub(crate) node: NodeId,
    pub(crate) role: RoleId,
    pub(crate) count: i64,
}

/// The same spots in canonical order, each node and role once.
pub(crate) fn tidy(mut spots: Vec<Spot>) -> Vec<Spot> {
    spots.sort_unstable();
    spots.dedup_by(|next, kept| {
        let same = (next.node, next.role) == (kept.node, kept.role);
        if same {
            kept.count += next.count;
        }
        same
    });
    spots.retain(|spot| spot.count > 0);
    spots
}

/// For each pair of replicas that talk, weight times the number of levels that part them, `node` included. A node
/// outside the topology is parted from all others at every level. Costs beyond 64 bits stay at the largest number.
pub(crate) fn traffic(model: &Model, gang: GangId, spots: impl Iterator<Item = Spot>) -> i64 {
    let facts = model.gang(gang);
    let mut nodes: BTreeMap<NodeId, Vec<i64>> = BTreeMap::new();
    let mut total = vec![0; facts.roles.len()];
    for spot in spots {
        let counts = nodes.entry(spot.node).or_insert_with(|| vec![0; facts.roles.len()]);
        counts[spot.role.index()] += spot.count;
        total[spot.role.index()] += spot.count;
    }
    let mut cost = 0_i128;
    for level in model.topology.parting() {
        // Domains are contiguous in the order of the nodes, so that each is one run.
        cost += pairs(facts, &total);
        let mut run: Option<(NodeId, Vec<i64>)> = None;
        for (&node, counts) in &nodes {
            match &mut run {
                Some((before, sums)) if !model.topology.parts(level, *before, node) => {
                    sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
                }
                other => {
                    cost -= other.as_ref().map_or(0, |(_, sums)| pairs(facts, sums));
                    *other = Some((node, counts.clone()));
                }
            }
        }
        cost -= run.map_or(0, |(_, sums)| pairs(facts, &sums));
    }
    i64::try_from(cost).unwrap_or(i64::MAX)
}

/// The weights of all talking pairs among `counts` replicas by role.
fn pairs(gang: &GangFacts, counts: &[i64]) -> i128 {
    let each = |pair: &crate::model::TalkingPair| {
        let (a, b) = (i128::from(counts[pair.a.index()]), i128::from(counts[pair.b.index()]));
        i128::from(pair.weight) * if pair.a == pair.b { a * (a - 1) / 2 } else { a * b }
    };
    gang.traffic.iter().map(each).sum()
}
