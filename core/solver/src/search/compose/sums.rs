//! From what nodes can host to what domains can hold: sums bottom-up, each filtered by the rules of its level.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::counts::{Counts, Space};
use super::offers::{Kinds, Offers, Question};
use super::rules::{Presence, Rule, Test};
use super::tree::Tree;
use crate::constraint::Demand;
use crate::model::{Model, NodeId, RoleId};
use crate::search::Budget;

/// More words than this are not kept in sets.
const MOST_WORDS: usize = 16_000_000;

/// What does not change from one try to the next: the nodes, the tree over them, and what each node can host.
#[derive(Debug)]
pub(super) struct Ground<'a> {
    pub(super) space: &'a Space,
    pub(super) tree: Tree,
    /// By branch, the gang's replicas that run below it.
    pub(super) running: Vec<Vec<usize>>,
    /// By branch, how many replicas of the largest role could be added below it, for a comparison of sizes.
    pub(super) room: Vec<usize>,
    /// By branch, how much the gang would rather be there: the best of its nodes.
    pub(super) scores: Vec<i64>,
    /// By leaf, what the node can host, a position in `kinds`.
    kind_of: Vec<usize>,
    kinds: Kinds,
    /// By presence and branch, whether somebody of that kind is there.
    present: Vec<Vec<bool>>,
}

/// By branch, the vectors that it may hold, all rules of its levels kept.
#[derive(Debug, Clone)]
pub(super) struct Sums {
    pub(super) of: Vec<Rc<Counts>>,
    /// The vectors that everything together may hold.
    pub(super) total: Counts,
    /// By rung, the sets of vectors without replicas of units that may use only one of its domains.
    pub(super) exclusive: Vec<Vec<Counts>>,
}

/// What decides the set of a domain: its rung and whether it has a class, what runs there, who is there, the sets
/// below.
type Kind = (usize, bool, Vec<usize>, Vec<bool>, Vec<usize>);

impl<'a> Ground<'a> {
    /// None when the budget ends.
    pub(super) fn survey(
        question: &Question<'a, '_>,
        tree: Tree,
        presences: &[Presence],
        budget: &mut Budget<'_>,
    ) -> Option<Self> {
        let Question { ledger, demand, space, offers, .. } = *question;
        let model = ledger.model();
        let branches = tree.branches.len();
        let mut ground = Self {
            running: vec![vec![0; space.tops.len()]; branches],
            room: vec![0; branches],
            scores: vec![i64::MIN; branches],
            kind_of: vec![0; branches],
            kinds: Kinds::default(),
            present: vec![vec![false; branches]; presences.len()],
            space,
            tree,
        };
        let positions: BTreeMap<NodeId, usize> = offers.nodes.iter().copied().zip(0..).collect();
        for branch in 0..branches {
            if let Some(node) = ground.tree.branches[branch].node {
                let position = positions[&node];
                ground.running[branch].clone_from(&offers.running[position]);
                ground.room[branch] = offers.room[position];
                ground.scores[branch] = score(model, demand, offers, position);
                ground.kind_of[branch] = ground.kinds.of(question, position, budget)?;
                for (presence, present) in presences.iter().zip(&mut ground.present) {
                    present[branch] = presence.at[node.index()];
                }
            }
            for child in ground.tree.branches[branch].children.clone() {
                for role in 0..ground.space.tops.len() {
                    ground.running[branch][role] += ground.running[child][role];
                }
                ground.room[branch] = ground.room[branch].saturating_add(ground.room[child]);
                ground.scores[branch] = ground.scores[branch].max(ground.scores[child]);
                for present in &mut ground.present {
                    present[branch] |= present[child];
                }
            }
        }
        Some(ground)
    }

    /// All replicas of the gang that run.
    pub(super) fn running_in_all(&self) -> Vec<usize> {
        let mut all = vec![0; self.space.tops.len()];
        for root in &self.tree.roots {
            all.iter_mut().zip(&self.running[*root]).for_each(|(all, more)| *all += more);
        }
        all
    }

    /// What every domain may hold under `rules`, where each of the `single` units (roles, rung) lies in one domain of
    /// its rung; none when the budget or the memory ends.
    pub(super) fn sums(
        &self,
        rules: &[Rule],
        single: &[(Vec<usize>, usize)],
        budget: &mut Budget<'_>,
    ) -> Option<Sums> {
        let space = self.space;
        let rungs = self.tree.rungs.len();
        let mut exclusive: Vec<Vec<Counts>> = vec![Vec::new(); rungs];
        for (roles, at) in single {
            let without = space.only(budget, |vector| roles.iter().all(|role| vector[*role] == 0))?;
            exclusive[..=*at].iter_mut().for_each(|sets| sets.push(without.clone()));
        }
        let masks =
            rules.iter().map(|rule| rule.test.mask(space, budget)).collect::<Option<Vec<Counts>>>()?;
        let mut of: Vec<Rc<Counts>> = Vec::with_capacity(self.tree.branches.len());
        let mut ids: Vec<usize> = Vec::with_capacity(self.tree.branches.len());
        let mut known: BTreeMap<Kind, usize> = BTreeMap::new();
        let mut words = 0;
        for (index, branch) in self.tree.branches.iter().enumerate() {
            let mut below: Vec<usize> = match branch.node {
                Some(_) => vec![self.kind_of[index]],
                None => branch.children.iter().map(|child| ids[*child]).collect(),
            };
            below.sort_unstable();
            let present = self.present.iter().map(|present| present[index]).collect();
            let key = (branch.rung, branch.class.is_some(), self.running[index].clone(), present, below);
            if let Some(before) = known.get(&key) {
                ids.push(*before);
                of.push(Rc::clone(&of[*before]));
                continue;
            }
            let mut set = if branch.node.is_some() {
                self.kinds.sets[self.kind_of[index]].clone()
            } else {
                let children: Vec<&Counts> = branch.children.iter().map(|child| &*of[*child]).collect();
                self.total(&children, &exclusive[branch.rung + 1], budget)?
            };
            if branch.class.is_some() {
                self.filter(&mut set, index, rules, &masks, budget)?;
            } else {
                self.outside(&mut set, index, rules, single, budget)?;
            }
            words += space.words();
            if words > MOST_WORDS {
                return None;
            }
            known.insert(key, index);
            ids.push(index);
            of.push(Rc::new(set));
        }
        let roots: Vec<&Counts> = self.tree.roots.iter().map(|root| &*of[*root]).collect();
        let total = self.total(&roots, &exclusive[0], budget)?;
        Some(Sums { of, total, exclusive })
    }

    /// Nodes without a domain of a level get nothing of what must lie in domains of it.
    fn outside(
        &self,
        set: &mut Counts,
        index: usize,
        rules: &[Rule],
        single: &[(Vec<usize>, usize)],
        budget: &mut Budget<'_>,
    ) -> Option<()> {
        let (rung, running) = (self.tree.branches[index].rung, &self.running[index]);
        let sliced = rules.iter().filter(|rule| rule.rung == rung).filter_map(|rule| match &rule.test {
            Test::Multiple(roles, _) => Some(roles),
            _ => None,
        });
        let whole = single.iter().filter(|(_, at)| *at == rung).map(|(roles, _)| roles);
        for roles in sliced.chain(whole) {
            let kept = |vector: &[usize]| roles.iter().all(|role| vector[*role] == running[*role]);
            set.keep(&self.space.only(budget, kept)?);
        }
        Some(())
    }

    fn filter(
        &self,
        set: &mut Counts,
        index: usize,
        rules: &[Rule],
        masks: &[Counts],
        budget: &mut Budget<'_>,
    ) -> Option<()> {
        let branch = &self.tree.branches[index];
        let running = &self.running[index];
        for (rule, mask) in rules.iter().zip(masks).filter(|(rule, _)| rule.rung == branch.rung) {
            if let Test::Together(_, _, presence) = rule.test
                && self.present[presence][index]
            {
                continue;
            }
            if rule.test.meets(running) {
                set.keep(&rule.test.mask_beside(self.space, running, budget)?);
            } else {
                set.keep(mask);
            }
        }
        Some(())
    }

    fn total(&self, parts: &[&Counts], exclusive: &[Counts], budget: &mut Budget<'_>) -> Option<Counts> {
        let without: Vec<&Counts> = exclusive.iter().collect();
        let mut sum = self.space.single(&vec![0; self.space.tops.len()]);
        let mut skip: Option<&Counts> = None;
        for part in parts {
            // Another one of a kind that changed nothing changes nothing.
            if skip == Some(*part) {
                continue;
            }
            let next = self.space.sum(&sum, part, &without, budget)?;
            skip = (next == sum).then_some(*part);
            sum = next;
        }
        Some(sum)
    }
}

/// How much the roles that fit on a node would rather be there.
fn score(model: &Model, demand: &Demand, offers: &Offers, position: usize) -> i64 {
    let node = offers.nodes[position];
    let each = |(role, cap): (usize, &usize)| {
        let scores = &model.role(demand.gang, RoleId::new(role)).scores;
        if *cap == 0 { 0 } else { scores.get(node.index()).copied().unwrap_or(0) }
    };
    offers.caps[position].iter().enumerate().map(each).sum()
}
