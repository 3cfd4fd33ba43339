//! Snapshot → Model: the only place that reads names. It sorts everything by name.

use std::collections::{BTreeMap, BTreeSet};

use super::asked::{self, Companies};
use super::queues::{queue_facts, queue_ids};
use super::requests::{PODS, Units};
use super::shapes::Shapes;
use super::{
    ClassId, Closeness, Company, Crowd, GangFacts, GangId, Model, NodeFacts, NodeId, PodFacts, QueueId,
    QuotaFacts, RoleFacts, RoleId, RunningReplica, TalkingPair, Topology, capacity_of, matching,
    topology::Domain,
};
use crate::document::{
    Gang, Group, NamespaceQuota, Node, Queue, Role, Rounding, Rule, Running, Snapshot, parse_quantity,
};

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
        let mut running: Vec<&Running> =
            snapshot.running.iter().filter(|holder| !holder.terminating).collect();
        running.sort_by(|a, b| a.name.cmp(&b.name));
        let mut classes = Classes { nodes: &nodes, known: BTreeMap::new(), verdicts: Vec::new() };
        let mut shapes = Shapes::default();
        let mut sorted: Vec<&Gang> = snapshot.gangs.iter().collect();
        sorted.sort_by(|a, b| a.name.cmp(&b.name));
        let mut companies = Companies::new(&nodes);
        let mut leaving: BTreeMap<(&str, &str), Vec<i64>> = BTreeMap::new();
        for holder in snapshot.running.iter().filter(|holder| holder.terminating) {
            if let (Some(gang), Some(role), Some(index)) = (&holder.gang, &holder.role, holder.index) {
                leaving.entry((gang, role)).or_default().push(index);
            }
        }
        let mut replicas = replicas(&running, &node_ids);
        let mut quotas: Vec<&NamespaceQuota> = snapshot.quotas.iter().collect();
        quotas.sort_by(|a, b| a.namespace.cmp(&b.namespace));
        let gangs = sorted.iter().map(|gang| {
            let mut roles: Vec<&Role> = gang.roles.iter().collect();
            roles.sort_by(|a, b| a.name.cmp(&b.name));
            let is_elastic = gang.min_member.is_some() || !gang.min_groups.is_empty();
            let groups = asked::groups(gang, &roles, &topology);
            let roles = roles.into_iter().enumerate().map(|(index, role)| {
                let (request, class, tied) = (units.replica(role), classes.of(role), is_tied(gang, role));
                RoleFacts {
                    own: [RoleId::new(index)],
                    name: role.name.clone(),
                    replicas: role.replicas,
                    shape: shapes.intern(&request, class, tied),
                    request,
                    class,
                    inside_topology: tied,
                    running: replicas.remove(&(gang.name.as_str(), role.name.as_str())).unwrap_or_default(),
                    leaving: leaving.remove(&(gang.name.as_str(), role.name.as_str())).unwrap_or_default(),
                    min: role.min.unwrap_or(if is_elastic { 0 } else { role.replicas }),
                    priority: role.priority,
                    closeness: asked::closeness(role.topology.as_ref(), &topology),
                    company: companies.of(role),
                    ranks: role.ranks,
                    single_zone: role.single_zone,
                    scores: scores(role, &nodes),
                }
            });
            let roles: Vec<RoleFacts> = roles.collect();
            let queue = gang.queue.as_deref().map(|queue| queue_ids[queue]);
            let quota = quotas.iter().position(|quota| quota.namespace == gang.namespace);
            GangFacts { groups, quota, ..gang_facts(gang, snapshot.now, queue, roles, &topology) }
        });
        let mut gangs: Vec<GangFacts> = gangs.collect();
        let pods: Vec<&Running> = running.iter().filter(|holder| holder.gang.is_none()).copied().collect();
        let (likenesses, crowds) = companies.finish(&sorted, &pods);
        let shy = mark_structured(&mut gangs, &crowds);
        let facts: Vec<NodeFacts> = nodes.iter().map(|node| node_facts(node, &units)).collect();
        Self {
            gangs: gangs.into_iter().map(std::sync::Arc::new).collect(),
            shapes: shapes.list,
            likenesses: likenesses.into(),
            crowds: crowds.into(),
            shy,
            quotas: quotas.iter().map(|quota| quota_facts(quota, &units, resources.len())).collect(),
            queues: queues
                .iter()
                .map(|queue| queue_facts(queue, &units, &queue_ids, resources.len()))
                .collect(),
            pods: pods
                .iter()
                .map(|holder| PodFacts {
                    name: holder.name.clone(),
                    node: node_ids[holder.node.as_str()],
                    request: units.holder(holder),
                    queue: holder.queue.as_deref().map(|queue| queue_ids[queue]),
                    reserved: holder.reserved,
                    ends_s: holder.ends_s,
                    zone: holder.zone.and_then(|zone| usize::try_from(zone).ok()),
                })
                .collect::<Vec<_>>()
                .into(),
            classes: classes.verdicts.into(),
            capacity: capacity_of(&facts, resources.len()),
            nodes: facts.into(),
            topology: topology.into(),
            resources,
        }
    }
}

/// Where the replicas of gangs hold their places, by gang and role, then index.
fn replicas<'a>(
    running: &[&'a Running],
    nodes: &BTreeMap<&str, NodeId>,
) -> BTreeMap<(&'a str, &'a str), Vec<RunningReplica>> {
    let mut replicas: BTreeMap<(&str, &str), Vec<RunningReplica>> = BTreeMap::new();
    for holder in running {
        if let (Some(gang), Some(role), Some(index)) = (&holder.gang, &holder.role, holder.index) {
            let node = nodes[holder.node.as_str()];
            let zone = holder.zone.and_then(|zone| usize::try_from(zone).ok());
            let replica =
                RunningReplica { node, index, reserved: holder.reserved, ends_s: holder.ends_s, zone };
            replicas.entry((gang, role)).or_default().push(replica);
        }
    }
    for list in replicas.values_mut() {
        list.sort_unstable_by_key(|replica| replica.index);
    }
    replicas
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
    let pods = snapshot.gangs.iter().flat_map(|gang| &gang.roles).filter_map(|role| role.pod.as_ref());
    for pod in pods.chain(snapshot.running.iter().filter_map(|holder| holder.pod.as_ref())) {
        note(&pod.overhead);
        for container in pod.containers.iter().chain(&pod.init_containers) {
            note(&container.requests);
            note(&container.limits);
        }
    }
    for role in snapshot.gangs.iter().flat_map(|gang| &gang.roles) {
        note(&role.requests);
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
    let listed: BTreeSet<&String> = node.zones.iter().flat_map(BTreeMap::keys).collect();
    NodeFacts {
        name: node.name.clone(),
        allocatable,
        is_open: node.ready && !node.unschedulable,
        zones: node.zones.iter().map(|zone| units.amounts(zone, Rounding::Down)).collect(),
        zoned: listed.into_iter().map(|name| units.id(name)).collect(),
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
        age_s: age(now, gang.created),
        bypassed: gang.bypassed,
        required,
        closeness: asked::closeness(gang.topology.as_ref(), topology),
        groups: Vec::new(),
        min_groups: gang.min_groups.values().copied().collect(),
        min_member: gang.min_member,
        quota: None,
        is_structured: false,
        roles,
        traffic,
    }
}

/// How long a gang waits, in seconds; without a moment nobody has an age.
pub(super) fn age(now: i64, created: i64) -> i64 {
    if now == 0 { 0 } else { now.saturating_sub(created).max(0) }
}

/// Notes which gangs have rules beyond fixed counts and a level of their own; gives the roles that keep others away.
fn mark_structured(gangs: &mut [GangFacts], crowds: &[Crowd]) -> Vec<(GangId, RoleId)> {
    let mut shy = Vec::new();
    let mut feared: BTreeSet<GangId> = BTreeSet::new();
    for (g, gang) in gangs.iter().enumerate() {
        for (role, facts) in gang.roles() {
            let anti: Vec<&Company> =
                facts.company.iter().filter(|company| company.anti && company.required).collect();
            if !anti.is_empty() {
                shy.push((GangId::new(g), role));
            }
            feared.extend(anti.iter().flat_map(|company| crowds[company.whom].roles.iter().map(|one| one.0)));
        }
    }
    for (g, gang) in gangs.iter_mut().enumerate() {
        let plain = |asked: &Closeness| asked.slices.is_empty() && asked.spread.is_empty() && !asked.balanced;
        let plain_role = |role: &RoleFacts| {
            role.closeness.as_ref().is_none_or(|asked| *asked == Closeness::default())
                && role.company.is_empty()
                && !role.single_zone
                && role.scores.is_empty()
        };
        gang.is_structured = !gang.closeness.as_ref().is_none_or(plain)
            || !gang.groups.is_empty()
            || !gang.roles.iter().all(plain_role)
            || feared.contains(&GangId::new(g));
    }
    shy
}

fn scores(role: &Role, nodes: &[&Node]) -> Vec<i64> {
    if role.preferred_node_affinity.is_empty() {
        return Vec::new();
    }
    nodes.iter().map(|node| matching::score(role, node)).collect()
}

fn quota_facts(quota: &NamespaceQuota, units: &Units, resources: usize) -> QuotaFacts {
    let mut hard = vec![None; resources];
    for (name, text) in &quota.hard {
        hard[units.id(name).index()] =
            Some(parse_quantity(name, text, Rounding::Down).expect("validated: every quantity parses"));
    }
    QuotaFacts { namespace: quota.namespace.clone(), hard, used: units.amounts(&quota.used, Rounding::Up) }
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
    let mut pairs = Vec::with_capacity(roles * (roles + 1) / 2);
    pairs.extend((0..roles).flat_map(|a| (a..roles).map(move |b| pair(a, b))));
    pairs
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
