//! Folds all nodes in, and reads the placement off the tables, last step first.

use super::bounds::Bounds;
use super::steps::{Step, Steps};
use super::table::{Cell, Table};
use crate::model::NodeId;
use crate::search::Budget;

/// How a search over the table ends.
#[derive(Debug)]
pub(super) enum Walk {
    /// Node, role in the order of the instance, count.
    Done(Vec<(NodeId, usize, i64)>),
    Impossible,
    Spent,
}

/// Folds steps until the gang fits, no state has hope, or the budget ends. A table is kept every √steps, and those
/// between are folded again on the way back.
pub(super) fn search<C: Cell>(
    steps: &Steps,
    others: &[usize],
    bounds: &Bounds,
    budget: &mut Budget<'_>,
) -> Walk {
    let last = i32::try_from(steps.wanted.last().copied().unwrap_or(0)).unwrap_or(i32::MAX);
    let stride = steps.order.len().isqrt() + 1;
    let mut table = Table::<C>::start(others, last);
    let mut next = table.clone();
    let mut kept = Vec::new();
    let mut folded = 0;
    while !table.is_complete() {
        let Some(step) = steps.order.get(folded) else { return Walk::Impossible };
        if table.is_hopeless() {
            return Walk::Impossible;
        }
        if folded % stride == 0 {
            kept.push(table.clone());
        }
        let reach = bounds.after(folded + 1, &steps.wanted);
        if !table.fold_into(&mut next, steps.options(step.class), &reach, budget) {
            return Walk::Spent;
        }
        std::mem::swap(&mut table, &mut next);
        folded += 1;
    }
    let mut back = Back { steps, bounds, state: others.to_vec(), need: last, taken: Vec::new() };
    for (segment, first) in kept.iter().enumerate().rev() {
        let start = segment * stride;
        let end = folded.min(start + stride);
        if !back.segment(first, start, end, budget) {
            return Walk::Spent;
        }
    }
    debug_assert!(
        back.need <= 0 && back.state.iter().all(|left| *left == 0),
        "the walk ends at the empty table"
    );
    Walk::Done(back.taken)
}

/// The most of the last role beside all others, at most its count; none if the others do not fit or the budget ends.
pub(super) fn most<C: Cell>(steps: &Steps, others: &[usize], budget: &mut Budget<'_>) -> Option<i32> {
    let last = i32::try_from(steps.wanted.last().copied()?).ok()?;
    let bounds = Bounds::open(steps);
    let mut table = Table::<C>::start(others, last);
    let mut next = table.clone();
    for (folded, step) in steps.order.iter().enumerate() {
        if table.is_complete() {
            break;
        }
        let reach = bounds.after(folded + 1, &steps.wanted);
        if !table.fold_into(&mut next, steps.options(step.class), &reach, budget) {
            return None;
        }
        std::mem::swap(&mut table, &mut next);
    }
    table.at(others)
}

/// The way back: what must still be explained by earlier steps.
struct Back<'a> {
    steps: &'a Steps,
    bounds: &'a Bounds,
    state: Vec<usize>,
    need: i32,
    taken: Vec<(NodeId, usize, i64)>,
}

impl Back<'_> {
    /// Walks back over steps `start..end`, from the table before them; false when the budget ends.
    fn segment<C: Cell>(
        &mut self,
        first: &Table<C>,
        start: usize,
        end: usize,
        budget: &mut Budget<'_>,
    ) -> bool {
        let mut before = vec![first.clone()];
        for folded in start..end.saturating_sub(1) {
            let Some(table) = before.last() else { return false };
            let mut next = table.clone();
            let reach = self.bounds.after(folded + 1, &self.steps.wanted);
            let options = self.steps.options(self.steps.order[folded].class);
            if !table.fold_into(&mut next, options, &reach, budget) {
                return false;
            }
            before.push(next);
        }
        for (step, table) in self.steps.order[start..end].iter().zip(&before).rev() {
            self.step(*step, table);
        }
        true
    }

    fn step<C: Cell>(&mut self, step: Step, before: &Table<C>) {
        let mut rest = self.state.clone();
        let option = self.steps.options(step.class).iter().find(|(others, last)| {
            for ((rest, wanted), offered) in rest.iter_mut().zip(&self.state).zip(*others) {
                *rest = wanted.saturating_sub(*offered as usize);
            }
            before.at(&rest).is_some_and(|most| most + last >= self.need)
        });
        let (_, last) = option.expect("the table was folded from one of these options");
        let most = last.min(self.need);
        let before = std::mem::replace(&mut self.state, rest);
        for (role, wanted) in before.iter().enumerate() {
            self.take(step.node, role, i64::try_from(wanted - self.state[role]).unwrap_or(0));
        }
        self.take(step.node, before.len(), i64::from(most));
        self.need -= most;
    }

    fn take(&mut self, node: NodeId, role: usize, count: i64) {
        if count > 0 {
            self.taken.push((node, role, count));
        }
    }
}
