//! Books: what is free and used, as plain data; the [`Ledger`](super::Ledger) is what books in it.

use super::quota::Usage;
use super::shape_cache::ShapeCache;
use crate::model::{GangId, Level, Model, NodeId, QueueId, ResourceVec, RoleId, ShapeId};

/// More shapes than this are not kept: the one that was asked for longest ago goes.
const MOST_SHAPES: usize = 256;

/// Free capacity, queue usage, the log of changed nodes, and the counts that follow it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Books {
    /// By node, then resource. Negative where a node offers less than it holds; such a node takes nothing.
    pub(super) free: Vec<i64>,
    pub(super) usage: Usage,
    /// By level but `node`, then domain and resource: what is free in sum, debts left out.
    sums: Vec<Vec<i64>>,
    /// More of a resource than this on one node does not count in the sums, so that they fit 64 bits.
    most: i64,
    /// Nodes in the order in which they changed, from `forgotten` on.
    log: Vec<u32>,
    forgotten: usize,
    /// Some cache has seen the log up to here, none further.
    replayed: usize,
    kept: Vec<Kept>,
    /// By shape, where in `kept` its counts are, or [`NOWHERE`].
    places: Vec<u32>,
    asked: u64,
}

/// Stands for no place in the list of kept counts.
const NOWHERE: u32 = u32::MAX;

#[derive(Debug, Clone)]
struct Kept {
    shape: ShapeId,
    cache: ShapeCache,
    /// The log was replayed up to here.
    seen: usize,
    asked: u64,
}

impl Books {
    /// As if nothing ran and nothing were reserved; to be [settled](Self::settle).
    pub(super) fn bare(model: &Model) -> Self {
        let mut free = Vec::with_capacity(model.nodes.len() * model.resources.len());
        for node in model.nodes.iter() {
            free.extend_from_slice(node.allocatable.as_slice());
        }
        let most = (i64::MAX >> 1) / i64::try_from(model.nodes.len().max(1)).unwrap_or(i64::MAX);
        Self {
            free,
            usage: Usage::none(model),
            sums: Vec::new(),
            most,
            log: Vec::new(),
            forgotten: 0,
            replayed: 0,
            kept: Vec::new(),
            places: Vec::new(),
            asked: 0,
        }
    }

    /// The same amounts, with all counts to be made anew.
    pub(super) fn without_counts(&self) -> Self {
        Self {
            free: self.free.clone(),
            usage: self.usage.clone(),
            sums: self.sums.clone(),
            most: self.most,
            log: Vec::new(),
            forgotten: 0,
            replayed: 0,
            kept: Vec::new(),
            places: Vec::new(),
            asked: 0,
        }
    }

    /// Takes `count` times `request` on a node, one of many; [`Self::settle`] the books at the end.
    pub(super) fn put(&mut self, node: NodeId, request: &ResourceVec, count: i64) {
        let amounts = request.as_slice();
        let row = node.index() * amounts.len();
        for (free, amount) in self.free[row..].iter_mut().zip(amounts) {
            *free = free.saturating_sub(amount.saturating_mul(count));
        }
    }

    /// Adds up what is free, and lets all be counted anew.
    pub(super) fn settle(&mut self, model: &Model) {
        self.forgotten += self.log.len() + 1;
        self.log.clear();
        let (free, most, resources) = (&self.free, self.most, model.resources.len());
        let of_level = |level: Level| {
            let domains = model.topology.domains(level);
            let mut sums = vec![0; domains.len() * resources];
            for (domain, sums) in domains.iter().zip(sums.chunks_exact_mut(resources)) {
                let rows = &free[domain.nodes.start * resources..domain.nodes.end * resources];
                for row in rows.chunks_exact(resources) {
                    sums.iter_mut().zip(row).for_each(|(sum, free)| *sum += counted(*free, most));
                }
            }
            sums
        };
        let levels = 0..model.topology.sizes().count();
        self.sums = levels.map(|level| of_level(Level::at(level))).collect();
    }

    /// Takes `count` times `request` on a node, or gives it back.
    pub(crate) fn take(&mut self, model: &Model, node: NodeId, request: &ResourceVec, count: i64) {
        let amounts = request.as_slice();
        let row = node.index() * amounts.len();
        for (resource, amount) in amounts.iter().enumerate().filter(|(_, amount)| **amount != 0) {
            let free = &mut self.free[row + resource];
            let before = counted(*free, self.most);
            *free = free.saturating_sub(amount.saturating_mul(count));
            let change = counted(*free, self.most) - before;
            for (level, sums) in self.sums.iter_mut().enumerate() {
                if let Some(domain) = model.topology.home(Level::at(level), node) {
                    sums[domain * amounts.len() + resource] += change;
                }
            }
        }
        // A node that changes again before anyone has looked needs no second entry.
        if self.log.last() != Some(&node.as_u32()) || self.replayed == self.forgotten + self.log.len() {
            self.log.push(node.as_u32());
        }
    }

    /// Books replicas of a gang that are there, or gone, whoever decided it.
    pub(crate) fn replicas(&mut self, model: &Model, gang: GangId, role: RoleId, node: NodeId, count: i64) {
        let request = &model.role(gang, role).request;
        self.take(model, node, request, count);
        self.usage.book_gang(model, gang, request, count);
    }

    /// Books a pod of no gang that is there, or gone.
    pub(crate) fn pod(
        &mut self,
        model: &Model,
        queue: Option<QueueId>,
        request: &ResourceVec,
        node: NodeId,
        count: i64,
    ) {
        self.take(model, node, request, count);
        self.usage.book(model, queue, request, count);
    }

    /// What is free on a node, by resource.
    pub(crate) fn free(&self, model: &Model, node: NodeId) -> &[i64] {
        let resources = model.resources.len();
        &self.free[node.index() * resources..][..resources]
    }

    /// Notes that a node is open or closed to some roles since.
    pub(crate) fn touch(&mut self, node: NodeId) {
        self.log.push(node.as_u32());
    }

    /// Brings all counts that are kept up to date, and says how many nodes were counted.
    pub(crate) fn refresh_all(&mut self, model: &Model) -> usize {
        let kept: Vec<ShapeId> = self.kept.iter().map(|kept| kept.shape).collect();
        kept.into_iter().map(|shape| self.refresh(model, shape)).sum()
    }

    /// Whether a domain of a level, but not `node`, has so much free in sum; debts of nodes count for nothing.
    pub(super) fn may_hold(&self, level: Level, domain: usize, whole: &[i64]) -> bool {
        let sums = &self.sums[level.index()][domain * whole.len()..];
        // A single node can have more than is counted.
        whole.iter().zip(sums).all(|(whole, sum)| whole.min(&self.most) <= sum)
    }

    /// Brings the counts of a shape up to date; how many nodes were counted.
    pub(super) fn refresh(&mut self, model: &Model, key: ShapeId) -> usize {
        let now = self.forgotten + self.log.len();
        let shape = &model.shapes[key.index()];
        self.asked += 1;
        self.replayed = now;
        if self.places.len() < model.shapes.len() {
            self.places.resize(model.shapes.len(), NOWHERE);
        }
        if let Some(kept) = self.kept.get_mut(self.places[key.index()] as usize) {
            kept.asked = self.asked;
            if kept.seen == now {
                return 0;
            }
            // With many changes it is less work to count all, one after the other.
            if kept.seen >= self.forgotten && now - kept.seen <= model.nodes.len() / 2 {
                let changed = &self.log[kept.seen - self.forgotten..];
                kept.cache.recount(model, shape, &self.free, changed);
                kept.seen = now;
                return changed.len();
            }
        }
        let cache = ShapeCache::count_all(model, shape, &self.free);
        self.keep(Kept { shape: key, cache, seen: now, asked: self.asked });
        self.forget(model.nodes.len());
        model.nodes.len()
    }

    /// Keeps counts, in the place of those of the same shape or, if the list is full, of the shape asked longest ago.
    fn keep(&mut self, kept: Kept) {
        let key = kept.shape;
        let known = self.places[key.index()];
        let place = if known != NOWHERE {
            known as usize
        } else if self.kept.len() < MOST_SHAPES {
            self.kept.len()
        } else {
            let oldest = self.kept.iter().enumerate().min_by_key(|(_, kept)| kept.asked);
            let (place, oldest) = oldest.expect("the list is full");
            self.places[oldest.shape.index()] = NOWHERE;
            place
        };
        self.places[key.index()] = u32::try_from(place).expect("the list is short");
        if place == self.kept.len() {
            self.kept.push(kept);
        } else {
            self.kept[place] = kept;
        }
    }

    /// What no cache will replay is dropped.
    fn forget(&mut self, nodes: usize) {
        let keep = 2 * nodes + 1024;
        if self.log.len() > 2 * keep {
            let dropped = self.log.len() - keep;
            self.log.drain(..dropped);
            self.forgotten += dropped;
        }
    }

    /// The counts of a shape that was refreshed before.
    pub(super) fn shape(&self, key: ShapeId) -> &ShapeCache {
        &self.kept[self.places[key.index()] as usize].cache
    }
}

/// What the free amount of a node counts in sums.
fn counted(free: i64, most: i64) -> i64 {
    free.clamp(0, most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Snapshot, decode};

    /// 70 nodes in racks of seven, one without a rack, two classes, and gangs of several shapes.
    fn model() -> Model {
        let node = |index: usize| {
            let rack = if index == 9 { String::new() } else { format!(r#""rack": "r{}""#, index / 7) };
            let cordoned = index.is_multiple_of(11);
            format!(
                r#"{{"name": "n{index:02}", "labels": {{{rack}}}, "unschedulable": {cordoned},
                    "allocatable": {{"cpu": "{}", "gpu": "{}"}}}}"#,
                2 + index * 7 % 40,
                index % 9,
            )
        };
        let gang = |index: usize| {
            let topology = if index.is_multiple_of(2) { r#", "topology": {"required": "rack"}"# } else { "" };
            format!(
                r#"{{"name": "g{index}"{topology}, "roles": [{{"name": "worker", "replicas": 4,
                    "requests": {{"cpu": "{}", "gpu": "{}"}}}}]}}"#,
                1 + index,
                index % 3,
            )
        };
        let nodes: Vec<String> = (0..70).map(node).collect();
        let gangs: Vec<String> = (0..6).map(gang).collect();
        let document = format!(
            r#"{{"topology": ["rack"], "nodes": [{}], "gangs": [{}]}}"#,
            nodes.join(","),
            gangs.join(",")
        );
        Model::build(&decode::<Snapshot>(document.as_bytes()).unwrap())
    }

    #[test]
    fn counts_and_sums_equal_a_recount_after_every_step_of_a_history() {
        let model = model();
        let mut books = Books::bare(&model);
        books.settle(&model);
        let mut state = 7_u64;
        let mut random = |end: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(state >> 33).unwrap() % end
        };
        for _ in 0..3000 {
            let role = model.role(GangId::new(random(6)), RoleId::new(0));
            // Beyond what is free as well: a node in debt takes nothing.
            let count = i64::try_from(random(7)).unwrap() - 3;
            books.take(&model, NodeId::new(random(70)), &role.request, count);
            let asked = ShapeId::new(random(model.shapes.len()));
            if random(3) == 0 {
                books.refresh(&model, asked);
                let fresh = ShapeCache::count_all(&model, &model.shapes[asked.index()], &books.free);
                assert_eq!(*books.shape(asked), fresh);
            }
            let mut settled = books.clone();
            settled.settle(&model);
            assert_eq!(settled.sums, books.sums);
        }
    }
}
