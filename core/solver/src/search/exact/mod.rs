//! Exact answer for one gang in one domain: a (max,+) table over the counts of its roles.
//!
//! Replicas of one role are alike, so that the decision needs counts only. `T(s)` is the most replicas of the
//! largest role that fit when at least `s` of the others are placed; folding in a node takes the best of its
//! options, the Pareto points of what it can host. The gang fits iff `T(all others)` reaches the largest role's
//! count. The work, states × options, is counted in cells, so that a cut search is cut the same way everywhere.

mod options;
mod table;

use std::ops::Range;

use super::{Budget, Field};
use crate::model::RoleId;
use crate::objective::locality::Spot;
use crate::state::Ledger;
use options::{Problem, Step};
use table::Table;

/// More states than this are not tried: the tables would not fit the memory.
const MOST_STATES: usize = 1_000_000;
/// Cells that all stored tables may have together, four bytes each.
const MOST_STORED: usize = 64_000_000;

/// What the table says.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// It fits, like this.
    Placed(Vec<Spot>),
    /// No placement exists.
    Impossible,
    /// The budget, or the memory, ends before the answer.
    Spent,
}

/// Whether and how the demand fits in `slots`. The Ledger is only read.
pub(crate) fn solve(
    ledger: &Ledger<'_>,
    field: &Field<'_>,
    slots: &Range<usize>,
    budget: &mut Budget<'_>,
) -> Outcome {
    let Some(problem) = Problem::list(ledger, field, slots, budget) else { return Outcome::Spent };
    let stride = problem.steps.len().isqrt() + 1;
    if problem.states > MOST_STATES || problem.states.saturating_mul(2 * stride + 2) > MOST_STORED {
        return Outcome::Spent;
    }
    let mut table = Table::empty(&problem);
    let mut kept = Vec::new();
    let mut folded = 0;
    while !table.is_complete(&problem) {
        let Some(step) = problem.steps.get(folded) else { return Outcome::Impossible };
        if folded % stride == 0 {
            kept.push(table.clone());
        }
        if !table.fold(&problem, step.class, budget) {
            return Outcome::Spent;
        }
        folded += 1;
    }
    match walk_back(&problem, &kept, stride, folded, budget) {
        Some(spots) => Outcome::Placed(spots),
        None => Outcome::Spent,
    }
}

/// The most replicas of the largest role that fit in `slots` beside all others, at most its count; none if the
/// others alone do not fit, or when the budget ends before the answer.
pub(crate) fn most_of_largest(
    ledger: &Ledger<'_>,
    field: &Field<'_>,
    slots: &Range<usize>,
    budget: &mut Budget<'_>,
) -> Option<i64> {
    let problem = Problem::list(ledger, field, slots, budget)?;
    if problem.states > MOST_STATES {
        return None;
    }
    let mut table = Table::empty(&problem);
    for step in &problem.steps {
        if !table.is_complete(&problem) && !table.fold(&problem, step.class, budget) {
            return None;
        }
    }
    table.most(&problem)
}

/// Reads the placement off the tables, last step first; a table that was not kept is folded again.
fn walk_back(
    problem: &Problem,
    kept: &[Table],
    stride: usize,
    folded: usize,
    budget: &mut Budget<'_>,
) -> Option<Vec<Spot>> {
    let mut spots = Vec::new();
    let mut state: Vec<usize> = problem.others.clone();
    let mut need = problem.largest;
    for (segment, first) in kept.iter().enumerate().rev() {
        let start = segment * stride;
        let end = folded.min(start + stride);
        let mut before = vec![first.clone()];
        for step in &problem.steps[start..end.saturating_sub(1)] {
            let mut next = before.last()?.clone();
            if !next.fold(problem, step.class, budget) {
                return None;
            }
            before.push(next);
        }
        for (step, table) in problem.steps[start..end].iter().zip(&before).rev() {
            let option = problem.classes[step.class]
                .iter()
                .find(|option| {
                    table.at(problem, &option.rest(&state)).is_some_and(|most| most + option.largest >= need)
                })
                .expect("the table was folded from one of these options");
            for (index, wanted) in state.iter_mut().enumerate() {
                let taken = option.others[index].min(*wanted);
                *wanted -= taken;
                seat(&mut spots, step, problem.roles[index], i64::try_from(taken).ok()?);
            }
            let taken = option.largest.min(need);
            seat(&mut spots, step, *problem.roles.last()?, i64::from(taken));
            need -= taken;
        }
    }
    debug_assert!(need == 0 && state.iter().all(|left| *left == 0), "the walk ends at the empty table");
    Some(spots)
}

fn seat(spots: &mut Vec<Spot>, step: &Step, role: RoleId, count: i64) {
    if count > 0 {
        spots.push(Spot { node: step.node, role, count });
    }
}
