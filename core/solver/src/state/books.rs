//! Books: what is free and used, as plain data; the [`Ledger`](super::Ledger) is what books in it.

use std::collections::BTreeMap;

use super::quota::Usage;
use super::shape_cache::ShapeCache;
use crate::model::{Model, NodeId, ShapeId};

/// More shapes than this are not kept: the one that was asked for longest ago goes.
const MOST_SHAPES: usize = 256;

/// Free capacity, queue usage, the log of changed nodes, and the counts that follow it.
#[derive(Debug, Clone)]
pub(crate) struct Books {
    /// By node, then resource. Negative where a node offers less than it holds; such a node takes nothing.
    pub(super) free: Vec<i64>,
    pub(super) usage: Usage,
    /// Nodes in the order in which they changed, from `forgotten` on.
    log: Vec<u32>,
    forgotten: usize,
    shapes: BTreeMap<ShapeId, Kept>,
    asked: u64,
}

#[derive(Debug, Clone)]
struct Kept {
    cache: ShapeCache,
    /// The log was replayed up to here.
    seen: usize,
    asked: u64,
}

impl Books {
    /// As if nothing ran and nothing were reserved.
    pub(crate) fn empty(model: &Model) -> Self {
        let mut free = Vec::with_capacity(model.nodes.len() * model.resources.len());
        for node in &model.nodes {
            free.extend_from_slice(node.allocatable.as_slice());
        }
        Self {
            free,
            usage: Usage::none(model),
            log: Vec::new(),
            forgotten: 0,
            shapes: BTreeMap::new(),
            asked: 0,
        }
    }

    /// Notes that something of a node changed.
    pub(super) fn touch(&mut self, node: NodeId) {
        self.log.push(node.as_u32());
    }

    /// Brings the counts of a shape up to date; how many nodes were counted.
    pub(super) fn refresh(&mut self, model: &Model, key: ShapeId) -> usize {
        let now = self.forgotten + self.log.len();
        let shape = &model.shapes[key.index()];
        self.asked += 1;
        if let Some(kept) = self.shapes.get_mut(&key) {
            kept.asked = self.asked;
            if kept.seen == now {
                return 0;
            }
            // Beyond one entry a node, to count all is less work.
            if kept.seen >= self.forgotten && now - kept.seen <= model.nodes.len() {
                let changed = &self.log[kept.seen - self.forgotten..];
                kept.cache.recount(model, shape, &self.free, changed);
                kept.seen = now;
                return changed.len();
            }
        } else if self.shapes.len() == MOST_SHAPES {
            let oldest =
                self.shapes.iter().min_by_key(|(key, kept)| (kept.asked, **key)).map(|(key, _)| *key);
            self.shapes.remove(&oldest.expect("the list is full"));
        }
        let cache = ShapeCache::count_all(model, shape, &self.free);
        self.shapes.insert(key, Kept { cache, seen: now, asked: self.asked });
        self.forget(model.nodes.len());
        model.nodes.len()
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

    /// The counts of a shape that was refreshed.
    pub(super) fn shape(&self, key: ShapeId) -> &ShapeCache {
        &self.shapes.get(&key).expect("it was refreshed before").cache
    }
}
