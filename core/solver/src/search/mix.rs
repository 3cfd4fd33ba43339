//! The mix of roles on some nodes: counts, what is free beside them, and sums for each domain that holds any.

use super::asks::Asks;
use crate::model::{Model, NodeId, RoleId};
use crate::objective::locality::Spot;
use crate::state::Ledger;

/// Roles of a gang on the nodes that it may use, not booked in the Ledger.
pub(super) struct Mix<'a> {
    model: &'a Model,
    asks: &'a Asks<'a>,
    /// Roles of the gang, those without replicas to place included.
    roles: usize,
    resources: usize,
    /// In canonical order.
    nodes: Vec<NodeId>,
    /// By node, then asked role: room in an empty mix.
    caps: Vec<u16>,
    /// By node, then resource: what is free beside the mix.
    free: Vec<i64>,
    /// By node, then asked role.
    counts: Vec<i64>,
    /// By parting level, then node: which of the groups of that level it is in.
    groups: Vec<Vec<u32>>,
    /// By parting level, then group and role: replicas there, running ones included.
    sums: Vec<Vec<i64>>,
    /// By role, then role: how much they talk.
    weights: Vec<i64>,
    /// Replicas of each role, running ones included.
    totals: Vec<i64>,
    /// Nodes looked at.
    pub(super) looked: usize,
}

impl<'a> Mix<'a> {
    /// An empty mix on `nodes`, sorted; running replicas of the gang are where they are.
    pub(super) fn new(ledger: &Ledger<'a>, asks: &'a Asks<'a>, nodes: Vec<NodeId>) -> Self {
        let model = ledger.model();
        let facts = model.gang(asks.demand.gang);
        let roles = facts.roles.len();
        let mut weights = vec![0; roles * roles];
        for pair in &facts.traffic {
            weights[pair.a.index() * roles + pair.b.index()] = pair.weight;
            weights[pair.b.index() * roles + pair.a.index()] = pair.weight;
        }
        let mut mix = Self {
            model,
            asks,
            roles,
            resources: model.resources.len(),
            caps: Vec::with_capacity(nodes.len() * asks.roles.len()),
            free: Vec::with_capacity(nodes.len() * model.resources.len()),
            counts: vec![0; nodes.len() * asks.roles.len()],
            groups: Vec::new(),
            sums: Vec::new(),
            weights,
            totals: vec![0; roles],
            looked: nodes.len(),
            nodes,
        };
        for node in &mix.nodes {
            mix.caps.extend(asks.roles.iter().map(|ask| ledger.shape(ask.shape).counts()[node.index()]));
            mix.free.extend_from_slice(ledger.free(*node));
        }
        mix.group();
        mix.count_running();
        mix
    }

    fn group(&mut self) {
        for level in self.model.topology.parting() {
            let mut groups = Vec::with_capacity(self.nodes.len());
            let mut group = 0_u32;
            for (index, node) in self.nodes.iter().enumerate() {
                if index > 0 && self.model.topology.parts(level, self.nodes[index - 1], *node) {
                    group += 1;
                }
                groups.push(group);
            }
            self.groups.push(groups);
            self.sums.push(vec![0; (group as usize + 1) * self.roles]);
        }
    }

    /// Replicas that run on other nodes count in the domains that they share with these.
    fn count_running(&mut self) {
        for (role, running) in self.asks.demand.running.iter().enumerate() {
            for node in running {
                self.totals[role] += 1;
                for (level, groups) in self.model.topology.parting().zip(0..) {
                    let beside =
                        self.nodes.iter().position(|other| !self.model.topology.parts(level, *other, *node));
                    if let Some(index) = beside {
                        let group = self.groups[groups][index] as usize;
                        self.sums[groups][group * self.roles + role] += 1;
                    }
                }
            }
        }
    }

    pub(super) fn nodes(&self) -> &[NodeId] {
        &self.nodes
    }

    /// How many more of an asked role a node takes.
    pub(super) fn room(&self, node: usize, ask: usize) -> i64 {
        if self.caps[node * self.asks.roles.len() + ask] == 0 {
            return 0;
        }
        let shape = &self.model.shapes[self.asks.roles[ask].shape.index()];
        shape.request.most_in(&self.free[node * self.resources..(node + 1) * self.resources])
    }

    /// Room for all asked roles in an empty mix, each alone.
    pub(super) fn hold(&self, node: usize) -> u32 {
        let asks = self.asks.roles.len();
        self.caps[node * asks..(node + 1) * asks].iter().map(|cap| u32::from(*cap)).sum()
    }

    pub(super) fn may_host(&self, node: usize, ask: usize) -> bool {
        self.caps[node * self.asks.roles.len() + ask] > 0
    }

    pub(super) fn count(&self, node: usize, ask: usize) -> i64 {
        self.counts[node * self.asks.roles.len() + ask]
    }

    /// Puts replicas on a node, or takes them away.
    pub(super) fn put(&mut self, node: usize, ask: usize, count: i64) {
        if count == 0 {
            return;
        }
        let asked = self.asks.roles[ask];
        self.counts[node * self.asks.roles.len() + ask] += count;
        let request = &self.model.shapes[asked.shape.index()].request;
        let row = node * self.resources..(node + 1) * self.resources;
        for (free, amount) in self.free[row].iter_mut().zip(request.as_slice()) {
            *free = free.saturating_sub(amount.saturating_mul(count));
        }
        let role = asked.role.index();
        for (groups, sums) in self.groups.iter().zip(&mut self.sums) {
            sums[groups[node] as usize * self.roles + role] += count;
        }
        self.totals[role] += count;
    }

    /// Takes everything away.
    pub(super) fn clear(&mut self) {
        for node in 0..self.nodes.len() {
            for ask in 0..self.asks.roles.len() {
                self.put(node, ask, -self.count(node, ask));
            }
        }
    }

    /// The counts, to come back to.
    pub(super) fn save(&self) -> Vec<i64> {
        self.counts.clone()
    }

    /// Comes back to saved counts.
    pub(super) fn restore(&mut self, counts: &[i64]) {
        let asks = self.asks.roles.len();
        for (index, count) in counts.iter().enumerate() {
            let change = count - self.counts[index];
            self.put(index / asks, index % asks, change);
        }
    }

    /// How many of an asked role are missing.
    pub(super) fn missing(&self, ask: usize) -> i64 {
        let asked = self.asks.roles[ask];
        let running = self.asks.demand.running[asked.role.index()].len();
        i64::from(asked.count) + i64::try_from(running).unwrap_or(0) - self.totals[asked.role.index()]
    }

    /// Whether all pairs of replicas talk alike.
    pub(super) fn talks_alike(&self) -> bool {
        self.weights.windows(2).all(|pair| pair[0] == pair[1])
    }

    pub(super) fn weight(&self, role: RoleId, other: RoleId) -> i64 {
        self.weights[role.index() * self.roles + other.index()]
    }

    /// By parting level, then group: what one more replica of a role saves there, for the replicas beside it.
    pub(super) fn gains(&self, role: RoleId) -> Vec<Vec<i128>> {
        let weights = &self.weights[role.index() * self.roles..(role.index() + 1) * self.roles];
        let gain = |sums: &[i64]| {
            sums.iter().zip(weights).map(|(sum, weight)| i128::from(*sum) * i128::from(*weight)).sum()
        };
        self.sums.iter().map(|sums| sums.chunks_exact(self.roles).map(gain).collect()).collect()
    }

    /// By parting level, the group of a node.
    pub(super) fn groups(&self, node: usize) -> impl DoubleEndedIterator<Item = usize> + '_ {
        self.groups.iter().map(move |groups| groups[node] as usize)
    }

    /// Weights of all pairs of replicas that some level parts, once for each such level, less a constant: the traffic
    /// with replicas on other nodes than these.
    pub(super) fn cost(&self) -> i128 {
        let all = self.pairs(&self.totals);
        let within =
            |sums: &Vec<i64>| sums.chunks_exact(self.roles).map(|sums| self.pairs(sums)).sum::<i128>();
        self.sums.iter().map(|sums| all - within(sums)).sum()
    }

    /// How the cost changes when one replica of `one` goes from node `a` to `b`, and one of `other` the other way.
    pub(super) fn exchange_cost(&self, one: RoleId, a: usize, other: RoleId, b: usize) -> i128 {
        let mut change = 0;
        for (groups, sums) in self.groups.iter().zip(&self.sums) {
            let (from, to) = (groups[a] as usize, groups[b] as usize);
            if from == to {
                continue;
            }
            let mut left = sums[from * self.roles..(from + 1) * self.roles].to_vec();
            let mut right = sums[to * self.roles..(to + 1) * self.roles].to_vec();
            change += self.pairs(&left) + self.pairs(&right);
            left[one.index()] -= 1;
            left[other.index()] += 1;
            right[one.index()] += 1;
            right[other.index()] -= 1;
            change -= self.pairs(&left) + self.pairs(&right);
        }
        change
    }

    fn pairs(&self, counts: &[i64]) -> i128 {
        let mut sum = 0;
        for (a, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let weights = &self.weights[a * self.roles..(a + 1) * self.roles];
            sum += i128::from(weights[a]) * i128::from(count * (count - 1) / 2);
            for (other, weight) in counts.iter().zip(weights).skip(a + 1) {
                sum += i128::from(*weight) * i128::from(count * other);
            }
        }
        sum
    }

    /// What is in the mix, sorted by node, then role.
    pub(super) fn spots(&self) -> Vec<Spot> {
        let asks = self.asks.roles.len();
        let mut spots: Vec<Spot> = (0..self.counts.len())
            .filter(|index| self.counts[*index] > 0)
            .map(|index| Spot {
                node: self.nodes[index / asks],
                role: self.asks.roles[index % asks].role,
                count: self.counts[index],
            })
            .collect();
        spots.sort_unstable();
        spots
    }
}
