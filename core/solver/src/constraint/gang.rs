//! All or nothing: what of a gang must be placed together.

use crate::model::{GangId, Level, Model, NodeId, ResourceId, RoleId};

/// The replicas that are placed together or not at all, and what they ask for.
#[derive(Debug, Clone)]
pub(crate) struct Demand {
    pub(crate) gang: GangId,
    /// Replicas to place, by role; at least one in all.
    pub(crate) counts: Vec<i64>,
    /// Where replicas of the gang run already, by role.
    pub(crate) running: Vec<Vec<NodeId>>,
    /// All replicas, running ones too, must lie in one domain of this level.
    pub(crate) required: Option<Level>,
}

impl Demand {
    /// What of a gang must still start.
    pub(crate) fn of(model: &Model, gang: GangId) -> Self {
        let facts = model.gang(gang);
        Self {
            gang,
            counts: facts.roles.iter().map(crate::model::RoleFacts::to_start).collect(),
            running: facts
                .roles
                .iter()
                .map(|role| role.running.iter().map(|replica| replica.node).collect())
                .collect(),
            required: facts.required,
        }
    }

    /// All of a gang, as if none of it ran.
    pub(crate) fn afresh(model: &Model, gang: GangId) -> Self {
        let roles = &model.gang(gang).roles;
        Self {
            counts: roles.iter().map(|role| role.replicas).collect(),
            running: vec![Vec::new(); roles.len()],
            ..Self::of(model, gang)
        }
    }

    /// The roles with replicas to place.
    pub(crate) fn roles(&self) -> impl Iterator<Item = RoleId> + '_ {
        (0..self.counts.len()).filter(|role| self.counts[*role] > 0).map(RoleId::new)
    }

    pub(crate) fn count(&self, role: RoleId) -> i64 {
        self.counts[role.index()]
    }

    /// How much of a resource all replicas to place take together.
    pub(crate) fn needs(&self, model: &Model, resource: ResourceId) -> i128 {
        let each = |role: RoleId| {
            i128::from(model.role(self.gang, role).request.get(resource)) * i128::from(self.count(role))
        };
        self.roles().map(each).sum()
    }

    /// The resources of which something is needed.
    pub(crate) fn resources<'a>(&'a self, model: &'a Model) -> impl Iterator<Item = ResourceId> + 'a {
        model.resource_ids().filter(|resource| self.needs(model, *resource) > 0)
    }
}
