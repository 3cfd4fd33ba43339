//! The table: the most of the last role for every count of the others.

use super::bounds::Reach;
use super::options::{Options, advance};
use crate::search::Budget;
use crate::search::budget::STRIDE;

/// A cell of the table. Half the width is twice the speed.
pub(super) trait Cell: Copy + Ord {
    /// The state cannot be reached. With any count added it is still below zero.
    const NONE: Self;

    fn of(count: i32) -> Self;
    fn plus(self, more: Self) -> Self;
    fn count(self) -> i32;
}

impl Cell for i16 {
    const NONE: Self = -16_000;

    fn of(count: i32) -> Self {
        Self::try_from(count).unwrap_or(Self::NONE)
    }

    fn plus(self, more: Self) -> Self {
        self.saturating_add(more)
    }

    fn count(self) -> i32 {
        i32::from(self)
    }
}

impl Cell for i32 {
    const NONE: Self = -(1 << 30);

    fn of(count: i32) -> Self {
        count
    }

    fn plus(self, more: Self) -> Self {
        self.saturating_add(more)
    }

    fn count(self) -> i32 {
        self
    }
}

/// Counts of the last role up to which narrow cells do.
pub(super) const MOST_NARROW: i64 = 12_000;

/// `T(s)` for states `s`: rows over all other roles but the last of them, which runs along the row.
#[derive(Debug, Clone)]
pub(super) struct Table<C> {
    /// Counts of the other roles, plus one; the last is the width of a row.
    dims: Vec<usize>,
    most: C,
    cells: Vec<C>,
    /// By row, the states that are kept. A state before them stands for the first one: at least so many are placed.
    kept: Vec<(usize, usize)>,
    /// States below these are not kept; one bound for each of the outer roles.
    low: Vec<usize>,
}

impl<C: Cell> Table<C> {
    /// Before any node: nothing placed.
    pub(super) fn start(others: &[usize], most: i32) -> Self {
        let dims: Vec<usize> = others.iter().map(|count| count + 1).collect();
        let states: usize = dims.iter().product();
        let width = dims.last().copied().unwrap_or(1);
        let mut table = Self {
            most: C::of(most),
            cells: vec![C::NONE; states],
            kept: vec![(0, 0); states / width],
            low: vec![0; dims.len().saturating_sub(1)],
            dims,
        };
        table.cells[0] = C::of(0);
        table.kept[0] = (0, 1);
        table
    }

    fn width(&self) -> usize {
        self.dims.last().copied().unwrap_or(1)
    }

    /// Whether everything fits in the nodes folded so far.
    pub(super) fn is_complete(&self) -> bool {
        let (from, to) = self.kept.last().copied().unwrap_or((0, 0));
        from < to && to == self.width() && self.cells.last().is_some_and(|most| *most >= self.most)
    }

    /// Whether no state is left from which the nodes to come could complete the gang.
    pub(super) fn is_hopeless(&self) -> bool {
        self.kept.iter().all(|(from, to)| from >= to)
    }

    /// The most of the last role when at least `state` of the others are placed; none if that cannot be reached.
    pub(super) fn at(&self, state: &[usize]) -> Option<i32> {
        let (along, outer) = state.split_last().map_or((0, &[][..]), |(along, outer)| (*along, outer));
        let row = self.row(outer.iter().copied());
        let (from, to) = self.kept[row];
        let column = along.max(from);
        let most = (column < to).then(|| self.cells[row * self.width() + column].count())?;
        (most >= 0).then_some(most)
    }

    /// The row of counts of the outer roles; counts that are not kept stand for the first that is.
    fn row(&self, outer: impl Iterator<Item = usize>) -> usize {
        outer.zip(&self.low).zip(&self.dims).fold(0, |row, ((count, low), dim)| row * dim + count.max(*low))
    }

    /// Folds one node in; false when the budget ends. States from which `reach` is too short are dropped.
    pub(super) fn fold_into(
        &self,
        next: &mut Self,
        options: &Options,
        reach: &Reach,
        budget: &mut Budget<'_>,
    ) -> bool {
        let width = self.width();
        let stride = usize::try_from(STRIDE).unwrap_or(usize::MAX);
        let outer = &self.dims[..self.dims.len().saturating_sub(1)];
        next.low.clone_from(&reach.low_outer);
        let mut at = vec![0_usize; outer.len()];
        let mut dead = Vec::new();
        for row in 0..next.kept.len() {
            if at.iter().zip(&next.low).any(|(count, low)| count < low) {
                next.kept[row] = (0, 0);
            } else {
                let cells = &mut next.cells[row * width..(row + 1) * width];
                cells[reach.low_inner..].fill(C::NONE);
                let mut end = 0;
                let mut work = 0;
                for (others, last) in options.iter() {
                    let (along, offered) =
                        others.split_last().map_or((0, &[][..]), |(along, rest)| (*along as usize, rest));
                    let source = self.row(
                        at.iter()
                            .zip(offered)
                            .map(|(count, offered)| count.saturating_sub(*offered as usize)),
                    );
                    let (from, to) = self.kept[source];
                    if from >= to {
                        work += 1;
                        continue;
                    }
                    let source = &self.cells[source * width..source * width + to];
                    end = end.max(width.min(along + to));
                    work += width;
                    if work >= stride {
                        if !budget.spend(i64::try_from(work).unwrap_or(i64::MAX)) {
                            return false;
                        }
                        work = 0;
                    }
                    spread(cells, source, (from, reach.low_inner), along, C::of(last));
                }
                for cell in &mut cells[reach.low_inner..end.max(reach.low_inner)] {
                    *cell = if cell.count() < 0 { C::NONE } else { (*cell).min(self.most) };
                }
                if !budget.spend(i64::try_from(work).unwrap_or(i64::MAX)) {
                    return false;
                }
                let all = (reach.low_inner, end.max(reach.low_inner));
                next.kept[row] = reach.narrow(&at, cells, all);
                if next.kept[row].0 >= next.kept[row].1 && all.0 < all.1 {
                    dead.push((row, all));
                }
            }
            advance(&mut at, outer);
        }
        if !outer.is_empty() {
            next.revive(&dead);
        }
        true
    }

    /// A row without hope of its own may stand in for a larger one: a node that offers more than is wanted is read
    /// from it. So it is dropped only if all larger rows are.
    fn revive(&mut self, dead: &[(usize, (usize, usize))]) {
        let outer = &self.dims[..self.dims.len() - 1];
        let mut lives = vec![false; self.kept.len()];
        for row in (0..self.kept.len()).rev() {
            let mut stride = 1;
            let mut rest = row;
            lives[row] = self.kept[row].0 < self.kept[row].1;
            for dim in outer.iter().rev() {
                lives[row] |= rest % dim + 1 < *dim && lives[row + stride];
                rest /= dim;
                stride *= dim;
            }
        }
        for (row, all) in dead {
            if lives[*row] {
                self.kept[*row] = *all;
            }
        }
    }
}

/// Raises the states of a row to what one option reaches from a source row.
fn spread<C: Cell>(row: &mut [C], source: &[C], (from, low): (usize, usize), along: usize, last: C) {
    let to = source.len();
    let near = row.len().min(along + from);
    if near > low {
        let first = source[from].plus(last);
        for cell in &mut row[low..near] {
            *cell = (*cell).max(first);
        }
    }
    let start = low.max(along + from);
    let end = row.len().min(along + to);
    if start < end {
        for (cell, most) in row[start..end].iter_mut().zip(&source[start - along..]) {
            *cell = (*cell).max(most.plus(last));
        }
    }
}
