//! The same model with one thing changed, to try what that would do. All that is large is shared.

use std::sync::Arc;

use super::{GangFacts, GangId, Model, QueueId, ResourceId, ResourceVec, RoleId, Shape, ShapeId};

impl Model {
    /// The same, with other rules of one gang; its roles, requests and classes stay.
    pub(crate) fn with_gang(&self, gang: GangId, change: impl FnOnce(&mut GangFacts)) -> Self {
        let mut variant = self.clone();
        change(Arc::make_mut(&mut variant.gangs[gang.index()]));
        variant
    }

    /// The same, with another limit of one queue.
    pub(crate) fn with_limit(&self, queue: QueueId, resource: ResourceId, limit: i64) -> Self {
        let mut variant = self.clone();
        variant.queues[queue.index()].limit[resource.index()] = Some(limit);
        variant
    }

    /// The same, with another request of one role.
    pub(crate) fn with_request(&self, gang: GangId, role: RoleId, request: ResourceVec) -> Self {
        let mut variant = self.clone();
        let facts = Arc::make_mut(&mut variant.gangs[gang.index()]);
        let role = &mut facts.roles[role.index()];
        role.shape = ShapeId::new(variant.shapes.len());
        variant.shapes.push(Shape {
            request: request.clone(),
            class: role.class,
            inside_topology: role.inside_topology,
        });
        role.request = request;
        variant
    }
}
