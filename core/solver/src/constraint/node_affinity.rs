//! Readiness, cordon, selectors, affinity, taints: which nodes a role may use, and which rule keeps it from others.

use std::collections::BTreeMap;

use super::Demand;
use crate::document::Rule;
use crate::model::{Model, NodeId, RoleId};

/// Whether a role may use a node.
pub(crate) fn admits(model: &Model, demand: &Demand, role: RoleId, node: NodeId) -> bool {
    exclusion(model, demand, role, node).is_none()
}

/// How many nodes each rule keeps from a role, and how many none does.
pub(crate) fn exclusions(model: &Model, demand: &Demand, role: RoleId) -> (BTreeMap<Rule, i64>, usize) {
    let mut counts = BTreeMap::new();
    let mut eligible = 0;
    for node in (0..model.nodes.len()).map(NodeId::new) {
        match exclusion(model, demand, role, node) {
            Some(rule) => *counts.entry(rule).or_default() += 1,
            None => eligible += 1,
        }
    }
    (counts, eligible)
}

fn exclusion(model: &Model, demand: &Demand, role: RoleId, node: NodeId) -> Option<Rule> {
    model.exclusion(model.role(demand.gang, role), node)
}
