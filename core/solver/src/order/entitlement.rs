//! What each queue deserves: as it is written, or as the cluster is shared out by weight.

use super::ratio::Ratio;
use super::share::{Claim, share_out};
use crate::document::FairShare;
use crate::model::PODS;
use crate::model::{Model, QueueId, ResourceId, ResourceVec};

/// What the queues deserve, and how their shares are measured.
#[derive(Debug)]
pub(crate) struct Entitlements {
    kind: FairShare,
    resources: usize,
    /// By queue, then resource; none where nothing is accounted.
    deserved: Vec<Option<Ratio>>,
    /// By resource, what all nodes have together.
    total: Vec<i128>,
}

impl Entitlements {
    pub(crate) fn of(model: &Model, kind: FairShare) -> Self {
        let resources = model.resources.len();
        let mut all = Self {
            kind,
            resources,
            deserved: vec![None; model.queues.len() * resources],
            total: model.capacity.clone(),
        };
        match kind {
            FairShare::None => {}
            FairShare::Quota => all.as_written(model),
            FairShare::Weight | FairShare::Drf => all.by_weight(model),
        }
        all
    }

    fn as_written(&mut self, model: &Model) {
        for (index, queue) in model.queues.iter().enumerate() {
            let row = index * self.resources;
            for (resource, deserved) in queue.deserved.iter().enumerate() {
                self.deserved[row + resource] = deserved.map(|amount| Ratio::whole(i128::from(amount)));
            }
        }
    }

    /// From the roots down, each resource by itself: what a queue deserves is shared out among those below it.
    fn by_weight(&mut self, model: &Model) {
        let wants = wants(model);
        let is_shared = |resource: &ResourceId| model.resources[resource.index()] != PODS;
        for resource in model.resource_ids().filter(is_shared) {
            let mut parents: Vec<Option<QueueId>> = vec![None];
            while let Some(parent) = parents.pop() {
                let children: Vec<QueueId> =
                    model.queue_ids().filter(|queue| model.queues[queue.index()].parent == parent).collect();
                let claims: Vec<Claim> = children
                    .iter()
                    .map(|queue| {
                        let facts = &model.queues[queue.index()];
                        let wants = wants[queue.index() * self.resources + resource.index()];
                        let limit = facts.limit[resource.index()].map_or(i128::MAX, i128::from);
                        Claim { wants: wants.min(limit), weight: facts.weight }
                    })
                    .collect();
                let amount = parent.map_or(Ratio::whole(self.total[resource.index()]), |parent| {
                    self.deserved(parent, resource).unwrap_or(Ratio::ZERO)
                });
                for (queue, share) in children.iter().zip(share_out(amount, &claims)) {
                    self.deserved[queue.index() * self.resources + resource.index()] = Some(share);
                    parents.push(Some(*queue));
                }
            }
        }
    }

    /// What a queue deserves of a resource; none if that is not accounted.
    pub(crate) fn deserved(&self, queue: QueueId, resource: ResourceId) -> Option<Ratio> {
        self.deserved[queue.index() * self.resources + resource.index()]
    }

    /// By queue, then resource, the most that stays within what is deserved; none where nothing is accounted.
    pub(crate) fn ceilings(&self) -> Vec<Option<i128>> {
        self.deserved.iter().map(|deserved| deserved.map(Ratio::floor)).collect()
    }

    /// Whether a queue that uses so much holds no more than it deserves.
    pub(crate) fn covers(&self, model: &Model, queue: QueueId, used: impl Fn(ResourceId) -> i128) -> bool {
        model.resource_ids().all(|resource| {
            self.deserved(queue, resource).is_none_or(|deserved| Ratio::whole(used(resource)) <= deserved)
        })
    }

    /// The share of a queue that uses so much: the largest part of what it deserves, or, with dominant resource
    /// fairness (Ghodsi et al. 2011), of what the cluster has, by its weight.
    pub(crate) fn share(&self, model: &Model, queue: QueueId, used: impl Fn(ResourceId) -> i128) -> Ratio {
        let part = |resource: ResourceId| {
            let deserved = self.deserved(queue, resource)?;
            Some(if self.kind == FairShare::Drf {
                let weight = i128::from(model.queues[queue.index()].weight.max(1));
                Ratio::new(used(resource), self.total[resource.index()]).scaled(1, weight)
            } else {
                deserved.part(used(resource))
            })
        };
        model.resource_ids().filter_map(part).max().unwrap_or(Ratio::ZERO)
    }
}

/// By queue, then resource: what all in it, and in the queues below, hold or ask for.
fn wants(model: &Model) -> Vec<i128> {
    let resources = model.resources.len();
    let mut wants = vec![0_i128; model.queues.len() * resources];
    let mut add = |queue: Option<QueueId>, request: &ResourceVec, count: i64| {
        for queue in model.path_up(queue) {
            let row = queue.index() * resources;
            for (sum, amount) in wants[row..].iter_mut().zip(request.as_slice()) {
                *sum += i128::from(*amount) * i128::from(count);
            }
        }
    };
    for gang in model.gang_ids().map(|gang| model.gang(gang)) {
        for role in &gang.roles {
            add(gang.queue, &role.request, role.replicas);
        }
    }
    for pod in model.pods.iter() {
        add(pod.queue, &pod.request, 1);
    }
    wants
}
