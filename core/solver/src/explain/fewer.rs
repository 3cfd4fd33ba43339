//! Fewer replicas with which a refused gang is admitted.

use std::ops::Range;

use super::changes::{admitted, change};
use crate::constraint::Demand;
use crate::constraint::gang::has_groups;
use crate::document::{Change, ChangeKind};
use crate::model::{GangFacts, Model, RoleFacts, RoleId};
use crate::search::{Budget, largest};
use crate::state::Ledger;

/// More counts than this are not tried one after the other.
const MOST_COUNTS: usize = 64;

/// The largest count of the largest role that fits now.
pub(super) fn fewer_replicas(
    ledger: &mut Ledger<'_>,
    demand: &Demand,
    budget: &mut Budget<'_>,
) -> Option<Change> {
    let model = ledger.model();
    let role = demand.roles().max_by_key(|role| (demand.count(*role), *role))?;
    if model.gang(demand.gang).is_elastic() {
        return lower_minimum(ledger, demand, role, budget);
    }
    let facts = model.role(demand.gang, role);
    let running = facts.replicas - facts.to_start();
    let facts_of_gang = model.gang(demand.gang);
    let counts = least_to_start(model, demand, role)..facts.replicas;
    let allowed = |count: &i64| allows(facts_of_gang, role, *count);
    let good = most_allowed(facts_of_gang, counts, allowed, |count| {
        let mut fewer = demand.clone();
        fewer.counts[role.index()] = count - running;
        budget.refill();
        admitted(ledger, &fewer, budget).is_some()
    })?;
    Some(told(facts, good, &facts.replicas.to_string()))
}

/// Of an elastic gang not all replicas must start, so that fewer of a role are a lower minimum: the role's comes down
/// to them, that of the gang by as many.
fn lower_minimum(
    ledger: &Ledger<'_>,
    demand: &Demand,
    role: RoleId,
    budget: &mut Budget<'_>,
) -> Option<Change> {
    let model = ledger.model();
    // Who has the minimum lacks room to grow, which is no matter of minimums.
    Demand::minimum(model, demand.gang)?;
    let facts = model.role(demand.gang, role);
    let facts_of_gang = model.gang(demand.gang);
    let counts = least_to_start(model, demand, role)..facts.replicas;
    let allowed = |count: &i64| holds_groups(facts_of_gang, role, *count);
    let good = most_allowed(facts_of_gang, counts, allowed, |count| {
        let variant = model.with_gang(demand.gang, |gang| {
            let facts = &mut gang.roles[role.index()];
            let fewer = facts.replicas - count;
            facts.replicas = count;
            facts.min = facts.min.min(count);
            gang.min_member = gang.min_member.map(|min| (min - fewer).max(0));
        });
        budget.refill();
        Demand::minimum(&variant, demand.gang)
            .filter(|demand| demand.reaches_minimum(&variant))
            .is_some_and(|demand| admitted(&mut ledger.on(&variant), &demand, budget).is_some())
    })?;
    let before =
        if good < facts.min { format!("at least {}", facts.min) } else { facts.replicas.to_string() };
    let mut change = told(facts, good, &before);
    if let Some(min) = facts_of_gang.min_member {
        let lower = (min - (facts.replicas - good)).max(0);
        change.text = format!("{}, min_member {lower} instead of {min}", change.text);
        change.min_member = Some(lower);
    }
    Some(change)
}

/// The largest of the `counts` that is allowed and fits. Fewer replicas may fit worse, where rules are about how they
/// lie together: then one after the other, if they are not too many.
fn most_allowed(
    facts: &GangFacts,
    counts: Range<i64>,
    allowed: impl Fn(&i64) -> bool,
    mut fits: impl FnMut(i64) -> bool,
) -> Option<i64> {
    if !facts.is_structured {
        let fits_least = counts.start < counts.end && fits(counts.start);
        return fits_least.then(|| largest(counts.start, counts.end, fits));
    }
    let counts: Vec<i64> = counts.filter(allowed).collect();
    if counts.len() <= MOST_COUNTS {
        return counts.iter().rev().copied().find(|count| fits(*count));
    }
    let end = i64::try_from(counts.len()).ok()?;
    let at = |index: i64| usize::try_from(index).ok().and_then(|index| counts.get(index)).copied();
    let mut fits = |index| at(index).is_some_and(&mut fits);
    if fits(0) { at(largest(0, end, fits)) } else { None }
}

/// Whether groups and slices allow so many replicas of a role, all others being there.
fn allows(facts: &GangFacts, role: RoleId, count: i64) -> bool {
    let totals = totals(facts, role, count);
    let all: Vec<RoleId> = facts.roles().map(|(role, _)| role).collect();
    let whole = facts.asked(&all).all(|(roles, closeness)| {
        let sum: i64 = roles.iter().map(|role| totals[role.index()]).sum();
        closeness.slices.iter().all(|slice| sum % slice.count == 0)
    });
    whole && has_groups(facts, &totals)
}

/// Whether each group may still have its minimum with so many replicas of a role.
fn holds_groups(facts: &GangFacts, role: RoleId, count: i64) -> bool {
    let totals = totals(facts, role, count);
    let of_group = |roles: &[RoleId]| roles.iter().map(|role| totals[role.index()]).sum::<i64>();
    facts.groups.iter().all(|group| of_group(&group.roles) >= group.min)
}

/// Replicas by role, with so many of one.
fn totals(facts: &GangFacts, role: RoleId, count: i64) -> Vec<i64> {
    let mut totals: Vec<i64> = facts.roles.iter().map(|role| role.replicas).collect();
    totals[role.index()] = count;
    totals
}

/// The fewest replicas of a role with which indexes of running ones stay below the count, and something is left to
/// start.
fn least_to_start(model: &Model, demand: &Demand, role: RoleId) -> i64 {
    let facts = model.role(demand.gang, role);
    let taken = facts.running.iter().map(|replica| replica.index).chain(facts.leaving.iter().copied());
    let above_running = taken.max().map_or(0, |index| index + 1);
    let others_start = demand.roles().any(|other| other != role);
    above_running.max(facts.replicas - facts.to_start() + i64::from(!others_start)).max(1)
}

fn told(facts: &RoleFacts, count: i64, before: &str) -> Change {
    let text = format!("{count} {} instead of {before}", plural(&facts.name, count));
    Change {
        role: Some(facts.name.clone()),
        to: Some(count.to_string()),
        ..change(ChangeKind::Replicas, text)
    }
}

fn plural(role: &str, count: i64) -> String {
    if count == 1 || role.ends_with('s') { role.to_owned() } else { format!("{role}s") }
}
