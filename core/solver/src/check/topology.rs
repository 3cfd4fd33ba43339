//! Gangs, groups and roles lie as their closeness asks, and traffic is counted right.

use std::collections::BTreeMap;

use super::{Violations, cluster::Cluster, minimums::members};
use crate::document::{Closeness, Gang, Node, Path, Plan, Rule, Spread};

/// Replicas by node and role.
type Seats<'a> = BTreeMap<(&'a str, &'a str), i128>;

pub(super) fn judge(cluster: &Cluster<'_>, plan: &Plan, found: &mut Violations) {
    let placements = Path::Root.field("placements");
    let traffic = Path::Root.field("traffic");
    for name in plan.placements.keys() {
        let Some(gang) = cluster.gangs.get(name.as_str()) else { continue };
        let (new, spread) = (placed(cluster, gang, plan), spread(cluster, gang, plan));
        asked(cluster, gang, &new, &spread, &placements.field(name), found);
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

/// Where the plan places replicas of a gang.
fn placed<'a>(cluster: &Cluster<'a>, gang: &'a Gang, plan: &Plan) -> Seats<'a> {
    let mut seats = Seats::new();
    for role in &gang.roles {
        let names = plan.placements[&gang.name].get(&role.name).into_iter().flatten();
        for node in names.filter_map(|name| cluster.nodes.get(name.as_str())) {
            *seats.entry((node.name.as_str(), role.name.as_str())).or_default() += 1;
        }
    }
    seats
}

/// Where all replicas of a gang are, placed or running.
fn spread<'a>(cluster: &Cluster<'a>, gang: &'a Gang, plan: &Plan) -> Seats<'a> {
    let mut spread = placed(cluster, gang, plan);
    for role in &gang.roles {
        let running = cluster.running(gang, role).iter();
        for node in running.filter_map(|running| cluster.nodes.get(running.node.as_str())) {
            *spread.entry((node.name.as_str(), role.name.as_str())).or_default() += 1;
        }
    }
    spread
}

/// All that is asked of the gang, of its groups and of its roles, running replicas included; but how many a domain may
/// hold at most only where something is placed.
fn asked(
    cluster: &Cluster<'_>,
    gang: &Gang,
    new: &Seats<'_>,
    spread: &Seats<'_>,
    path: &Path<'_>,
    found: &mut Violations,
) {
    let mut judge = |asked: Option<&Closeness>, of: &str, roles: &[&str]| {
        let Some(asked) = asked else { return };
        let outside = |seats: &Seats<'_>| {
            let mut names = seats.keys().filter(|(_, role)| roles.contains(role)).map(|(node, _)| *node);
            names.find(|node| !is_inside(cluster, cluster.nodes[node])).map(str::to_owned)
        };
        let is_key = |level: &String| cluster.snapshot.topology.contains(level);
        let message = |node| format!("node {node} is in no domain, where replicas{of} must be");
        if let Some(node) = outside(spread).filter(|_| asked.required.as_ref().is_some_and(is_key)) {
            found.add(Rule::TopologySplit, path, message(node));
        } else if let Some(node) =
            outside(spread).filter(|_| asked.slices.iter().any(|slice| is_key(&slice.level)))
        {
            found.add(Rule::SlicesBroken, path, message(node));
        }
        let counts = |level: &str| {
            let (fresh, all) =
                (per_domain(cluster, new, roles, level), per_domain(cluster, spread, roles, level));
            all.into_iter().map(|(domain, count)| (fresh.contains_key(&domain), count)).collect()
        };
        close(asked, of, counts, path, found);
    };
    let all: Vec<&str> = gang.roles.iter().map(|role| role.name.as_str()).collect();
    judge(gang.topology.as_ref(), "", &all);
    for group in &gang.groups {
        judge(group.topology.as_ref(), &format!(" of group {}", group.name), &members(gang, group));
    }
    for role in &gang.roles {
        judge(role.topology.as_ref(), &format!(" of role {}", role.name), &[role.name.as_str()]);
    }
}

/// How many replicas of some roles lie in each domain of a level.
fn per_domain<'a>(
    cluster: &Cluster<'a>,
    spread: &Seats<'a>,
    roles: &[&str],
    level: &str,
) -> BTreeMap<Vec<&'a str>, i128> {
    let depth = cluster.snapshot.topology.iter().position(|key| key == level);
    let mut counts: BTreeMap<Vec<&str>, i128> = BTreeMap::new();
    for ((node, _), count) in spread.iter().filter(|((_, role), _)| roles.contains(role)) {
        *counts.entry(place(cluster, cluster.nodes[node], depth)).or_default() += count;
    }
    counts
}

/// The replicas of some roles lie as a closeness asks; `counts` tells of each domain of a level whether the plan places
/// any there, and how many there are.
fn close(
    asked: &Closeness,
    of: &str,
    counts: impl Fn(&str) -> Vec<(bool, i128)>,
    path: &Path<'_>,
    found: &mut Violations,
) {
    if let Some(required) = &asked.required {
        let places = counts(required).len();
        if places > 1 {
            let message = format!("all replicas{of} must lie in one {required}, they lie in {places}");
            found.add(Rule::TopologySplit, path, message);
        }
    }
    for slice in &asked.slices {
        let size = i128::from(slice.size);
        if let Some((_, count)) = counts(&slice.level).iter().find(|(_, count)| count % size != 0) {
            let message = format!(
                "the replicas{of} in each {} must be a multiple of {size}, one has {count}",
                slice.level
            );
            found.add(Rule::SlicesBroken, path, message);
        }
    }
    for Spread { level, most } in &asked.spread {
        if let Some((_, count)) = counts(level).iter().find(|(new, count)| *new && *count > i128::from(*most))
        {
            let message = format!("at most {most} replicas{of} may lie in one {level}, one has {count}");
            found.add(Rule::SpreadExceeded, path, message);
        }
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
fn cost(cluster: &Cluster<'_>, gang: &Gang, spread: &Seats<'_>) -> i128 {
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
