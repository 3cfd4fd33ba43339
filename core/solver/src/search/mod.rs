//! Where a gang goes: which levels and domains are tried, and with what.

mod asks;
mod budget;
mod compose;
mod domains;
mod exact;
mod field;
mod greedy;
mod mix;
mod pack;
mod place;
mod role_mix;
mod spread;

pub(crate) use budget::{Budget, Stop};
pub(crate) use exact::{Prover, fits_with_more, most_of_largest};
pub(crate) use field::Field;
pub(crate) use greedy::as_many_as_fit;
pub(crate) use place::{Answer, Proof, Seat};

use crate::constraint::Demand;
use crate::document::Fill;
use crate::model::Model;
use crate::state::Ledger;

/// Places a demand whole, by the search that knows its rules, and books it in the Ledger. Queues are not asked here,
/// unless there is a choice of counts.
pub(crate) fn place(ledger: &mut Ledger<'_>, demand: &Demand, budget: &mut Budget<'_>) -> Answer {
    if knows_wishes(ledger.model(), demand, budget) {
        compose::place(ledger, demand, budget)
    } else {
        place::place(ledger, demand, budget)
    }
}

/// Whether the search for a demand is the one that tries what the gang would rather have as rules.
pub(crate) fn knows_wishes(model: &Model, demand: &Demand, budget: &Budget<'_>) -> bool {
    compose::is_needed(model, demand) || budget.fill() == Fill::Spread
}

/// The largest number that fits, by halving: `good` does, `bad` does not.
pub(crate) fn largest(mut good: i64, mut bad: i64, mut fits: impl FnMut(i64) -> bool) -> i64 {
    while bad - good > 1 {
        let middle = good + (bad - good) / 2;
        if fits(middle) {
            good = middle;
        } else {
            bad = middle;
        }
    }
    good
}
