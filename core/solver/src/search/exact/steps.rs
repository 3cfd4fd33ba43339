//! What is left for the table: nodes in the order in which they are folded in, and what each can host.

use super::instance::Instance;
use super::options::Options;
use crate::model::NodeId;
use crate::search::Budget;

/// A node to fold in.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    pub(super) node: NodeId,
    pub(super) class: usize,
}

/// The nodes, those that host most first, with their options by class.
#[derive(Debug)]
pub(super) struct Steps {
    /// Replicas wanted, by role in the order of the instance; the last role runs outside the states.
    pub(super) wanted: Vec<i64>,
    pub(super) order: Vec<Step>,
    options: Vec<Options>,
    /// By class, how many nodes.
    nodes: Vec<i64>,
}

impl Steps {
    /// Lists the options of all nodes; none if the budget does not reach.
    pub(super) fn list(instance: &Instance, budget: &mut Budget<'_>) -> Option<Self> {
        let mut nodes = vec![0_i64; instance.classes.len()];
        for host in &instance.hosts {
            nodes[host.class] += 1;
        }
        let mut options = Vec::with_capacity(nodes.len());
        for (class, nodes) in nodes.iter().enumerate() {
            let listed =
                if *nodes == 0 { Options::default() } else { Options::list(instance, class, budget)? };
            options.push(listed);
        }
        let sizes: Vec<i64> = options.iter().map(Options::size).collect();
        let mut order: Vec<Step> =
            instance.hosts.iter().map(|host| Step { node: host.node, class: host.class }).collect();
        order.sort_by_key(|step| (std::cmp::Reverse(sizes[step.class]), step.class, step.node));
        Some(Self { wanted: instance.wanted.clone(), order, options, nodes })
    }

    pub(super) fn options(&self, class: usize) -> &Options {
        &self.options[class]
    }

    /// The options of each class, and how many nodes have them.
    pub(super) fn classes(&self) -> impl Iterator<Item = (&Options, i64)> {
        self.options.iter().zip(self.nodes.iter().copied())
    }
}
