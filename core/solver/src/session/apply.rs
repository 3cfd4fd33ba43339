//! Deltas into a session: judged first, all of them, then done.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::columns::{NONE, fill};
use super::delta::{Delta, NewGang};
use super::held::Session;
use super::judge::judge;
use crate::document::Queue;
use crate::error::{Error, Problem, ProblemCode};
use crate::model::{Amounts, GangId, NodeId, ResourceVec, RoleId, verdict};

impl Session {
    /// Takes changes in, all or none. `version` is that of their source and rises: deltas of the last version are
    /// known already and change nothing; those of an older one are refused. Whether anything changed.
    ///
    /// # Errors
    /// [`Error::Invalid`] with every problem of the deltas, each with its path, or if they come out of order.
    pub fn apply(&mut self, version: u64, deltas: &[Delta]) -> Result<bool, Error> {
        if !is_new(self.version, version)? {
            return Ok(false);
        }
        judge(&self.columns, deltas)?;
        let before = self.epoch;
        self.epoch += 1;
        let mut changed = false;
        let mut stale = false;
        let mut removed = self.forget_gangs(deltas);
        for delta in deltas {
            if let Delta::GangRemoved { gang } = delta {
                // What runs is in the model, and goes with it. Gangs that these deltas added are forgotten one by one.
                let is_other = removed.remove(gang) || self.forget_gang(*gang);
                stale |= is_other;
                changed |= is_other;
                continue;
            }
            if self.alters_structure(delta) {
                stale = true;
                changed = true;
                continue;
            }
            if std::mem::take(&mut stale) {
                self.structure_epoch = self.epoch;
                self.rebuild();
            }
            changed |= self.adjust(delta);
        }
        if stale {
            self.structure_epoch = self.epoch;
            self.rebuild();
        }
        if !changed {
            self.epoch = before;
        }
        self.version = version;
        Ok(changed)
    }

    /// Does what needs a new model, in the columns; false for everything else.
    fn alters_structure(&mut self, delta: &Delta) -> bool {
        match delta {
            Delta::NodeAdded { name, allocatable, labels, taints } => {
                self.add_node(name, allocatable, labels, taints);
                true
            }
            Delta::GangAdded(gang) => {
                self.add_gang(gang);
                true
            }
            Delta::QueueChanged(queue) => self.change_queue(queue),
            _ => false,
        }
    }

    fn add_node(
        &mut self,
        name: &str,
        allocatable: &[i64],
        labels: &[(String, String)],
        taints: &[crate::document::Taint],
    ) {
        let nodes = &mut self.columns.nodes;
        let count = nodes.names.len();
        fill(&mut nodes.taints, count, NONE);
        fill(&mut nodes.unschedulable, count, false);
        fill(&mut nodes.ready, count, true);
        nodes.names.push(name.to_owned());
        nodes.unschedulable.push(false);
        nodes.ready.push(true);
        nodes.allocatable.iter_mut().zip(allocatable).for_each(|(column, amount)| column.push(*amount));
        for column in &mut nodes.labels {
            let value = labels.iter().find(|(key, _)| *key == column.key).map(|(_, value)| value);
            column.codes.push(value.map_or(NONE, |value| code(&mut column.values, value)));
        }
        nodes.taints.push(if taints.is_empty() { NONE } else { code(&mut nodes.taint_sets, taints) });
    }

    fn add_gang(&mut self, gang: &NewGang) {
        let (columns, roles) = (&mut self.columns.gangs, &mut self.columns.roles);
        let (count, role_count) = (columns.names.len(), roles.names.len());
        for (column, value) in [
            (&mut columns.queues, gang.queue),
            (&mut columns.required, gang.required),
            (&mut columns.preferred, gang.preferred),
            (&mut columns.min_members, gang.min_member),
            (&mut columns.runtimes_s, gang.runtime_s),
        ] {
            fill(column, count, NONE);
            column.push(value);
        }
        for (column, value) in [
            (&mut columns.priorities, gang.priority),
            (&mut columns.created, gang.created),
            (&mut columns.bypassed, gang.bypassed),
        ] {
            fill(column, count, 0);
            column.push(value);
        }
        fill(&mut columns.preemptible, count, true);
        columns.preemptible.push(gang.preemptible);
        columns.names.push(gang.name.clone());
        fill(&mut roles.needs, role_count, NONE);
        fill(&mut roles.mins, role_count, NONE);
        fill(&mut roles.priorities, role_count, 0);
        for role in &gang.roles {
            roles.gangs.push(u32::try_from(count).expect("positions have 32 bits"));
            roles.names.push(role.name.clone());
            roles.replicas.push(role.replicas);
            roles.needs.push(role.needs);
            roles.mins.push(role.min);
            roles.priorities.push(role.priority);
            roles.requests.iter_mut().zip(&role.requests).for_each(|(column, amount)| column.push(*amount));
            self.role_at.push(None);
        }
    }

    /// Forgets the known gangs that the deltas remove, in one look at all roles; which ones were there.
    fn forget_gangs(&mut self, deltas: &[Delta]) -> BTreeSet<u32> {
        let gone: BTreeSet<u32> = deltas
            .iter()
            .filter_map(|delta| if let Delta::GangRemoved { gang } = delta { Some(*gang) } else { None })
            .collect();
        let mut found = BTreeSet::new();
        if !gone.is_empty() {
            for of in self.columns.roles.gangs.iter_mut().filter(|of| gone.contains(of)) {
                found.insert(std::mem::replace(of, NONE));
            }
        }
        found
    }

    fn forget_gang(&mut self, gang: u32) -> bool {
        let mut was_there = false;
        for of in self.columns.roles.gangs.iter_mut().filter(|of| **of == gang) {
            *of = NONE;
            was_there = true;
        }
        was_there
    }

    fn change_queue(&mut self, queue: &Queue) -> bool {
        let queues = &mut self.columns.queues;
        match queues.iter_mut().find(|known| known.name == queue.name) {
            Some(known) if known == queue => false,
            Some(known) => {
                known.clone_from(queue);
                true
            }
            None => {
                queues.push(queue.clone());
                true
            }
        }
    }

    /// Does what the model takes as it is; whether anything changed.
    fn adjust(&mut self, delta: &Delta) -> bool {
        match delta {
            Delta::ReplicaBound { role, index, node, reserved } => {
                let Some(at) = self.role_at[*role as usize] else { return false };
                self.bind(at, *index, Some((self.node(*node), *reserved)))
            }
            Delta::ReplicaGone { role, index } => {
                let Some(at) = self.role_at[*role as usize] else { return false };
                self.bind(at, *index, None)
            }
            Delta::PodBound { requests, queue, node } => {
                self.add_pod(requests, *queue, *node);
                true
            }
            Delta::PodGone { pod } => self.remove_pod(*pod),
            Delta::NodeResized { node, allocatable } => self.resize(*node, allocatable),
            Delta::NodeCordoned { node, unschedulable } => {
                let count = self.columns.nodes.names.len();
                fill(&mut self.columns.nodes.unschedulable, count, false);
                let flag = &mut self.columns.nodes.unschedulable[*node as usize];
                let changed = std::mem::replace(flag, *unschedulable) != *unschedulable;
                changed && self.judge_node(*node)
            }
            Delta::NodeReady { node, ready } => {
                let count = self.columns.nodes.names.len();
                fill(&mut self.columns.nodes.ready, count, true);
                let flag = &mut self.columns.nodes.ready[*node as usize];
                let changed = std::mem::replace(flag, *ready) != *ready;
                changed && self.judge_node(*node)
            }
            Delta::NodeRemoved { node } => {
                let count = self.columns.nodes.names.len();
                fill(&mut self.columns.nodes.ready, count, true);
                let nothing = vec![0; self.columns.resources.len()];
                let was_ready = std::mem::replace(&mut self.columns.nodes.ready[*node as usize], false);
                let resized = self.resize(*node, &nothing);
                (was_ready && self.judge_node(*node)) || resized
            }
            Delta::NodeAdded { .. }
            | Delta::GangAdded(_)
            | Delta::GangRemoved { .. }
            | Delta::QueueChanged(_) => false,
        }
    }

    /// Puts a replica where it is said to be, or nowhere; whether it was not there.
    pub(super) fn bind(&mut self, at: (GangId, RoleId), index: i64, to: Option<(NodeId, bool)>) -> bool {
        let Some(touched) = self.built.bind(at, index, to) else { return false };
        for node in touched.into_iter().flatten() {
            self.node_epochs[self.built.rows.nodes[node.index()] as usize] = self.epoch;
        }
        self.gang_epochs[self.built.rows.gangs[at.0.index()] as usize] = self.epoch;
        true
    }

    fn add_pod(&mut self, requests: &[i64], queue: u32, node: u32) {
        let pods = &mut self.columns.pods;
        let count = pods.nodes.len();
        fill(&mut pods.queues, count, NONE);
        fill(&mut pods.names, count, String::new());
        pods.nodes.push(node);
        pods.queues.push(queue);
        pods.names.push(String::new());
        pods.requests.iter_mut().zip(requests).for_each(|(column, amount)| column.push(*amount));
        let amounts = Amounts::of(&self.columns, &self.built.model.resources);
        let request = amounts.request(&self.columns.pods.requests, count);
        let queue = self.queue(queue);
        let node_id = self.node(node);
        self.built.books.pod(&self.built.model, queue, &request, node_id, 1);
        let pod = crate::model::PodFacts {
            name: String::new(),
            node: node_id,
            request,
            queue,
            reserved: false,
            ends_s: None,
            zone: None,
        };
        Arc::make_mut(&mut self.built.model.pods).push(pod);
        self.node_epochs[node as usize] = self.epoch;
    }

    fn remove_pod(&mut self, pod: u32) -> bool {
        let row = pod as usize;
        let node = std::mem::replace(&mut self.columns.pods.nodes[row], NONE);
        if node == NONE {
            return false;
        }
        let nothing = ResourceVec::zero(self.built.model.resources.len());
        let facts = &mut Arc::make_mut(&mut self.built.model.pods)[row];
        let request = std::mem::replace(&mut facts.request, nothing);
        let (queue, at) = (facts.queue.take(), facts.node);
        self.built.books.pod(&self.built.model, queue, &request, at, -1);
        self.node_epochs[node as usize] = self.epoch;
        true
    }

    pub(super) fn resize(&mut self, node: u32, allocatable: &[i64]) -> bool {
        let row = node as usize;
        for (column, amount) in self.columns.nodes.allocatable.iter_mut().zip(allocatable) {
            column[row] = *amount;
        }
        let amounts = Amounts::of(&self.columns, &self.built.model.resources);
        let now = amounts.allocatable(&self.columns.nodes.allocatable, row);
        let id = self.node(node);
        let facts = &mut Arc::make_mut(&mut self.built.model.nodes)[id.index()];
        let before = std::mem::replace(&mut facts.allocatable, now.clone());
        if before == now {
            return false;
        }
        for (sum, (before, now)) in
            self.built.model.capacity.iter_mut().zip(before.as_slice().iter().zip(now.as_slice()))
        {
            *sum += i128::from(*now) - i128::from(*before);
        }
        self.built.books.take(&self.built.model, id, &before, 1);
        self.built.books.take(&self.built.model, id, &now, -1);
        self.node_epochs[row] = self.epoch;
        true
    }

    /// Judges anew which roles may use a node; whether that changed.
    fn judge_node(&mut self, node: u32) -> bool {
        let (id, row) = (self.node(node), node as usize);
        for (verdicts, needs) in
            Arc::make_mut(&mut self.built.model.classes).iter_mut().zip(&self.built.rows.classes)
        {
            verdicts[id.index()] = verdict(&self.columns, *needs, node);
        }
        let nodes = &self.columns.nodes;
        Arc::make_mut(&mut self.built.model.nodes)[id.index()].is_open =
            nodes.ready.get(row).copied().unwrap_or(true)
                && !nodes.unschedulable.get(row).copied().unwrap_or(false);
        self.built.books.touch(id);
        self.node_epochs[row] = self.epoch;
        true
    }

    fn queue(&self, row: u32) -> Option<crate::model::QueueId> {
        let name = &self.columns.queues.get(row as usize)?.name;
        self.built.model.queues.iter().position(|queue| queue.name == *name).map(crate::model::QueueId::new)
    }
}

/// Whether deltas of a version are news to who knows another.
///
/// # Errors
/// [`Error::Invalid`] for those of an older one.
pub(super) fn is_new(known: u64, version: u64) -> Result<bool, Error> {
    if version >= known {
        return Ok(version > known);
    }
    let message = format!("must not be below {known}, which is known already; this is {version}");
    let problem = Problem { path: "$.version".to_owned(), code: ProblemCode::OutOfRange, message };
    Err(Error::Invalid { document: "deltas", problems: vec![problem] })
}

/// The position of a value in a list of distinct values, to which it is added if it is new.
fn code<T: ToOwned + PartialEq + ?Sized>(values: &mut Vec<T::Owned>, value: &T) -> u32
where
    T::Owned: std::borrow::Borrow<T>,
{
    use std::borrow::Borrow;
    let place = values.iter().position(|known| Borrow::<T>::borrow(known) == value).unwrap_or_else(|| {
        values.push(value.to_owned());
        values.len() - 1
    });
    u32::try_from(place).expect("positions have 32 bits")
}
