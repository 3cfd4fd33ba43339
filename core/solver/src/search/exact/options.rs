//! What a class of nodes can host: the Pareto points over the counts of the roles.

use super::instance::Instance;
use crate::search::Budget;

/// The Pareto points of a class: so many of the other roles, and the most of the last beside them.
#[derive(Debug, Default)]
pub(super) struct Options {
    width: usize,
    others: Vec<u32>,
    last: Vec<i32>,
}

impl Options {
    /// All Pareto points of a class; none if the budget does not reach.
    pub(super) fn list(instance: &Instance, class: usize, budget: &mut Budget<'_>) -> Option<Self> {
        let width = instance.roles.len() - 1;
        let dims: Vec<usize> = (0..width)
            .map(|role| usize::try_from(instance.cap(class, role)).ok()?.checked_add(1))
            .collect::<Option<_>>()?;
        let points = dims.iter().try_fold(1_usize, |product, dim| product.checked_mul(*dim))?;
        let cost = i64::try_from(points).ok()?;
        if cost > budget.left() || !budget.spend(cost) {
            return None;
        }
        // -1 where the others alone do not fit.
        let mut most = Vec::with_capacity(points);
        let mut at = vec![0_usize; width];
        for _ in 0..points {
            most.push(instance.most_of_last(class, &at).map_or(Some(-1), |most| i32::try_from(most).ok())?);
            advance(&mut at, &dims);
        }
        let mut options = Self { width, others: Vec::new(), last: Vec::new() };
        at.fill(0);
        for index in 0..points {
            let mut stride = 1;
            // As more of the others never leave more for the last, a point is dominated only through a neighbour.
            let mut dominated = most[index] < 0;
            for (count, dim) in at.iter().zip(&dims).rev() {
                dominated |= count + 1 < *dim && most[index + stride] == most[index];
                stride *= dim;
            }
            if !dominated {
                options.others.extend(at.iter().filter_map(|count| u32::try_from(*count).ok()));
                options.last.push(most[index]);
            }
            advance(&mut at, &dims);
        }
        Some(options)
    }

    pub(super) fn len(&self) -> usize {
        self.last.len()
    }

    /// Counts of the other roles and of the last, point by point.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&[u32], i32)> {
        (0..self.last.len())
            .map(|point| (&self.others[point * self.width..(point + 1) * self.width], self.last[point]))
    }

    /// The most replicas of all roles in one point.
    pub(super) fn size(&self) -> i64 {
        let sizes = self.iter().map(|(others, last)| {
            others.iter().map(|count| i64::from(*count)).sum::<i64>() + i64::from(last)
        });
        sizes.max().unwrap_or(0)
    }
}

/// The next point, the last coordinate fastest.
pub(super) fn advance(at: &mut [usize], dims: &[usize]) {
    for (count, dim) in at.iter_mut().zip(dims).rev() {
        *count += 1;
        if *count < *dim {
            return;
        }
        *count = 0;
    }
}
