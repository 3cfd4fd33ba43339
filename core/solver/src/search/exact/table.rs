//! The table itself: the most of the largest role for every state of the others.

use super::options::{Choice, Problem, advance};
use crate::search::Budget;

/// `T(s)` for every state `s`: rows over all other roles but the last of them, which runs along the row.
#[derive(Debug, Clone)]
pub(super) struct Table {
    /// -1 where the state cannot be reached.
    cells: Vec<i32>,
    width: usize,
}

impl Table {
    /// Before any node: nothing placed.
    pub(super) fn empty(problem: &Problem) -> Self {
        let mut cells = vec![-1; problem.states];
        cells[0] = 0;
        Self { cells, width: problem.others.last().map_or(1, |count| count + 1) }
    }

    /// Whether everything fits in the nodes folded so far.
    pub(super) fn is_complete(&self, problem: &Problem) -> bool {
        self.cells.last().is_some_and(|most| *most >= problem.largest)
    }

    /// The most of the largest role beside all of the others; none if those do not fit.
    pub(super) fn most(&self, problem: &Problem) -> Option<i64> {
        self.at(problem, &problem.others).map(i64::from)
    }

    /// `T(state)`; none if the state cannot be reached.
    pub(super) fn at(&self, problem: &Problem, state: &[usize]) -> Option<i32> {
        let index = state.iter().zip(&problem.others).fold(0, |index, (at, most)| index * (most + 1) + at);
        self.cells.get(index).copied().filter(|most| *most >= 0)
    }

    /// Folds one node of a class in; false when the budget ends.
    pub(super) fn fold(&mut self, problem: &Problem, class: usize, budget: &mut Budget<'_>) -> bool {
        let cost = i64::try_from(self.cells.len()).unwrap_or(i64::MAX);
        let mut next = vec![-1; self.cells.len()];
        for choice in &problem.classes[class] {
            if !budget.spend(cost) {
                return false;
            }
            self.apply(problem, choice, &mut next);
        }
        self.cells = next;
        true
    }

    /// Where `choice` reaches more than `next` holds, that is put there.
    fn apply(&self, problem: &Problem, choice: &Choice, next: &mut [i32]) {
        let outer = &problem.others[..problem.others.len().saturating_sub(1)];
        let dims: Vec<usize> = outer.iter().map(|count| count + 1).collect();
        let along = choice.others.last().copied().unwrap_or(0);
        let mut at = vec![0_usize; dims.len()];
        for row in next.chunks_exact_mut(self.width) {
            let source = at
                .iter()
                .zip(&dims)
                .zip(&choice.others)
                .fold(0, |index, ((at, dim), offered)| index * dim + at.saturating_sub(*offered));
            let source = &self.cells[source * self.width..(source + 1) * self.width];
            let reach = |most: i32| {
                if most < 0 { -1 } else { most.saturating_add(choice.largest).min(problem.largest) }
            };
            let (clipped, shifted) = row.split_at_mut(along.min(self.width));
            let first = reach(source[0]);
            for cell in clipped {
                *cell = (*cell).max(first);
            }
            for (cell, most) in shifted.iter_mut().zip(source) {
                *cell = (*cell).max(reach(*most));
            }
            advance(&mut at, &dims);
        }
    }
}
