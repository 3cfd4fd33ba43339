//! Queues as facts.

use std::collections::BTreeMap;

use super::requests::Units;
use super::{QueueFacts, QueueId};
use crate::document::{Queue, Rounding};

/// Names of queues in order → their ids.
pub(super) fn queue_ids<'a>(queues: &[&'a Queue]) -> BTreeMap<&'a str, QueueId> {
    queues.iter().enumerate().map(|(index, queue)| (queue.name.as_str(), QueueId::new(index))).collect()
}

pub(super) fn queue_facts(
    queue: &Queue,
    units: &Units,
    ids: &BTreeMap<&str, QueueId>,
    resources: usize,
) -> QueueFacts {
    let listed = |quantities: &BTreeMap<String, String>, rest: Option<i64>| {
        let amounts = units.amounts(quantities, Rounding::Down);
        let mut listed = vec![rest; resources];
        for name in quantities.keys() {
            listed[units.id(name).index()] = Some(amounts.get(units.id(name)));
        }
        listed
    };
    // A map that lists nothing says that nothing is deserved.
    let nothing = |deserved: &BTreeMap<String, String>| deserved.is_empty().then_some(0);
    QueueFacts {
        name: queue.name.clone(),
        parent: queue.parent.as_deref().map(|parent| ids[parent]),
        priority: queue.priority,
        limit: listed(&queue.limit, None),
        deserved: match &queue.deserved {
            Some(deserved) => listed(deserved, nothing(deserved)),
            None => vec![None; resources],
        },
        guarantee: units.amounts(&queue.guarantee, Rounding::Down),
        weight: queue.weight,
        created: queue.created,
        open: queue.open,
    }
}
