//! Queues: closed ones admit nothing, and a limit is never passed, up the whole tree.

use super::Demand;
use crate::model::{Model, QueueId, ResourceId};
use crate::state::Ledger;

/// A limit that a gang would pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Excess {
    pub(crate) queue: QueueId,
    pub(crate) resource: ResourceId,
    pub(crate) limit: i64,
    pub(crate) usage: i128,
    pub(crate) needs: i128,
}

/// The closed queue nearest to the gang, on the way up from its queue.
pub(crate) fn closed(model: &Model, demand: &Demand) -> Option<QueueId> {
    model.path_up(model.gang(demand.gang).queue).find(|queue| !model.queues[queue.index()].open)
}

/// All limits that the gang would pass, from its queue up, by resource.
pub(crate) fn excesses(ledger: &Ledger<'_>, demand: &Demand) -> Vec<Excess> {
    let model = ledger.model();
    let mut found = Vec::new();
    for queue in model.path_up(model.gang(demand.gang).queue) {
        for resource in demand.resources(model) {
            let Some(limit) = model.queues[queue.index()].limit[resource.index()] else { continue };
            let (usage, needs) = (ledger.usage(queue, resource), demand.needs(model, resource));
            if usage + needs > i128::from(limit) {
                found.push(Excess { queue, resource, limit, usage, needs });
            }
        }
    }
    found
}

/// Whether the queues admit the gang.
pub(crate) fn admits(ledger: &Ledger<'_>, demand: &Demand) -> bool {
    closed(ledger.model(), demand).is_none() && excesses(ledger, demand).is_empty()
}
