//! The change of a refusal, made: the snapshot as the plan leaves it, with the change in it.
// Each test binary uses some of this; a panic is how a test fails.
#![allow(dead_code, clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};

use gangplan_solver::document::{
    Change, ChangeKind, Closeness, Container, Gang, Node, Plan, Pod, Rounding, Snapshot, format_quantity,
    parse_quantity,
};

use crate::clusters::member;

/// The snapshot in which what the plan places runs, and of the gangs only `name` waits.
pub fn as_things_stand(snapshot: &Snapshot, plan: &Plan, name: &str) -> Snapshot {
    let mut after = snapshot.clone();
    for (gang, roles) in &plan.placements {
        for (role, nodes) in roles {
            let known: BTreeSet<i64> = snapshot
                .running
                .iter()
                .filter(|held| (held.gang.as_ref(), held.role.as_ref()) == (Some(gang), Some(role)))
                .filter_map(|held| held.index)
                .collect();
            let free_indexes = (0..).filter(|index| !known.contains(index));
            for (node, index) in nodes.iter().zip(free_indexes) {
                after.running.push(member(gang, role, index, node));
            }
        }
    }
    after.running.retain(|held| !held.terminating || held.gang.as_deref() == Some(name));
    let others: Vec<usize> =
        (0..after.gangs.len()).filter(|index| after.gangs[*index].name != name).collect();
    for other in others {
        freeze(&mut after, other);
    }
    after.gangs.retain(|gang| !gang.roles.is_empty());
    after
}

/// The snapshot as if nothing ran, and no other gang was there.
pub fn alone(snapshot: &Snapshot, name: &str) -> Snapshot {
    let mut empty = Snapshot { running: Vec::new(), ..snapshot.clone() };
    empty.gangs.retain(|gang| gang.name == name);
    empty
}

/// What runs of a gang stays, what waits of it is forgotten.
fn freeze(snapshot: &mut Snapshot, gang: usize) {
    let gang = &mut snapshot.gangs[gang];
    let mut next: BTreeMap<String, i64> = BTreeMap::new();
    for held in snapshot.running.iter_mut().filter(|held| held.gang.as_ref() == Some(&gang.name)) {
        let index = next.entry(held.role.clone().unwrap()).or_insert(0);
        held.index = Some(*index);
        *index += 1;
    }
    for role in &mut gang.roles {
        role.replicas = next.get(&role.name).copied().unwrap_or(0);
        role.min = None;
    }
    gang.roles.retain(|role| role.replicas > 0);
    gang.traffic.clear();
    gang.groups.clear();
    gang.min_groups.clear();
    gang.min_member = None;
}

/// Makes a change of a refusal of the gang `name`.
pub fn apply(snapshot: &mut Snapshot, name: &str, change: &Change) {
    let to = || change.to.clone().unwrap();
    match change.kind {
        ChangeKind::Replicas => {
            set_replicas(snapshot, name, change.role.as_ref().unwrap(), to().parse().unwrap());
            if let Some(min_member) = change.min_member {
                assert_eq!(waiting(snapshot, name).min_member, Some(min_member), "{change:?}");
            }
        }
        ChangeKind::Level => relax(closeness_of(waiting(snapshot, name), change), to()),
        ChangeKind::Limit => {
            let resource = change.resource.clone().unwrap();
            if let Some(namespace) = &change.namespace {
                let quota = snapshot.quotas.iter_mut().find(|quota| quota.namespace == *namespace);
                quota.unwrap().hard.insert(resource, to());
            } else {
                let queue =
                    snapshot.queues.iter_mut().find(|queue| Some(&queue.name) == change.queue.as_ref());
                queue.unwrap().limit.insert(resource, to());
            }
        }
        ChangeKind::Request => {
            let gang = waiting(snapshot, name);
            let role = gang.roles.iter_mut().find(|role| Some(&role.name) == change.role.as_ref()).unwrap();
            let resource = change.resource.clone().unwrap();
            if let Some(pod) = role.pod.take() {
                role.requests = requests_of(&pod);
            }
            role.requests.insert(resource, to());
        }
        ChangeKind::Nodes => add_nodes(snapshot, change, to().parse().unwrap()),
        // As if all that is held there were free, which is no less than what the change frees.
        ChangeKind::Free => {
            let (resource, at) = (change.resource.as_ref().unwrap(), change.at.as_ref().unwrap());
            for node in snapshot.nodes.iter_mut().filter(|node| lies_in(node, at)) {
                if let Some(offer) = node.allocatable.get_mut(resource) {
                    *offer = (2 * amount(resource, offer)).to_string();
                }
            }
        }
        ChangeKind::Constraint => drop_rule(waiting(snapshot, name), change),
        ChangeKind::Wait => {
            snapshot.gangs.retain(|gang| Some(&gang.name) != change.gang.as_ref());
            snapshot.running.retain(|held| held.gang.is_none() || held.gang != change.gang);
        }
    }
}

/// The snapshot with the next smaller change than one that is offered, where there is a next smaller one.
pub fn next_smaller(snapshot: &Snapshot, name: &str, change: &Change) -> Option<Snapshot> {
    let mut less = snapshot.clone();
    let to = change.to.as_deref()?;
    let mut next = change.clone();
    match change.kind {
        ChangeKind::Replicas => {
            next.to = Some((to.parse::<i64>().unwrap() + 1).to_string());
            next.min_member = None;
        }
        ChangeKind::Nodes => next.to = Some((to.parse::<i64>().unwrap() - 1).to_string()),
        ChangeKind::Level => {
            let required = closeness_of(waiting(&mut less, name), change).required.clone().unwrap();
            let levels = [&["cluster".to_owned()], &snapshot.topology[..], &["node".to_owned()]].concat();
            let at = |level: &str| levels.iter().position(|known| known == level).unwrap();
            next.to = (at(to) + 1 < at(&required)).then(|| levels[at(to) + 1].clone());
        }
        ChangeKind::Limit => {
            let resource = change.resource.as_ref().unwrap();
            next.to = Some(format_quantity(resource, amount(resource, to) - 1));
        }
        _ => return None,
    }
    next.to.as_ref()?;
    apply(&mut less, name, &next);
    Some(less)
}

fn waiting<'a>(snapshot: &'a mut Snapshot, name: &str) -> &'a mut Gang {
    snapshot.gangs.iter_mut().find(|gang| gang.name == name).unwrap()
}

/// The closeness that a change is about: of a group, of a role, or of the gang.
fn closeness_of<'a>(gang: &'a mut Gang, change: &Change) -> &'a mut Closeness {
    let asked = match (&change.group, &change.role) {
        (Some(name), _) => &mut gang.groups.iter_mut().find(|group| group.name == *name).unwrap().topology,
        (_, Some(name)) => &mut gang.roles.iter_mut().find(|role| role.name == *name).unwrap().topology,
        _ => &mut gang.topology,
    };
    asked.as_mut().unwrap()
}

fn relax(asked: &mut Closeness, to: String) {
    if to == "cluster" {
        let before = asked.required.take();
        asked.preferred = asked.preferred.take().or(before);
    } else {
        asked.required = Some(to);
    }
}

fn drop_rule(gang: &mut Gang, change: &Change) {
    let field = change.constraint.as_deref().unwrap();
    if let Some(rule) = field.strip_prefix("topology.") {
        let asked = closeness_of(gang, change);
        match rule {
            "slices" => asked.slices.clear(),
            "spread" => asked.spread.clear(),
            _ => panic!("no rule of closeness is called {rule}"),
        }
        return;
    }
    let role = gang.roles.iter_mut().find(|role| Some(&role.name) == change.role.as_ref()).unwrap();
    if let Some(index) = field.strip_prefix("replica_affinity[") {
        role.replica_affinity.remove(index.trim_end_matches(']').parse().unwrap());
    } else {
        assert_eq!(field, "single_zone");
        role.single_zone = false;
    }
}

pub fn lies_in(node: &Node, domain: &str) -> bool {
    let place: Option<Vec<&str>> =
        ["zone", "rack"].iter().map(|key| node.labels.get(*key).map(String::as_str)).collect();
    let within = place.is_some_and(|place| place.join("/") == domain || place[0] == domain);
    domain.is_empty() || node.name == domain || within
}

/// Adds empty nodes like the one that a change names.
pub fn add_nodes(snapshot: &mut Snapshot, change: &Change, count: usize) {
    let like = snapshot.nodes.iter().find(|node| Some(&node.name) == change.node.as_ref()).unwrap().clone();
    snapshot.nodes.extend((0..count).map(|index| Node { name: format!("new-{index}"), ..like.clone() }));
}

/// Asks for another number of replicas; minimums above it come down to it.
pub fn set_replicas(snapshot: &mut Snapshot, name: &str, role: &str, to: i64) {
    let gang = waiting(snapshot, name);
    let role = gang.roles.iter_mut().find(|known| known.name == role).unwrap();
    let fewer = role.replicas - to;
    role.replicas = to;
    role.min = role.min.map(|min| min.min(to));
    gang.min_member = gang.min_member.map(|min| (min - fewer).max(0));
}

/// What containers ask for in sum, by the rule that `Pod` tells.
fn requests_of(pod: &Pod) -> BTreeMap<String, String> {
    let asked = |container: &Container, resource: &str| {
        let text = container.requests.get(resource).or_else(|| container.limits.get(resource));
        text.map_or(0, |text| amount(resource, text))
    };
    let all = || pod.containers.iter().chain(&pod.init_containers);
    let names: BTreeSet<&String> = all()
        .flat_map(|container| container.requests.keys().chain(container.limits.keys()))
        .chain(pod.overhead.keys())
        .collect();
    let total = |resource: &str| {
        let together = |containers: &[Container], sidecars: bool| -> i64 {
            containers.iter().filter(|one| one.sidecar || !sidecars).map(|one| asked(one, resource)).sum()
        };
        let steps = pod.init_containers.iter().enumerate().map(|(index, container)| {
            asked(container, resource) + together(&pod.init_containers[..index], true)
        });
        let running = together(&pod.containers, false) + together(&pod.init_containers, true);
        let overhead = pod.overhead.get(resource).map_or(0, |text| amount(resource, text));
        steps.fold(running, i64::max) + overhead
    };
    names.into_iter().map(|name| (name.clone(), format_quantity(name, total(name)))).collect()
}

pub fn amount(resource: &str, text: &str) -> i64 {
    parse_quantity(resource, text, Rounding::Up).unwrap()
}
