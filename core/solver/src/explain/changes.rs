//! Changes that admit a refused gang, each proven by a trial on the Ledger that is rolled back, and minimal.

use super::holders::{Held, held_by_gangs};
use super::{fewer, written};
use crate::constraint::{Demand, node_affinity, quota};
use crate::document::{Change, ChangeKind, Rule};
use crate::model::{Closeness, GangId, Level, Model, RoleId};
use crate::search::{Answer, Budget, Seat, knows_wishes, place};
use crate::state::Ledger;

/// More gangs to wait for than this are not listed.
const MOST_WAITS: usize = 3;
/// More gangs than this are not tried.
const MOST_WAIT_TRIALS: usize = 64;

/// The smallest relaxation of the required level that admits the gang, and where it would go.
pub(super) fn relaxed_level(
    ledger: &mut Ledger<'_>,
    demand: &Demand,
    budget: &mut Budget<'_>,
) -> Option<(Level, Seat)> {
    let model = ledger.model();
    let required = demand.required?;
    model.topology.fine_to_coarse().filter(|level| *level < required).find_map(|level| {
        let relaxed = Demand { required: (level != Level::CLUSTER).then_some(level), ..demand.clone() };
        let seat = if level == Level::CLUSTER && knows_wishes(model, demand, budget) {
            let variant = model.with_gang(demand.gang, |facts| {
                facts.closeness.iter_mut().for_each(|closeness| prefer(closeness, required));
            });
            admitted(&mut ledger.on(&variant), &relaxed, budget)
        } else {
            admitted(ledger, &relaxed, budget)
        };
        Some((level, seat?))
    })
}

/// What was required is preferred, as the change says: to try that costs a part of the budget.
pub(super) fn prefer(closeness: &mut Closeness, required: Level) {
    closeness.required = None;
    closeness.preferred = closeness.preferred.or(Some(required));
}

/// All changes; `level` is the answer of [`relaxed_level`].
pub(super) fn changes(
    ledger: &mut Ledger<'_>,
    demand: &Demand,
    level: Option<Level>,
    may_wait: bool,
    budget: &mut Budget<'_>,
) -> Vec<Change> {
    let model = ledger.model();
    let mut changes = Vec::new();
    // No change of the gang opens a queue.
    if quota::closed(model, demand).is_none() {
        changes.extend(fewer::fewer_replicas(ledger, demand, budget));
        changes.extend(demand.required.zip(level).map(|(from, to)| level_change(model, from, to, "")));
        changes.extend(higher_limit(ledger, demand, budget));
        if may_wait {
            changes.extend(waits(ledger, demand, budget));
        }
    }
    changes
}

/// Whether queues and nodes admit the demand now, and where it would go. The Ledger is left as it was.
pub(super) fn admitted(ledger: &mut Ledger<'_>, demand: &Demand, budget: &mut Budget<'_>) -> Option<Seat> {
    if quota::admits(ledger, demand) { seated(ledger, demand, budget) } else { None }
}

fn seated(ledger: &mut Ledger<'_>, demand: &Demand, budget: &mut Budget<'_>) -> Option<Seat> {
    let checkpoint = ledger.checkpoint();
    let answer = place(ledger, demand, budget);
    ledger.rollback(&checkpoint);
    match answer {
        Answer::Placed(seat) => Some(seat),
        Answer::Refused(_) | Answer::Stopped => None,
    }
}

/// Another required level; `of` tells whose, with a space before it.
pub(super) fn level_change(model: &Model, from: Level, to: Level, of: &str) -> Change {
    let (before, after) = (model.topology.name(from), model.topology.name(to));
    let text = if to == Level::CLUSTER {
        format!("prefer one {before}{of} instead of requiring it")
    } else {
        format!("require one {after}{of} instead of one {before}")
    };
    Change { to: Some(after.to_owned()), ..change(ChangeKind::Level, text) }
}

/// The smallest limit that admits the gang, where a single limit is in its way.
fn higher_limit(ledger: &mut Ledger<'_>, demand: &Demand, budget: &mut Budget<'_>) -> Option<Change> {
    let model = ledger.model();
    let excesses = quota::excesses(ledger, demand);
    let [excess] = excesses.as_slice() else { return None };
    if excess.rule != Rule::QueueLimitExceeded {
        return None;
    }
    let wanted = i64::try_from(excess.usage + excess.needs).ok()?;
    let mut admits = |limit: i64| {
        let variant = model.with_limit(excess.queue, excess.resource, limit);
        budget.refill();
        admitted(&mut ledger.on(&variant), demand, budget).is_some()
    };
    if !admits(wanted) {
        return None;
    }
    // Other replicas, where there is a choice, may ask for less.
    let (mut bad, mut wanted) = (i64::try_from(excess.limit).ok()?, wanted);
    while demand.choice.is_some() && wanted - bad > 1 {
        let middle = bad + (wanted - bad) / 2;
        if admits(middle) {
            wanted = middle;
        } else {
            bad = middle;
        }
    }
    let queue = &model.queues[excess.queue.index()].name;
    let resource = &model.resources[excess.resource.index()];
    let to = written(model, excess.resource, i128::from(wanted));
    let from = written(model, excess.resource, excess.limit);
    Some(Change {
        to: Some(to.clone()),
        queue: Some(queue.clone()),
        resource: Some(resource.clone()),
        ..change(
            ChangeKind::Limit,
            format!("raise the limit of queue {queue} for {resource} from {from} to {to}"),
        )
    })
}

/// Single gangs whose end admits the gang, those with the fewest replicas first.
fn waits(ledger: &mut Ledger<'_>, demand: &Demand, budget: &mut Budget<'_>) -> Vec<Change> {
    let model = ledger.model();
    let in_the_way: Vec<_> = quota::excesses(ledger, demand).iter().map(|excess| excess.queue).collect();
    let roles: Vec<RoleId> = demand.roles().collect();
    let matters = |gang: &GangId, held: &[Held]| {
        *gang != demand.gang
            && (held
                .iter()
                .any(|held| roles.iter().any(|role| node_affinity::admits(model, demand, *role, held.node)))
                || model.path_up(model.gang(*gang).queue).any(|queue| in_the_way.contains(&queue)))
    };
    let mut candidates: Vec<(i64, GangId, Vec<Held>)> = held_by_gangs(ledger)
        .into_iter()
        .filter(|(gang, held)| matters(gang, held))
        .map(|(gang, held)| (held.iter().map(|held| held.count).sum(), gang, held))
        .collect();
    candidates.sort_by_key(|(replicas, gang, _)| (*replicas, *gang));
    let mut changes = Vec::new();
    for (_, gang, held) in candidates.into_iter().take(MOST_WAIT_TRIALS) {
        if changes.len() == MOST_WAITS || budget.poll().is_some() {
            break;
        }
        let checkpoint = ledger.checkpoint();
        for held in &held {
            ledger.take(gang, held.role, held.node, -held.count);
        }
        if admitted(ledger, demand, budget).is_some() {
            let name = &model.gang(gang).name;
            changes.push(Change {
                gang: Some(name.clone()),
                ..change(ChangeKind::Wait, format!("wait until {name} has ended"))
            });
        }
        ledger.rollback(&checkpoint);
    }
    changes
}

pub(super) fn change(kind: ChangeKind, text: String) -> Change {
    Change {
        kind,
        role: None,
        group: None,
        to: None,
        queue: None,
        namespace: None,
        resource: None,
        gang: None,
        amount: None,
        at: None,
        constraint: None,
        node: None,
        min_member: None,
        alone: false,
        text,
    }
}
