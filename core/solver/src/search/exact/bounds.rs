//! What the nodes still to come can give, and the states that it cannot complete.

use super::steps::Steps;
use super::table::Cell;
use super::weights::Weights;

/// For each step, what it and the later ones give at most.
#[derive(Debug)]
pub(super) struct Bounds {
    weights: Weights,
    needs: i64,
    /// Under the weights; one entry more than steps.
    weighted: Vec<i64>,
    /// Of each role by itself, step by step.
    counts: Vec<Vec<i64>>,
}

impl Bounds {
    pub(super) fn new(steps: &Steps, weights: Weights) -> Self {
        let roles = steps.wanted.len();
        let gives: Vec<(i64, Vec<i64>)> = steps
            .classes()
            .map(|(options, _)| {
                let mut most = vec![0; roles];
                let mut best = 0;
                for (others, last) in options.iter() {
                    best = best.max(weights.best_of(others, last));
                    let counts = others.iter().map(|count| i64::from(*count)).chain([i64::from(last)]);
                    most.iter_mut().zip(counts).for_each(|(most, count)| *most = count.max(*most));
                }
                (best, most)
            })
            .collect();
        let mut weighted = vec![0_i64; steps.order.len() + 1];
        let mut counts = vec![vec![0_i64; roles]; steps.order.len() + 1];
        for (index, step) in steps.order.iter().enumerate().rev() {
            let (best, most) = &gives[step.class];
            weighted[index] = weighted[index + 1].saturating_add(*best);
            counts[index] =
                counts[index + 1].iter().zip(most).map(|(sum, more)| sum.saturating_add(*more)).collect();
        }
        let products =
            steps.wanted.iter().zip(&weights.0).map(|(wanted, weight)| wanted.saturating_mul(*weight));
        let needs = products.fold(0, i64::saturating_add);
        Self { weights, needs, weighted, counts }
    }

    /// Bounds that drop nothing.
    pub(super) fn open(steps: &Steps) -> Self {
        Self {
            weights: Weights(vec![0; steps.wanted.len()]),
            needs: 0,
            weighted: vec![0; steps.order.len() + 1],
            counts: vec![steps.wanted.clone(); steps.order.len() + 1],
        }
    }

    /// What the states must have reached once `folded` steps are folded in.
    pub(super) fn after(&self, folded: usize, wanted: &[i64]) -> Reach {
        let counts = &self.counts[folded];
        let low = |role: usize| usize::try_from(wanted[role] - counts[role]).unwrap_or(0);
        let last = wanted.len() - 1;
        Reach {
            low_outer: (0..last.saturating_sub(1)).map(low).collect(),
            low_inner: if last > 0 { low(last - 1) } else { 0 },
            low_last: (wanted[last] - counts[last]).max(0),
            weights: self.weights.0.clone(),
            needs: self.needs - self.weighted[folded],
        }
    }
}

/// Bounds on the states of one table, below which the steps to come cannot complete the gang.
#[derive(Debug)]
pub(super) struct Reach {
    /// On the counts of the roles that choose the row.
    pub(super) low_outer: Vec<usize>,
    /// On the count along the row.
    pub(super) low_inner: usize,
    low_last: i64,
    weights: Vec<i64>,
    needs: i64,
}

impl Reach {
    /// Of the states `all` of a row, those between the first and the last with hope.
    pub(super) fn narrow<C: Cell>(&self, outer: &[usize], row: &[C], all: (usize, usize)) -> (usize, usize) {
        let weigh = |count: usize, role: usize| {
            self.weights[role].saturating_mul(i64::try_from(count).unwrap_or(i64::MAX))
        };
        let base: i64 =
            outer.iter().enumerate().map(|(role, count)| weigh(*count, role)).fold(0, i64::saturating_add);
        let has_hope = |column: usize| {
            let last = i64::from(row[column].count());
            let along = if self.weights.len() > 1 { weigh(column, self.weights.len() - 2) } else { 0 };
            let unit = self.weights.last().copied().unwrap_or(0);
            last >= self.low_last
                && base.saturating_add(along).saturating_add(unit.saturating_mul(last)) >= self.needs
        };
        let (mut from, mut to) = all;
        while from < to && !has_hope(to - 1) {
            to -= 1;
        }
        while from < to && !has_hope(from) {
            from += 1;
        }
        (from, to)
    }
}
