//! Usage of the queues, each with all queues below it.

use crate::model::{GangId, Model, QueueId, ResourceId, ResourceVec};

/// Usage by queue and resource.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Usage {
    amounts: Vec<i128>,
    /// The part of gangs that may not be preempted.
    fixed: Vec<i128>,
    /// By quota of a namespace and resource.
    namespaces: Vec<i128>,
    resources: usize,
}

impl Usage {
    pub(super) fn none(model: &Model) -> Self {
        let resources = model.resources.len();
        let nothing = vec![0; model.queues.len() * resources];
        Self {
            amounts: nothing.clone(),
            fixed: nothing,
            namespaces: vec![0; model.quotas.len() * resources],
            resources,
        }
    }

    /// Books `count` times `request`, negative to give back, in a queue and in all above it.
    pub(super) fn book(&mut self, model: &Model, queue: Option<QueueId>, request: &ResourceVec, count: i64) {
        add(&mut self.amounts, model, queue, request, count);
    }

    /// The same for what may not be preempted.
    pub(super) fn book_fixed(
        &mut self,
        model: &Model,
        queue: Option<QueueId>,
        request: &ResourceVec,
        count: i64,
    ) {
        add(&mut self.fixed, model, queue, request, count);
    }

    /// The same for a replica of a gang, whose namespace may have a quota besides.
    pub(super) fn book_gang(&mut self, model: &Model, gang: GangId, request: &ResourceVec, count: i64) {
        let facts = model.gang(gang);
        self.book(model, facts.queue, request, count);
        if !facts.preemptible {
            self.book_fixed(model, facts.queue, request, count);
        }
        if let Some(quota) = facts.quota {
            let row = quota * self.resources;
            for (used, amount) in self.namespaces[row..].iter_mut().zip(request.as_slice()) {
                *used += i128::from(*amount) * i128::from(count);
            }
        }
    }

    /// What the gangs of a namespace use, by the position of its quota.
    pub(super) fn of_namespace(&self, quota: usize, resource: ResourceId) -> i128 {
        self.namespaces[quota * self.resources + resource.index()]
    }

    pub(super) fn of(&self, queue: QueueId, resource: ResourceId) -> i128 {
        self.amounts[queue.index() * self.resources + resource.index()]
    }

    pub(super) fn fixed(&self, queue: QueueId, resource: ResourceId) -> i128 {
        self.fixed[queue.index() * self.resources + resource.index()]
    }
}

fn add(sums: &mut [i128], model: &Model, queue: Option<QueueId>, request: &ResourceVec, count: i64) {
    for queue in model.path_up(queue) {
        let row = queue.index() * model.resources.len();
        for (sum, amount) in sums[row..].iter_mut().zip(request.as_slice()) {
            *sum += i128::from(*amount) * i128::from(count);
        }
    }
}
