//! Usage of the queues, each with all queues below it.

use crate::model::{Model, QueueId, ResourceId, ResourceVec};

/// Usage by queue and resource.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Usage {
    amounts: Vec<i128>,
    /// The part of gangs that may not be preempted.
    fixed: Vec<i128>,
    resources: usize,
}

impl Usage {
    pub(super) fn none(model: &Model) -> Self {
        let resources = model.resources.len();
        let nothing = vec![0; model.queues.len() * resources];
        Self { amounts: nothing.clone(), fixed: nothing, resources }
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
