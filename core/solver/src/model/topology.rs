//! The tree of domains over the nodes. Every domain is a contiguous range of nodes.

use std::ops::Range;

use super::ids::NodeId;

/// A level of the topology: `cluster` is the coarsest, then the topology keys, then `node`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Level(pub(super) usize);

impl Level {
    /// Everything.
    pub(crate) const CLUSTER: Self = Self(0);

    /// The level at a position, counted from coarse to fine.
    pub(crate) fn at(position: usize) -> Self {
        Self(position)
    }

    pub(crate) fn index(self) -> usize {
        self.0
    }

    /// The next finer level; do not ask of `node`.
    pub(crate) fn finer(self) -> Self {
        Self(self.0 + 1)
    }
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
    /// From the domains of the topology keys, coarse to fine, with the domain of each node inside; the levels
    /// `cluster` and `node` are added.
    pub(super) fn new(
        levels: Vec<(String, Vec<Domain>)>,
        homes: Vec<Vec<u32>>,
        node_names: impl ExactSizeIterator<Item = String>,
        inside: usize,
    ) -> Self {
        let mut names = vec!["cluster".to_owned()];
        let mut domains = vec![vec![Domain { name: String::new(), nodes: 0..node_names.len() }]];
        for (name, level) in levels {
            names.push(name);
            domains.push(level);
        }
        names.push("node".to_owned());
        let single = |(index, name)| Domain { name, nodes: index..index + 1 };
        domains.push(node_names.enumerate().map(single).collect());
        let mut of = vec![Vec::new()];
        of.extend(homes);
        of.push(Vec::new());
        Self { names, domains, of, inside }
    }

    /// The level of a topology key by its position; `node` is after the last.
    pub(super) fn key(&self, position: usize) -> Level {
        debug_assert!(position + 1 < self.names.len(), "positions of levels were judged");
        Level(position + 1)
    }

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

    /// Nodes before this one are inside the topology.
    pub(crate) fn inside(&self) -> usize {
        self.inside
    }

    /// How many domains each level has, from coarse to fine, `node` left out.
    pub(crate) fn sizes(&self) -> impl Iterator<Item = usize> + '_ {
        self.domains[..self.names.len() - 1].iter().map(Vec::len)
    }

    /// The position of the domain of a node at any level but `node`; none for a node outside the topology, but at the
    /// level of the cluster.
    pub(crate) fn home(&self, level: Level, node: NodeId) -> Option<usize> {
        if level == Level::CLUSTER {
            Some(0)
        } else {
            self.of[level.0].get(node.index()).map(|home| *home as usize)
        }
    }

    /// Whether the level below is a topology key, so that domains have domains in them.
    pub(crate) fn parts_into_domains(&self, level: Level) -> bool {
        level.finer() < self.node_level()
    }

    /// The finest topology key.
    pub(crate) fn finest_key(&self) -> Option<Level> {
        Some(Level(self.names.len() - 2)).filter(|level| *level != Level::CLUSTER)
    }

    /// The domains of the next finer level within one; none where that level is `node`. Nodes of it that lie outside
    /// the topology are in none of them.
    pub(crate) fn children(&self, level: Level, domain: &Domain) -> Range<usize> {
        let finer = &self.of[level.0 + 1];
        let end = domain.nodes.end.min(finer.len());
        if domain.nodes.start >= end {
            return 0..0;
        }
        finer[domain.nodes.start] as usize..finer[end - 1] as usize + 1
    }

    /// The domain of a node at a level; none for a node outside the topology at the levels of its keys.
    pub(crate) fn domain_of(&self, level: Level, node: NodeId) -> Option<u32> {
        if level == Level::CLUSTER {
            Some(0)
        } else if level == self.node_level() {
            u32::try_from(node.index()).ok()
        } else {
            self.of[level.0].get(node.index()).copied()
        }
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
}
