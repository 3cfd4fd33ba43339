//! Field: the nodes that can take something of a gang now, and how much of each role.

use std::ops::Range;

use super::asks::Asks;
use crate::constraint::{Demand, node_affinity};
use crate::model::{Domain, NodeId, ResourceId, RoleId};
use crate::state::Ledger;

/// Nodes that can take at least one replica of the demand, in canonical order.
#[derive(Debug)]
pub(crate) struct Field<'a> {
    pub(crate) demand: &'a Demand,
    nodes: Vec<NodeId>,
    /// By node, then role: how many fit if the role had the node for itself, at most the count asked for.
    caps: Vec<i64>,
}

impl<'a> Field<'a> {
    /// Looks at every node once.
    pub(crate) fn survey(ledger: &Ledger<'_>, demand: &'a Demand) -> Self {
        Self::of(ledger, demand, 0..ledger.model().nodes.len())
    }

    /// Looks at the nodes of a range.
    pub(crate) fn of(ledger: &Ledger<'_>, demand: &'a Demand, nodes: Range<usize>) -> Self {
        let model = ledger.model();
        let roles = demand.counts.len();
        let most = nodes.len();
        let mut field =
            Self { demand, nodes: Vec::with_capacity(most), caps: Vec::with_capacity(most * roles) };
        let mut caps = vec![0; roles];
        for node in nodes.map(NodeId::new) {
            caps.fill(0);
            for role in demand.roles() {
                if node_affinity::admits(model, demand, role, node) {
                    caps[role.index()] = ledger.most(demand.gang, role, node).min(demand.count(role));
                }
            }
            if caps.iter().any(|cap| *cap > 0) {
                field.nodes.push(node);
                field.caps.extend(&caps);
            }
        }
        field
    }

    /// The same from the counts of the shape caches.
    pub(super) fn counted(ledger: &Ledger<'_>, asks: &Asks<'a>, nodes: Range<usize>) -> Self {
        let demand = asks.demand;
        let counts: Vec<(usize, u16, &[u16])> = asks
            .roles
            .iter()
            .map(|ask| (ask.role.index(), ask.count, ledger.shape(ask.shape).counts()))
            .collect();
        let mut field = Self {
            demand,
            nodes: Vec::with_capacity(nodes.len()),
            caps: Vec::with_capacity(nodes.len() * demand.counts.len()),
        };
        for node in nodes.filter(|node| counts.iter().any(|(_, _, counts)| counts[*node] > 0)) {
            field.nodes.push(NodeId::new(node));
            let row = field.caps.len();
            field.caps.resize(row + demand.counts.len(), 0);
            for (role, count, counts) in &counts {
                field.caps[row + role] = i64::from(counts[node].min(*count));
            }
        }
        field
    }

    /// The slots, positions in this field, of a domain.
    pub(crate) fn slots(&self, domain: &Domain) -> Range<usize> {
        let position = |node: usize| self.nodes.partition_point(|known| known.index() < node);
        position(domain.nodes.start)..position(domain.nodes.end)
    }

    /// All slots.
    pub(crate) fn all(&self) -> Range<usize> {
        0..self.nodes.len()
    }

    pub(crate) fn node(&self, slot: usize) -> NodeId {
        self.nodes[slot]
    }

    /// How many replicas of a role fit on a slot, if it had the node for itself.
    pub(crate) fn cap(&self, slot: usize, role: RoleId) -> i64 {
        self.caps[slot * self.demand.counts.len() + role.index()]
    }

    /// Necessary for a placement in `slots`: enough places for each role, and enough of each resource, in sum.
    pub(crate) fn may_hold(&self, ledger: &Ledger<'_>, slots: Range<usize>) -> bool {
        let roles = self.demand.roles().all(|role| {
            slots.clone().map(|slot| i128::from(self.cap(slot, role))).sum::<i128>()
                >= i128::from(self.demand.count(role))
        });
        let model = ledger.model();
        roles
            && self.demand.resources(model).all(|resource| {
                self.free(ledger, slots.clone(), resource) >= self.demand.needs(model, resource)
            })
    }

    /// How much of a resource is free in `slots`.
    pub(crate) fn free(&self, ledger: &Ledger<'_>, slots: Range<usize>, resource: ResourceId) -> i128 {
        slots.map(|slot| i128::from(ledger.free(self.node(slot))[resource.index()])).sum()
    }
}
