//! Weights that prove to others that a gang does not fit: simple ones where they do.

use std::ops::Range;

use super::instance::Instance;
use super::steps::Steps;
use super::weights::Weights;
use crate::divisor::greatest_common_divisor;
use crate::model::RoleId;
use crate::search::{Budget, Field, greedy};
use crate::state::Ledger;

/// Scales on which weights are tried, so that people can read them: the heaviest role weighs so much.
const SCALES: [i64; 10] = [1, 2, 3, 5, 8, 12, 20, 50, 200, 2000];

/// Refutes one demand in one domain after the other, with as few different weights as it can.
#[derive(Debug, Default)]
pub(crate) struct Prover {
    known: Vec<Weights>,
    roles: Vec<RoleId>,
}

/// That a domain cannot hold a demand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Proof {
    /// Which weights prove it: a position for [`Prover::weights`].
    pub(crate) weights: usize,
    /// What the gang needs under them.
    pub(crate) needs: i128,
    /// What the nodes of the domain give at most.
    pub(crate) most: i128,
}

impl Prover {
    /// A proof that the demand does not fit in `slots`; none if it fits, or if only a table can tell.
    pub(crate) fn refute(
        &mut self,
        ledger: &Ledger<'_>,
        field: &Field<'_>,
        slots: &Range<usize>,
        budget: &mut Budget<'_>,
    ) -> Option<Proof> {
        self.roles = greedy::roles_by_count(field);
        if let Some(proof) = self.by_one_role(field, slots) {
            return Some(proof);
        }
        let instance = Instance::gather(ledger, field, slots)?;
        let steps = Steps::list(&instance, budget)?;
        for index in 0..self.known.len() {
            if let Some(proof) = self.proof(index, &steps, budget) {
                return Some(proof);
            }
        }
        let weights = by_resource(&instance)
            .into_iter()
            .find(|weights| weights.slack(&steps, budget).is_some_and(|slack| slack < 0))
            .or_else(|| {
                let (weights, slack) = Weights::find(&steps, budget)?;
                (slack < 0).then(|| rounded(&weights, &steps, budget))
            })?;
        self.known.push(weights);
        self.proof(self.known.len() - 1, &steps, budget)
    }

    /// Too few places for one role alone: adding up the caps tells, no options are needed. Of several such roles one
    /// that proved something before.
    fn by_one_role(&mut self, field: &Field<'_>, slots: &Range<usize>) -> Option<Proof> {
        let roles = self.roles.len();
        let mut found: Option<(usize, i128, i128, Weights)> = None;
        for (at, role) in self.roles.iter().enumerate() {
            let needs = i128::from(field.demand.count(*role));
            let most = slots.clone().map(|slot| i128::from(field.cap(slot, *role))).sum::<i128>();
            if most < needs {
                let weights = Weights((0..roles).map(|other| i64::from(other == at)).collect());
                let index = self.known.iter().position(|known| *known == weights);
                let index = index.unwrap_or(self.known.len());
                if found.as_ref().is_none_or(|(best, ..)| index < *best) {
                    found = Some((index, needs, most, weights));
                }
            }
        }
        let (index, needs, most, weights) = found?;
        if index == self.known.len() {
            self.known.push(weights);
        }
        Some(Proof { weights: index, needs, most })
    }

    /// Weights that proved something, by role.
    pub(crate) fn weights(&self, index: usize) -> impl Iterator<Item = (RoleId, i64)> + '_ {
        self.roles.iter().copied().zip(self.known[index].0.iter().copied())
    }

    fn proof(&self, index: usize, steps: &Steps, budget: &mut Budget<'_>) -> Option<Proof> {
        let weights = &self.known[index];
        let slack = weights.slack(steps, budget).filter(|slack| *slack < 0)?;
        let needs = weights.needs(steps);
        Some(Proof { weights: index, needs, most: needs + slack })
    }
}

/// What each resource says: a role weighs what it takes of it.
fn by_resource(instance: &Instance) -> Vec<Weights> {
    let weights = instance.requests_by_resource().map(|takes| {
        let common = takes.iter().copied().map(i128::from).fold(0, greatest_common_divisor).max(1);
        let parts =
            takes.iter().map(|amount| i64::try_from(i128::from(*amount) / common).unwrap_or(i64::MAX));
        parts.collect::<Vec<_>>()
    });
    weights.filter(|weights| weights.iter().all(|weight| *weight < 1 << 20)).map(Weights).collect()
}

/// The same weights on the coarsest scale on which they still prove it.
fn rounded(weights: &Weights, steps: &Steps, budget: &mut Budget<'_>) -> Weights {
    let heaviest = weights.0.iter().copied().max().unwrap_or(1).max(1);
    for scale in SCALES {
        let coarse = Weights(
            weights.0.iter().map(|weight| (weight * 2 * scale + heaviest) / (2 * heaviest)).collect(),
        );
        if coarse.slack(steps, budget).is_some_and(|slack| slack < 0) {
            return coarse;
        }
    }
    weights.clone()
}
