//! Beyond the budget: one role after the other, each exactly, given those before it.

use super::{Found, search};
use crate::constraint::Demand;
use crate::model::RoleId;
use crate::objective::locality::Spot;
use crate::search::Budget;
use crate::state::Ledger;

/// A placement of fixed counts that keeps all rules, found role by role, the smallest first or the largest first; none
/// if neither leads to one, which proves nothing. The Ledger is left as it was.
pub(super) fn place(ledger: &mut Ledger<'_>, demand: &Demand, budget: &mut Budget<'_>) -> Option<Vec<Spot>> {
    if ledger.model().gang(demand.gang).is_elastic() {
        return None;
    }
    let mut order: Vec<RoleId> = demand.roles().collect();
    if order.len() < 2 {
        return None;
    }
    order.sort_by_key(|role| (demand.count(*role), *role));
    let reversed: Vec<RoleId> = order.iter().rev().copied().collect();
    [reversed, order].into_iter().find_map(|order| {
        let checkpoint = ledger.checkpoint();
        let found = in_order(ledger, demand, &order, budget);
        ledger.rollback(&checkpoint);
        found
    })
}

fn in_order(
    ledger: &mut Ledger<'_>,
    demand: &Demand,
    order: &[RoleId],
    budget: &mut Budget<'_>,
) -> Option<Vec<Spot>> {
    let mut stage = demand.clone();
    let mut all = Vec::new();
    for role in order {
        stage.counts.fill(0);
        stage.counts[role.index()] = demand.count(*role);
        budget.refill();
        let Found::Seats(spots) = search(ledger, &stage, budget) else { return None };
        for spot in &spots {
            ledger.take(demand.gang, spot.role, spot.node, spot.count);
            stage.running[role.index()].extend((0..spot.count).map(|_| spot.node));
        }
        all.extend(spots);
    }
    all.sort();
    Some(all)
}
