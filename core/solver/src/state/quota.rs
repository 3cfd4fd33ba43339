//! Usage of the queues, each with all queues below it.

use crate::model::{Model, QueueId, ResourceId, ResourceVec};

/// Usage by queue and resource.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Usage {
    amounts: Vec<i128>,
    resources: usize,
}

impl Usage {
    pub(super) fn none(model: &Model) -> Self {
        let resources = model.resources.len();
        Self { amounts: vec![0; model.queues.len() * resources], resources }
    }

    /// Books `count` times `request`, negative to give back, in a queue and in all above it.
    pub(super) fn book(&mut self, model: &Model, queue: Option<QueueId>, request: &ResourceVec, count: i64) {
        for queue in model.path_up(queue) {
            let row = queue.index() * self.resources;
            for (used, amount) in self.amounts[row..].iter_mut().zip(request.as_slice()) {
                *used += i128::from(*amount) * i128::from(count);
            }
        }
    }

    pub(super) fn of(&self, queue: QueueId, resource: ResourceId) -> i128 {
        self.amounts[queue.index() * self.resources + resource.index()]
    }
}
