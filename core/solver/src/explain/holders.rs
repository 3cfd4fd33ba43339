//! Who holds the room that a gang lacks.

use std::collections::BTreeMap;

use super::written;
use crate::constraint::{Demand, node_affinity};
use crate::document::Holder;
use crate::model::{Domain, GangId, Model, NodeId, QueueId, ResourceId, ResourceVec};
use crate::state::Ledger;

/// More holders than this are not listed.
const MOST_HOLDERS: usize = 5;

/// Holders of a resource on the nodes of a domain that the gang may use, the largest first.
pub(super) fn in_domain(
    ledger: &Ledger<'_>,
    demand: &Demand,
    resource: ResourceId,
    domain: &Domain,
) -> Vec<Holder> {
    let model = ledger.model();
    list(ledger, demand, resource, |_, node| {
        domain.contains(node) && demand.roles().any(|role| node_affinity::admits(model, demand, role, node))
    })
}

/// Holders of a resource in a queue and those below it, the largest first.
pub(super) fn in_queue(
    ledger: &Ledger<'_>,
    demand: &Demand,
    resource: ResourceId,
    queue: QueueId,
) -> Vec<Holder> {
    let model = ledger.model();
    list(ledger, demand, resource, |of, _| model.path_up(of).any(|above| above == queue))
}

/// Gangs that hold a place, running, reserved or placed by this plan, with the nodes and how many there.
pub(super) fn held_by_gangs(ledger: &Ledger<'_>) -> BTreeMap<GangId, Vec<Held>> {
    let model = ledger.model();
    let mut held: BTreeMap<GangId, Vec<Held>> = BTreeMap::new();
    for gang in model.gang_ids() {
        for (role, facts) in model.gang(gang).roles() {
            for replica in &facts.running {
                let one = Held { role, node: replica.node, count: 1, runs: !replica.reserved };
                held.entry(gang).or_default().push(one);
            }
        }
    }
    for entry in ledger.journal() {
        let placed = Held { role: entry.role, node: entry.node, count: entry.count, runs: false };
        held.entry(entry.gang).or_default().push(placed);
    }
    held
}

/// Replicas of a gang on a node.
#[derive(Debug, Clone, Copy)]
pub(super) struct Held {
    pub(super) role: crate::model::RoleId,
    pub(super) node: NodeId,
    pub(super) count: i64,
    runs: bool,
}

fn list(
    ledger: &Ledger<'_>,
    demand: &Demand,
    resource: ResourceId,
    counts: impl Fn(Option<QueueId>, NodeId) -> bool,
) -> Vec<Holder> {
    let model = ledger.model();
    // Name → amount, and whether any of it runs.
    let mut amounts: BTreeMap<&str, (i128, bool)> = BTreeMap::new();
    let mut add = |name, request: &ResourceVec, count: i64, runs: bool| {
        let amount = i128::from(request.get(resource)) * i128::from(count);
        if amount != 0 {
            let sum: &mut (i128, bool) = amounts.entry(name).or_default();
            *sum = (sum.0 + amount, sum.1 || runs);
        }
    };
    for pod in model.pods.iter().filter(|pod| counts(pod.queue, pod.node)) {
        add(&pod.name, &pod.request, 1, !pod.reserved);
    }
    for (gang, held) in held_by_gangs(ledger).into_iter().filter(|(gang, _)| *gang != demand.gang) {
        let facts = model.gang(gang);
        for held in held.iter().filter(|held| counts(facts.queue, held.node)) {
            add(&facts.name, &model.role(gang, held.role).request, held.count, held.runs);
        }
    }
    largest_first(model, resource, amounts)
}

fn largest_first(model: &Model, resource: ResourceId, amounts: BTreeMap<&str, (i128, bool)>) -> Vec<Holder> {
    let mut holders: Vec<_> = amounts.into_iter().filter(|(_, (amount, _))| *amount > 0).collect();
    holders.sort_by_key(|(name, (amount, _))| (std::cmp::Reverse(*amount), *name));
    holders
        .into_iter()
        .take(MOST_HOLDERS)
        .map(|(name, (amount, runs))| Holder {
            name: name.to_owned(),
            resource: model.resources[resource.index()].clone(),
            amount: written(model, resource, amount),
            reserved: !runs,
        })
        .collect()
}
