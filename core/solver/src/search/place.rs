//! Placing one gang: levels from fine to coarse, domains from tight to wide, in each a fast and an exact try.

use std::ops::Range;

use super::exact::{self, Outcome};
use super::{Budget, Field, greedy, role_mix};
use crate::constraint::{Demand, topology};
use crate::model::{Level, ResourceId};
use crate::objective::locality::Spot;
use crate::state::Ledger;

/// So many of the fast starts are improved, those with the least traffic.
const MOST_IMPROVED: usize = 4;

/// Where a gang was placed.
#[derive(Debug)]
pub(crate) struct Seat {
    /// Sorted by node, then role.
    pub(crate) spots: Vec<Spot>,
    pub(crate) level: Level,
}

/// The answer for one gang.
#[derive(Debug)]
pub(crate) enum Answer {
    /// It fits, and is booked.
    Placed(Seat),
    /// It does not fit; `proven` unless the budget cut the search.
    Refused {
        /// Whether no placement exists.
        proven: bool,
    },
    /// The search was stopped.
    Stopped,
}

/// Places a gang whole in the finest level where it fits, and there in the domain with the least left over; books
/// it in the Ledger. Queues are not asked here. A level finer than the one that decides may be missed when the
/// budget runs out.
pub(crate) fn place(ledger: &mut Ledger<'_>, demand: &Demand, budget: &mut Budget<'_>) -> Answer {
    let model = ledger.model();
    let field = Field::survey(ledger, demand);
    let decisive = demand.required.unwrap_or(Level::CLUSTER);
    let mut answer = Answer::Refused { proven: true };
    // Without a domain on the level that decides there is none below it either.
    for level in model.topology.fine_to_coarse().take_while(|level| *level >= decisive) {
        let reserved = if level == decisive { 0 } else { budget.reserve_half() };
        answer = place_at(ledger, &field, level, budget);
        budget.release(reserved);
        if !matches!(answer, Answer::Refused { .. }) {
            break;
        }
    }
    if let Answer::Placed(seat) = &answer {
        for spot in &seat.spots {
            ledger.take(demand.gang, spot.role, spot.node, spot.count);
        }
    }
    answer
}

fn place_at(ledger: &mut Ledger<'_>, field: &Field<'_>, level: Level, budget: &mut Budget<'_>) -> Answer {
    let mut proven = true;
    for slots in tightest_first(ledger, field, level) {
        if budget.poll().is_some() {
            return Answer::Stopped;
        }
        budget.count_trial();
        match pack(ledger, field, &slots, level, budget) {
            Outcome::Placed(spots) => {
                return Answer::Placed(Seat { spots: role_mix::tidy(spots), level });
            }
            Outcome::Impossible => {}
            Outcome::Spent => proven = false,
        }
    }
    if !proven && budget.poll().is_some() { Answer::Stopped } else { Answer::Refused { proven } }
}

/// The domains of a level whose sums allow the gang, by what would be left of its scarcest resource.
fn tightest_first(ledger: &Ledger<'_>, field: &Field<'_>, level: Level) -> Vec<Range<usize>> {
    let model = ledger.model();
    let scarcest: Option<ResourceId> = field.scarcest(ledger);
    let mut fitting: Vec<(i128, Range<usize>)> = model
        .topology
        .domains(level)
        .iter()
        .filter(|domain| topology::holds_running(field.demand, domain))
        .map(|domain| field.slots(domain))
        .filter(|slots| !slots.is_empty() && field.may_hold(ledger, slots.clone()))
        .map(|slots| {
            let free = scarcest.map_or(0, |resource| field.free(ledger, slots.clone(), resource));
            (free, slots)
        })
        .collect();
    // Stable: among equals the canonical order stays. What is needed is the same in all.
    fitting.sort_by_key(|(free, _)| *free);
    fitting.into_iter().map(|(_, slots)| slots).collect()
}

/// A placement of the whole demand in `slots`: the best of the fast starts, each improved, or what the exact table
/// finds, improved.
fn pack(
    ledger: &mut Ledger<'_>,
    field: &Field<'_>,
    slots: &Range<usize>,
    level: Level,
    budget: &mut Budget<'_>,
) -> Outcome {
    let model = ledger.model();
    let mut starts = greedy::placements(ledger, field, slots, level);
    if starts.is_empty() {
        match exact::solve(ledger, field, slots, budget) {
            Outcome::Placed(spots) => starts.push(spots),
            other => return other,
        }
    }
    starts.sort_by_cached_key(|spots| role_mix::cost_of(model, field, spots));
    starts.dedup();
    let improved =
        starts.into_iter().take(MOST_IMPROVED).map(|spots| role_mix::improve(ledger, field, slots, spots));
    let best = improved.min_by_key(|spots| role_mix::cost_of(model, field, spots));
    best.map_or(Outcome::Spent, Outcome::Placed)
}
