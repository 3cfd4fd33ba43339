//! Beyond the budget: one part of the gang after the other, each exactly, given those before it.

use super::rules::units;
use super::{Found, search};
use crate::constraint::gang::has_groups;
use crate::constraint::{Demand, quota};
use crate::model::{Model, NodeId, RoleId};
use crate::objective::locality::Spot;
use crate::search::{Answer, Budget};
use crate::state::Ledger;

/// More combinations of counts than this are many.
const MANY_COUNTS: i64 = 100_000;

/// Of a choice of counts so many are tried.
const MOST_CHOICES: usize = 8;

/// So many orders of the parts are tried.
const MOST_ORDERS: usize = 6;

/// A placement that keeps all rules, of the fewest where there is a choice of counts; none if that leads to nothing, which
/// proves nothing. The Ledger is left as it was.
pub(super) fn place(ledger: &mut Ledger<'_>, demand: &Demand, budget: &mut Budget<'_>) -> Option<Vec<Spot>> {
    if demand.choice.is_some() { of_fewest(ledger, demand, budget) } else { of_fixed(ledger, demand, budget) }
}

/// A placement of fixed counts, found part by part: first by what has no rule in common, then role
/// by role, the largest first or the smallest first; then what found no room goes first.
fn of_fixed(ledger: &mut Ledger<'_>, demand: &Demand, budget: &mut Budget<'_>) -> Option<Vec<Spot>> {
    let model = ledger.model();
    let facts = model.gang(demand.gang);
    let totals: Vec<i64> = demand.have().iter().zip(&demand.counts).map(|(have, new)| have + new).collect();
    let is_split = || units(model, demand).iter().any(|unit| unit.is_split(model, demand));
    if facts.is_elastic() && !has_groups(facts, &totals) || is_split() {
        return None;
    }
    let parts = unrelated(model, demand);
    let roles: Vec<Vec<RoleId>> = there(demand).map(|role| vec![role]).collect();
    let mut orders: Vec<Vec<Vec<RoleId>>> = Vec::new();
    for mut order in [parts, roles] {
        let size = |part: &Vec<RoleId>| part.iter().map(|role| demand.count(*role)).sum::<i64>();
        order.sort_by_key(|part| (std::cmp::Reverse(size(part)), part.clone()));
        let reversed: Vec<Vec<RoleId>> = order.iter().rev().cloned().collect();
        for order in [order, reversed] {
            if order.len() > 1 && !orders.contains(&order) {
                orders.push(order);
            }
        }
    }
    let mut tried = 0;
    while let Some(order) = orders.get(tried) {
        let checkpoint = ledger.checkpoint();
        let found = in_order(ledger, demand, order, budget);
        ledger.rollback(&checkpoint);
        let failed = match found {
            Ok(spots) => return Some(spots),
            Err(failed) => failed,
        };
        let mut other = order.clone();
        other[..=failed].rotate_right(1);
        if orders.len() < MOST_ORDERS && !orders.contains(&other) {
            orders.push(other);
        }
        tried += 1;
    }
    None
}

/// A placement of the fewest replicas that are legal, for one role after the other with as many of it as can be.
fn of_fewest(ledger: &mut Ledger<'_>, demand: &Demand, budget: &mut Budget<'_>) -> Option<Vec<Spot>> {
    let model = ledger.model();
    let facts = model.gang(demand.gang);
    let mut order: Vec<RoleId> = facts.roles().map(|(role, _)| role).collect();
    order.sort_by_key(|role| (std::cmp::Reverse(facts.roles[role.index()].priority), *role));
    let mut tried: Vec<Demand> = Vec::new();
    for first in order.into_iter().take(MOST_CHOICES) {
        let Some(fixed) = demand.fewest_with_most_of(model, first) else { continue };
        if tried.iter().any(|other| other.counts == fixed.counts) || !quota::admits(ledger, &fixed) {
            continue;
        }
        budget.refill();
        let checkpoint = ledger.checkpoint();
        let answer = crate::search::place(ledger, &fixed, budget);
        ledger.rollback(&checkpoint);
        if let Answer::Placed(seat) = answer {
            return Some(seat.spots);
        }
        tried.push(fixed);
    }
    None
}

/// Whether a part that has no rule in common with the others does not fit even without them.
pub(super) fn refute(ledger: &Ledger<'_>, demand: &Demand, budget: &mut Budget<'_>) -> bool {
    unrelated(ledger.model(), demand).iter().any(|part| {
        budget.refill();
        matches!(
            search(ledger, &stage(ledger.model(), demand, part, &demand.running), demand, budget),
            Found::Nothing
        )
    })
}

/// Whether a gang has so many counts that its parts, or where there is a choice the fewest, are tried before the whole:
/// that would take much longer, and what has nothing in common nearly always fits one after the other if it fits at all.
pub(super) fn come_first(model: &Model, demand: &Demand) -> bool {
    let most = demand.choice.as_ref().map_or(&demand.counts, |choice| &choice.most);
    let counts = demand.running.iter().zip(most).map(|(running, new)| {
        i64::try_from(running.len()).unwrap_or(i64::MAX).saturating_add(*new).saturating_add(1)
    });
    counts.fold(1, i64::saturating_mul) > MANY_COUNTS
        && (demand.choice.is_some() || unrelated(model, demand).len() > 1)
}

/// The placement of one part after the other, or the position of the first that finds no room.
fn in_order(
    ledger: &mut Ledger<'_>,
    demand: &Demand,
    order: &[Vec<RoleId>],
    budget: &mut Budget<'_>,
) -> Result<Vec<Spot>, usize> {
    let model = ledger.model();
    let mut held: Vec<Vec<NodeId>> = demand.running.clone();
    let mut all = Vec::new();
    for (index, part) in order.iter().enumerate() {
        budget.refill();
        let stage = stage(model, demand, part, &held);
        let Found::Seats(spots) = search(ledger, &stage, demand, budget) else { return Err(index) };
        for spot in &spots {
            ledger.take(demand.gang, spot.role, spot.node, spot.count);
            held[spot.role.index()].extend((0..spot.count).map(|_| spot.node));
        }
        all.extend(spots);
    }
    all.sort();
    Ok(all)
}

/// What is asked for a part, where `held` is what the roles of the gang hold.
fn stage(model: &Model, demand: &Demand, part: &[RoleId], held: &[Vec<NodeId>]) -> Demand {
    let mut stage =
        Demand { counts: vec![0; held.len()], running: vec![Vec::new(); held.len()], ..demand.clone() };
    for role in part {
        stage.counts[role.index()] = demand.count(*role);
    }
    for (role, held) in held.iter().enumerate() {
        // What has no rule in common with a part is only room that is taken.
        if part.iter().any(|one| one.index() == role || is_related(model, demand, *one, RoleId::new(role))) {
            stage.running[role].clone_from(held);
        }
    }
    stage
}

/// The roles with replicas that run or are to be placed: a gang gets nothing while what runs of it breaks its rules.
fn there(demand: &Demand) -> impl Iterator<Item = RoleId> {
    let roles = demand.running.iter().zip(&demand.counts).enumerate();
    roles.filter(|(_, (running, new))| !running.is_empty() || **new > 0).map(|(role, _)| RoleId::new(role))
}

/// The roles that are there, those with rules in common together.
fn unrelated(model: &Model, demand: &Demand) -> Vec<Vec<RoleId>> {
    let mut parts: Vec<Vec<RoleId>> = Vec::new();
    for role in there(demand) {
        let is_of = |part: &Vec<RoleId>| part.iter().any(|other| is_related(model, demand, role, *other));
        let (mine, others): (Vec<_>, Vec<_>) = parts.into_iter().partition(is_of);
        parts = others;
        parts.push(mine.into_iter().flatten().chain([role]).collect());
    }
    parts
}

/// Whether some rule or wish is about both roles.
fn is_related(model: &Model, demand: &Demand, one: RoleId, other: RoleId) -> bool {
    let facts = model.gang(demand.gang);
    let meets = |a: RoleId, b: RoleId| {
        facts.roles[a.index()].company.iter().any(|term| model.crowds[term.whom].has(demand.gang, b))
    };
    let has_both = |roles: &[usize]| roles.contains(&one.index()) && roles.contains(&other.index());
    meets(one, other) || meets(other, one) || units(model, demand).iter().any(|unit| has_both(&unit.roles))
}
