//! The tree of domains over the nodes that matter to a gang, with the likenesses of its terms on company as levels.

use std::collections::BTreeMap;

use crate::model::{Level, Model, NodeId};

/// What the domains of a level have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rung {
    /// A level of the topology, `node` included.
    Level(Level),
    /// A likeness, a position in the model's list.
    Alike(usize),
}

/// A domain.
#[derive(Debug)]
pub(super) struct Branch {
    /// Its level, a position in the tree's `rungs`.
    pub(super) rung: usize,
    /// What tells it from others with the same parent; none: what holds its nodes together is that they lack a label.
    pub(super) class: Option<u32>,
    pub(super) children: Vec<usize>,
    /// The node, of a domain of the last level.
    pub(super) node: Option<NodeId>,
}

/// Domains by position, children before their parents.
#[derive(Debug)]
pub(super) struct Tree {
    /// From coarse to fine; the last is the nodes.
    pub(super) rungs: Vec<Rung>,
    pub(super) branches: Vec<Branch>,
    /// The domains of the coarsest level.
    pub(super) roots: Vec<usize>,
}

impl Tree {
    /// The tree over `nodes`, in canonical order, with `likenesses` as levels where they nest with the topology, of
    /// which only `levels` are asked for; also those that do not.
    pub(super) fn over(
        model: &Model,
        nodes: &[NodeId],
        likenesses: &[usize],
        levels: &[Level],
    ) -> (Self, Vec<usize>) {
        let all: Vec<Rung> = model.topology.parting().map(Rung::Level).collect();
        let (rungs, crossing) = nested(model, nodes, likenesses, all);
        let (rungs, crossing) = if crossing.is_empty() {
            (rungs, crossing)
        } else {
            // Levels that no rule asks for only make places compact: better without them than with a rule that cannot
            // be said.
            let node = model.topology.node_level();
            let asked = |level: &Level| *level == node || levels.contains(level);
            let few: Vec<Rung> = model.topology.parting().filter(asked).map(Rung::Level).collect();
            nested(model, nodes, likenesses, few)
        };
        let mut tree = Self { rungs, branches: Vec::new(), roots: Vec::new() };
        tree.roots = tree.grow(model, nodes, 0);
        (tree, crossing)
    }

    fn grow(&mut self, model: &Model, nodes: &[NodeId], rung: usize) -> Vec<usize> {
        let mut parts: BTreeMap<Option<u32>, Vec<NodeId>> = BTreeMap::new();
        for node in nodes {
            parts.entry(class(model, self.rungs[rung], *node)).or_default().push(*node);
        }
        let is_last = rung + 1 == self.rungs.len();
        let mut grown = Vec::new();
        for (class, part) in parts {
            let children = if is_last { Vec::new() } else { self.grow(model, &part, rung + 1) };
            let node = is_last.then(|| part[0]);
            self.branches.push(Branch { rung, class, children, node });
            grown.push(self.branches.len() - 1);
        }
        grown
    }

    /// The rung of a level of the topology.
    pub(super) fn of_level(&self, level: Level) -> Option<usize> {
        self.rungs.iter().position(|rung| *rung == Rung::Level(level))
    }

    /// The rung with the domains of a likeness.
    pub(super) fn of_likeness(&self, model: &Model, nodes: &[NodeId], alike: usize) -> Option<usize> {
        self.rungs.iter().position(|rung| same(model, nodes, *rung, Rung::Alike(alike)))
    }
}

/// `rungs` with the likenesses that nest with them put in between; and those that do not.
fn nested(
    model: &Model,
    nodes: &[NodeId],
    likenesses: &[usize],
    mut rungs: Vec<Rung>,
) -> (Vec<Rung>, Vec<usize>) {
    let mut crossing = Vec::new();
    for &alike in likenesses {
        let fresh = Rung::Alike(alike);
        if rungs.iter().any(|rung| same(model, nodes, *rung, fresh)) {
            continue;
        }
        let place = (0..rungs.len()).rev().find(|place| {
            rungs[..*place].iter().all(|coarse| nests(model, nodes, *coarse, fresh))
                && rungs[*place..].iter().all(|fine| nests(model, nodes, fresh, *fine))
        });
        match place {
            Some(place) => rungs.insert(place, fresh),
            None => crossing.push(alike),
        }
    }
    (rungs, crossing)
}

fn class(model: &Model, rung: Rung, node: NodeId) -> Option<u32> {
    match rung {
        Rung::Alike(alike) => model.likenesses[alike][node.index()],
        Rung::Level(level) => model.topology.domain_of(level, node),
    }
}

/// Whether two levels part the nodes in the same way.
fn same(model: &Model, nodes: &[NodeId], a: Rung, b: Rung) -> bool {
    let alike = |node: &NodeId| class(model, a, *node).is_none() == class(model, b, *node).is_none();
    a == b || (nodes.iter().all(alike) && nests(model, nodes, a, b) && nests(model, nodes, b, a))
}

/// Whether each domain of `fine`, and what has none there, lies in one of `coarse`.
fn nests(model: &Model, nodes: &[NodeId], coarse: Rung, fine: Rung) -> bool {
    let mut homes: BTreeMap<Option<u32>, Option<u32>> = BTreeMap::new();
    nodes.iter().all(|node| {
        let (inner, outer) = (class(model, fine, *node), class(model, coarse, *node));
        // What lacks a label is held together by nothing, so that a coarser level may part it.
        inner.is_none() || *homes.entry(inner).or_insert(outer) == outer
    })
}
