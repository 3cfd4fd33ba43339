//! Replicas that need a single zone find one, whoever sits there already.

use std::collections::{BTreeMap, BTreeSet};

use super::room::{Amounts, lone, read, replica};
use super::{Violations, cluster::Cluster};
use crate::document::{Node, Path, Plan, Rounding, Rule};

pub(super) fn judge(cluster: &Cluster<'_>, plan: &Plan, found: &mut Violations) {
    let placed = cluster.placed(plan);
    // Where nobody comes who needs a single zone, zones are as they were.
    let bound = placed.iter().filter(|placed| placed.role.single_zone);
    let touched: BTreeSet<&str> = bound.map(|placed| placed.node.name.as_str()).collect();
    for name in touched {
        let node = cluster.nodes[name];
        if node.zones.is_empty() {
            continue;
        }
        let mut zones: Vec<Amounts> = node.zones.iter().map(|zone| read(zone, Rounding::Down)).collect();
        let mut homeless = Vec::new();
        for running in
            cluster.snapshot.running.iter().filter(|running| running.node == *name && !running.terminating)
        {
            let role = running.gang.as_deref().and_then(|gang| cluster.gangs.get(gang)).and_then(|gang| {
                gang.roles.iter().find(|role| Some(role.name.as_str()) == running.role.as_deref())
            });
            let amounts = role.map_or_else(|| lone(running), replica);
            match running.zone.and_then(|zone| usize::try_from(zone).ok()) {
                Some(zone) => take(&mut zones[zone], &amounts),
                None if role.is_some_and(|role| role.single_zone) => homeless.push(amounts),
                None => {}
            }
        }
        let new = placed.iter().filter(|placed| placed.node.name == name && placed.role.single_zone);
        homeless.extend(new.map(|placed| replica(placed.role)));
        let listed = listed(node);
        for amounts in &mut homeless {
            amounts.retain(|resource, amount| listed.contains(resource.as_str()) && *amount > 0);
        }
        homeless.sort();
        homeless.reverse();
        if !fits(&mut zones, &homeless) {
            let message = format!("a replica that needs a single zone finds none on node {name}");
            found.add(Rule::ZoneTooSmall, &Path::Root.field("placements"), message);
        }
    }
}

fn listed(node: &Node) -> BTreeSet<&str> {
    node.zones.iter().flat_map(BTreeMap::keys).map(String::as_str).collect()
}

fn take(zone: &mut Amounts, amounts: &Amounts) {
    for (resource, amount) in amounts {
        *zone.entry(resource.clone()).or_default() -= amount;
    }
}

/// Whether each finds a zone, by trying all.
fn fits(zones: &mut Vec<Amounts>, homeless: &[Amounts]) -> bool {
    let Some((first, rest)) = homeless.split_first() else { return true };
    let mut tried = BTreeSet::new();
    for zone in 0..zones.len() {
        let has =
            |(resource, amount): (&String, &i128)| zones[zone].get(resource).is_some_and(|has| has >= amount);
        if !first.iter().all(has) || !tried.insert(zones[zone].clone()) {
            continue;
        }
        let before = zones[zone].clone();
        take(&mut zones[zone], first);
        if fits(zones, rest) {
            return true;
        }
        zones[zone] = before;
    }
    false
}
