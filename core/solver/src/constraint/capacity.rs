//! Requests fit what is free: sums over nodes.

use std::ops::Range;

use super::{Demand, node_affinity};
use crate::model::{NodeId, ResourceId, RoleId};
use crate::state::Ledger;

/// How much of a resource is free on the nodes of a range that a role which requests it may use. A node that holds
/// more than it offers has nothing free.
pub(crate) fn free_sum(
    ledger: &Ledger<'_>,
    demand: &Demand,
    nodes: Range<usize>,
    resource: ResourceId,
) -> i128 {
    let sound = |free: &&[i64]| free.iter().all(|amount| *amount >= 0);
    usable(ledger, demand, nodes, resource).filter(sound).map(|free| i128::from(free[resource.index()])).sum()
}

/// The same, debts counted and nothing left out: what is short even then is the root of the matter.
pub(crate) fn free_sum_with_debts(
    ledger: &Ledger<'_>,
    demand: &Demand,
    nodes: Range<usize>,
    resource: ResourceId,
) -> i128 {
    usable(ledger, demand, nodes, resource).map(|free| i128::from(free[resource.index()])).sum()
}

/// The most of a resource that is free on a single node of a range that the role may use.
pub(crate) fn largest_piece(
    ledger: &Ledger<'_>,
    demand: &Demand,
    role: RoleId,
    nodes: Range<usize>,
    resource: ResourceId,
) -> i128 {
    let model = ledger.model();
    nodes
        .map(NodeId::new)
        .filter(|node| node_affinity::admits(model, demand, role, *node))
        .map(|node| i128::from(ledger.free(node)[resource.index()]))
        .fold(0, i128::max)
}

/// What is free on the nodes of a range that a role which requests the resource may use.
fn usable<'a>(
    ledger: &'a Ledger<'_>,
    demand: &'a Demand,
    nodes: Range<usize>,
    resource: ResourceId,
) -> impl Iterator<Item = &'a [i64]> + 'a {
    let model = ledger.model();
    let roles: Vec<RoleId> =
        demand.roles().filter(|role| model.role(demand.gang, *role).request.get(resource) > 0).collect();
    nodes
        .map(NodeId::new)
        .filter(move |node| roles.iter().any(|role| node_affinity::admits(model, demand, *role, *node)))
        .map(|node| ledger.free(node))
}

/// Whether `a` of `of_a` is a smaller part than `b` of `of_b`; amounts beyond 64 bits count as the largest.
pub(crate) fn is_smaller_part(a: i128, of_a: i128, b: i128, of_b: i128) -> bool {
    let clamp = |amount: i128| amount.clamp(0, i128::from(i64::MAX));
    clamp(a) * clamp(of_b) < clamp(b) * clamp(of_a)
}

/// Of `candidates` with what there is and what is needed, the one of which the smallest part is there.
pub(crate) fn scarcest(candidates: impl Iterator<Item = (ResourceId, i128, i128)>) -> Option<ResourceId> {
    candidates
        .reduce(|best, next| if is_smaller_part(next.1, next.2, best.1, best.2) { next } else { best })
        .map(|(resource, _, _)| resource)
}
