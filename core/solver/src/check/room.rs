//! Nodes hold no more than they have, and queues no more than their limits.

use std::collections::{BTreeMap, BTreeSet};

use super::{Violations, cluster::Cluster};
use crate::document::{
    Container, Gang, Path, Plan, Pod, Queue, Role, Rounding, Rule, Running, format_quantity, parse_quantity,
};

/// Amounts in base units by resource name.
pub(super) type Amounts = BTreeMap<String, i128>;

pub(super) fn judge(cluster: &Cluster<'_>, plan: &Plan, found: &mut Violations) {
    capacity(cluster, plan, found);
    queues(cluster, plan, found);
    guarantees(cluster, plan, found);
    namespaces(cluster, plan, found);
}

/// No quota of a namespace with a new replica is passed with what that replica takes.
fn namespaces(cluster: &Cluster<'_>, plan: &Plan, found: &mut Violations) {
    for quota in &cluster.snapshot.quotas {
        let mut used = read(&quota.used, Rounding::Up);
        let mut fresh = Amounts::new();
        for gang in cluster.snapshot.gangs.iter().filter(|gang| gang.namespace == quota.namespace) {
            for role in &gang.roles {
                for _ in cluster.running(gang, role) {
                    add(&mut used, &replica(role));
                }
            }
        }
        for placed in cluster.placed(plan).iter().filter(|placed| placed.gang.namespace == quota.namespace) {
            add(&mut used, &replica(placed.role));
            add(&mut fresh, &replica(placed.role));
        }
        for (resource, hard) in read(&quota.hard, Rounding::Down) {
            let amount = used.get(&resource).copied().unwrap_or(0);
            if amount > hard && fresh.get(&resource).is_some_and(|fresh| *fresh > 0) {
                let message = format!(
                    "namespace {} has a quota of {} {resource}, {} would be used",
                    quota.namespace,
                    text(&resource, hard),
                    text(&resource, amount)
                );
                found.add(Rule::NamespaceQuotaExceeded, &Path::Root.field("placements"), message);
            }
        }
    }
}

/// No node with a new replica holds more than it offers, of anything.
fn capacity(cluster: &Cluster<'_>, plan: &Plan, found: &mut Violations) {
    let used = used(cluster, plan);
    let touched: BTreeSet<&str> =
        cluster.placed(plan).iter().map(|placed| placed.node.name.as_str()).collect();
    for name in touched {
        let offered = read(&cluster.nodes[name].allocatable, Rounding::Down);
        for (resource, amount) in &used[name] {
            let unlimited = resource == "pods" && !offered.contains_key("pods");
            let offer = offered.get(resource).copied().unwrap_or(0);
            if *amount > offer && !unlimited {
                let message = format!(
                    "node {name} has {} {resource}, {} would be taken",
                    text(resource, offer),
                    text(resource, *amount)
                );
                found.add(Rule::CapacityInsufficient, &Path::Root.field("placements"), message);
            }
        }
    }
}

/// What is taken of each node once the plan is carried out.
fn used<'a>(cluster: &Cluster<'a>, plan: &Plan) -> BTreeMap<&'a str, Amounts> {
    let mut used: BTreeMap<&str, Amounts> = BTreeMap::new();
    for (node, _, amounts) in holders(cluster) {
        add(used.entry(node).or_default(), &amounts);
    }
    for placed in cluster.placed(plan) {
        add(used.entry(&placed.node.name).or_default(), &replica(placed.role));
    }
    used
}

/// What is left of each node once the plan is carried out, `pods` only where they are limited; debts are negative.
pub(super) fn left<'a>(cluster: &Cluster<'a>, plan: &Plan) -> BTreeMap<&'a str, Amounts> {
    let mut used = used(cluster, plan);
    let each = cluster.nodes.iter().map(|(name, node)| {
        let mut left = read(&node.allocatable, Rounding::Down);
        for (resource, amount) in used.remove(name).unwrap_or_default() {
            if resource != "pods" || left.contains_key("pods") {
                *left.entry(resource).or_default() -= amount;
            }
        }
        (*name, left)
    });
    each.collect()
}

/// No queue with a new replica is closed, or passes a limit with what that replica takes.
fn queues(cluster: &Cluster<'_>, plan: &Plan, found: &mut Violations) {
    let root = Path::Root.field("placements");
    let mut used: BTreeMap<&str, Amounts> = BTreeMap::new();
    let mut fresh: BTreeMap<&str, Amounts> = BTreeMap::new();
    for (_, queue, amounts) in holders(cluster) {
        for queue in cluster.queues_up(queue) {
            add(used.entry(&queue.name).or_default(), &amounts);
        }
    }
    let mut closed = BTreeSet::new();
    for placed in cluster.placed(plan) {
        let amounts = replica(placed.role);
        for queue in cluster.queues_up(placed.gang.queue.as_deref()) {
            add(used.entry(&queue.name).or_default(), &amounts);
            add(fresh.entry(&queue.name).or_default(), &amounts);
            if !queue.open {
                closed.insert((&placed.gang.name, &queue.name));
            }
        }
    }
    for (gang, queue) in closed {
        found.add(Rule::QueueClosed, &root.field(gang), format!("queue {queue} is closed"));
    }
    for (name, fresh) in fresh {
        for (resource, limit) in read(&cluster.queues[name].limit, Rounding::Down) {
            let amount = used[name].get(&resource).copied().unwrap_or(0);
            if amount > limit && fresh.get(&resource).is_some_and(|fresh| *fresh > 0) {
                let message = format!(
                    "queue {name} has a limit of {} {resource}, {} would be used",
                    text(&resource, limit),
                    text(&resource, amount)
                );
                found.add(Rule::QueueLimitExceeded, &root, message);
            }
        }
    }
}

/// No gang takes what other queues are guaranteed and do not use: that much is still free in the cluster.
fn guarantees(cluster: &Cluster<'_>, plan: &Plan, found: &mut Violations) {
    if cluster.queues.values().all(|queue| queue.guarantee.is_empty()) {
        return;
    }
    let mut used: BTreeMap<&str, Amounts> = BTreeMap::new();
    let placed = cluster.placed(plan);
    let fresh = placed.iter().map(|placed| (placed.gang.queue.as_deref(), replica(placed.role)));
    let held = holders(cluster).into_iter().map(|(_, queue, amounts)| (queue, amounts));
    for (queue, amounts) in held.chain(fresh) {
        for queue in cluster.queues_up(queue) {
            add(used.entry(&queue.name).or_default(), &amounts);
        }
    }
    let mut free = Amounts::new();
    for (name, left) in left(cluster, plan) {
        let node = cluster.nodes[name];
        if node.ready && !node.unschedulable && left.values().all(|amount| *amount >= 0) {
            add(&mut free, &left);
        }
    }
    let root = Path::Root.field("placements");
    let gangs: BTreeMap<&str, &Gang> =
        placed.iter().map(|placed| (placed.gang.name.as_str(), placed.gang)).collect();
    for (name, gang) in gangs {
        let path: Vec<&str> =
            cluster.queues_up(gang.queue.as_deref()).iter().map(|queue| queue.name.as_str()).collect();
        let takes = plan.placements[name]
            .keys()
            .filter_map(|role| gang.roles.iter().find(|known| known.name == *role));
        let resources: BTreeSet<String> =
            takes.flat_map(replica).filter(|(_, amount)| *amount > 0).map(|(resource, _)| resource).collect();
        for resource in resources {
            let promised: i128 = cluster
                .queues
                .values()
                .filter(|queue| !path.contains(&queue.name.as_str()))
                .filter(|queue| queue.parent.as_deref().is_none_or(|parent| path.contains(&parent)))
                .map(|queue| unused(cluster, queue, &resource, &used))
                .sum();
            let unlimited = resource == "pods"
                && cluster.nodes.values().any(|node| !node.allocatable.contains_key("pods"));
            let free = free.get(&resource).copied().unwrap_or(0);
            if free < promised && !unlimited {
                let message = format!(
                    "{} {resource} are guaranteed to other queues, {} would be left",
                    text(&resource, promised),
                    text(&resource, free)
                );
                found.add(Rule::GuaranteeKept, &root.field(name), message);
            }
        }
    }
}

/// What a queue, or those below it together, are guaranteed and do not use.
fn unused(cluster: &Cluster<'_>, queue: &Queue, resource: &str, used: &BTreeMap<&str, Amounts>) -> i128 {
    let guarantee = read(&queue.guarantee, Rounding::Down).get(resource).copied().unwrap_or(0);
    let uses = used.get(queue.name.as_str()).and_then(|used| used.get(resource)).copied().unwrap_or(0);
    let below = cluster.queues.values().filter(|below| below.parent.as_ref() == Some(&queue.name));
    let below: i128 = below.map(|below| unused(cluster, below, resource, used)).sum();
    (guarantee - uses).max(0).max(below)
}

/// Node, queue and amounts of everything that holds a place already.
fn holders<'a>(cluster: &Cluster<'a>) -> Vec<(&'a str, Option<&'a str>, Amounts)> {
    let each = cluster.snapshot.running.iter().filter(|running| !running.terminating).map(|running| {
        let gang = running.gang.as_deref().and_then(|name| cluster.gangs.get(name));
        let role = gang.and_then(|gang| {
            gang.roles.iter().find(|role| Some(role.name.as_str()) == running.role.as_deref())
        });
        let (queue, amounts) = match (gang, role) {
            (Some(gang), Some(role)) => (gang.queue.as_deref(), replica(role)),
            _ => (running.queue.as_deref(), lone(running)),
        };
        (running.node.as_str(), queue, amounts)
    });
    each.collect()
}

/// What a replica takes.
pub(super) fn replica(role: &Role) -> Amounts {
    role.pod.as_ref().map_or_else(|| with_pod(read(&role.requests, Rounding::Up)), moments)
}

/// What a pod of no gang takes.
pub(super) fn lone(running: &Running) -> Amounts {
    running.pod.as_ref().map_or_else(|| with_pod(read(&running.requests, Rounding::Up)), moments)
}

/// At each moment of its start and of its run the sum of what runs then, and the most of it.
fn moments(pod: &Pod) -> Amounts {
    let mut beside = Amounts::new();
    let mut most = Amounts::new();
    for container in &pod.init_containers {
        let mut moment = beside.clone();
        add(&mut moment, &wants(container));
        keep_larger(&mut most, &moment);
        if container.sidecar {
            beside = moment;
        }
    }
    for container in &pod.containers {
        add(&mut beside, &wants(container));
    }
    keep_larger(&mut most, &beside);
    add(&mut most, &read(&pod.overhead, Rounding::Up));
    with_pod(most)
}

fn wants(container: &Container) -> Amounts {
    let mut amounts = read(&container.requests, Rounding::Up);
    for (resource, limit) in read(&container.limits, Rounding::Up) {
        amounts.entry(resource).or_insert(limit);
    }
    amounts
}

fn with_pod(mut amounts: Amounts) -> Amounts {
    amounts.insert("pods".to_owned(), 1);
    amounts
}

pub(super) fn read(quantities: &BTreeMap<String, String>, rounding: Rounding) -> Amounts {
    let amount = |(name, text): (&String, &String)| {
        (name.clone(), i128::from(parse_quantity(name, text, rounding).unwrap_or(0)))
    };
    quantities.iter().map(amount).collect()
}

fn add(sum: &mut Amounts, more: &Amounts) {
    for (resource, amount) in more {
        *sum.entry(resource.clone()).or_default() += amount;
    }
}

fn keep_larger(most: &mut Amounts, other: &Amounts) {
    for (resource, amount) in other {
        let kept = most.entry(resource.clone()).or_default();
        *kept = (*kept).max(*amount);
    }
}

fn text(resource: &str, amount: i128) -> String {
    i64::try_from(amount).map_or_else(|_| amount.to_string(), |amount| format_quantity(resource, amount))
}
