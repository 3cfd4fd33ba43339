//! Ledger: free capacity and queue usage, with checkpoints. Nothing else subtracts capacity.

use super::quota::Usage;
use crate::model::{GangId, Model, NodeId, QueueId, ResourceId, RoleId};

/// Free capacity of every node and usage of every queue, and how they came about.
#[derive(Debug)]
pub(crate) struct Ledger<'m> {
    model: &'m Model,
    /// By node, then resource. Negative where a node offers less than it holds; such a node takes nothing.
    free: Vec<i64>,
    usage: Usage,
    journal: Vec<Entry>,
}

/// A booking: `count` replicas of a role put on a node, or taken away if negative.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) gang: GangId,
    pub(crate) role: RoleId,
    pub(crate) node: NodeId,
    pub(crate) count: i64,
}

/// A state to go back to.
#[derive(Debug)]
#[must_use]
pub(crate) struct Checkpoint {
    entries: usize,
    #[cfg(debug_assertions)]
    digest: u64,
}

impl<'m> Ledger<'m> {
    /// As things stand: everything that runs or is reserved holds its place, whoever owns it.
    pub(crate) fn new(model: &'m Model) -> Self {
        let mut ledger = Self::empty(model);
        for pod in &model.pods {
            let row = ledger.row(pod.node);
            for (free, amount) in ledger.free[row].iter_mut().zip(pod.request.as_slice()) {
                *free = free.saturating_sub(*amount);
            }
            ledger.usage.book(model, pod.queue, &pod.request, 1);
        }
        for gang in model.gang_ids() {
            for (role, facts) in model.gang(gang).roles.iter().enumerate() {
                for replica in &facts.running {
                    ledger.book(Entry { gang, role: RoleId::new(role), node: replica.node, count: 1 });
                }
            }
        }
        ledger
    }

    /// As if nothing ran and nothing were reserved.
    pub(crate) fn empty(model: &'m Model) -> Self {
        let free = model.nodes.iter().flat_map(|node| node.allocatable.as_slice()).copied().collect();
        Self { model, free, usage: Usage::none(model), journal: Vec::new() }
    }

    pub(crate) fn model(&self) -> &'m Model {
        self.model
    }

    /// What is free on a node, by resource.
    pub(crate) fn free(&self, node: NodeId) -> &[i64] {
        &self.free[self.row(node)]
    }

    /// What a queue and all below it use.
    pub(crate) fn usage(&self, queue: QueueId, resource: ResourceId) -> i128 {
        self.usage.of(queue, resource)
    }

    /// How many more replicas of a role fit on a node, selectors and taints aside.
    pub(crate) fn most(&self, gang: GangId, role: RoleId, node: NodeId) -> i64 {
        self.model.role(gang, role).request.most_in(self.free(node))
    }

    /// Puts `count` replicas of a role on a node; a negative count gives them back.
    pub(crate) fn take(&mut self, gang: GangId, role: RoleId, node: NodeId, count: i64) {
        if count != 0 {
            let entry = Entry { gang, role, node, count };
            self.book(entry);
            self.journal.push(entry);
        }
    }

    /// Marks the present state.
    pub(crate) fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            entries: self.journal.len(),
            #[cfg(debug_assertions)]
            digest: self.digest(),
        }
    }

    /// Goes back to a checkpoint.
    pub(crate) fn rollback(&mut self, checkpoint: &Checkpoint) {
        while self.journal.len() > checkpoint.entries {
            if let Some(entry) = self.journal.pop() {
                self.book(Entry { count: -entry.count, ..entry });
            }
        }
        #[cfg(debug_assertions)]
        debug_assert_eq!(self.digest(), checkpoint.digest, "rollback is the identity");
    }

    /// What was booked since the solve began.
    pub(crate) fn journal(&self) -> &[Entry] {
        &self.journal
    }

    fn row(&self, node: NodeId) -> std::ops::Range<usize> {
        let resources = self.model.resources.len();
        node.index() * resources..(node.index() + 1) * resources
    }

    fn book(&mut self, entry: Entry) {
        let model = self.model;
        let request = &model.role(entry.gang, entry.role).request;
        let row = self.row(entry.node);
        for (free, amount) in self.free[row].iter_mut().zip(request.as_slice()) {
            *free = free.saturating_sub(amount.saturating_mul(entry.count));
        }
        self.usage.book(model, model.gang(entry.gang).queue, request, entry.count);
    }

    #[cfg(debug_assertions)]
    fn digest(&self) -> u64 {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        (&self.free, &self.usage).hash(&mut hasher);
        hasher.finish()
    }
}
