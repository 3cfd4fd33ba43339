//! What holds a place: replicas of gangs, and other pods.

use std::collections::{BTreeMap, BTreeSet};

use super::{Findings, needs};
use crate::document::{Gang, Node, Path, Rounding, Running, Snapshot};
use crate::error::ProblemCode;

pub(super) fn running(snapshot: &Snapshot, path: &Path<'_>, findings: &mut Findings) {
    let nodes: BTreeMap<&str, &Node> = snapshot.nodes.iter().map(|node| (node.name.as_str(), node)).collect();
    let node_names: BTreeSet<&str> = nodes.keys().copied().collect();
    let queues: BTreeSet<&str> = snapshot.queues.iter().map(|queue| queue.name.as_str()).collect();
    let gangs: BTreeMap<&str, &Gang> = snapshot.gangs.iter().map(|gang| (gang.name.as_str(), gang)).collect();
    let names: BTreeSet<&str> = gangs.keys().copied().collect();
    let mut seen = BTreeSet::new();
    let mut replicas = BTreeSet::new();
    for (index, holder) in snapshot.running.iter().enumerate() {
        let path = path.item(index);
        findings.name(&holder.name, &mut seen, "running replica or pod", &path.field("name"));
        findings.reference(&holder.node, &node_names, "node", &path.field("node"));
        stay(holder, nodes.get(holder.node.as_str()).copied(), &path, findings);
        findings.quantities(&holder.requests, &path.field("requests"), Rounding::Up);
        if let Some(pod) = &holder.pod {
            needs::containers(pod, &path.field("pod"), findings);
        }
        if let Some(queue) = &holder.queue {
            findings.reference(queue, &queues, "queue", &path.field("queue"));
        }
        match &holder.gang {
            None => alone(holder, &path, findings),
            Some(name) => {
                findings.reference(name, &names, "gang", &path.field("gang"));
                member(holder, gangs.get(name.as_str()).copied(), &path, findings);
                let place = (name.as_str(), holder.role.as_deref(), holder.index);
                if holder.role.is_some() && holder.index.is_some() && !replicas.insert(place) {
                    let message = "another one is the same replica: gang, role and index";
                    findings.report(&path, ProblemCode::DuplicateName, message);
                }
            }
        }
    }
}

/// The zone is one of the node, and the end is not past.
fn stay(holder: &Running, node: Option<&Node>, path: &Path<'_>, findings: &mut Findings) {
    if let (Some(zone), Some(node)) = (holder.zone, node)
        && usize::try_from(zone).map_or(true, |zone| zone >= node.zones.len())
    {
        let message = format!("must be one of the {} zones of node {}, from 0", node.zones.len(), node.name);
        findings.report(&path.field("zone"), ProblemCode::OutOfRange, message);
    }
    if let Some(seconds @ ..0) = holder.ends_s {
        let message = format!("must be at least 0, not {seconds}");
        findings.report(&path.field("ends_s"), ProblemCode::OutOfRange, message);
    }
}

/// A pod of no gang has no role and no index.
fn alone(holder: &Running, path: &Path<'_>, findings: &mut Findings) {
    if holder.pod.is_some() && !holder.requests.is_empty() {
        let message = "only one of 'requests' and 'pod' may be given";
        findings.report(&path.field("pod"), ProblemCode::Contradiction, message);
    }
    if holder.role.is_some() || holder.index.is_some() {
        let message = "is missing: gang, role and index are given together";
        findings.report(&path.field("gang"), ProblemCode::MissingField, message);
    }
}

/// A replica of a gang says which one, and leaves requests and queue to the gang.
fn member(holder: &Running, gang: Option<&Gang>, path: &Path<'_>, findings: &mut Findings) {
    for (field, given) in [("role", holder.role.is_some()), ("index", holder.index.is_some())] {
        if !given {
            let message = "is missing: gang, role and index are given together";
            findings.report(&path.field(field), ProblemCode::MissingField, message);
        }
    }
    for (field, given) in [
        ("requests", !holder.requests.is_empty()),
        ("pod", holder.pod.is_some()),
        ("queue", holder.queue.is_some()),
        ("labels", !holder.labels.is_empty()),
    ] {
        if given {
            let message = "must not be given with 'gang', which says it";
            findings.report(&path.field(field), ProblemCode::Contradiction, message);
        }
    }
    let (Some(gang), Some(name)) = (gang, &holder.role) else { return };
    let Some(role) = gang.roles.iter().find(|role| role.name == *name) else {
        let known = gang.roles.iter().map(|role| role.name.as_str()).collect();
        findings.reference(name, &known, "role", &path.field("role"));
        return;
    };
    if let Some(index) = holder.index
        && !(0..role.replicas).contains(&index)
    {
        let message =
            format!("must be from 0 to {}: role '{name}' has {} replicas", role.replicas - 1, role.replicas);
        findings.report(&path.field("index"), ProblemCode::OutOfRange, message);
    }
}
