//! Requests fit what is free: sums over nodes.

use std::ops::Range;

use super::{Demand, node_affinity};
use crate::model::{NodeId, ResourceId, RoleId};
use crate::state::Ledger;

/// How much of a resource is free on the nodes of a range that a role which requests it may use.
pub(crate) fn free_sum(
    ledger: &Ledger<'_>,
    demand: &Demand,
    nodes: Range<usize>,
    resource: ResourceId,
) -> i128 {
    let model = ledger.model();
    let roles: Vec<RoleId> =
        demand.roles().filter(|role| model.role(demand.gang, *role).request.get(resource) > 0).collect();
    nodes
        .map(NodeId::new)
        .filter(|node| roles.iter().any(|role| node_affinity::admits(model, demand, *role, *node)))
        .map(|node| ledger.free(node))
        .filter(|free| free.iter().all(|amount| *amount >= 0))
        .map(|free| i128::from(free[resource.index()]))
        .sum()
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
