//! What each node can host: all count vectors, running replicas of the gang included.

use std::collections::BTreeMap;

use super::counts::{Counts, Space};
use super::rules::{Rules, largest_role, number};
use super::zones::Zones;
use crate::constraint::{Demand, node_affinity};
use crate::model::{GangId, NodeId, RoleId};
use crate::search::Budget;
use crate::state::Ledger;

/// So many vectors are found before they are paid for.
const MOST_UNPAID: i64 = 1 << 14;

/// What is asked, and what is known of the nodes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Question<'a, 'm> {
    pub(super) ledger: &'a Ledger<'m>,
    pub(super) demand: &'a Demand,
    pub(super) space: &'a Space,
    pub(super) offers: &'a Offers,
    pub(super) zones: &'a Zones,
}

/// The nodes that matter: those that can take something, or hold something of the gang.
#[derive(Debug)]
pub(super) struct Offers {
    pub(super) nodes: Vec<NodeId>,
    /// By position in `nodes`, how many of each role may be added, each for itself.
    pub(super) caps: Vec<Vec<usize>>,
    /// By position in `nodes`, how many of each role run there.
    pub(super) running: Vec<Vec<usize>>,
    /// By position in `nodes`, how many of the largest role fit, however many are asked for.
    pub(super) room: Vec<usize>,
}

impl Offers {
    /// Looks at every node once; `most` is the largest number of each role that may be added.
    pub(super) fn survey(ledger: &Ledger<'_>, demand: &Demand, most: &[usize]) -> Self {
        let model = ledger.model();
        let mut running: BTreeMap<NodeId, Vec<usize>> = BTreeMap::new();
        for (role, nodes) in demand.running.iter().enumerate() {
            for node in nodes {
                running.entry(*node).or_insert_with(|| vec![0; most.len()])[role] += 1;
            }
        }
        let mut offers = Self { nodes: Vec::new(), caps: Vec::new(), running: Vec::new(), room: Vec::new() };
        let largest = largest_role(demand);
        for node in (0..model.nodes.len()).map(NodeId::new) {
            let cap = |(role, most): (usize, &usize)| {
                let role = RoleId::new(role);
                if *most == 0 || !node_affinity::admits(model, demand, role, node) {
                    return 0;
                }
                number(ledger.most(demand.gang, role, node)).min(*most)
            };
            let caps: Vec<usize> = most.iter().enumerate().map(cap).collect();
            let here = running.remove(&node);
            if here.is_some() || caps.iter().any(|cap| *cap > 0) {
                offers.nodes.push(node);
                let room =
                    if caps[largest] == 0 { 0 } else { ledger.most(demand.gang, RoleId::new(largest), node) };
                offers.room.push(number(room));
                offers.caps.push(caps);
                offers.running.push(here.unwrap_or_else(|| vec![0; most.len()]));
            }
        }
        offers
    }

    /// Takes away what rules on company keep from nodes.
    pub(super) fn restrict(&mut self, rules: &Rules) {
        for (node, caps) in self.nodes.iter().zip(&mut self.caps) {
            for (role, cap) in caps.iter_mut().enumerate() {
                if rules.kept_from[role][node.index()] {
                    *cap = 0;
                }
            }
        }
    }
}

/// Sets of what nodes can host, each kind of node once.
#[derive(Debug, Default)]
pub(super) struct Kinds {
    known: BTreeMap<Key, usize>,
    pub(super) sets: Vec<Counts>,
}

/// What decides the set of a node: running, caps, free amounts that can bind, and its zones.
type Key = (Vec<usize>, Vec<usize>, Vec<i64>, Option<NodeId>);

impl Kinds {
    /// The set of the node at a position of the offers; none when the budget ends.
    pub(super) fn of(
        &mut self,
        question: &Question<'_, '_>,
        position: usize,
        budget: &mut Budget<'_>,
    ) -> Option<usize> {
        let Question { ledger, demand, space, offers, zones } = *question;
        let (node, caps, running) =
            (offers.nodes[position], &offers.caps[position], &offers.running[position]);
        let zoned = zones.matter_on(node);
        let wanted = caps.iter().filter(|cap| **cap > 0).count();
        let free: Vec<i64> = if wanted > 1 { binding(ledger, demand.gang, node, caps) } else { Vec::new() };
        let key = (running.clone(), caps.clone(), free, zoned.then_some(node));
        if let Some(known) = self.known.get(&key) {
            return Some(*known);
        }
        let mut fill = Fill { question, caps, running, set: space.none(), work: 0, budget };
        fill.role(0, &mut vec![0; caps.len()], ledger.free(node))?;
        let Fill { mut set, work, budget, .. } = fill;
        if !budget.spend(work) {
            return None;
        }
        if zoned {
            set.keep(&zones.hostable(question, position, budget)?);
        }
        self.sets.push(set);
        self.known.insert(key, self.sets.len() - 1);
        Some(self.sets.len() - 1)
    }
}

/// The free amounts of a node, those that cannot bind as the most that could be taken.
fn binding(ledger: &Ledger<'_>, gang: GangId, node: NodeId, caps: &[usize]) -> Vec<i64> {
    let model = ledger.model();
    let free = ledger.free(node).iter().enumerate().map(|(resource, free)| {
        let all = caps.iter().enumerate().map(|(role, cap)| {
            let request = model.role(gang, RoleId::new(role)).request.as_slice()[resource];
            i128::from(request) * i128::try_from(*cap).unwrap_or(i128::MAX)
        });
        i64::try_from(all.sum::<i128>().min(i128::from(*free))).unwrap_or(*free)
    });
    free.collect()
}

/// Enumerates what fits on a node, role by role.
struct Fill<'a, 'm, 'b, 'f> {
    question: &'a Question<'a, 'm>,
    caps: &'a [usize],
    running: &'a [usize],
    set: Counts,
    /// Vectors that were found and are not paid for yet.
    work: i64,
    budget: &'b mut Budget<'f>,
}

impl Fill<'_, '_, '_, '_> {
    /// None when the budget ends.
    fn role(&mut self, role: usize, added: &mut Vec<usize>, free: &[i64]) -> Option<()> {
        if role == self.caps.len() {
            let total: Vec<usize> =
                added.iter().zip(self.running).map(|(added, running)| added + running).collect();
            self.set.insert(self.question.space.number(&total));
            self.work += 1;
            if self.work == MOST_UNPAID {
                self.work = 0;
                self.budget.spend(MOST_UNPAID).then_some(())?;
            }
            return Some(());
        }
        let model = self.question.ledger.model();
        let request = &model.role(self.question.demand.gang, RoleId::new(role)).request;
        let cap = self.caps[role];
        let most = if cap == 0 { 0 } else { number(request.most_in(free)).min(cap) };
        let mut left = free.to_vec();
        for count in 0..=most {
            if count > 0 {
                left.iter_mut().zip(request.as_slice()).for_each(|(left, amount)| *left -= amount);
            }
            added[role] = count;
            self.role(role + 1, added, &left)?;
        }
        added[role] = 0;
        Some(())
    }
}
