//! Refusals → Rejection: what binds first, its numbers, and changes that were tried.
//!
//! Every refusal is explained as things stand after the plan: the gangs that it places hold their room. Free room
//! only shrinks while a plan is made, and who waits for company is asked again when it comes, so that what was refused
//! on the way is refused then too.

mod certificates;
mod changes;
mod constraint;
mod fewer;
mod free;
mod holders;
mod levels;
mod nodes;
mod reason;
mod request;

use crate::constraint::{Demand, node_affinity, quota};
use crate::decide::Refused;
use crate::document::{
    Change, ChangeKind, Exclusion, LevelFit, Rejection, SolveOptions, Stage, format_quantity,
};
use crate::model::{Company, Level, Model, ResourceId};
use crate::search::{Answer, Budget, Field, Proof, place};
use crate::state::Ledger;
use levels::Fit;
use reason::{Place, Reason};

/// Explains a refusal; `index` counts the refusals before it. The Ledger is left as it was.
pub(crate) fn explain(
    ledger: &mut Ledger<'_>,
    refused: &Refused,
    index: usize,
    options: &SolveOptions,
    budget: &mut Budget<'_>,
) -> Rejection {
    let model = ledger.model();
    let demand = &refused.demand;
    let position = i64::try_from(index + 1).unwrap_or(i64::MAX);
    let proven = refused.proof == Proof::Found;
    let turn = reason::of_turn(model, refused.because);
    if turn.is_some() || budget.poll().is_some() {
        let reason = turn.unwrap_or_else(|| reason::find(ledger, refused, &[], None));
        return Rejection { proven, ..rejection(model, demand, &reason, position) };
    }
    budget.refill();
    let impossible = is_impossible(model, demand, budget);
    budget.refill();
    let vacant = impossible.then(|| Ledger::empty(model));
    let field = Field::survey(ledger, demand);
    let (fits, mut reason, mut changes) = told(ledger, refused, &field, vacant.as_ref(), options, budget);
    if let Some(mut vacant) = vacant {
        let afresh = Refused { demand: Demand::afresh(model, demand.gang), proof: Proof::Found, ..*refused };
        let why = reason::find(&vacant, &afresh, &[], None);
        if why.stage != reason.stage {
            reason.message = format!("{}; if nothing ran: {}", reason.message, why.message);
        }
        let may_shrink = |change: &Change| matches!(change.kind, ChangeKind::Replicas | ChangeKind::Request);
        if options.changes && !changes.iter().any(may_shrink) && !runs_in_part(model, demand) {
            let mut more = alone(&mut vacant, &afresh, options, budget);
            more.retain(|change| changes.iter().all(|now| now.kind != change.kind));
            changes.extend(more);
        }
    }
    let holders = match (reason.resource, &reason.place) {
        (Some(resource), Place::Domain(domain)) => holders::in_domain(ledger, demand, resource, domain),
        (Some(resource), Place::Queue(queue)) => holders::in_queue(ledger, demand, resource, *queue),
        _ => Vec::new(),
    };
    let certificates = match reason.stage {
        Stage::Capacity | Stage::Topology | Stage::Packing if proven && is_plain(model, demand) => {
            certificates::certificates(ledger, &field, budget)
        }
        _ => Vec::new(),
    };
    Rejection {
        proven,
        impossible,
        certificates,
        levels: fits.iter().map(|fit| level_fit(model, demand, fit)).collect(),
        holders,
        changes,
        ..rejection(model, demand, &reason, position)
    }
}

/// What of the gang fits where, what binds first, and the changes that admit it. `vacant` is of a gang that would not
/// fit if nothing ran: the cluster as if nothing did.
fn told(
    ledger: &mut Ledger<'_>,
    refused: &Refused,
    field: &Field<'_>,
    vacant: Option<&Ledger<'_>>,
    options: &SolveOptions,
    budget: &mut Budget<'_>,
) -> (Vec<Fit>, Reason, Vec<Change>) {
    let demand = &refused.demand;
    let relaxed = if options.changes { changes::relaxed_level(ledger, demand, budget) } else { None };
    let fits = levels::fits(ledger, field, relaxed.as_ref().map(|(_, seat)| seat), budget);
    let mut reason = reason::find(ledger, refused, &fits, vacant);
    let dropped = own_rules(ledger, demand, &mut reason, options, budget);
    let mut changes = Vec::new();
    if options.changes {
        let level = relaxed.map(|(level, _)| level);
        // To wait would help nobody who would not fit if nothing ran.
        let may_wait = vacant.is_none() && !ledger.is_vacant();
        changes.extend(changes::changes(ledger, demand, level, may_wait, budget));
        if matches!(reason.stage, Stage::Capacity | Stage::Topology | Stage::Packing) {
            changes.extend(room_changes(ledger, refused, field, &reason, &fits, budget));
        }
        changes.extend(dropped);
    }
    (fits, reason, changes)
}

/// Changes with which a gang that would not fit if nothing ran would.
fn alone(
    vacant: &mut Ledger<'_>,
    afresh: &Refused,
    options: &SolveOptions,
    budget: &mut Budget<'_>,
) -> Vec<Change> {
    budget.refill();
    let field = Field::survey(vacant, &afresh.demand);
    let (_, _, changes) = told(vacant, afresh, &field, None, options, budget);
    changes.into_iter().map(|change| Change { alone: true, ..change }).collect()
}

fn runs_in_part(model: &Model, demand: &Demand) -> bool {
    model.gang(demand.gang).roles.iter().any(|role| role.to_start() < role.replicas)
}

/// Changes that drop a rule of the gang's own; where room is enough in sum, such a rule is the reason.
fn own_rules(
    ledger: &Ledger<'_>,
    demand: &Demand,
    reason: &mut Reason,
    options: &SolveOptions,
    budget: &mut Budget<'_>,
) -> Vec<Change> {
    if !options.changes || !matches!(reason.stage, Stage::Topology | Stage::Packing) {
        return Vec::new();
    }
    let (changes, rule) = constraint::dropped(ledger, demand, budget);
    if let (Stage::Packing, Some(rule), Some(first)) = (reason.stage, rule, changes.first()) {
        reason.rule = rule;
        reason.message = format!("{}; {} it would fit", reason.message, first.text);
    }
    changes
}

/// Changes that make room: smaller requests, room freed where most of the gang fits, or more nodes there.
fn room_changes(
    ledger: &mut Ledger<'_>,
    refused: &Refused,
    field: &Field<'_>,
    reason: &Reason,
    fits: &[Fit],
    budget: &mut Budget<'_>,
) -> Vec<Change> {
    let demand = field.demand;
    let decisive = demand.required.unwrap_or(Level::CLUSTER);
    let Some(best) = fits.iter().find(|fit| fit.level == decisive) else { return Vec::new() };
    let mut changes = Vec::new();
    if let Some(resource) = reason.resource.or(best.limited_by) {
        changes.extend(request::smaller_request(ledger, demand, resource, budget));
        changes.extend(free::freed_room(ledger, demand, resource, &best.domain, budget));
    }
    // A node of its own is a domain of its own: more of them help nobody who must lie on one. And where the budget
    // ended before a proof, the gang may fit as things are.
    if refused.proof == Proof::Found && decisive != ledger.model().topology.node_level() {
        changes.extend(nodes::more_nodes(ledger, field, &best.domain, budget));
    }
    changes
}

/// Whether counts and room are all that the demand is about.
fn is_plain(model: &Model, demand: &Demand) -> bool {
    !model.gang(demand.gang).is_structured
        && demand.choice.is_none()
        // Who has the minimum may grow in several ways.
        && Demand::minimum(model, demand.gang).is_some()
}

/// Whether the gang would not fit even if nothing ran and nothing were reserved, whatever company came. Limits hold;
/// that a queue is closed says nothing about room.
fn is_impossible(model: &Model, demand: &Demand, budget: &mut Budget<'_>) -> bool {
    let name = &model.gang(demand.gang).name;
    let may_come = |term: &Company| {
        term.required && !term.anti && model.crowds[term.whom].only_of.as_ref() != Some(name)
    };
    let waits = model.gang(demand.gang).roles.iter().any(|role| role.company.iter().any(may_come));
    let accompanied = waits.then(|| {
        model.with_gang(demand.gang, |facts| {
            facts.roles.iter_mut().for_each(|role| role.company.retain(|term| !may_come(term)));
        })
    });
    let model = accompanied.as_ref().unwrap_or(model);
    let mut empty = Ledger::empty(model);
    let afresh = Demand::afresh(model, demand.gang);
    !quota::excesses(&empty, &afresh).is_empty()
        || quota::is_beyond_namespace(model, &afresh)
        || matches!(place(&mut empty, &afresh, budget), Answer::Refused(Proof::Found))
}

/// The parts that every rejection has.
fn rejection(model: &Model, demand: &Demand, reason: &Reason, position: i64) -> Rejection {
    let amount = |amount: Option<i128>| Some(written(model, reason.resource?, amount?));
    Rejection {
        stage: reason.stage,
        rule: reason.rule.code().to_owned(),
        message: reason.message.clone(),
        position,
        resource: reason.resource.map(|resource| model.resources[resource.index()].clone()),
        needs: amount(reason.needs),
        has: amount(reason.has),
        at: match &reason.place {
            Place::Nowhere => None,
            Place::Domain(domain) => Some(domain.name.clone()),
            Place::Queue(queue) => Some(model.queues[queue.index()].name.clone()),
            Place::Namespace(quota) => Some(model.quotas[*quota].namespace.clone()),
        },
        proven: true,
        impossible: false,
        levels: Vec::new(),
        exclusions: exclusions(model, demand),
        holders: Vec::new(),
        changes: Vec::new(),
        certificates: Vec::new(),
    }
}

fn exclusions(model: &Model, demand: &Demand) -> Vec<Exclusion> {
    let of_role = |role| {
        let (counts, _) = node_affinity::exclusions(model, demand, role);
        let role = &model.role(demand.gang, role).name;
        counts.into_iter().map(|(rule, nodes)| Exclusion {
            role: role.clone(),
            rule: rule.code().to_owned(),
            nodes,
        })
    };
    demand.roles().flat_map(of_role).collect()
}

fn level_fit(model: &Model, demand: &Demand, fit: &Fit) -> LevelFit {
    let by_role = |counts: &[i64]| {
        demand
            .roles()
            .map(|role| (model.role(demand.gang, role).name.clone(), counts[role.index()]))
            .collect()
    };
    LevelFit {
        level: model.topology.name(fit.level).to_owned(),
        domain: fit.domain.name.clone(),
        have: by_role(&fit.have),
        need: by_role(&demand.counts),
        limited_by: fit.limited_by.map(|resource| model.resources[resource.index()].clone()),
    }
}

/// An amount as a quantity; one beyond 64 bits, which only sums reach, in the smallest unit.
fn written(model: &Model, resource: ResourceId, amount: i128) -> String {
    let name = &model.resources[resource.index()];
    match i64::try_from(amount) {
        Ok(amount) => format_quantity(name, amount),
        Err(_) if name == "cpu" => format!("{amount}m"),
        Err(_) => amount.to_string(),
    }
}
