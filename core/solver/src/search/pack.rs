//! A whole gang in one domain, fast: several starts, the one with the least traffic improved.

use std::cmp::Reverse;

use super::Budget;
use super::asks::Asks;
use super::mix::Mix;
use super::role_mix::{improve, place_by_gain};
use super::spread::{Share, spread};
use crate::model::{Level, Model, NodeId};
use crate::objective::locality::Spot;
use crate::state::Ledger;

/// Nodes that roles are mixed on, beside those that a role alone takes.
const MOST_NODES: usize = 256;
/// On so few nodes several starts are improved, on all nodes of the domain.
const FEW_NODES: usize = 8;
const MOST_IMPROVED: usize = 4;
/// Where some pairs of roles talk and others do not, so many places to begin from are tried, on all nodes of the domain.
const SEEDS: usize = 16;

/// A placement in a domain in which every role finds enough room alone, if one of the starts finds one. For a single
/// role of which nothing runs there always is one.
pub(super) fn pack(
    ledger: &Ledger<'_>,
    asks: &Asks<'_>,
    level: Level,
    domain: usize,
    budget: &mut Budget<'_>,
) -> Option<Vec<Spot>> {
    let model = ledger.model();
    let mut shares = Vec::new();
    let first = &asks.roles[0];
    let count = u32::from(first.count);
    budget.count_nodes(spread(model, ledger.shape(first.shape), level, domain, count, &mut shares));
    if asks.roles.len() == 1 && asks.anchor.is_none() {
        let spot = |share: &Share| Spot { node: share.0, role: first.role, count: i64::from(share.1) };
        let mut spots: Vec<Spot> = shares.iter().map(spot).collect();
        spots.sort_unstable();
        return Some(spots);
    }
    let nodes = neighbourhood(ledger, asks, level, domain, &shares, budget);
    let mut mix = Mix::new(ledger, asks, nodes);
    let mut starts: Vec<(i128, Vec<i64>)> = Vec::new();
    for start in Start::ALL {
        mix.clear();
        start.fill(&mut mix, asks, &shares);
        if (0..asks.roles.len()).all(|ask| mix.missing(ask) == 0) {
            starts.push((mix.cost(), mix.save()));
            // On more nodes the other starts have not been seen to end better.
            if mix.nodes().len() > FEW_NODES {
                break;
            }
        }
    }
    let seeded = !mix.talks_alike() && asks.roles.len() > 1 && mix.nodes().len() > FEW_NODES;
    if seeded {
        starts.extend(seeded_starts(&mut mix, asks));
    }
    starts.sort();
    starts.dedup();
    let most = if seeded { starts.len() } else { MOST_IMPROVED };
    let improved = starts.into_iter().take(most).map(|(_, counts)| {
        mix.restore(&counts);
        improve(&mut mix, asks);
        (mix.cost(), mix.spots())
    });
    let found = improved.min();
    budget.count_nodes(mix.looked);
    found.map(|(_, spots)| spots)
}

/// A placement that was found otherwise, improved.
pub(super) fn improved(
    ledger: &Ledger<'_>,
    asks: &Asks<'_>,
    level: Level,
    domain: usize,
    spots: &[Spot],
    budget: &mut Budget<'_>,
) -> Vec<Spot> {
    let shares: Vec<Share> = spots.iter().map(|spot| (spot.node, 0)).collect();
    let nodes = neighbourhood(ledger, asks, level, domain, &shares, budget);
    let mut mix = Mix::new(ledger, asks, nodes);
    for spot in spots {
        let node =
            mix.nodes().binary_search(&spot.node).expect("the nodes of the spots are in the neighbourhood");
        let ask =
            asks.roles.iter().position(|ask| ask.role == spot.role).expect("only what is asked is placed");
        mix.put(node, ask, spot.count);
    }
    improve(&mut mix, asks);
    budget.count_nodes(mix.looked);
    mix.spots()
}

/// Ways to begin.
#[derive(Clone, Copy)]
enum Start {
    /// The scarcest role as it lies best alone, the others where they gain most.
    ScarcestFirst,
    /// The others first, each where it gains most, the scarcest last.
    ScarcestLast,
    /// Node by node as much as fits of every role, the scarcest first; from the node that holds most.
    NodeByNode,
    /// The same, the scarcest last.
    NodeByNodeLast,
}

impl Start {
    const ALL: [Self; 4] = [Self::ScarcestFirst, Self::NodeByNode, Self::NodeByNodeLast, Self::ScarcestLast];

    fn fill(self, mix: &mut Mix<'_>, asks: &Asks<'_>, shares: &[Share]) {
        let roles = 0..asks.roles.len();
        match self {
            Self::ScarcestFirst => {
                if asks.anchor.is_none() {
                    for (node, count) in shares {
                        let at = mix.nodes().binary_search(node).expect("shares are in the neighbourhood");
                        mix.put(at, 0, i64::from(*count));
                    }
                }
                roles.for_each(|ask| place_by_gain(mix, asks, ask));
            }
            Self::ScarcestLast => roles.rev().for_each(|ask| place_by_gain(mix, asks, ask)),
            Self::NodeByNode => node_by_node(mix, &roles.collect::<Vec<_>>()),
            Self::NodeByNodeLast => node_by_node(mix, &roles.rev().collect::<Vec<_>>()),
        }
    }
}

/// Fills one node after the other with all roles, nearest to the node that holds most first.
fn node_by_node(mix: &mut Mix<'_>, roles: &[usize]) {
    let Some(seed) = (0..mix.nodes().len()).max_by_key(|node| (mix.hold(*node), Reverse(*node))) else {
        return;
    };
    for node in nearest_first(mix, seed) {
        mix.looked += 1;
        for ask in roles.iter().copied() {
            let count = mix.room(node, ask).min(mix.missing(ask));
            mix.put(node, ask, count);
        }
        if roles.iter().all(|ask| mix.missing(*ask) == 0) {
            return;
        }
    }
}

/// Starts from the places that hold most: one role near the place, the others where they gain most; the scarcest
/// first, and the scarcest last.
fn seeded_starts(mix: &mut Mix<'_>, asks: &Asks<'_>) -> Vec<(i128, Vec<i64>)> {
    let mut places: Vec<(u32, usize)> = Vec::new();
    for node in 0..mix.nodes().len() {
        // The place is the finest domain above the node.
        let place = |node: usize| mix.groups(node).rev().nth(1);
        match places.last_mut() {
            Some((hold, first)) if place(*first) == place(node) => *hold += mix.hold(node),
            _ => places.push((mix.hold(node), node)),
        }
    }
    places.sort_by_key(|(hold, node)| (Reverse(*hold), *node));
    let mut starts = Vec::new();
    for (_, seed) in places.into_iter().take(SEEDS) {
        let order = nearest_first(mix, seed);
        for reversed in [false, true] {
            let mut roles: Vec<usize> = (0..asks.roles.len()).collect();
            if reversed {
                roles.reverse();
            }
            mix.clear();
            for node in &order {
                let count = mix.room(*node, roles[0]).min(mix.missing(roles[0]));
                mix.put(*node, roles[0], count);
            }
            roles[1..].iter().for_each(|ask| place_by_gain(mix, asks, *ask));
            if roles.iter().all(|ask| mix.missing(*ask) == 0) {
                starts.push((mix.cost(), mix.save()));
            }
        }
    }
    starts
}

/// Nodes by their distance from one, those that hold most first.
fn nearest_first(mix: &Mix<'_>, seed: usize) -> Vec<usize> {
    let seed: Vec<usize> = mix.groups(seed).collect();
    let mut order: Vec<(usize, Reverse<u32>, usize)> = (0..mix.nodes().len())
        .map(|node| {
            let distance = mix.groups(node).zip(&seed).filter(|(group, seed)| group != *seed).count();
            (distance, Reverse(mix.hold(node)), node)
        })
        .collect();
    order.sort_unstable();
    order.into_iter().map(|(_, _, node)| node).collect()
}

/// The nodes that the roles are mixed on: those of `shares`, those beside them in the finest domains, and where that
/// is not enough those that the other roles take alone.
fn neighbourhood(
    ledger: &Ledger<'_>,
    asks: &Asks<'_>,
    level: Level,
    domain: usize,
    shares: &[Share],
    budget: &mut Budget<'_>,
) -> Vec<NodeId> {
    let model = ledger.model();
    let mut nodes: Vec<NodeId> = shares.iter().map(|share| share.0).collect();
    nodes.sort_unstable();
    nodes.dedup();
    let within = model.topology.domains(level)[domain].nodes.clone();
    if within.len() <= FEW_NODES || (within.len() <= MOST_NODES && !asks.talk_alike(model)) {
        let hosts = |node: &usize| asks.roles.iter().any(|ask| ledger.shape(ask.shape).counts()[*node] > 0);
        return within.filter(hosts).map(NodeId::new).collect();
    }
    let running = asks.demand.running.iter().flatten().filter(|node| within.contains(&node.index()));
    let mut taken = nodes.clone();
    taken.extend(running);
    add_neighbours(ledger, asks, level, &taken, &mut nodes, budget);
    for ask in &asks.roles {
        let counts = ledger.shape(ask.shape).counts();
        let room: u64 = nodes.iter().map(|node| u64::from(counts[node.index()])).sum();
        if room < u64::from(ask.count) {
            let mut own = Vec::new();
            let count = u32::from(ask.count);
            budget.count_nodes(spread(model, ledger.shape(ask.shape), level, domain, count, &mut own));
            taken = own.iter().map(|share| share.0).collect();
            nodes.extend(&taken);
            nodes.sort_unstable();
            nodes.dedup();
            add_neighbours(ledger, asks, level, &taken, &mut nodes, budget);
        }
    }
    nodes
}

/// Adds the nodes with room for any role that share the finest domain inside `level` with one of `taken`.
fn add_neighbours(
    ledger: &Ledger<'_>,
    asks: &Asks<'_>,
    level: Level,
    taken: &[NodeId],
    nodes: &mut Vec<NodeId>,
    budget: &mut Budget<'_>,
) {
    let model: &Model = ledger.model();
    let Some(finest) = model.topology.finest_key().filter(|finest| *finest >= level) else { return };
    let mut homes: Vec<usize> = taken.iter().filter_map(|node| model.topology.home(finest, *node)).collect();
    homes.sort_unstable();
    homes.dedup();
    let room = MOST_NODES.saturating_sub(nodes.len());
    let hosts = |node: &usize| asks.roles.iter().any(|ask| ledger.shape(ask.shape).counts()[*node] > 0);
    let homes = homes.into_iter().map(|home| model.topology.domains(finest)[home].nodes.clone());
    let mut looked = 0;
    let known = nodes.clone();
    let beside = homes.flatten().inspect(|_| looked += 1).filter(hosts).map(NodeId::new);
    nodes.extend(beside.filter(|node| known.binary_search(node).is_err()).take(room));
    budget.count_nodes(looked);
    nodes.sort_unstable();
    nodes.dedup();
}
