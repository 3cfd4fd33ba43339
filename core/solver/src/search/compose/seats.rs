//! From counts to nodes: the way back down the tree, whole parts in one domain where one holds them.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::rc::Rc;

use super::counts::Counts;
use super::sums::{Ground, Sums};
use crate::document::Fill;
use crate::search::Budget;

/// More words than this are not kept in the sums of what is left.
const MOST_WORDS: usize = 32_000_000;

/// Walks back from a vector to the nodes.
pub(super) struct Seats<'a> {
    pub(super) ground: &'a Ground<'a>,
    pub(super) sums: &'a Sums,
    pub(super) fill: Fill,
    /// By leaf, the vector that it holds in the end; others are not listed.
    pub(super) found: Vec<(usize, Vec<usize>)>,
}

impl Seats<'_> {
    /// Spreads `vector` over domains of one level with a common parent; `rung` is theirs. False when the budget or
    /// the memory ends.
    pub(super) fn over(
        &mut self,
        domains: &[usize],
        rung: usize,
        vector: &[usize],
        budget: &mut Budget<'_>,
    ) -> bool {
        let Some(parts) = self.parts(domains, rung, vector, budget) else { return false };
        parts.into_iter().all(|(domain, part)| self.within(domain, &part, budget))
    }

    /// Spreads `vector` inside a domain.
    pub(super) fn within(&mut self, domain: usize, vector: &[usize], budget: &mut Budget<'_>) -> bool {
        let branch = &self.ground.tree.branches[domain];
        if branch.node.is_some() {
            self.found.push((domain, vector.to_vec()));
            return true;
        }
        self.over(&branch.children, branch.rung + 1, vector, budget)
    }

    /// Which domain takes which part: one takes all that is new if one can, else the largest first.
    fn parts(
        &self,
        domains: &[usize],
        rung: usize,
        vector: &[usize],
        budget: &mut Budget<'_>,
    ) -> Option<Vec<(usize, Vec<usize>)>> {
        let order = self.largest_first(domains, budget)?;
        let mut suffixes: Option<Vec<Rc<Counts>>> = None;
        let mut left = vector.to_vec();
        let mut parts = Vec::new();
        for at in 0..order.len() {
            if let Some(whole) = self.whole(&order[at..], rung, &left) {
                parts.extend(whole);
                return Some(parts);
            }
            let suffixes = match &suffixes {
                Some(known) => known,
                None => suffixes.insert(self.suffixes(&order, rung, budget)?),
            };
            let part = self.largest(order[at], rung, &left, &suffixes[at + 1], budget)?;
            left.iter_mut().zip(&part).for_each(|(left, part)| *left -= part);
            parts.push((order[at], part));
        }
        debug_assert!(left.iter().all(|left| *left == 0), "the sums were made of these parts");
        Some(parts)
    }

    /// Domains by what they can take, the largest part first; among those that take as much the one with the least
    /// room beyond that, or the most.
    pub(super) fn largest_first(&self, domains: &[usize], budget: &mut Budget<'_>) -> Option<Vec<usize>> {
        let ground = self.ground;
        let mut known: BTreeMap<&Counts, usize> = BTreeMap::new();
        let mut keyed = Vec::with_capacity(domains.len());
        for domain in domains {
            let set = &*self.sums.of[*domain];
            let most = if let Some(most) = known.get(set) {
                *most
            } else {
                if !budget.spend(i64::try_from(set.len()).unwrap_or(i64::MAX)) {
                    return None;
                }
                let mut most = 0_usize;
                for (at, number) in set.numbers().enumerate() {
                    if !budget.goes_on(at) {
                        return None;
                    }
                    most = most.max(ground.space.vector(number).iter().sum());
                }
                known.insert(set, most);
                most
            };
            let holds = ground.running[*domain].iter().sum::<usize>() > 0;
            let key =
                (Reverse(ground.scores[*domain]), Reverse(holds), Reverse(most), self.room(*domain), *domain);
            keyed.push(key);
        }
        keyed.sort_unstable();
        Some(keyed.into_iter().map(|key| key.4).collect())
    }

    /// The room of a domain, so that the better one is smaller.
    pub(super) fn room(&self, domain: usize) -> i64 {
        let room = i64::try_from(self.ground.room[domain]).unwrap_or(i64::MAX);
        if self.fill == Fill::Pack { room } else { -room }
    }

    /// One domain takes all that is new and the others keep what they have: the one with the least room, or the most.
    fn whole(&self, domains: &[usize], rung: usize, vector: &[usize]) -> Option<Vec<(usize, Vec<usize>)>> {
        let ground = self.ground;
        let mut kept = vec![0; vector.len()];
        let mut strained = Vec::new();
        for domain in domains {
            let running = &ground.running[*domain];
            kept.iter_mut().zip(running).for_each(|(kept, more)| *kept += more);
            if !self.sums.of[*domain].has(ground.space.number(running)) {
                strained.push(*domain);
            }
        }
        if strained.len() > 1 || kept.iter().zip(vector).any(|(kept, wanted)| kept > wanted) {
            return None;
        }
        let new: Vec<usize> = vector.iter().zip(&kept).map(|(wanted, kept)| wanted - kept).collect();
        let fits = |domain: &&usize| {
            let part: Vec<usize> =
                ground.running[**domain].iter().zip(&new).map(|(running, new)| running + new).collect();
            strained.iter().all(|other| other == *domain)
                && self.sums.of[**domain].has(ground.space.number(&part))
                && self.is_apart(domains, **domain, &part, rung)
        };
        let key = |domain: &&usize| (Reverse(ground.scores[**domain]), self.room(**domain), **domain);
        let taker = *domains.iter().filter(fits).min_by_key(key)?;
        let part = |domain: &usize| {
            let mut part = ground.running[*domain].clone();
            if *domain == taker {
                part.iter_mut().zip(&new).for_each(|(part, new)| *part += new);
            }
            (*domain, part)
        };
        Some(domains.iter().map(part).filter(|(_, part)| part.iter().any(|count| *count > 0)).collect())
    }

    /// Whether what the others keep does not clash with `part` of units that may use only one of the domains.
    fn is_apart(&self, domains: &[usize], taker: usize, part: &[usize], rung: usize) -> bool {
        let space = self.ground.space;
        self.sums.exclusive[rung].iter().all(|without| {
            let uses = |domain: usize| {
                let vector = if domain == taker { part } else { &self.ground.running[domain] };
                !without.has(space.number(vector))
            };
            domains.iter().filter(|domain| uses(**domain)).count() <= 1
        })
    }

    /// The largest part of `left` that a domain may take so that the rest, whose sums are `rest`, takes what is left.
    fn largest(
        &self,
        domain: usize,
        rung: usize,
        left: &[usize],
        rest: &Counts,
        budget: &mut Budget<'_>,
    ) -> Option<Vec<usize>> {
        let space = self.ground.space;
        let set = &self.sums.of[domain];
        if !budget.spend(i64::try_from(set.len() + space.words()).unwrap_or(i64::MAX)) {
            return None;
        }
        let mut part = vec![0; left.len()];
        let mut best: Option<(usize, usize)> = None;
        for (at, number) in set.numbers().enumerate() {
            if !budget.goes_on(at) {
                return None;
            }
            space.read(number, &mut part);
            if part.iter().zip(left).any(|(part, left)| part > left) {
                continue;
            }
            let other: Vec<usize> = left.iter().zip(&part).map(|(left, part)| left - part).collect();
            let other = space.number(&other);
            let apart =
                self.sums.exclusive[rung].iter().all(|without| without.has(number) || without.has(other));
            if apart && rest.has(other) {
                best = best.max(Some((part.iter().sum(), number)));
            }
        }
        best.map(|(_, number)| space.vector(number))
    }

    /// The sums of each tail of `domains`, the empty one last.
    pub(super) fn suffixes(
        &self,
        domains: &[usize],
        rung: usize,
        budget: &mut Budget<'_>,
    ) -> Option<Vec<Rc<Counts>>> {
        let space = self.ground.space;
        let without: Vec<&Counts> = self.sums.exclusive[rung].iter().collect();
        let mut suffixes = vec![Rc::new(space.single(&vec![0; space.tops.len()]))];
        let mut words = space.words();
        let mut settled: Option<usize> = None;
        for domain in domains.iter().rev() {
            let last = Rc::clone(suffixes.last()?);
            let set = &self.sums.of[*domain];
            // Another one of a kind that changed nothing changes nothing.
            if settled.is_some_and(|other| self.sums.of[other] == *set) {
                suffixes.push(last);
                continue;
            }
            let next = space.sum(&last, set, &without, budget)?;
            if next == *last {
                settled = Some(*domain);
                suffixes.push(last);
                continue;
            }
            settled = None;
            words += space.words();
            if words > MOST_WORDS {
                return None;
            }
            suffixes.push(Rc::new(next));
        }
        suffixes.reverse();
        Some(suffixes)
    }
}
