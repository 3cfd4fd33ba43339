//! How much of a gang the best domain of each level holds.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::constraint::{Demand, capacity, node_affinity, topology};
use crate::model::{Domain, Level, NodeId, ResourceId, RoleId};
use crate::objective::locality::Spot;
use crate::search::{Budget, Field, Seat, as_many_as_fit, most_of_largest};
use crate::state::Ledger;

/// The best domain of a level.
#[derive(Debug)]
pub(super) struct Fit {
    pub(super) level: Level,
    pub(super) domain: Domain,
    /// Replicas that fit there together, by role.
    pub(super) have: Vec<i64>,
    /// The resource that runs out first; none if all fit.
    pub(super) limited_by: Option<ResourceId>,
}

/// The best domain of each level from fine to coarse: the one where one fast fill, small roles first, places most
/// replicas. There the exact table may find more of the largest role beside all others. `seat`, if given, is a
/// placement at a level coarser than the required one. Levels where running replicas are split have no entry.
pub(super) fn fits(
    ledger: &mut Ledger<'_>,
    field: &Field<'_>,
    seat: Option<&Seat>,
    budget: &mut Budget<'_>,
) -> Vec<Fit> {
    let model = ledger.model();
    let demand = field.demand;
    let mut fits = Vec::new();
    for level in model.topology.fine_to_coarse() {
        let holds_seat = |domain: &&Domain| {
            seat.is_some_and(|seat| {
                seat.level >= level && seat.spots.first().is_some_and(|spot| domain.contains(spot.node))
            })
        };
        let domains = model.topology.domains(level);
        if let Some(domain) = domains.iter().find(holds_seat) {
            fits.push(Fit { level, domain: domain.clone(), have: demand.counts.clone(), limited_by: None });
            continue;
        }
        // Those that may hold most first, so that few fills are needed; of many domains few are ever taken out.
        let candidates =
            domains.iter().enumerate().filter(|(_, domain)| topology::holds_running(demand, domain));
        let mut candidates: BinaryHeap<(i64, Reverse<usize>)> = candidates
            .map(|(index, domain)| (most_together(field, &field.slots(domain)), Reverse(index)))
            .collect();
        let mut best: Option<(i64, &Domain, Vec<Spot>)> = None;
        while let Some((bound, Reverse(index))) = candidates.pop() {
            let most = best.as_ref().map_or(-1, |(most, _, _)| *most);
            if bound <= most {
                break;
            }
            let domain = &domains[index];
            let spots = as_many_as_fit(ledger, field, &field.slots(domain));
            let total = spots.iter().map(|spot| spot.count).sum();
            if total > most {
                best = Some((total, domain, spots));
            }
        }
        if let Some((_, domain, spots)) = best {
            let have = have(ledger, field, domain, &spots, budget);
            let limited_by = limit(ledger, demand, domain, &spots, &have);
            fits.push(Fit { level, domain: domain.clone(), have, limited_by });
        }
    }
    fits
}

/// At most so many replicas fit in `slots`.
fn most_together(field: &Field<'_>, slots: &std::ops::Range<usize>) -> i64 {
    let of_role = |role: RoleId| {
        let caps = slots.clone().map(|slot| i128::from(field.cap(slot, role))).sum::<i128>();
        i64::try_from(caps).unwrap_or(i64::MAX).min(field.demand.count(role))
    };
    field.demand.roles().map(of_role).sum()
}

fn have(
    ledger: &Ledger<'_>,
    field: &Field<'_>,
    domain: &Domain,
    spots: &[Spot],
    budget: &mut Budget<'_>,
) -> Vec<i64> {
    let demand = field.demand;
    let mut have = vec![0; demand.counts.len()];
    for spot in spots {
        have[spot.role.index()] += spot.count;
    }
    let largest = demand.roles().max_by_key(|role| (demand.count(*role), *role));
    if let Some(largest) = largest.filter(|_| have != demand.counts)
        && let Some(most) = most_of_largest(ledger, field, &field.slots(domain), budget)
    {
        let mut exact = demand.counts.clone();
        exact[largest.index()] = most;
        if exact.iter().sum::<i64>() > have.iter().sum() {
            have = exact;
        }
    }
    have
}

/// The resource that most nodes of the domain lack for the next replica of the largest role that is not complete.
fn limit(
    ledger: &mut Ledger<'_>,
    demand: &Demand,
    domain: &Domain,
    spots: &[Spot],
    have: &[i64],
) -> Option<ResourceId> {
    let model = ledger.model();
    let role = demand
        .roles()
        .filter(|role| have[role.index()] < demand.count(*role))
        .max_by_key(|role| (demand.count(*role), *role))?;
    let request = &model.role(demand.gang, role).request;
    let checkpoint = ledger.checkpoint();
    for spot in spots {
        ledger.take(demand.gang, spot.role, spot.node, spot.count);
    }
    let nodes: Vec<NodeId> = domain
        .nodes
        .clone()
        .map(NodeId::new)
        .filter(|node| node_affinity::admits(model, demand, role, *node))
        .collect();
    let lacking = |resource: ResourceId| {
        nodes.iter().filter(|node| ledger.free(**node)[resource.index()] < request.get(resource)).count()
    };
    let requested: Vec<ResourceId> =
        model.resource_ids().filter(|resource| request.get(*resource) > 0).collect();
    let most = requested.iter().map(|resource| lacking(*resource)).max()?;
    let candidates: Vec<ResourceId> =
        requested.into_iter().filter(|resource| lacking(*resource) == most).collect();
    ledger.rollback(&checkpoint);
    capacity::scarcest(candidates.into_iter().map(|resource| {
        let free = capacity::free_sum(ledger, demand, domain.nodes.clone(), resource);
        (resource, free, demand.needs(model, resource))
    }))
}
