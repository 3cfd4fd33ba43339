//! Guarantees: what a queue was promised and does not use yet stays free, in sum over the cluster.

use super::Demand;
use crate::model::{NodeId, QueueId, ResourceId, ResourceVec};
use crate::state::Ledger;

/// Room that others were promised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Conflict {
    pub(crate) resource: ResourceId,
    pub(crate) needs: i128,
    /// Free on all nodes that take replicas.
    pub(crate) free: i128,
    /// Of that, what the guarantees of other queues still ask for.
    pub(crate) promised: i128,
}

/// The first resource of which the gang would take what others were promised.
pub(crate) fn promised(ledger: &Ledger<'_>, demand: &Demand) -> Option<Conflict> {
    let model = ledger.model();
    let is_nothing = |amounts: &ResourceVec| amounts.as_slice().iter().all(|amount| *amount == 0);
    if model.queues.iter().all(|queue| is_nothing(&queue.guarantee)) {
        return None;
    }
    let path: Vec<QueueId> = model.path_up(model.gang(demand.gang).queue).collect();
    demand.resources(model).find_map(|resource| {
        let promised: i128 = std::iter::once(None)
            .chain(path.iter().copied().map(Some))
            .flat_map(|above| model.queues_below(above))
            .filter(|queue| !path.contains(queue))
            .map(|queue| unused(ledger, queue, resource))
            .sum();
        let (needs, free) = (demand.needs(model, resource), free(ledger, resource));
        (promised > 0 && free - needs < promised).then_some(Conflict { resource, needs, free, promised })
    })
}

/// What a queue, or those below it together, may still ask for.
fn unused(ledger: &Ledger<'_>, queue: QueueId, resource: ResourceId) -> i128 {
    let model = ledger.model();
    let guarantee = i128::from(model.queues[queue.index()].guarantee.get(resource));
    let own = (guarantee - ledger.usage(queue, resource)).max(0);
    let below: i128 = model.queues_below(Some(queue)).map(|below| unused(ledger, below, resource)).sum();
    own.max(below)
}

fn free(ledger: &Ledger<'_>, resource: ResourceId) -> i128 {
    let model = ledger.model();
    let is_open = |node: &NodeId| model.nodes[node.index()].is_open;
    let rows = (0..model.nodes.len()).map(NodeId::new).filter(is_open).map(|node| ledger.free(node));
    let sound = rows.filter(|row| row.iter().all(|amount| *amount >= 0));
    sound.map(|row| i128::from(row[resource.index()])).sum()
}
