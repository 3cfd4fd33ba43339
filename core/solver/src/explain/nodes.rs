//! Nodes that, added to one domain, would admit a refused gang.

use super::changes::change;
use crate::constraint::{node_affinity, quota};
use crate::document::{Change, ChangeKind};
use crate::model::{Domain, NodeId};
use crate::search::{Budget, Field, fits_with_more};
use crate::state::Ledger;

/// More nodes than this are not offered.
const MOST_NODES: i64 = 4096;

/// The smallest number of nodes like one of the domain's, empty, with which the gang fits there: like the one that
/// hosts most of the gang's largest role.
pub(super) fn more_nodes(
    ledger: &Ledger<'_>,
    field: &Field<'_>,
    domain: &Domain,
    budget: &mut Budget<'_>,
) -> Option<Change> {
    let (model, demand) = (ledger.model(), field.demand);
    if model.gang(demand.gang).is_structured || demand.choice.is_some() || !quota::admits(ledger, demand) {
        return None;
    }
    let largest = demand.roles().max_by_key(|role| (demand.count(*role), *role))?;
    let request = &model.role(demand.gang, largest).request;
    let hosts = |node: &NodeId| {
        let admits = node_affinity::admits(model, demand, largest, *node);
        if admits { request.most_in(model.nodes[node.index()].allocatable.as_slice()) } else { 0 }
    };
    let like =
        domain.nodes.clone().map(NodeId::new).max_by_key(|node| (hosts(node), std::cmp::Reverse(*node)))?;
    if hosts(&like) == 0 {
        return None;
    }
    let slots = field.slots(domain);
    let mut fits = |count: i64| {
        budget.refill();
        fits_with_more(ledger, field, &slots, (like, count), budget)
    };
    let mut good = 1;
    while !fits(good)? {
        good *= 2;
        if good > MOST_NODES {
            return None;
        }
    }
    let mut bad = good / 2;
    while good - bad > 1 {
        let middle = bad + (good - bad) / 2;
        if fits(middle)? {
            good = middle;
        } else {
            bad = middle;
        }
    }
    let name = &model.nodes[like.index()].name;
    let nodes = if good == 1 { "node" } else { "nodes" };
    Some(Change {
        to: Some(good.to_string()),
        node: Some(name.clone()),
        ..change(ChangeKind::Nodes, format!("add {good} {nodes} like {name}"))
    })
}
