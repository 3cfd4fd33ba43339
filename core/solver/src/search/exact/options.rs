//! What a class of nodes can host: the Pareto points over the counts of the roles.

use super::instance::Instance;
use crate::search::Budget;

/// So many points are looked at before they are paid for.
const MOST_UNPAID: i64 = 1 << 14;

/// The Pareto points of a class: so many of the other roles, and the most of the last beside them.
#[derive(Debug, Default)]
pub(super) struct Options {
    width: usize,
    others: Vec<u32>,
    last: Vec<i32>,
}

impl Options {
    /// All Pareto points of a class, those with fewer of the first roles first; none if the budget does not reach. Only
    /// counts that fit are looked at, a cell each.
    pub(super) fn list(instance: &Instance, class: usize, budget: &mut Budget<'_>) -> Option<Self> {
        let width = instance.roles.len() - 1;
        let caps: Vec<usize> =
            (0..width).map(|role| usize::try_from(instance.cap(class, role)).ok()).collect::<Option<_>>()?;
        let mut options = Self { width, others: Vec::new(), last: Vec::new() };
        let (mut at, mut left) = (vec![0_usize; width], Vec::new());
        // A class that may have more points than the budget pays leaves most of it to other domains.
        let all =
            caps.iter().try_fold(1_i64, |product, cap| product.checked_mul(i64::try_from(*cap).ok()? + 1));
        let most_points = all.filter(|all| *all <= budget.left()).unwrap_or(budget.left() / 8);
        let (mut points, mut unpaid) = (0, 0);
        loop {
            points += 1;
            unpaid += 1;
            if points > most_points {
                return None;
            }
            if unpaid == MOST_UNPAID {
                budget.spend(std::mem::take(&mut unpaid)).then_some(())?;
            }
            let most = if instance.leave(class, &at, &mut left) {
                instance.most_in(class, &left, None)
            } else {
                None
            };
            if let Some(most) = most {
                // As more of the others never leave more for the last, a point is dominated only through a neighbour.
                let is_as_good = |role| instance.most_in(class, &left, Some(role)) == Some(most);
                if !(0..width).any(|role| at[role] < caps[role] && is_as_good(role)) {
                    options.others.extend(at.iter().filter_map(|count| u32::try_from(*count).ok()));
                    options.last.push(i32::try_from(most).ok()?);
                }
            }
            if !next(&mut at, &caps, most.is_some()) {
                break;
            }
        }
        budget.spend(unpaid).then_some(options)
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

/// The next point within `caps` that may fit, the last coordinate fastest; false if there is none. What is larger in
/// the last coordinate than a point that does not fit does not fit either.
fn next(at: &mut [usize], caps: &[usize], fits: bool) -> bool {
    let mut role = if fits {
        at.len()
    } else {
        let Some(last) = at.iter().rposition(|count| *count > 0) else { return false };
        at[last] = 0;
        last
    };
    while role > 0 {
        role -= 1;
        if at[role] < caps[role] {
            at[role] += 1;
            return true;
        }
        at[role] = 0;
    }
    false
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
