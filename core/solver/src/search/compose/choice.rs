//! Which counts are placed, of those that fit, are legal and pass no limit.

use std::cmp::Reverse;

use super::sums::{Ground, Sums};
use crate::constraint::gang::{has_groups, is_legal};
use crate::constraint::{Demand, quota};
use crate::search::Budget;
use crate::state::Ledger;

/// A vector that may be placed; the better one is smaller: the fewest replicas, then more of the roles of higher
/// priority, then of those that come first by name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Candidate {
    replicas: usize,
    by_priority: Vec<Reverse<usize>>,
    pub(super) vector: Vec<usize>,
}

/// What comes after a candidate.
pub(super) enum Next {
    Best(Candidate),
    /// There is no other.
    Nothing,
    /// The budget ended.
    Spent,
}

/// The best vector after the one `before`, for a demand that may be a part of `whole`.
pub(super) fn next(
    ledger: &Ledger<'_>,
    demand: &Demand,
    whole: &Demand,
    ground: &Ground<'_>,
    sums: &Sums,
    before: Option<&Candidate>,
    budget: &mut Budget<'_>,
) -> Next {
    let facts = ledger.model().gang(demand.gang);
    let space = ground.space;
    let have: Vec<usize> = demand.running.iter().map(Vec::len).collect();
    let mut order: Vec<usize> = (0..have.len()).collect();
    order.sort_by_key(|role| (Reverse(facts.roles[*role].priority), *role));
    let candidate = |vector: Vec<usize>| Candidate {
        replicas: vector.iter().sum(),
        by_priority: order.iter().map(|role| Reverse(vector[*role])).collect(),
        vector,
    };
    let Some(choice) = &demand.choice else {
        let wanted = &space.tops;
        let totals: Vec<i64> = wanted.iter().map(|total| count(*total)).collect();
        // A part of a gang need not be legal by itself.
        let is_part = demand.counts != whole.counts
            || !facts.is_elastic()
                && facts.roles.iter().zip(&totals).any(|(role, total)| *total < role.staying());
        let fits = sums.total.has(space.number(wanted)) && (is_part || has_groups(facts, &totals));
        return if fits && before.is_none() { Next::Best(candidate(wanted.clone())) } else { Next::Nothing };
    };
    let mut best: Option<Candidate> = None;
    if !budget.spend(i64::try_from(sums.total.len()).unwrap_or(i64::MAX)) {
        return Next::Spent;
    }
    for (at, number) in sums.total.numbers().enumerate() {
        if !budget.goes_on(at) {
            return Next::Spent;
        }
        let vector = space.vector(number);
        let new: Vec<i64> =
            vector.iter().zip(&have).map(|(total, have)| count(*total) - count(*have)).collect();
        let totals: Vec<i64> = vector.iter().map(|total| count(*total)).collect();
        if new.iter().zip(&choice.least).any(|(new, least)| new < least)
            || new.iter().all(|new| *new == 0)
            || !is_legal(facts, &totals)
        {
            continue;
        }
        let candidate = candidate(vector);
        let is_new = before.is_none_or(|before| candidate > *before);
        if is_new && best.as_ref().is_none_or(|best| candidate < *best) {
            let demand = Demand { counts: new, choice: None, ..demand.clone() };
            if quota::admits(ledger, &demand) {
                best = Some(candidate);
            }
        }
    }
    best.map_or(Next::Nothing, Next::Best)
}

fn count(replicas: usize) -> i64 {
    i64::try_from(replicas).unwrap_or(i64::MAX)
}
