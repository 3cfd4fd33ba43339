//! Snapshot → Model: the only place that reads names. It sorts everything by name.

use std::collections::{BTreeMap, BTreeSet};

use super::requests::{PODS, Units};
use super::shapes::Shapes;
use super::{
    ClassId, Ending, GangFacts, Model, NodeFacts, NodeId, PodFacts, QueueFacts, QueueId, RoleFacts, RoleId,
    RunningReplica, TalkingPair, Topology, matching, topology::Domain,
};
use crate::document::{Gang, Group, Node, Queue, Role, Rounding, Rule, Running, Snapshot};

/// Room for replicas on a node that lists no `pods`: no limit in practice, and sums of it stay within 64 bits.
pub(super) const UNLIMITED_PODS: i64 = 1 << 40;

impl Model {
    /// Builds the model of a valid snapshot.
    pub(crate) fn build(snapshot: &Snapshot) -> Self {
        let resources = resource_names(snapshot);
        let units = Units::new(&resources);
        let nodes = canonical(snapshot);
        let topology = topology(snapshot, &nodes);
        let node_ids: BTreeMap<&str, NodeId> =
            nodes.iter().enumerate().map(|(index, node)| (node.name.as_str(), NodeId::new(index))).collect();
        let mut queues: Vec<&Queue> = snapshot.queues.iter().collect();
        queues.sort_by(|a, b| a.name.cmp(&b.name));
        let queue_ids = queue_ids(&queues);
        let mut running: Vec<&Running> = snapshot.running.iter().collect();
        running.sort_by(|a, b| a.name.cmp(&b.name));
        let mut classes = Classes { nodes: &nodes, known: BTreeMap::new(), verdicts: Vec::new() };
        let mut shapes = Shapes::default();
        let mut gangs: Vec<&Gang> = snapshot.gangs.iter().collect();
        gangs.sort_by(|a, b| a.name.cmp(&b.name));
        let mut replicas: BTreeMap<(&str, &str), Vec<RunningReplica>> = BTreeMap::new();
        for holder in &running {
            if let (Some(gang), Some(role), Some(index)) = (&holder.gang, &holder.role, holder.index) {
                let node = node_ids[holder.node.as_str()];
                let replica = RunningReplica { node, index, reserved: holder.reserved };
                replicas.entry((gang, role)).or_default().push(replica);
            }
        }
        let gangs = gangs.iter().map(|gang| {
            let mut roles: Vec<&Role> = gang.roles.iter().collect();
            roles.sort_by(|a, b| a.name.cmp(&b.name));
            let roles = roles.into_iter().map(|role| {
                let (request, class, tied) = (units.replica(role), classes.of(role), is_tied(gang, role));
                RoleFacts {
                    name: role.name.clone(),
                    replicas: role.replicas,
                    shape: shapes.intern(&request, class, tied),
                    request,
                    class,
                    inside_topology: tied,
                    running: replicas.remove(&(gang.name.as_str(), role.name.as_str())).unwrap_or_default(),
                }
            });
            let queue = gang.queue.as_deref().map(|queue| queue_ids[queue]);
            gang_facts(gang, snapshot.now, queue, roles.collect(), &topology)
        });
        let gangs = gangs.collect();
        Self {
            gangs,
            shapes: shapes.list,
            queues: queues
                .iter()
                .map(|queue| queue_facts(queue, &units, &queue_ids, resources.len()))
                .collect(),
            pods: running
                .iter()
                .filter(|holder| holder.gang.is_none())
                .map(|holder| PodFacts {
                    name: holder.name.clone(),
                    node: node_ids[holder.node.as_str()],
                    request: units.plain(&holder.requests),
                    queue: holder.queue.as_deref().map(|queue| queue_ids[queue]),
                    reserved: holder.reserved,
                })
                .collect(),
            endings: endings(snapshot, &units, &node_ids),
            classes: classes.verdicts,
            nodes: nodes.iter().map(|node| node_facts(node, &units)).collect(),
            topology,
            resources,
        }
    }
}

/// What is known to end: sooner first, then by node.
fn endings(snapshot: &Snapshot, units: &Units, nodes: &BTreeMap<&str, NodeId>) -> Vec<Ending> {
    let role_of = |holder: &Running| {
        let gang = snapshot.gangs.iter().find(|gang| Some(&gang.name) == holder.gang.as_ref())?;
        gang.roles.iter().find(|role| Some(&role.name) == holder.role.as_ref())
    };
    let ending = |holder: &Running| {
        Some(Ending {
            in_s: holder.ends_s?,
            node: nodes[holder.node.as_str()],
            amounts: role_of(holder)
                .map_or_else(|| units.plain(&holder.requests), |role| units.replica(role)),
        })
    };
    let live = snapshot.running.iter().filter(|holder| !holder.terminating);
    let mut endings: Vec<Ending> = live.filter_map(ending).collect();
    endings.sort_by(|a, b| (a.in_s, a.node, &a.amounts).cmp(&(b.in_s, b.node, &b.amounts)));
    endings
}

/// All resource names of the snapshot, and `pods`.
fn resource_names(snapshot: &Snapshot) -> Vec<String> {
    let mut names = BTreeSet::from([PODS.to_owned()]);
    let mut note = |quantities: &BTreeMap<String, String>| names.extend(quantities.keys().cloned());
    snapshot.nodes.iter().for_each(|node| note(&node.allocatable));
    snapshot.nodes.iter().flat_map(|node| &node.zones).for_each(&mut note);
    for queue in &snapshot.queues {
        note(&queue.limit);
        note(&queue.guarantee);
        queue.deserved.iter().for_each(&mut note);
    }
    for quota in &snapshot.quotas {
        note(&quota.hard);
        note(&quota.used);
    }
    snapshot.running.iter().for_each(|holder| note(&holder.requests));
    for role in snapshot.gangs.iter().flat_map(|gang| &gang.roles) {
        note(&role.requests);
        if let Some(pod) = &role.pod {
            note(&pod.overhead);
            for container in pod.containers.iter().chain(&pod.init_containers) {
                note(&container.requests);
                note(&container.limits);
            }
        }
    }
    names.into_iter().collect()
}

/// The values of a node's topology labels; none if it lacks one.
fn place<'a>(snapshot: &Snapshot, node: &'a Node) -> Option<Vec<&'a str>> {
    snapshot.topology.iter().map(|key| node.labels.get(key).map(String::as_str)).collect()
}

/// Nodes along the topology tree, then by name; those outside the topology at the end.
fn canonical(snapshot: &Snapshot) -> Vec<&Node> {
    let mut nodes: Vec<(bool, Vec<&str>, &Node)> = snapshot
        .nodes
        .iter()
        .map(|node| match place(snapshot, node) {
            Some(values) => (false, values, node),
            None => (true, Vec::new(), node),
        })
        .collect();
    nodes.sort_by(|a, b| (a.0, &a.1, &a.2.name).cmp(&(b.0, &b.1, &b.2.name)));
    nodes.into_iter().map(|(_, _, node)| node).collect()
}

fn topology(snapshot: &Snapshot, nodes: &[&Node]) -> Topology {
    let inside = nodes.iter().take_while(|node| place(snapshot, node).is_some()).count();
    let mut levels = Vec::new();
    let mut of = Vec::new();
    for depth in 1..=snapshot.topology.len() {
        let mut level: Vec<Domain> = Vec::new();
        let mut home = Vec::with_capacity(inside);
        let mut before: Option<Vec<&str>> = None;
        for (index, node) in nodes[..inside].iter().enumerate() {
            let mut values = place(snapshot, node).expect("nodes before `inside` have all labels");
            values.truncate(depth);
            if before.as_ref() != Some(&values) {
                level.push(Domain { name: values.join("/"), nodes: index..index });
                before = Some(values);
            }
            let last = level.len() - 1;
            level[last].nodes.end = index + 1;
            home.push(u32::try_from(last).expect("fewer domains than nodes"));
        }
        levels.push((snapshot.topology[depth - 1].clone(), level));
        of.push(home);
    }
    Topology::new(levels, of, nodes.iter().map(|node| node.name.clone()), inside)
}

fn node_facts(node: &Node, units: &Units) -> NodeFacts {
    let mut allocatable = units.amounts(&node.allocatable, Rounding::Down);
    if !node.allocatable.contains_key(PODS) {
        allocatable.set(units.id(PODS), UNLIMITED_PODS);
    }
    NodeFacts { name: node.name.clone(), allocatable, is_open: node.ready && !node.unschedulable }
}

/// Names of queues in order → their ids.
pub(super) fn queue_ids<'a>(queues: &[&'a Queue]) -> BTreeMap<&'a str, QueueId> {
    queues.iter().enumerate().map(|(index, queue)| (queue.name.as_str(), QueueId::new(index))).collect()
}

pub(super) fn queue_facts(
    queue: &Queue,
    units: &Units,
    ids: &BTreeMap<&str, QueueId>,
    resources: usize,
) -> QueueFacts {
    let listed = |quantities: &BTreeMap<String, String>, rest: Option<i64>| {
        let amounts = units.amounts(quantities, Rounding::Down);
        let mut listed = vec![rest; resources];
        for name in quantities.keys() {
            listed[units.id(name).index()] = Some(amounts.get(units.id(name)));
        }
        listed
    };
    // A map that lists nothing says that nothing is deserved.
    let nothing = |deserved: &BTreeMap<String, String>| deserved.is_empty().then_some(0);
    QueueFacts {
        name: queue.name.clone(),
        parent: queue.parent.as_deref().map(|parent| ids[parent]),
        priority: queue.priority,
        limit: listed(&queue.limit, None),
        deserved: match &queue.deserved {
            Some(deserved) => listed(deserved, nothing(deserved)),
            None => vec![None; resources],
        },
        guarantee: units.amounts(&queue.guarantee, Rounding::Down),
        weight: queue.weight,
        created: queue.created,
        open: queue.open,
    }
}

fn gang_facts(
    gang: &Gang,
    now: i64,
    queue: Option<QueueId>,
    roles: Vec<RoleFacts>,
    topology: &Topology,
) -> GangFacts {
    let required = gang.topology.as_ref().and_then(|asked| topology.named(asked.required.as_deref()?));
    let traffic = talking_pairs(gang, &roles);
    GangFacts {
        name: gang.name.clone(),
        queue,
        priority: gang.priority,
        created: gang.created,
        preemptible: gang.preemptible,
        runtime_s: gang.runtime_s,
        // Without a moment nobody has an age.
        age_s: if now == 0 { 0 } else { now.saturating_sub(gang.created).max(0) },
        bypassed: gang.bypassed,
        required,
        roles,
        traffic,
    }
}

/// Whether a role has a closeness: its own, its gang's, or that of a group that it is in.
fn is_tied(gang: &Gang, role: &Role) -> bool {
    let mut tied = gang.topology.is_some() || role.topology.is_some();
    let mut next: Vec<&Group> = gang.groups.iter().filter(|group| group.roles.contains(&role.name)).collect();
    while let Some(group) = next.pop() {
        tied |= group.topology.is_some();
        let above = |other: &&Group| Some(&other.name) == group.parent.as_ref();
        next.extend(gang.groups.iter().find(above));
    }
    tied
}

/// Each pair of roles once, with the sum of its weights; all pairs with weight 1 where the gang names none.
fn talking_pairs(gang: &Gang, roles: &[RoleFacts]) -> Vec<TalkingPair> {
    let ids: BTreeMap<&str, RoleId> =
        roles.iter().enumerate().map(|(index, role)| (role.name.as_str(), RoleId::new(index))).collect();
    let mut weights: BTreeMap<(RoleId, RoleId), i64> = BTreeMap::new();
    for pair in &gang.traffic {
        let (a, b) = (ids[pair.a.as_str()], ids[pair.b.as_str()]);
        let weight = weights.entry((a.min(b), a.max(b))).or_default();
        *weight = weight.saturating_add(pair.weight);
    }
    if gang.traffic.is_empty() {
        return all_pairs(roles.len());
    }
    weights.into_iter().map(|((a, b), weight)| TalkingPair { a, b, weight }).collect()
}

/// Every pair of so many roles once, with weight 1.
pub(super) fn all_pairs(roles: usize) -> Vec<TalkingPair> {
    let pair = |a: usize, b: usize| TalkingPair { a: RoleId::new(a), b: RoleId::new(b), weight: 1 };
    (0..roles).flat_map(|a| (a..roles).map(move |b| pair(a, b))).collect()
}

/// Node classes, each judged once.
struct Classes<'a> {
    nodes: &'a [&'a Node],
    known: BTreeMap<String, ClassId>,
    verdicts: Vec<Vec<Option<Rule>>>,
}

impl Classes<'_> {
    fn of(&mut self, role: &Role) -> ClassId {
        let key = format!("{:?}", (&role.node_selector, &role.node_affinity, &role.tolerations));
        let fresh = ClassId::new(self.verdicts.len());
        let class = *self.known.entry(key).or_insert(fresh);
        if class == fresh {
            self.verdicts.push(self.nodes.iter().map(|node| matching::exclusion(role, node)).collect());
        }
        class
    }
}
