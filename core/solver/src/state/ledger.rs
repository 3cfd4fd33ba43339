//! Ledger: free capacity and queue usage, with checkpoints. Nothing else subtracts capacity.

use super::books::Books;
use super::shape_cache::ShapeCache;
use crate::model::{GangId, Level, Model, NodeId, QueueId, ResourceId, ResourceVec, RoleId, ShapeId};

/// Free capacity of every node and usage of every queue, and how they came about.
#[derive(Debug)]
pub(crate) struct Ledger<'m> {
    model: &'m Model,
    books: Books,
    journal: Vec<Line>,
    /// By queue, then resource, what gangs that may not be preempted use together at most; empty: no such rule.
    ceilings: Vec<Option<i128>>,
    /// What the model says of running replicas does not hold: none runs.
    is_vacant: bool,
}

/// A booking: `count` replicas of a role put on a node, or taken away if negative.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) gang: GangId,
    pub(crate) role: RoleId,
    pub(crate) node: NodeId,
    pub(crate) count: i64,
}

/// What was booked.
#[derive(Debug, Clone)]
enum Line {
    Replicas(Entry),
    /// Room that no replica of the model stands for.
    Room(Box<Room>),
}

/// Room of a node, so many times.
#[derive(Debug, Clone)]
struct Room {
    node: NodeId,
    amounts: ResourceVec,
    times: i64,
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
        let mut ledger = Self::over(model, Books::bare(model));
        for pod in model.pods.iter() {
            ledger.books.put(pod.node, &pod.request, 1);
            ledger.books.usage.book(model, pod.queue, &pod.request, 1);
        }
        for gang in model.gang_ids() {
            for facts in &model.gang(gang).roles {
                for replica in &facts.running {
                    ledger.books.put(replica.node, &facts.request, 1);
                }
                let count = i64::try_from(facts.running.len()).unwrap_or(i64::MAX);
                ledger.book_usage(gang, &facts.request, count);
            }
        }
        ledger.books.settle(model);
        ledger
    }

    /// As if nothing ran and nothing were reserved.
    pub(crate) fn empty(model: &'m Model) -> Self {
        let mut books = Books::bare(model);
        books.settle(model);
        Self { is_vacant: true, ..Self::over(model, books) }
    }

    /// The same state over a variant of the model that has the same nodes, queues and holders.
    pub(crate) fn on<'n>(&self, variant: &'n Model) -> Ledger<'n> {
        Ledger {
            model: variant,
            is_vacant: self.is_vacant,
            books: self.books.without_counts(),
            journal: self.journal.clone(),
            ceilings: self.ceilings.clone(),
        }
    }

    /// Whether it began as if nothing ran.
    pub(crate) fn is_vacant(&self) -> bool {
        self.is_vacant
    }

    /// On books that were kept.
    pub(crate) fn over(model: &'m Model, books: Books) -> Self {
        Self { model, books, journal: Vec::new(), ceilings: Vec::new(), is_vacant: false }
    }

    /// The books, to be kept.
    pub(crate) fn into_books(self) -> Books {
        self.books
    }

    pub(crate) fn model(&self) -> &'m Model {
        self.model
    }

    /// What is free on a node, by resource.
    pub(crate) fn free(&self, node: NodeId) -> &[i64] {
        &self.books.free[self.row(node)]
    }

    /// What a queue and all below it use.
    pub(crate) fn usage(&self, queue: QueueId, resource: ResourceId) -> i128 {
        self.books.usage.of(queue, resource)
    }

    /// What the gangs of a namespace use, by the position of its quota in the model.
    pub(crate) fn namespace_usage(&self, quota: usize, resource: ResourceId) -> i128 {
        self.books.usage.of_namespace(quota, resource)
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
            self.journal.push(Line::Replicas(entry));
        }
    }

    /// Keeps room of a node, or gives it back if `times` is negative, for something that is no replica.
    pub(crate) fn keep(&mut self, node: NodeId, amounts: &ResourceVec, times: i64) {
        self.shift(node, amounts, times);
        self.journal.push(Line::Room(Box::new(Room { node, amounts: amounts.clone(), times })));
    }

    /// Limits what gangs that may not be preempted use together, by queue, then resource.
    pub(crate) fn set_ceilings(&mut self, ceilings: Vec<Option<i128>>) {
        self.ceilings = ceilings;
    }

    /// What gangs that may not be preempted may use together in a queue and all below it; none: no limit.
    pub(crate) fn ceiling(&self, queue: QueueId, resource: ResourceId) -> Option<i128> {
        self.ceilings.get(queue.index() * self.model.resources.len() + resource.index()).copied().flatten()
    }

    /// What gangs that may not be preempted use of a queue and all below it.
    pub(crate) fn fixed_usage(&self, queue: QueueId, resource: ResourceId) -> i128 {
        self.books.usage.fixed(queue, resource)
    }

    /// Makes room for so many more bookings, so that the journal need not move while it grows.
    pub(crate) fn expect(&mut self, bookings: usize) {
        self.journal.reserve(bookings);
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
        let undone = self.journal.len() - checkpoint.entries;
        // With many lines it is less work to add everything up anew at the end.
        let anew = undone > self.model.nodes.len();
        let mut journal = std::mem::take(&mut self.journal);
        for line in journal.drain(checkpoint.entries..).rev() {
            match line {
                Line::Replicas(entry) if anew => {
                    let request = &self.model.role(entry.gang, entry.role).request;
                    self.books.put(entry.node, request, -entry.count);
                    self.book_usage(entry.gang, request, -entry.count);
                }
                Line::Replicas(entry) => self.book(Entry { count: -entry.count, ..entry }),
                Line::Room(room) if anew => self.books.put(room.node, &room.amounts, -room.times),
                Line::Room(room) => self.shift(room.node, &room.amounts, -room.times),
            }
        }
        self.journal = journal;
        if anew {
            self.books.settle(self.model);
        }
        #[cfg(debug_assertions)]
        debug_assert_eq!(self.digest(), checkpoint.digest, "rollback is the identity");
    }

    /// Brings the counts of a shape up to date; how many nodes were counted.
    pub(crate) fn refresh(&mut self, key: ShapeId) -> usize {
        self.books.refresh(self.model, key)
    }

    /// The counts of a shape; [`Self::refresh`] it first.
    pub(crate) fn shape(&self, key: ShapeId) -> &ShapeCache {
        self.books.shape(key)
    }

    /// Whether a domain of a level, but not `node`, has so much of each resource free in sum. Necessary for a placement.
    pub(crate) fn may_hold(&self, level: Level, domain: usize, whole: &[i64]) -> bool {
        self.books.may_hold(level, domain, whole)
    }

    /// The replicas that were booked since the solve began.
    pub(crate) fn journal(&self) -> impl Iterator<Item = &Entry> {
        self.journal.iter().filter_map(|line| match line {
            Line::Replicas(entry) => Some(entry),
            Line::Room(_) => None,
        })
    }

    fn row(&self, node: NodeId) -> std::ops::Range<usize> {
        let resources = self.model.resources.len();
        node.index() * resources..(node.index() + 1) * resources
    }

    fn book(&mut self, entry: Entry) {
        let model = self.model;
        let request = &model.role(entry.gang, entry.role).request;
        self.shift(entry.node, request, entry.count);
        self.book_usage(entry.gang, request, entry.count);
    }

    fn book_usage(&mut self, gang: GangId, request: &ResourceVec, count: i64) {
        self.books.usage.book_gang(self.model, gang, request, count);
    }

    fn shift(&mut self, node: NodeId, amounts: &ResourceVec, times: i64) {
        self.books.take(self.model, node, amounts, times);
    }

    #[cfg(debug_assertions)]
    fn digest(&self) -> u64 {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        (&self.books.free, &self.books.usage).hash(&mut hasher);
        hasher.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::super::quota::Usage;
    use super::*;
    use crate::document::{Snapshot, decode};

    fn model() -> Model {
        let document = br#"{
            "nodes": [{"name": "a", "allocatable": {"cpu": "8"}}, {"name": "b", "allocatable": {"cpu": "1"}}],
            "queues": [{"name": "top"}, {"name": "low", "parent": "top"}],
            "gangs": [{"name": "g", "queue": "low", "roles": [
                {"name": "ps", "replicas": 1, "requests": {"cpu": "1500m"}},
                {"name": "worker", "replicas": 3, "requests": {"cpu": "2"}}]}],
            "running": [
                {"name": "g/worker/0", "node": "a", "gang": "g", "role": "worker", "index": 0},
                {"name": "other", "node": "b", "requests": {"cpu": "3"}, "queue": "top"}]
        }"#;
        Model::build(&decode::<Snapshot>(document).unwrap())
    }

    fn state(ledger: &Ledger<'_>) -> (Vec<i64>, Usage) {
        (ledger.books.free.clone(), ledger.books.usage.clone())
    }

    #[test]
    fn everything_that_runs_holds_its_place_and_its_quota() {
        let model = model();
        let ledger = Ledger::new(&model);
        let (low, top) = (QueueId::new(0), QueueId::new(1));
        let (cpu, pods) = (ResourceId::new(0), ResourceId::new(1));
        assert_eq!(ledger.free(NodeId::new(0))[0], 6000);
        assert_eq!((ledger.usage(low, cpu), ledger.usage(low, pods)), (2000, 1));
        assert_eq!((ledger.usage(top, cpu), ledger.usage(top, pods)), (5000, 2));
    }

    #[test]
    fn a_node_that_offers_less_than_it_holds_takes_nothing() {
        let model = model();
        let ledger = Ledger::new(&model);
        let b = NodeId::new(1);
        assert_eq!(ledger.free(b)[0], -2000);
        assert_eq!(ledger.most(GangId::new(0), RoleId::new(0), b), 0);
    }

    #[test]
    fn rollback_is_the_identity_at_every_depth() {
        let model = model();
        let mut ledger = Ledger::new(&model);
        let (gang, ps, worker, a) = (GangId::new(0), RoleId::new(0), RoleId::new(1), NodeId::new(0));
        let outer = ledger.checkpoint();
        let before = state(&ledger);
        ledger.take(gang, worker, a, 2);
        let inner = ledger.checkpoint();
        let between = state(&ledger);
        ledger.take(gang, ps, a, 1);
        ledger.take(gang, worker, a, -2);
        ledger.keep(a, &model.role(gang, ps).request, 3);
        assert_ne!(state(&ledger), between);
        ledger.rollback(&inner);
        assert_eq!(state(&ledger), between);
        ledger.rollback(&outer);
        assert_eq!(state(&ledger), before);
        assert_eq!(ledger.journal().count(), 0);
    }
}
