//! Rules that a gang sets itself, and without one of which it would be admitted.

use super::changes::{admitted, change};
use crate::constraint::Demand;
use crate::document::{Change, ChangeKind, Rule};
use crate::model::{Closeness, GangFacts, RoleId};
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

/// What is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Slices,
    Spread,
    Required,
    /// A position in the terms of the role.
    Company(usize),
    SingleZone,
}

/// The changes that drop one rule and admit the gang, and the rule of the first.
pub(super) fn dropped(
    ledger: &Ledger<'_>,
    demand: &Demand,
    budget: &mut Budget<'_>,
) -> (Vec<Change>, Option<Rule>) {
    let model = ledger.model();
    let facts = model.gang(demand.gang);
    let (mut changes, mut first) = (Vec::new(), None);
    for (owner, part) in candidates(facts).into_iter().take(MOST_TRIALS) {
        if budget.poll().is_some() {
            break;
        }
        let variant = model.with_gang(demand.gang, |facts| drop_one(facts, owner, part));
        budget.refill();
        if admitted(&mut ledger.on(&variant), demand, budget).is_some() {
            changes.push(told(facts, owner, part));
            first = first.or(rule(facts, owner, part));
        }
    }
    (changes, first)
}

fn candidates(facts: &GangFacts) -> Vec<(Owner, Part)> {
    let mut found = Vec::new();
    let mut close = |owner: Owner, closeness: Option<&Closeness>| {
        let Some(closeness) = closeness else { return };
        let parts = [
            (!closeness.slices.is_empty(), Part::Slices),
            (!closeness.spread.is_empty(), Part::Spread),
            // That of the gang is told as a level.
            (closeness.required.is_some() && owner != Owner::Gang, Part::Required),
        ];
        found.extend(parts.into_iter().filter(|(given, _)| *given).map(|(_, part)| (owner, part)));
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
    let closeness = match owner {
        Owner::Gang => facts.closeness.as_mut(),
        Owner::Group(index) => facts.groups[index].closeness.as_mut(),
        Owner::Role(role) => facts.roles[role.index()].closeness.as_mut(),
    };
    if let Some(closeness) = closeness {
        match part {
            Part::Slices => closeness.slices.clear(),
            Part::Spread => closeness.spread.clear(),
            _ => closeness.required = None,
        }
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
        Part::Spread => "topology.spread".to_owned(),
        Part::Required => "topology.required".to_owned(),
        Part::Company(index) => format!("replica_affinity[{index}]"),
        Part::SingleZone => "single_zone".to_owned(),
    };
    let (group, role) = match owner {
        Owner::Gang => (None, None),
        Owner::Group(index) => (Some(facts.groups[index].name.clone()), None),
        Owner::Role(role) => (None, Some(facts.roles[role.index()].name.clone())),
    };
    let of = match (&group, &role) {
        (Some(group), _) => format!(" of group {group}"),
        (_, Some(role)) => format!(" of role {role}"),
        _ => String::new(),
    };
    let text = format!("without {field}{of}");
    Change { group, role, constraint: Some(field), ..change(ChangeKind::Constraint, text) }
}
