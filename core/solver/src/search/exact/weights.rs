//! The dual bound: weights on the roles under which the nodes cannot reach what the gang needs.
//!
//! For any weights `y ≥ 0`, a placement needs `y·K` and no node gives more than the best `y·x` over what it can
//! host. So `Σ max y·x < y·K` proves that no placement exists, whatever weights were found and however. The bound
//! is nearly sharp (Shapley and Folkman: the sum loses less than about one replica a role, not one a node).

use super::steps::Steps;
use crate::search::Budget;
use crate::search::budget::STRIDE;

/// The weight of the last role. The others are found relative to it.
const UNIT: i64 = 1 << 14;
/// No role weighs more than so many of the last.
const HEAVIEST: i64 = UNIT << 16;
/// Passes over the other roles.
const ROUNDS: usize = 3;
/// Looks along one role in one pass; a handful is the rule.
const LOOKS: usize = 24;

/// One weight a role, in the order of the instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Weights(pub(super) Vec<i64>);

/// What weights say.
#[derive(Debug)]
struct Look {
    /// How much the nodes give above what is needed; below zero is a proof.
    slack: i128,
    /// For each role, how many replicas above what is wanted the best choices hold.
    surplus: Vec<i128>,
}

impl Weights {
    /// The most that one option gives.
    pub(super) fn best_of(&self, others: &[u32], last: i32) -> i64 {
        let (unit, rest) = self.0.split_last().map_or((0, &[][..]), |(unit, rest)| (*unit, rest));
        let from_others =
            others.iter().zip(rest).map(|(count, weight)| i64::from(*count).saturating_mul(*weight));
        from_others.fold(unit.saturating_mul(i64::from(last)), i64::saturating_add)
    }

    /// What the gang needs under them.
    pub(super) fn needs(&self, steps: &Steps) -> i128 {
        steps
            .wanted
            .iter()
            .zip(&self.0)
            .map(|(wanted, weight)| i128::from(*wanted) * i128::from(*weight))
            .sum()
    }

    /// How much the nodes give above what is needed; none if the budget does not reach.
    pub(super) fn slack(&self, steps: &Steps, budget: &mut Budget<'_>) -> Option<i128> {
        look(steps, self, budget).map(|look| look.slack)
    }

    /// Good weights, and their slack; below zero it is a proof. None if the budget does not reach.
    pub(super) fn find(steps: &Steps, budget: &mut Budget<'_>) -> Option<(Self, i128)> {
        let others = steps.wanted.len() - 1;
        let mut weights = Self(vec![UNIT; others + 1]);
        let mut slack = look(steps, &weights, budget)?.slack;
        for _ in 0..ROUNDS {
            let before = slack;
            for role in 0..others {
                slack = descend(steps, &mut weights, role, budget)?;
                if slack < 0 {
                    return Some((weights, slack));
                }
            }
            if slack == before || others == 1 {
                break;
            }
        }
        Some((weights, slack))
    }
}

/// Sets the weight of one role to where the slack is least: it is convex and piecewise linear in it, so the lines
/// at two points bound the minimum from below, and where they cross is the next point (Kelley's cutting planes).
fn descend(steps: &Steps, weights: &mut Weights, role: usize, budget: &mut Budget<'_>) -> Option<i128> {
    let mut at = |weights: &mut Weights, value: i64| {
        weights.0[role] = value;
        let found = look(steps, weights, budget)?;
        Some((value, found.slack, found.surplus[role]))
    };
    let here = weights.0[role];
    let mut best = at(weights, here)?;
    let mut low = at(weights, 0)?;
    let mut high = at(weights, HEAVIEST)?;
    for end in [low, high] {
        if end.1 < best.1 {
            best = end;
        }
    }
    if best.2 < 0 {
        low = best;
    } else if best.2 > 0 {
        high = best;
    }
    for _ in 0..LOOKS {
        let ((a, slack_a, slope_a), (b, slack_b, slope_b)) = (low, high);
        if best.1 < 0 || slope_a >= 0 || slope_b <= 0 || b - a <= 1 {
            break;
        }
        // Where slack_a + slope_a·(x − a) meets slack_b + slope_b·(x − b).
        let meet =
            (slack_a - slack_b + slope_b * i128::from(b) - slope_a * i128::from(a)) / (slope_b - slope_a);
        let value = i64::try_from(meet).unwrap_or(a).clamp(a + 1, b - 1);
        let bound = slack_a + slope_a * i128::from(value - a);
        let found = at(weights, value)?;
        if found.1 < best.1 {
            best = found;
        }
        if found.1 <= bound || found.2 == 0 {
            break;
        }
        if found.2 < 0 {
            low = found;
        } else {
            high = found;
        }
    }
    weights.0[role] = best.0;
    Some(best.1)
}

fn look(steps: &Steps, weights: &Weights, budget: &mut Budget<'_>) -> Option<Look> {
    let mut surplus: Vec<i128> = steps.wanted.iter().map(|wanted| -i128::from(*wanted)).collect();
    let mut slack = -weights.needs(steps);
    for (options, nodes) in steps.classes() {
        if nodes == 0 {
            continue;
        }
        // The last of the best.
        let mut best: Option<(i64, &[u32], i32)> = None;
        let mut unpaid = 0;
        for (others, last) in options.iter() {
            unpaid += 1;
            if unpaid == STRIDE {
                unpaid = 0;
                budget.spend(STRIDE).then_some(())?;
            }
            let gives = weights.best_of(others, last);
            if best.is_none_or(|(most, ..)| gives >= most) {
                best = Some((gives, others, last));
            }
        }
        budget.spend(unpaid).then_some(())?;
        let Some((_, others, last)) = best else { continue };
        let nodes = i128::from(nodes);
        slack += nodes * i128::from(weights.best_of(others, last));
        let counts = others.iter().map(|count| i128::from(*count)).chain([i128::from(last)]);
        surplus.iter_mut().zip(counts).for_each(|(surplus, count)| *surplus += nodes * count);
    }
    Some(Look { slack, surplus })
}
