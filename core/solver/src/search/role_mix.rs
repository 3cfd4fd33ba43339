//! Alternating re-assignment: one role after the other is placed anew, given where the others are.
//!
//! With the other roles fixed, the gain of a replica on a node is linear, so that a role which does not talk with
//! itself is re-placed exactly by taking nodes in the order of their gain. A role that does is filled node by node.

use std::ops::Range;

use super::Field;
use super::exchange::exchange;
use crate::model::{Model, NodeId, RoleId};
use crate::objective::locality::{Spot, traffic};
use crate::state::Ledger;

/// Rounds over all roles; most placements stand still after two.
const ROUNDS: usize = 12;
/// Above so many pairs of slots and occupied nodes, roles move among the nodes in use only.
const MANY_PAIRS: usize = 500_000;

/// A placement with traffic as low or lower. The Ledger, in which `spots` is not booked, is left as it was.
pub(crate) fn improve(
    ledger: &mut Ledger<'_>,
    field: &Field<'_>,
    slots: &Range<usize>,
    spots: Vec<Spot>,
) -> Vec<Spot> {
    let model = ledger.model();
    let (gang, checkpoint) = (field.demand.gang, ledger.checkpoint());
    for spot in &spots {
        ledger.take(gang, spot.role, spot.node, spot.count);
    }
    let mut best = spots;
    let mut cost = cost_of(model, field, &best);
    for _ in 0..ROUNDS {
        let before = cost;
        for role in field.demand.roles() {
            if cost == 0 {
                break;
            }
            let trial = ledger.checkpoint();
            let moved = replace(ledger, field, slots, &best, role);
            let moved_cost = cost_of(model, field, &moved);
            if moved_cost < cost {
                (best, cost) = (moved, moved_cost);
            } else {
                ledger.rollback(&trial);
            }
        }
        if let Some((moved, moved_cost)) = exchange(ledger, field, &best, cost) {
            (best, cost) = (moved, moved_cost);
        }
        if cost == before {
            break;
        }
    }
    ledger.rollback(&checkpoint);
    best
}

/// The same spots in canonical order, each node and role once.
pub(crate) fn tidy(mut spots: Vec<Spot>) -> Vec<Spot> {
    spots.sort();
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

/// The traffic of a placement together with the replicas that run already.
pub(crate) fn cost_of(model: &Model, field: &Field<'_>, spots: &[Spot]) -> i64 {
    traffic(model, field.demand.gang, spots.iter().copied().chain(running_spots(field)))
}

fn running_spots<'a>(field: &'a Field<'_>) -> impl Iterator<Item = Spot> + 'a {
    field.demand.running.iter().enumerate().flat_map(|(role, nodes)| {
        nodes.iter().map(move |node| Spot { node: *node, role: RoleId::new(role), count: 1 })
    })
}

/// Takes all replicas of a role away and places them again where they gain most.
fn replace(
    ledger: &mut Ledger<'_>,
    field: &Field<'_>,
    slots: &Range<usize>,
    spots: &[Spot],
    role: RoleId,
) -> Vec<Spot> {
    let model = ledger.model();
    let gang = field.demand.gang;
    let (mine, mut kept): (Vec<Spot>, Vec<Spot>) = spots.iter().partition(|spot| spot.role == role);
    for spot in &mine {
        ledger.take(gang, role, spot.node, -spot.count);
    }
    let few = slots.len().saturating_mul(spots.len()) <= MANY_PAIRS;
    let candidates = slots.clone().filter(|slot| {
        field.cap(*slot, role) > 0 && (few || spots.iter().any(|spot| spot.node == field.node(*slot)))
    });
    let mut places: Vec<Place> = candidates.map(|slot| Place { node: field.node(slot), gain: 0 }).collect();
    let weights = weights_with(model, field, role);
    for spot in kept.iter().copied().chain(running_spots(field)) {
        draw(model, &mut places, &spot, weights[spot.role.index()]);
    }
    let own = weights[role.index()];
    let levels = i128::try_from(model.topology.parting().count()).unwrap_or(i128::MAX);
    let mut left = field.demand.count(role);
    while left > 0 {
        let best = places.iter().enumerate().filter_map(|(index, place)| {
            let count = ledger.most(gang, role, place.node).min(left);
            // Twice the gain for each replica, those among themselves included.
            let worth = 2 * place.gain + i128::from(own) * i128::from(count - 1) * levels;
            (count > 0).then_some(((worth, count, std::cmp::Reverse(index)), index, count))
        });
        let Some((_, index, count)) = best.max_by_key(|(key, _, _)| *key) else { break };
        let spot = Spot { node: places[index].node, role, count };
        ledger.take(gang, role, spot.node, count);
        draw(model, &mut places, &spot, own);
        kept.push(spot);
        left -= count;
    }
    kept
}

/// A node, and what one more replica of the role in question would save there.
struct Place {
    node: NodeId,
    gain: i128,
}

/// Adds what the replicas at `spot` save for a replica beside them: weight for each level they share.
fn draw(model: &Model, places: &mut [Place], spot: &Spot, weight: i64) {
    if weight == 0 {
        return;
    }
    let levels = model.topology.parting().count();
    for place in places {
        let shared = levels - model.topology.distance(place.node, spot.node);
        let shared = i128::try_from(shared).unwrap_or(0);
        place.gain += i128::from(weight) * i128::from(spot.count) * shared;
    }
}

/// How much `role` talks with each role.
fn weights_with(model: &Model, field: &Field<'_>, role: RoleId) -> Vec<i64> {
    let facts = model.gang(field.demand.gang);
    let mut weights = vec![0; facts.roles.len()];
    for pair in &facts.traffic {
        if pair.a == role {
            weights[pair.b.index()] = pair.weight;
        } else if pair.b == role {
            weights[pair.a.index()] = pair.weight;
        }
    }
    weights
}
