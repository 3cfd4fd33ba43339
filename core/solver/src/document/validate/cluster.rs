//! Nodes, topology and queues.

use std::collections::{BTreeMap, BTreeSet};

use super::Findings;
use crate::document::{NamespaceQuota, Node, Path, Queue, Rounding};
use crate::error::ProblemCode;

/// Keeps products of weights and amounts within 128 bits.
const MOST_WEIGHT: i64 = 1_000_000;

/// Keys are unique, and none has the name of a level that is always there.
pub(super) fn topology(keys: &[String], path: &Path<'_>, findings: &mut Findings) {
    let mut seen = BTreeSet::new();
    for (index, key) in keys.iter().enumerate() {
        let path = path.item(index);
        findings.name(key, &mut seen, "topology key", &path);
        if key == "node" || key == "cluster" {
            let message = format!("the level '{key}' is always there and cannot be a key");
            findings.report(&path, ProblemCode::Contradiction, message);
        }
    }
}

pub(super) fn nodes(nodes: &[Node], path: &Path<'_>, findings: &mut Findings) {
    let mut seen = BTreeSet::new();
    for (index, node) in nodes.iter().enumerate() {
        let path = path.item(index);
        findings.name(&node.name, &mut seen, "node", &path.field("name"));
        findings.quantities(&node.allocatable, &path.field("allocatable"), Rounding::Down);
        let zones = path.field("zones");
        for (index, zone) in node.zones.iter().enumerate() {
            findings.quantities(zone, &zones.item(index), Rounding::Down);
        }
    }
}

pub(super) fn queues(queues: &[Queue], path: &Path<'_>, findings: &mut Findings) {
    let mut seen = BTreeSet::new();
    for (index, queue) in queues.iter().enumerate() {
        let path = path.item(index);
        findings.name(&queue.name, &mut seen, "queue", &path.field("name"));
        findings.quantities(&queue.limit, &path.field("limit"), Rounding::Down);
        findings.quantities(&queue.guarantee, &path.field("guarantee"), Rounding::Down);
        if let Some(deserved) = &queue.deserved {
            findings.quantities(deserved, &path.field("deserved"), Rounding::Down);
        }
        if !(0..=MOST_WEIGHT).contains(&queue.weight) {
            let message = format!("must be from 0 to {MOST_WEIGHT}, not {}", queue.weight);
            findings.report(&path.field("weight"), ProblemCode::OutOfRange, message);
        }
    }
    let parents: BTreeMap<&str, &str> =
        queues.iter().filter_map(|queue| Some((queue.name.as_str(), queue.parent.as_deref()?))).collect();
    for (index, queue) in queues.iter().enumerate() {
        let path = path.item(index);
        let path = path.field("parent");
        if let Some(parent) = &queue.parent {
            findings.reference(parent, &seen, "queue", &path);
        }
        if let Some(cycle) = cycle_from(&queue.name, &parents) {
            findings.report(&path, ProblemCode::Cycle, format!("queues in a circle: {}", cycle.join(" → ")));
        }
    }
}

pub(super) fn quotas(quotas: &[NamespaceQuota], path: &Path<'_>, findings: &mut Findings) {
    let mut seen = BTreeSet::new();
    for (index, quota) in quotas.iter().enumerate() {
        let path = path.item(index);
        if !seen.insert(&quota.namespace) {
            let message = format!("there is another quota of namespace '{}'", quota.namespace);
            findings.report(&path.field("namespace"), ProblemCode::DuplicateName, message);
        }
        findings.quantities(&quota.hard, &path.field("hard"), Rounding::Down);
        findings.quantities(&quota.used, &path.field("used"), Rounding::Up);
    }
}

/// The circle of parents that starts and ends at `name`; told once, by its first name.
pub(super) fn cycle_from<'a>(name: &'a str, parents: &BTreeMap<&'a str, &'a str>) -> Option<Vec<&'a str>> {
    let mut walk = vec![name];
    let mut seen = BTreeSet::from([name]);
    let mut at = name;
    while let Some(parent) = parents.get(at) {
        walk.push(parent);
        if *parent == name {
            return Some(walk);
        }
        // A circle further up is told there; one below is told by its first name.
        if !seen.insert(parent) || *parent < name {
            return None;
        }
        at = parent;
    }
    None
}
