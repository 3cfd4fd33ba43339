//! What binds first: queue, node class, capacity, topology, packing.

use super::levels::Fit;
use super::written;
use crate::constraint::guarantee::Conflict;
use crate::constraint::quota::{Excess, NamespaceExcess};
use crate::constraint::{Demand, capacity, guarantee, node_affinity, quota, topology};
use crate::decide::{Because, Refused};
use crate::document::{Rule, Stage};
use crate::model::{Domain, GangId, GroupFacts, Level, Model, QueueId, ResourceId, RoleId};
use crate::search::Proof;
use crate::state::Ledger;

/// Where something is short.
#[derive(Debug)]
pub(super) enum Place {
    Nowhere,
    Domain(Domain),
    Queue(QueueId),
    /// A position in the model's `quotas`.
    Namespace(usize),
}

/// What binds a gang, with its numbers.
#[derive(Debug)]
pub(super) struct Reason {
    pub(super) stage: Stage,
    pub(super) rule: Rule,
    pub(super) message: String,
    pub(super) resource: Option<ResourceId>,
    pub(super) needs: Option<i128>,
    pub(super) has: Option<i128>,
    pub(super) place: Place,
}

impl Reason {
    fn plain(stage: Stage, rule: Rule, message: String) -> Self {
        Self { stage, rule, message, resource: None, needs: None, has: None, place: Place::Nowhere }
    }
}

/// What the gang's turn alone says; none if the reason lies in the gang itself.
pub(super) fn of_turn(model: &Model, because: Because) -> Option<Reason> {
    let name = |gang: GangId| &model.gang(gang).name;
    let (stage, rule, message) = match because {
        Because::Itself => return None,
        Because::Stopped => {
            let message = "the solve was stopped before an answer was found for it".to_owned();
            (Stage::Packing, Rule::Stopped, message)
        }
        Because::Behind(head) => {
            let message =
                format!("waits behind {}, which came first in its queue and cannot start", name(head));
            (Stage::Fairness, Rule::QueueHeadWaits, message)
        }
        Because::Leaving => {
            let message = "replicas of it are leaving, without which it cannot have its minimum".to_owned();
            (Stage::Packing, Rule::GroupIncomplete, message)
        }
        Because::KeptFor(head) => {
            let message = format!("fits only into room that is kept for {}, which comes first", name(head));
            (Stage::Earmark, Rule::RoomKept, message)
        }
    };
    Some(Reason::plain(stage, rule, message))
}

/// The first stage that binds. `vacant` is of a gang that would not fit if nothing ran: the cluster as if nothing did.
pub(super) fn find(
    ledger: &Ledger<'_>,
    refused: &Refused,
    fits: &[Fit],
    vacant: Option<&Ledger<'_>>,
) -> Reason {
    let demand = &refused.demand;
    of_queue(ledger, demand)
        .or_else(|| of_namespace(ledger, demand))
        .or_else(|| of_class(ledger.model(), demand))
        .or_else(|| of_split(ledger.model(), demand))
        .or_else(|| of_group(ledger.model(), demand))
        .or_else(|| of_capacity(ledger, demand, vacant))
        .or_else(|| of_topology(ledger, demand, vacant))
        .or_else(|| of_guarantee(ledger, demand))
        .unwrap_or_else(|| of_packing(ledger, refused, fits))
}

fn of_queue(ledger: &Ledger<'_>, demand: &Demand) -> Option<Reason> {
    let model = ledger.model();
    let name = |queue: QueueId| &model.queues[queue.index()].name;
    if let Some(queue) = quota::closed(model, demand) {
        let message = format!("queue {} is closed", name(queue));
        let reason = Reason::plain(Stage::Quota, Rule::QueueClosed, message);
        return Some(Reason { place: Place::Queue(queue), ..reason });
    }
    let Excess { rule, queue, resource, limit, usage, needs } = *quota::excesses(ledger, demand).first()?;
    let left = (limit - usage).max(0);
    let ends_with = match rule {
        Rule::QueueDeservedExceeded => ", and it may not be preempted",
        _ => "",
    };
    let message = format!(
        "needs {}; queue {} has {} left of {} of {}{ends_with}",
        amount(model, resource, needs),
        name(queue),
        written(model, resource, left),
        if rule == Rule::QueueDeservedExceeded { "what it deserves" } else { "its limit" },
        written(model, resource, limit),
    );
    let reason = Reason::plain(Stage::Quota, rule, message);
    Some(numbers(reason, resource, needs, left, Place::Queue(queue)))
}

/// There is room, but others were promised it.
fn of_guarantee(ledger: &Ledger<'_>, demand: &Demand) -> Option<Reason> {
    let Conflict { resource, needs, free, promised } = guarantee::promised(ledger, demand)?;
    let model = ledger.model();
    let left = (free - promised).max(0);
    let message = format!(
        "needs {}; of {} free {} are guaranteed to other queues",
        amount(model, resource, needs),
        written(model, resource, free),
        written(model, resource, promised),
    );
    let reason = Reason::plain(Stage::Fairness, Rule::GuaranteeKept, message);
    Some(numbers(reason, resource, needs, left, Place::Nowhere))
}

fn of_namespace(ledger: &Ledger<'_>, demand: &Demand) -> Option<Reason> {
    let model = ledger.model();
    let NamespaceExcess { quota, resource, limit, usage, needs } = quota::namespace_excess(ledger, demand)?;
    let left = (i128::from(limit) - usage).max(0);
    let message = format!(
        "needs {}; namespace {} has {} left of its quota of {}",
        amount(model, resource, needs),
        model.quotas[quota].namespace,
        written(model, resource, left),
        written(model, resource, i128::from(limit)),
    );
    let reason = Reason::plain(Stage::Quota, Rule::NamespaceQuotaExceeded, message);
    Some(numbers(reason, resource, needs, left, Place::Namespace(quota)))
}

/// No node may take some role: the rules that keep nodes away, first the one that keeps most.
fn of_class(model: &Model, demand: &Demand) -> Option<Reason> {
    demand.roles().find_map(|role| {
        let (counts, eligible) = node_affinity::exclusions(model, demand, role);
        let mut causes: Vec<(Rule, i64)> = counts.into_iter().collect();
        causes.sort_by_key(|(rule, nodes)| (std::cmp::Reverse(*nodes), *rule));
        let (rule, nodes) = *causes.first().filter(|_| eligible == 0)?;
        let name = &model.role(demand.gang, role).name;
        let (total, away) = (model.nodes.len(), keeps_away(rule));
        let others = causes[1..].iter().map(|(rule, nodes)| format!(", {nodes} {}", keeps_away(*rule)));
        let others: String = others.collect();
        let message = format!("no node can take its role {name}: {nodes} of {total} {away}{others}");
        Some(Reason::plain(Stage::Class, rule, message))
    })
}

fn keeps_away(rule: Rule) -> &'static str {
    match rule {
        Rule::NodeNotReady => "are not ready",
        Rule::NodeCordoned => "are cordoned",
        Rule::NodeOutsideTopology => "lack a topology label",
        Rule::NodeSelectorMismatch => "do not match its node selector",
        Rule::NodeAffinityMismatch => "do not match its node affinity",
        _ => "have a taint that it does not tolerate",
    }
}

fn of_split(model: &Model, demand: &Demand) -> Option<Reason> {
    let required = demand.required.filter(|_| topology::is_split(model, demand))?;
    let level = model.topology.name(required);
    let message = format!("requires one {level}, but its running replicas do not lie in one");
    Some(Reason::plain(Stage::Topology, Rule::TopologySplit, message))
}

/// A group that must have its minimum has not so many replicas.
fn of_group(model: &Model, demand: &Demand) -> Option<Reason> {
    let facts = model.gang(demand.gang);
    let replicas = |group: &GroupFacts| -> i64 {
        group.roles.iter().map(|role| model.role(demand.gang, *role).replicas).sum()
    };
    let group =
        facts.groups.iter().find(|group| facts.min_groups.is_empty() && group.min > replicas(group))?;
    let message = format!(
        "its group {} must have {} replicas or more, and has {}",
        group.name,
        group.min,
        replicas(group)
    );
    Some(Reason::plain(Stage::Packing, Rule::GroupIncomplete, message))
}

fn of_capacity(ledger: &Ledger<'_>, demand: &Demand, vacant: Option<&Ledger<'_>>) -> Option<Reason> {
    let model = ledger.model();
    let cluster = &model.topology.domains(Level::CLUSTER)[0];
    let mut short = shortages(ledger, demand, cluster);
    // A node in debt of one resource has nothing free of any: name the one that is short even so.
    let in_debt: Vec<ResourceId> = short
        .iter()
        .filter(|(resource, _, needs)| {
            capacity::free_sum_with_debts(ledger, demand, cluster.nodes.clone(), *resource) < *needs
        })
        .map(|(resource, _, _)| *resource)
        .collect();
    if !in_debt.is_empty() {
        short.retain(|(resource, _, _)| in_debt.contains(resource));
    }
    let resource = capacity::scarcest(short.into_iter())?;
    let needs = demand.needs(model, resource);
    let has = capacity::free_sum(ledger, demand, cluster.nodes.clone(), resource);
    let message = format!(
        "needs {}; the nodes that it may use have {}",
        amount(model, resource, needs),
        free(ledger, demand, vacant, cluster, (resource, has)),
    );
    let reason = Reason::plain(Stage::Capacity, Rule::CapacityInsufficient, message);
    Some(numbers(reason, resource, needs, has, Place::Domain(cluster.clone())))
}

/// Every domain of the required level lacks something, even in sum.
fn of_topology(ledger: &Ledger<'_>, demand: &Demand, vacant: Option<&Ledger<'_>>) -> Option<Reason> {
    let model = ledger.model();
    let level = demand.required?;
    let domains: Vec<&Domain> = model
        .topology
        .domains(level)
        .iter()
        .filter(|domain| topology::holds_running(demand, domain))
        .collect();
    let free = |domain: &Domain, resource| capacity::free_sum(ledger, demand, domain.nodes.clone(), resource);
    let short: Vec<_> = domains.iter().map(|domain| shortages(ledger, demand, domain)).collect();
    if short.iter().any(Vec::is_empty) {
        return None;
    }
    // A resource of which no domain has enough says most. Else each domain lacks another: the one nearest to it.
    let richest = |resource: ResourceId| {
        domains
            .iter()
            .enumerate()
            .max_by_key(|(index, domain)| (free(domain, resource), std::cmp::Reverse(*index)))
    };
    let nowhere = capacity::scarcest(demand.resources(model).filter_map(|resource| {
        let needs = demand.needs(model, resource);
        let best = richest(resource).map_or(0, |(_, domain)| free(domain, resource));
        (best < needs).then_some((resource, best, needs))
    }));
    let (resource, domain) = if let Some(resource) = nowhere {
        (resource, richest(resource).map(|(_, domain)| *domain))
    } else {
        let least = short.iter().zip(&domains).filter_map(|(short, domain)| {
            let resource = capacity::scarcest(short.iter().copied())?;
            Some((resource, free(domain, resource), demand.needs(model, resource), *domain))
        });
        let nearest = least.reduce(|best, next| {
            if capacity::is_smaller_part(best.1, best.2, next.1, next.2) { next } else { best }
        })?;
        (nearest.0, Some(nearest.3))
    };
    let (needs, name) = (demand.needs(model, resource), model.topology.name(level));
    let asked = amount(model, resource, needs);
    let Some(domain) = domain else {
        let message = format!("needs {asked} in one {name}; there is no {name}");
        let reason = Reason::plain(Stage::Topology, Rule::TopologyTooSmall, message);
        let cluster = model.topology.domains(Level::CLUSTER)[0].clone();
        return Some(numbers(reason, resource, needs, 0, Place::Domain(cluster)));
    };
    let has = free(domain, resource);
    let message = format!(
        "needs {asked} in one {name}; the best {name}, {}, has {}",
        domain.name,
        self::free(ledger, demand, vacant, domain, (resource, has)),
    );
    let reason = Reason::plain(Stage::Topology, Rule::TopologyTooSmall, message);
    Some(numbers(reason, resource, needs, has, Place::Domain(domain.clone())))
}

/// The sums suffice: what the best domain holds at once, or where that is nothing, its largest piece.
fn of_packing(ledger: &Ledger<'_>, refused: &Refused, fits: &[Fit]) -> Reason {
    let (model, demand) = (ledger.model(), &refused.demand);
    let level = demand.required.unwrap_or(Level::CLUSTER);
    let end = match refused.proof {
        Proof::Found => "",
        Proof::NoBudget | Proof::NoTime => "; the budget ended before a proof",
        Proof::NoMemory => "; a proof would need larger tables than are kept in memory",
    };
    let enough = if ledger.is_vacant() { "there is enough" } else { "enough is free" };
    let best = fits.iter().find(|fit| fit.level == level);
    let Some((fit, resource)) = best.and_then(|fit| Some((fit, fit.limited_by?))) else {
        let message = if refused.proof == Proof::Found {
            format!("{enough} in sum, but not in pieces that hold its replicas")
        } else {
            format!("{enough} in sum; no placement was found{end}")
        };
        return Reason::plain(Stage::Packing, Rule::PackingImpossible, message);
    };
    let needs = demand.needs(model, resource);
    let held = |role: RoleId| {
        let each = model.role(demand.gang, role).request.get(resource);
        i128::from(each) * i128::from(fit.have[role.index()])
    };
    let at_once = demand.roles().map(held).sum();
    let piece =
        (at_once == 0).then(|| largest_piece_below_one_replica(ledger, demand, fit, resource)).flatten();
    let has = piece.unwrap_or(at_once);
    let asked = amount(model, resource, needs);
    let found = written(model, resource, has);
    let place = if level == Level::CLUSTER {
        String::new()
    } else {
        format!(" in one {}", model.topology.name(level))
    };
    let of = if fit.domain.name.is_empty() { String::new() } else { format!(" of {}", fit.domain.name) };
    let message = if piece.is_some() {
        format!("needs {asked}{place}; enough is free in sum, but the largest piece{of} is {found}{end}")
    } else {
        format!("needs {asked}{place}; enough is free in sum, but the pieces{of} hold {found} at once{end}")
    };
    let reason = Reason::plain(Stage::Packing, Rule::PackingImpossible, message);
    numbers(reason, resource, needs, has, Place::Domain(fit.domain.clone()))
}

/// The largest piece of a resource, where no single replica that requests it finds enough.
fn largest_piece_below_one_replica(
    ledger: &Ledger<'_>,
    demand: &Demand,
    fit: &Fit,
    resource: ResourceId,
) -> Option<i128> {
    let model = ledger.model();
    let request = |role: &RoleId| model.role(demand.gang, *role).request.get(resource);
    let role = demand.roles().filter(|role| request(role) > 0).min_by_key(request)?;
    let piece = capacity::largest_piece(ledger, demand, role, fit.domain.nodes.clone(), resource);
    (piece < i128::from(request(&role))).then_some(piece)
}

/// Resources of which a domain has too little in sum: what there is, what is needed.
fn shortages(ledger: &Ledger<'_>, demand: &Demand, domain: &Domain) -> Vec<(ResourceId, i128, i128)> {
    let model = ledger.model();
    demand
        .resources(model)
        .map(|resource| {
            let has = capacity::free_sum(ledger, demand, domain.nodes.clone(), resource);
            (resource, has, demand.needs(model, resource))
        })
        .filter(|(_, has, needs)| has < needs)
        .collect()
}

fn numbers(reason: Reason, resource: ResourceId, needs: i128, has: i128, place: Place) -> Reason {
    Reason { resource: Some(resource), needs: Some(needs), has: Some(has), place, ..reason }
}

/// What is free of a resource in a domain, in words; of a gang that would not fit if nothing ran, what there is in all.
fn free(
    ledger: &Ledger<'_>,
    demand: &Demand,
    vacant: Option<&Ledger<'_>>,
    domain: &Domain,
    (resource, free): (ResourceId, i128),
) -> String {
    let model = ledger.model();
    let in_all = match vacant {
        Some(vacant) => capacity::free_sum(vacant, demand, domain.nodes.clone(), resource),
        None if ledger.is_vacant() => free,
        None => return format!("{} free", written(model, resource, free)),
    };
    let words = format!("{} in all", written(model, resource, in_all));
    if in_all == free { words } else { format!("{words}, {} free", written(model, resource, free)) }
}

/// An amount with the name of its resource: `4 nvidia.com/gpu`.
fn amount(model: &Model, resource: ResourceId, amount: i128) -> String {
    format!("{} {}", written(model, resource, amount), model.resources[resource.index()])
}
