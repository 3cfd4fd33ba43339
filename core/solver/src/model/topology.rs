//! The tree of domains over the nodes. Every domain is a contiguous range of nodes.

use std::ops::Range;

use super::ids::NodeId;

/// A level of the topology: `cluster` is the coarsest, then the topology keys, then `node`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Level(pub(super) usize);

impl Level {
    /// Everything.
    pub(crate) const CLUSTER: Self = Self(0);
}

/// One place at a level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Domain {
    /// Its values from coarse to fine, joined by `/`; empty for the cluster.
    pub(crate) name: String,
    /// Its nodes.
    pub(crate) nodes: Range<usize>,
}

impl Domain {
    pub(crate) fn contains(&self, node: NodeId) -> bool {
        self.nodes.contains(&node.index())
    }
}

/// Levels and domains.
#[derive(Debug)]
pub(crate) struct Topology {
    /// Names of the levels from coarse to fine, `cluster` and `node` included.
    pub(super) names: Vec<String>,
    /// Domains by level, in canonical order.
    pub(super) domains: Vec<Vec<Domain>>,
    /// By level, the domain of each node inside the topology.
    pub(super) of: Vec<Vec<u32>>,
    /// The nodes before this one are inside the topology, the others lack one of its labels.
    pub(super) inside: usize,
}

impl Topology {
    /// All levels from fine to coarse.
    pub(crate) fn fine_to_coarse(&self) -> impl Iterator<Item = Level> + use<> {
        (0..self.names.len()).rev().map(Level)
    }

    /// The levels that part nodes from each other: all but the cluster, from coarse to fine.
    pub(crate) fn parting(&self) -> impl Iterator<Item = Level> + use<> {
        (1..self.names.len()).map(Level)
    }

    pub(crate) fn node_level(&self) -> Level {
        Level(self.names.len() - 1)
    }

    pub(crate) fn name(&self, level: Level) -> &str {
        &self.names[level.0]
    }

    pub(crate) fn named(&self, name: &str) -> Option<Level> {
        self.names.iter().position(|known| known == name).map(Level)
    }

    pub(crate) fn domains(&self, level: Level) -> &[Domain] {
        &self.domains[level.0]
    }

    pub(crate) fn is_inside(&self, node: NodeId) -> bool {
        node.index() < self.inside
    }

    /// Whether `level` parts two nodes. A node outside the topology is parted from all others at every level.
    pub(crate) fn parts(&self, level: Level, a: NodeId, b: NodeId) -> bool {
        if a == b {
            return false;
        }
        if level == self.node_level() || !self.is_inside(a) || !self.is_inside(b) {
            return true;
        }
        let of = &self.of[level.0];
        of[a.index()] != of[b.index()]
    }

    /// How many levels part two nodes.
    pub(crate) fn distance(&self, a: NodeId, b: NodeId) -> usize {
        self.parting().filter(|level| self.parts(*level, a, b)).count()
    }
}
