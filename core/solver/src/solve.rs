//! The pipeline on one page: validate → build → order → place → explain → plan.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use crate::decide::decide;
use crate::document::{self, Placements, Plan, Snapshot, SolveOptions, Stats, StoppedBy, Version};
use crate::error::Error;
use crate::explain::explain;
use crate::model::{GangId, Model, NodeId, RoleId};
use crate::objective::locality::{Spot, traffic};
use crate::objective::ranks::in_rank;
use crate::search::{Budget, Stop};
use crate::state::Ledger;

/// Decides which waiting gangs start now, and where. The same snapshot, in any order, gives the same plan.
///
/// # Errors
/// [`Error::Invalid`] if a document contradicts itself, [`Error::Interrupted`] once `stop` is set.
pub fn solve(snapshot: &Snapshot, options: &SolveOptions, stop: &AtomicBool) -> Result<Plan, Error> {
    document::sound(snapshot)?;
    document::sound(options)?;
    plan_alone(&Model::build(snapshot), options, stop)
}

/// [`solve`] from JSON to JSON.
///
/// # Errors
/// As [`solve`]; also if a document does not decode.
pub fn solve_bytes(snapshot: &[u8], options: &[u8], stop: &AtomicBool) -> Result<Vec<u8>, Error> {
    let model = Model::build(&document::decode(snapshot)?);
    let plan = plan_alone(&model, &document::decode(options)?, stop)?;
    Ok(document::encode(&plan))
}

/// The cost of the traffic of each gang in the placements of a plan, complete or not, replicas that run included.
/// No rule is judged.
///
/// # Errors
/// [`Error::Invalid`] if the snapshot contradicts itself, or the placements name what it does not have, or more
/// replicas than there are.
pub fn evaluate(snapshot: &Snapshot, placements: &Placements) -> Result<BTreeMap<String, i64>, Error> {
    document::sound(snapshot)?;
    document::known_placements(snapshot, placements)?;
    let model = Model::build(snapshot);
    let nodes: BTreeMap<&str, NodeId> =
        (0..model.nodes.len()).map(|index| (model.nodes[index].name.as_str(), NodeId::new(index))).collect();
    let mut costs = BTreeMap::new();
    for gang in model.gang_ids() {
        let facts = model.gang(gang);
        let Some(roles) = placements.get(&facts.name) else { continue };
        let mut spots = Vec::new();
        for (role, facts) in facts.roles() {
            let placed =
                roles.get(&facts.name).into_iter().flatten().filter_map(|name| nodes.get(name.as_str()));
            let running = facts.running.iter().map(|replica| &replica.node);
            spots.extend(placed.chain(running).map(|node| Spot { node: *node, role, count: 1 }));
        }
        costs.insert(facts.name.clone(), traffic(&model, gang, spots.into_iter()));
    }
    Ok(costs)
}

fn plan_alone(model: &Model, options: &SolveOptions, stop: &AtomicBool) -> Result<Plan, Error> {
    plan(&mut Ledger::new(model), options, &mut Budget::new(options, stop))
}

/// Decides and explains; what is placed stays booked.
pub(crate) fn plan(
    ledger: &mut Ledger<'_>,
    options: &SolveOptions,
    budget: &mut Budget<'_>,
) -> Result<Plan, Error> {
    let model = ledger.model();
    let gangs = model.gang_ids().filter(|gang| model.gang(*gang).waits()).count();
    let decision = decide(ledger, options, budget);
    let mut plan = Plan::default();
    for (gang, spots) in &decision.placed {
        enter(model, *gang, spots, &mut plan);
    }
    for earmark in &decision.earmarks {
        let nodes = earmark.nodes.iter().map(|node| model.nodes[node.index()].name.clone()).collect();
        let kept = document::Earmark { nodes, starts_in_s: earmark.starts_in_s };
        plan.earmarks.insert(name(model, earmark.gang), kept);
    }
    let (trials, cells) = (budget.trials(), budget.cells());
    for (index, refusal) in decision.refused.iter().enumerate() {
        let rejection = explain(ledger, refusal, index, options, budget);
        plan.rejections.insert(name(model, refusal.demand.gang), rejection);
    }
    plan.version = Version;
    plan.stats = Stats {
        nodes: count(model.nodes.len()),
        gangs: count(gangs),
        trials,
        cells,
        stopped_by: match budget.stopped() {
            None => None,
            Some(Stop::Deadline) => Some(StoppedBy::Deadline),
            Some(Stop::Caller) => return Err(Error::Interrupted),
        },
    };
    plan.hash = plan.fingerprint();
    Ok(plan)
}

/// Writes a placed gang into the plan: for each role one node a replica, in canonical order or by rank.
fn enter(model: &Model, id: GangId, spots: &[Spot], plan: &mut Plan) {
    let gang = model.gang(id);
    let mut seats: BTreeMap<RoleId, Vec<NodeId>> = BTreeMap::new();
    for spot in spots {
        seats.entry(spot.role).or_default().extend((0..spot.count).map(|_| spot.node));
    }
    let named = |(role, nodes): (RoleId, Vec<NodeId>)| {
        let nodes =
            in_rank(model, id, role, nodes).into_iter().map(|node| model.nodes[node.index()].name.clone());
        (model.role(id, role).name.clone(), nodes.collect())
    };
    let roles: BTreeMap<String, Vec<String>> = seats.into_iter().map(named).collect();
    let running = gang.roles().flat_map(|(role, facts)| {
        facts.running.iter().map(move |replica| Spot { node: replica.node, role, count: 1 })
    });
    let cost = traffic(model, id, spots.iter().copied().chain(running));
    plan.traffic.insert(gang.name.clone(), cost);
    plan.placements.insert(gang.name.clone(), roles);
}

fn name(model: &Model, gang: GangId) -> String {
    model.gang(gang).name.clone()
}

fn count(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}
