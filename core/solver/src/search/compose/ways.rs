//! All ways to put a vector on the nodes, for rules whose levels cross the tree: they are no tests on its domains.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::counts::Counts;
use super::rules::{Held, Rules};
use super::seats::Seats;
use crate::model::Model;
use crate::search::Budget;

/// The work of one step, in cells.
const STEP: i64 = 200;
/// The parent of the domains of the coarsest level.
const ROOT: usize = usize::MAX;

/// What became of it.
pub(super) enum Outcome {
    /// By leaf, the vector that it holds in the end; others are not listed.
    Found(Vec<(usize, Vec<usize>)>),
    /// No way keeps all rules.
    None,
    Spent,
}

/// Something that is still to be put.
enum Task {
    /// The rest of a vector over the domains below `parent`, from a position on.
    Spread { parent: usize, at: usize, left: Vec<usize> },
    /// A vector inside a domain.
    Within { domain: usize, vector: Vec<usize> },
}

/// Domains below one parent, and the sums of each tail of them.
type Lists = Rc<(Vec<usize>, Vec<Rc<Counts>>)>;

struct Ways<'a, 'g> {
    seats: &'a Seats<'g>,
    rules: &'a Rules,
    model: &'a Model,
    lists: BTreeMap<usize, Lists>,
    found: Vec<(usize, Vec<usize>)>,
    spent: bool,
}

/// Looks for a way that keeps the rules across, by depth-first search: what fits in the tree by the sums, the rest by
/// trying.
pub(super) fn search(
    seats: &Seats<'_>,
    rules: &Rules,
    model: &Model,
    vector: &[usize],
    budget: &mut Budget<'_>,
) -> Outcome {
    let mut ways = Ways { seats, rules, model, lists: BTreeMap::new(), found: Vec::new(), spent: false };
    let mut agenda = vec![Task::Spread { parent: ROOT, at: 0, left: vector.to_vec() }];
    if ways.run(&mut agenda, budget) {
        Outcome::Found(ways.found)
    } else if ways.spent {
        Outcome::Spent
    } else {
        Outcome::None
    }
}

/// What each node holds in the end, what runs there included.
pub(super) fn held<'a>(seats: &'a Seats<'_>, found: &'a [(usize, Vec<usize>)]) -> Vec<Held<'a>> {
    let ground = seats.ground;
    let touched: BTreeMap<usize, &Vec<usize>> = found.iter().map(|(leaf, vector)| (*leaf, vector)).collect();
    let leaf = |(index, branch): (usize, &super::tree::Branch)| {
        let running = &ground.running[index];
        Some(Held { node: branch.node?, vector: touched.get(&index).copied().unwrap_or(running), running })
    };
    ground.tree.branches.iter().enumerate().filter_map(leaf).collect()
}

impl Ways<'_, '_> {
    /// Does what is on the agenda, the last task first; on failure the agenda is as it was.
    fn run(&mut self, agenda: &mut Vec<Task>, budget: &mut Budget<'_>) -> bool {
        let Some(task) = agenda.pop() else {
            return self.rules.hold_across(self.model, &held(self.seats, &self.found));
        };
        if self.spent || !budget.spend(STEP) {
            self.spent = true;
            return false;
        }
        let done = match &task {
            Task::Within { domain, vector } => self.within(*domain, vector, agenda, budget),
            Task::Spread { parent, at, left } => self.spread(*parent, *at, left, agenda, budget),
        };
        if !done {
            agenda.push(task);
        }
        done
    }

    fn within(
        &mut self,
        domain: usize,
        vector: &[usize],
        agenda: &mut Vec<Task>,
        budget: &mut Budget<'_>,
    ) -> bool {
        let ground = self.seats.ground;
        if ground.tree.branches[domain].node.is_none() {
            agenda.push(Task::Spread { parent: domain, at: 0, left: vector.to_vec() });
            let done = self.run(agenda, budget);
            if !done {
                agenda.pop();
            }
            return done;
        }
        if *vector == ground.running[domain] {
            return self.run(agenda, budget);
        }
        self.found.push((domain, vector.to_vec()));
        let may_hold = self.rules.may_hold_across(self.model, &held(self.seats, &self.found));
        if may_hold && self.run(agenda, budget) {
            return true;
        }
        self.found.pop();
        false
    }

    fn spread(
        &mut self,
        parent: usize,
        at: usize,
        left: &[usize],
        agenda: &mut Vec<Task>,
        budget: &mut Budget<'_>,
    ) -> bool {
        let Some((rung, lists)) = self.lists(parent, budget) else {
            self.spent = true;
            return false;
        };
        let (domains, tails) = &*lists;
        let Some(domain) = domains.get(at) else {
            return left.iter().all(|left| *left == 0) && self.run(agenda, budget);
        };
        let space = self.seats.ground.space;
        let set = Rc::clone(&self.seats.sums.of[*domain]);
        if !budget.spend(i64::try_from(set.len() + space.words()).unwrap_or(i64::MAX)) {
            self.spent = true;
            return false;
        }
        let mut part = vec![0; left.len()];
        // The largest part first, so that few domains are used.
        let numbers: Vec<usize> = set.numbers().collect();
        for (tried, number) in numbers.into_iter().rev().enumerate() {
            if !budget.goes_on(tried) {
                self.spent = true;
                return false;
            }
            space.read(number, &mut part);
            if part.iter().zip(left).any(|(part, left)| part > left) {
                continue;
            }
            let rest: Vec<usize> = left.iter().zip(&part).map(|(left, part)| left - part).collect();
            let other = space.number(&rest);
            let exclusive = &self.seats.sums.exclusive[rung];
            let is_apart = exclusive.iter().all(|without| without.has(number) || without.has(other));
            if !is_apart || !tails[at + 1].has(other) {
                continue;
            }
            let before = agenda.len();
            agenda.push(Task::Spread { parent, at: at + 1, left: rest });
            agenda.push(Task::Within { domain: *domain, vector: part.clone() });
            if self.run(agenda, budget) {
                return true;
            }
            agenda.truncate(before);
        }
        false
    }

    /// The rung of the domains below a parent, and their lists; none when the budget or the memory ends.
    fn lists(&mut self, parent: usize, budget: &mut Budget<'_>) -> Option<(usize, Lists)> {
        let tree = &self.seats.ground.tree;
        let (rung, domains) = match tree.branches.get(parent) {
            Some(branch) => (branch.rung + 1, &branch.children),
            None => (0, &tree.roots),
        };
        if let Some(known) = self.lists.get(&parent) {
            return Some((rung, Rc::clone(known)));
        }
        let order = self.seats.largest_first(domains, budget)?;
        let tails = self.seats.suffixes(&order, rung, budget)?;
        let lists = Rc::new((order, tails));
        self.lists.insert(parent, Rc::clone(&lists));
        Some((rung, lists))
    }
}
