//! Rules that a gang sets itself, and without one of which, or with a coarser level, it would be admitted.

use super::changes::{admitted, change, level_change, prefer};
use crate::constraint::Demand;
use crate::document::{Change, ChangeKind, Rule};
use crate::model::{Closeness, GangFacts, Level, RoleId};
use crate::search::Budget;
use crate::state::Ledger;

/// More ways than this are not tried.
const MOST_TRIALS: usize = 16;

/// Whose rule it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    Gang,
    /// A position in the groups of the gang.
    Group(usize),
    Role(RoleId),
}

/// What is left out or relaxed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Slices,
    Spread,
    /// Relaxed, level by level.
    Required(Level),
    /// A position in the terms of the role.
    Company(usize),
    SingleZone,
}

/// The changes that drop one rule or relax one level and admit the gang, and the rule of the first that is dropped.
pub(super) fn dropped(
    ledger: &Ledger<'_>,
    demand: &Demand,
    budget: &mut Budget<'_>,
) -> (Vec<Change>, Option<Rule>) {
    let model = ledger.model();
    let facts = model.gang(demand.gang);
    let (mut changes, mut first) = (Vec::new(), None);
    let mut admits = |change: &dyn Fn(&mut GangFacts)| {
        budget.refill();
        let variant = model.with_gang(demand.gang, change);
        budget.poll().is_none() && admitted(&mut ledger.on(&variant), demand, budget).is_some()
    };
    for (owner, part) in candidates(facts).into_iter().take(MOST_TRIALS) {
        let Part::Required(from) = part else {
            if admits(&|facts| drop_one(facts, owner, part)) {
                changes.push(told(facts, owner, part));
                first = first.or(rule(facts, owner, part));
            }
            continue;
        };
        // One level after the other, so that the next finer one is known not to do.
        let coarser = model.topology.fine_to_coarse().filter(|level| *level < from);
        let enough = |level: &Level| admits(&|facts| relax(facts, owner, from, *level));
        if let Some(to) = coarser.into_iter().find(enough) {
            let (group, role, of) = named(facts, owner);
            changes.push(Change { role, group, ..level_change(model, from, to, &of) });
        }
    }
    (changes, first)
}

fn candidates(facts: &GangFacts) -> Vec<(Owner, Part)> {
    let mut found = Vec::new();
    let mut close = |owner: Owner, closeness: Option<&Closeness>| {
        let Some(closeness) = closeness else { return };
        let parts = [
            (!closeness.slices.is_empty()).then_some(Part::Slices),
            (!closeness.spread.is_empty()).then_some(Part::Spread),
            // That of the gang is the demand's, and relaxed there.
            closeness.required.filter(|_| owner != Owner::Gang).map(Part::Required),
        ];
        found.extend(parts.into_iter().flatten().map(|part| (owner, part)));
    };
    close(Owner::Gang, facts.closeness.as_ref());
    for (index, group) in facts.groups.iter().enumerate() {
        close(Owner::Group(index), group.closeness.as_ref());
    }
    for (role, facts) in facts.roles() {
        close(Owner::Role(role), facts.closeness.as_ref());
    }
    for (role, facts) in facts.roles() {
        let required = facts.company.iter().enumerate().filter(|(_, term)| term.required);
        found.extend(required.map(|(index, _)| (Owner::Role(role), Part::Company(index))));
        if facts.single_zone {
            found.push((Owner::Role(role), Part::SingleZone));
        }
    }
    found
}

fn drop_one(facts: &mut GangFacts, owner: Owner, part: Part) {
    if let (Owner::Role(role), Part::Company(index)) = (owner, part) {
        facts.roles[role.index()].company.remove(index);
        return;
    }
    if let (Owner::Role(role), Part::SingleZone) = (owner, part) {
        facts.roles[role.index()].single_zone = false;
        return;
    }
    if let Some(closeness) = closeness_of(facts, owner) {
        match part {
            Part::Slices => closeness.slices.clear(),
            _ => closeness.spread.clear(),
        }
    }
}

fn relax(facts: &mut GangFacts, owner: Owner, from: Level, to: Level) {
    let Some(closeness) = closeness_of(facts, owner) else { return };
    if to == Level::CLUSTER {
        prefer(closeness, from);
    } else {
        closeness.required = Some(to);
    }
}

fn closeness_of(facts: &mut GangFacts, owner: Owner) -> Option<&mut Closeness> {
    match owner {
        Owner::Gang => facts.closeness.as_mut(),
        Owner::Group(index) => facts.groups[index].closeness.as_mut(),
        Owner::Role(role) => facts.roles[role.index()].closeness.as_mut(),
    }
}

/// The rule that cannot be kept; none where it has no code of its own.
fn rule(facts: &GangFacts, owner: Owner, part: Part) -> Option<Rule> {
    match (owner, part) {
        (_, Part::Slices) => Some(Rule::SlicesBroken),
        (_, Part::Spread) => Some(Rule::SpreadExceeded),
        (_, Part::SingleZone) => Some(Rule::ZoneTooSmall),
        (Owner::Role(role), Part::Company(index)) => {
            let term = &facts.roles[role.index()].company[index];
            Some(if term.anti { Rule::CompanyUnwanted } else { Rule::CompanyMissing })
        }
        _ => None,
    }
}

fn told(facts: &GangFacts, owner: Owner, part: Part) -> Change {
    let field = match part {
        Part::Slices => "topology.slices".to_owned(),
        Part::Spread | Part::Required(_) => "topology.spread".to_owned(),
        Part::Company(index) => format!("replica_affinity[{index}]"),
        Part::SingleZone => "single_zone".to_owned(),
    };
    let (group, role, of) = named(facts, owner);
    let text = format!("without {field}{of}");
    Change { role, group, constraint: Some(field), ..change(ChangeKind::Constraint, text) }
}

/// Group and role of an owner, and both in words.
fn named(facts: &GangFacts, owner: Owner) -> (Option<String>, Option<String>, String) {
    match owner {
        Owner::Gang => (None, None, String::new()),
        Owner::Group(index) => {
            let name = &facts.groups[index].name;
            (Some(name.clone()), None, format!(" for group {name}"))
        }
        Owner::Role(role) => {
            let name = &facts.roles[role.index()].name;
            (None, Some(name.clone()), format!(" for role {name}"))
        }
    }
}
