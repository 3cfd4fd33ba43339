//! The question as counts: what is wanted of each role, and what the nodes have free, alike nodes as one class.

use std::ops::Range;

use rustc_hash::FxHashMap;

use crate::constraint::node_affinity;
use crate::model::{NodeId, RoleId};
use crate::objective::locality::Spot;
use crate::search::{Field, greedy};
use crate::state::Ledger;

/// Weighted sums over larger gangs could leave 64 bits.
const MOST_WANTED: i64 = 1 << 24;
const MOST_ROLES: usize = 64;
/// Of so few nodes the classes are found by comparing, without a table of them.
const FEW_HOSTS: usize = 32;

/// A gang, a domain, and what of both is still open.
#[derive(Debug)]
pub(super) struct Instance {
    /// By rising count; the last is the largest.
    pub(super) roles: Vec<RoleId>,
    /// Replicas still wanted, by role as above.
    pub(super) wanted: Vec<i64>,
    /// What one replica takes of each relevant resource, by role.
    requests: Vec<Vec<i64>>,
    /// The relevant resources.
    relevant: Vec<usize>,
    pub(super) classes: Vec<Class>,
    /// In canonical order.
    pub(super) hosts: Vec<Host>,
    /// What is decided already.
    pub(super) spots: Vec<Spot>,
}

/// Nodes with the same free room and the same admitted roles.
#[derive(Debug)]
pub(super) struct Class {
    /// Of the relevant resources; never more than the whole gang takes.
    pub(super) free: Vec<i64>,
    /// By role: how many fit alone, at most what was wanted at first.
    pub(super) caps: Vec<i64>,
}

/// A node that can still take something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Host {
    pub(super) node: NodeId,
    pub(super) class: usize,
}

impl Instance {
    /// Counts the question; none if it is too large to be answered.
    pub(super) fn gather(ledger: &Ledger<'_>, field: &Field<'_>, slots: &Range<usize>) -> Option<Self> {
        let (model, demand) = (ledger.model(), field.demand);
        let roles = greedy::roles_by_count(field);
        let wanted: Vec<i64> = roles.iter().map(|role| demand.count(*role)).collect();
        if roles.len() > MOST_ROLES || wanted.iter().any(|count| *count > MOST_WANTED) {
            return None;
        }
        let request = |role: &RoleId| model.role(demand.gang, *role).request.as_slice();
        let relevant: Vec<usize> = (0..model.resources.len())
            .filter(|resource| roles.iter().any(|role| request(role)[*resource] > 0))
            .collect();
        let requests: Vec<Vec<i64>> = roles
            .iter()
            .map(|role| relevant.iter().map(|resource| request(role)[*resource]).collect())
            .collect();
        // Room beyond what the whole gang takes makes no difference; without it more nodes are alike.
        let most: Vec<i64> = (0..relevant.len())
            .map(|at| {
                let each =
                    requests.iter().zip(&wanted).map(|(request, count)| request[at].saturating_mul(*count));
                each.fold(0, i64::saturating_add)
            })
            .collect();
        let mut instance = Self {
            roles,
            wanted,
            requests,
            relevant,
            classes: Vec::new(),
            hosts: Vec::new(),
            spots: Vec::new(),
        };
        let mut known: FxHashMap<Vec<i64>, usize> = FxHashMap::default();
        let few = slots.len() <= FEW_HOSTS;
        let mut key = Vec::new();
        for slot in slots.clone() {
            let node = field.node(slot);
            let free = ledger.free(node);
            key.clear();
            key.extend(
                instance.relevant.iter().zip(&most).map(|(resource, most)| free[*resource].min(*most)),
            );
            key.extend(instance.roles.iter().map(|role| field.cap(slot, *role)));
            let (free, caps) = key.split_at(instance.relevant.len());
            let class = if few {
                instance.classes.iter().position(|class| class.free == free && class.caps == caps)
            } else {
                known.get(&key).copied()
            };
            let class = class.unwrap_or(instance.classes.len());
            if class == instance.classes.len() {
                instance.classes.push(Class { free: free.to_vec(), caps: caps.to_vec() });
                if !few {
                    known.insert(key.clone(), class);
                }
            }
            instance.hosts.push(Host { node, class });
        }
        Some(instance)
    }

    /// Adds `count` nodes like `node`, empty.
    pub(super) fn add(&mut self, ledger: &Ledger<'_>, field: &Field<'_>, node: NodeId, count: i64) {
        let (model, demand) = (ledger.model(), field.demand);
        let offers = &model.nodes[node.index()].allocatable;
        let caps = self.roles.iter().zip(&self.wanted).map(|(role, wanted)| {
            let admits = node_affinity::admits(model, demand, *role, node);
            if admits {
                model.role(demand.gang, *role).request.most_in(offers.as_slice()).min(*wanted)
            } else {
                0
            }
        });
        let free = self.relevant.iter().map(|resource| offers.as_slice()[*resource]).collect();
        self.classes.push(Class { free, caps: caps.collect() });
        let class = self.classes.len() - 1;
        self.hosts.extend((0..count).map(|_| Host { node, class }));
    }

    /// Whether nothing is wanted any more.
    pub(super) fn is_settled(&self) -> bool {
        self.wanted.iter().all(|wanted| *wanted == 0)
    }

    /// For each relevant resource, what one replica of each role takes.
    pub(super) fn requests_by_resource(&self) -> impl Iterator<Item = Vec<i64>> + '_ {
        let resources = self.requests.first().map_or(0, Vec::len);
        (0..resources).map(|at| self.requests.iter().map(|request| request[at]).collect())
    }

    /// How many of a role a class hosts alone, at most what is still wanted.
    pub(super) fn cap(&self, class: usize, role: usize) -> i64 {
        self.classes[class].caps[role].min(self.wanted[role])
    }

    /// Whether a class hosts its most of every role at once.
    pub(super) fn is_without_conflict(&self, class: usize) -> bool {
        (0..self.classes[class].free.len()).all(|at| {
            let takes = (0..self.roles.len())
                .map(|role| self.requests[role][at].saturating_mul(self.cap(class, role)))
                .fold(0, i64::saturating_add);
            takes <= self.classes[class].free[at]
        })
    }

    /// Writes what a class has left of each resource beside `others` of the other roles; false if they do not fit.
    pub(super) fn leave(&self, class: usize, others: &[usize], left: &mut Vec<i64>) -> bool {
        left.clear();
        for (at, free) in self.classes[class].free.iter().enumerate() {
            let takes = others
                .iter()
                .zip(&self.requests)
                .map(|(count, request)| request[at].saturating_mul(i64::try_from(*count).unwrap_or(i64::MAX)))
                .fold(0, i64::saturating_add);
            if takes > *free {
                return false;
            }
            left.push(free - takes);
        }
        true
    }

    /// The most of the last role in what a class has left, beside one more of a role; none if that does not fit.
    pub(super) fn most_in(&self, class: usize, left: &[i64], one_more: Option<usize>) -> Option<i64> {
        let last = self.roles.len() - 1;
        let mut most = self.cap(class, last);
        for (at, left) in left.iter().enumerate() {
            let left = left - one_more.map_or(0, |role| self.requests[role][at]);
            if left < 0 {
                return None;
            }
            let each = self.requests[last][at];
            if each > 0 {
                most = most.min(left / each);
            }
        }
        Some(most)
    }

    /// The most of the last role beside `others` of the other roles in a class; none if those alone do not fit.
    #[cfg(test)]
    pub(super) fn most_of_last(&self, class: usize, others: &[usize]) -> Option<i64> {
        let mut left = Vec::new();
        self.leave(class, others, &mut left).then(|| self.most_in(class, &left, None)).flatten()
    }

    /// Decides that a node takes so many of a role.
    pub(super) fn seat(&mut self, node: NodeId, role: usize, count: i64) {
        if count > 0 {
            self.wanted[role] -= count;
            self.spots.push(Spot { node, role: self.roles[role], count });
        }
    }
}
