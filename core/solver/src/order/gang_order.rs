//! One total order of the waiting gangs: queue priority, gang priority, age, name.

use std::cmp::Reverse;

use crate::model::{GangId, Model};

/// The waiting gangs, first come first: higher priority of the queue itself, then of the gang, then older, then by
/// name. A gang without queue has the queue priority 0. A refused gang does not block the next.
pub(crate) fn gang_order(model: &Model) -> Vec<GangId> {
    let mut gangs: Vec<GangId> = model.gang_ids().filter(|gang| model.gang(*gang).waits()).collect();
    gangs.sort_by_key(|id| {
        let gang = model.gang(*id);
        let queue = gang.queue.map_or(0, |queue| model.queues[queue.index()].priority);
        (Reverse(queue), Reverse(gang.priority), gang.created, *id)
    });
    gangs
}
