//! Ranks: replicas that talk along their indexes stand so that few neighbours are parted.

use std::collections::BTreeMap;

use crate::document::Ranks;
use crate::model::{GangId, Model, NodeId, RoleId};

/// Above so many replicas the canonical order must do where some run already.
const MANY: usize = 512;
/// Rounds of exchanges.
const MOST_ROUNDS: usize = 16;

/// The nodes of the replicas that start, by ascending index of those that neither run nor leave, so that neighbours by rank
/// are parted by few levels. In canonical order neighbours are together already, unless some run in between: then
/// exchanges are made while they help.
pub(crate) fn in_rank(model: &Model, gang: GangId, role: RoleId, mut nodes: Vec<NodeId>) -> Vec<NodeId> {
    nodes.sort_unstable();
    let facts = model.role(gang, role);
    let Some(ranks) = facts.ranks else { return nodes };
    if facts.running.is_empty() || nodes.len() > MANY {
        return nodes;
    }
    let fixed: BTreeMap<i64, NodeId> =
        facts.running.iter().map(|replica| (replica.index, replica.node)).collect();
    let open: Vec<i64> = (0..facts.replicas)
        .filter(|index| !fixed.contains_key(index) && !facts.leaving.contains(index))
        .take(nodes.len())
        .collect();
    let at = |nodes: &[NodeId], index: i64| {
        fixed.get(&index).copied().or_else(|| nodes.get(open.binary_search(&index).ok()?).copied())
    };
    let wrapped = |index: i64| match ranks {
        Ranks::Ring => index.rem_euclid(facts.replicas.max(1)),
        Ranks::Chain => index,
    };
    // What the neighbours of some indexes cost; a pair of two of them is counted twice, before and after alike.
    let cost = |nodes: &[NodeId], index: i64| -> usize {
        let Some(here) = at(nodes, index) else { return 0 };
        [wrapped(index - 1), wrapped(index + 1)]
            .into_iter()
            .filter_map(|other| at(nodes, other))
            .map(|other| {
                model.topology.parting().filter(|level| model.topology.parts(*level, here, other)).count()
            })
            .sum()
    };
    for _ in 0..MOST_ROUNDS {
        let mut moved = false;
        for first in 0..nodes.len() {
            for second in first + 1..nodes.len() {
                if nodes[first] == nodes[second] {
                    continue;
                }
                let both = |nodes: &[NodeId]| cost(nodes, open[first]) + cost(nodes, open[second]);
                let before = both(&nodes);
                nodes.swap(first, second);
                if both(&nodes) < before {
                    moved = true;
                } else {
                    nodes.swap(first, second);
                }
            }
        }
        if !moved {
            break;
        }
    }
    nodes
}
