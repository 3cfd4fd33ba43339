//! Queues: closed ones admit nothing, and a limit is never passed, up the whole tree; where that is asked for, gangs
//! that may not be preempted stay within what their queues deserve.

use super::{Demand, guarantee};
use crate::document::Rule;
use crate::model::{Model, QueueId, ResourceId};
use crate::state::Ledger;

/// A limit that a gang would pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Excess {
    /// The limit of the queue, or what it deserves.
    pub(crate) rule: Rule,
    pub(crate) queue: QueueId,
    pub(crate) resource: ResourceId,
    pub(crate) limit: i128,
    pub(crate) usage: i128,
    pub(crate) needs: i128,
}

/// A limit of a namespace that a gang would pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NamespaceExcess {
    /// A position in the model's `quotas`.
    pub(crate) quota: usize,
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
            let needs = demand.needs(model, resource);
            let mut ask = |rule, limit: Option<i128>, usage: i128| {
                if let Some(limit) = limit.filter(|limit| usage + needs > *limit) {
                    found.push(Excess { rule, queue, resource, limit, usage, needs });
                }
            };
            let limit = model.queues[queue.index()].limit[resource.index()].map(i128::from);
            ask(Rule::QueueLimitExceeded, limit, ledger.usage(queue, resource));
            if !model.gang(demand.gang).preemptible {
                let ceiling = ledger.ceiling(queue, resource);
                ask(Rule::QueueDeservedExceeded, ceiling, ledger.fixed_usage(queue, resource));
            }
        }
    }
    found
}

/// The limit of the gang's namespace that it would pass, the first by resource.
pub(crate) fn namespace_excess(ledger: &Ledger<'_>, demand: &Demand) -> Option<NamespaceExcess> {
    let model = ledger.model();
    let quota = model.gang(demand.gang).quota?;
    let facts = &model.quotas[quota];
    demand.resources(model).find_map(|resource| {
        let limit = facts.hard[resource.index()]?;
        let usage = i128::from(facts.used.get(resource)) + ledger.namespace_usage(quota, resource);
        let needs = demand.needs(model, resource);
        (usage + needs > i128::from(limit)).then_some(NamespaceExcess {
            quota,
            resource,
            limit,
            usage,
            needs,
        })
    })
}

/// Whether the limit of the gang's namespace is less than the gang needs, whatever else is there.
pub(crate) fn is_beyond_namespace(model: &Model, demand: &Demand) -> bool {
    model.gang(demand.gang).quota.is_some_and(|quota| {
        let hard = &model.quotas[quota].hard;
        demand.resources(model).any(|resource| {
            hard[resource.index()].is_some_and(|limit| demand.needs(model, resource) > i128::from(limit))
        })
    })
}

/// Whether the queues admit the gang. Where there is a choice of counts, limits are asked when one is chosen.
pub(crate) fn admits(ledger: &Ledger<'_>, demand: &Demand) -> bool {
    closed(ledger.model(), demand).is_none()
        && (demand.choice.is_some()
            || (excesses(ledger, demand).is_empty()
                && namespace_excess(ledger, demand).is_none()
                && guarantee::promised(ledger, demand).is_none()))
}
