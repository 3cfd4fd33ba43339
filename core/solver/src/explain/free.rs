//! Room that, if it were freed in one domain, would admit a refused gang.

use super::changes::{admitted, change};
use super::written;
use crate::constraint::{Demand, capacity, node_affinity};
use crate::document::{Change, ChangeKind};
use crate::model::{Domain, NodeId, ResourceId, ResourceVec};
use crate::search::Budget;
use crate::state::Ledger;

/// What must be freed of `resource` in a domain: as much as it lacks in sum, so that nothing less would do; tried on
/// the nodes where most is held, then on those where least is.
pub(super) fn freed_room(
    ledger: &mut Ledger<'_>,
    demand: &Demand,
    resource: ResourceId,
    domain: &Domain,
    budget: &mut Budget<'_>,
) -> Option<Change> {
    let model = ledger.model();
    let lacks =
        demand.needs(model, resource) - capacity::free_sum(ledger, demand, domain.nodes.clone(), resource);
    let lacks = i64::try_from(lacks).ok().filter(|lacks| *lacks > 0)?;
    let each = demand
        .roles()
        .map(|role| model.role(demand.gang, role).request.get(resource))
        .filter(|request| *request > 0)
        .max()?;
    let usable = |node: &NodeId| {
        demand.roles().any(|role| {
            model.role(demand.gang, role).request.get(resource) > 0
                && node_affinity::admits(model, demand, role, *node)
        })
    };
    let mut held: Vec<(i64, NodeId)> = domain
        .nodes
        .clone()
        .map(NodeId::new)
        .filter(usable)
        .filter(|node| ledger.free(*node).iter().all(|amount| *amount >= 0))
        .map(|node| {
            let offers = model.nodes[node.index()].allocatable.get(resource);
            (offers - ledger.free(node)[resource.index()], node)
        })
        .filter(|(held, _)| *held > 0)
        .collect();
    held.sort_by_key(|(held, node)| (std::cmp::Reverse(*held), *node));
    let fewest_first: Vec<(i64, NodeId)> = held.iter().rev().copied().collect();
    let fits = [held, fewest_first].iter().any(|order| {
        let checkpoint = ledger.checkpoint();
        let mut left = lacks;
        for (held, node) in order {
            let free = ledger.free(*node)[resource.index()];
            // Up to a whole number of replicas: what is beyond would be of no use.
            let useful = (free + held) / each * each - free;
            let part = useful.min(left);
            if part > 0 {
                let mut amounts = ResourceVec::zero(model.resources.len());
                amounts.set(resource, part);
                ledger.keep(*node, &amounts, -1);
                left -= part;
            }
        }
        budget.refill();
        let fits = left == 0 && admitted(ledger, demand, budget).is_some();
        ledger.rollback(&checkpoint);
        fits
    });
    if !fits {
        return None;
    }
    let name = &model.resources[resource.index()];
    let amount = written(model, resource, i128::from(lacks));
    let place = if domain.name.is_empty() { String::new() } else { format!(" in {}", domain.name) };
    Some(Change {
        resource: Some(name.clone()),
        amount: Some(amount.clone()),
        at: Some(domain.name.clone()),
        ..change(ChangeKind::Free, format!("free {amount} {name}{place}"))
    })
}
