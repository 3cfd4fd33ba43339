//! Gangs lie in one domain of the level that they require, and their traffic is counted right.

use std::collections::{BTreeMap, BTreeSet};

use super::{Violations, cluster::Cluster};
use crate::document::{Gang, Node, Path, Plan, Rule};

/// Replicas by node and role.
type Spread<'a> = BTreeMap<(&'a str, &'a str), i128>;

pub(super) fn judge(cluster: &Cluster<'_>, plan: &Plan, found: &mut Violations) {
    let placements = Path::Root.field("placements");
    let traffic = Path::Root.field("traffic");
    for name in plan.placements.keys() {
        let Some(gang) = cluster.gangs.get(name.as_str()) else { continue };
        let spread = spread(cluster, gang, plan);
        split(cluster, gang, &spread, &placements.field(name), found);
        let cost = cost(cluster, gang, &spread);
        let stated = plan.traffic.get(name);
        if stated.map(|stated| i128::from(*stated)) != Some(cost) {
            let stated = stated.map_or("nothing".to_owned(), ToString::to_string);
            let message = format!("the placements cost {cost}, the plan says {stated}");
            found.add(Rule::TrafficMiscounted, &traffic.field(name), message);
        }
    }
    for name in plan.traffic.keys().filter(|name| !plan.placements.contains_key(*name)) {
        found.add(Rule::TrafficMiscounted, &traffic.field(name), "the plan does not place this gang");
    }
}

/// Whether a node has all topology labels.
pub(super) fn is_inside(cluster: &Cluster<'_>, node: &Node) -> bool {
    cluster.snapshot.topology.iter().all(|key| node.labels.contains_key(key))
}

/// Where all replicas of a gang are, placed or running.
fn spread<'a>(cluster: &Cluster<'a>, gang: &'a Gang, plan: &Plan) -> Spread<'a> {
    let mut spread = Spread::new();
    for role in &gang.roles {
        let placed = plan.placements[&gang.name].get(&role.name).into_iter().flatten();
        let placed = placed.filter_map(|name| cluster.nodes.get(name.as_str()));
        let running = cluster.running(gang, role).iter();
        let running = running.filter_map(|running| cluster.nodes.get(running.node.as_str()));
        for node in placed.chain(running) {
            *spread.entry((node.name.as_str(), role.name.as_str())).or_default() += 1;
        }
    }
    spread
}

fn split(cluster: &Cluster<'_>, gang: &Gang, spread: &Spread<'_>, path: &Path<'_>, found: &mut Violations) {
    let Some(required) = gang.topology.as_ref().and_then(|asked| asked.required.as_ref()) else { return };
    let depth = cluster.snapshot.topology.iter().position(|key| key == required);
    let places: BTreeSet<Vec<&str>> =
        spread.keys().map(|(node, _)| place(cluster, cluster.nodes[node], depth)).collect();
    if places.len() > 1 {
        let message = format!("all replicas must lie in one {required}, they lie in {}", places.len());
        found.add(Rule::TopologySplit, path, message);
    }
}

/// What tells the domain of a node at a depth of the topology; none: the level `node`. A node outside the topology
/// is told by its name at every level.
fn place<'a>(cluster: &Cluster<'a>, node: &'a Node, depth: Option<usize>) -> Vec<&'a str> {
    match depth {
        Some(depth) if is_inside(cluster, node) => {
            let keys = cluster.snapshot.topology[..=depth].iter();
            std::iter::once("inside").chain(keys.map(|key| node.labels[key].as_str())).collect()
        }
        _ => vec![node.name.as_str()],
    }
}

/// Weight for each pair of replicas that talk and each level that parts them; at most the largest 64-bit number.
fn cost(cluster: &Cluster<'_>, gang: &Gang, spread: &Spread<'_>) -> i128 {
    let depths = (0..cluster.snapshot.topology.len()).map(Some).chain([None]);
    let mut cost = 0;
    for depth in depths {
        let mut domains: BTreeMap<Vec<&str>, BTreeMap<&str, i128>> = BTreeMap::new();
        let mut total: BTreeMap<&str, i128> = BTreeMap::new();
        for ((node, role), count) in spread {
            let domain = domains.entry(place(cluster, cluster.nodes[node], depth)).or_default();
            *domain.entry(role).or_default() += count;
            *total.entry(role).or_default() += count;
        }
        let together: i128 = domains.values().map(|counts| talking(gang, counts)).sum();
        cost += talking(gang, &total) - together;
    }
    cost.min(i128::from(i64::MAX))
}

/// The weights of the pairs that talk, if these replicas were all there are.
fn talking(gang: &Gang, counts: &BTreeMap<&str, i128>) -> i128 {
    if gang.traffic.is_empty() {
        let all: i128 = counts.values().sum();
        return all * (all - 1) / 2;
    }
    let count = |role: &String| counts.get(role.as_str()).copied().unwrap_or(0);
    let pairs = gang.traffic.iter().map(|pair| {
        let (a, b) = (count(&pair.a), count(&pair.b));
        i128::from(pair.weight) * if pair.a == pair.b { a * (a - 1) / 2 } else { a * b }
    });
    pairs.sum()
}
