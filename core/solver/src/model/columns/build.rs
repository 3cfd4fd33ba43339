//! Columns → Model.

use std::sync::Arc;

use super::super::build::{UNLIMITED_PODS, age, all_pairs};
use super::super::queues::{queue_facts, queue_ids};
use super::super::requests::{PODS, Units};
use super::super::shapes::Shapes;
use super::super::{
    Closeness, GangFacts, Model, NodeFacts, NodeId, PodFacts, QueueId, ResourceId, ResourceVec, RoleFacts,
    RoleId, RunningReplica, Shape, Topology, capacity_of,
};
use super::classes::Classes;
use super::levels::Levels;
use crate::document::{Queue, Rule};
use crate::session::{Columns, NONE, optional};

/// Which row of the columns each thing of the model was, to answer in rows.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    pub(crate) nodes: Vec<u32>,
    /// The other way round: by row of a node, the node.
    pub(crate) place: Vec<NodeId>,
    pub(crate) gangs: Vec<u32>,
    /// By gang, then role.
    pub(crate) roles: Vec<Vec<u32>>,
    /// Rows of the needs of each node class.
    pub(crate) classes: Vec<u32>,
}

impl Model {
    /// Builds the model of sound columns.
    pub(crate) fn of_columns(columns: &Columns) -> (Self, Rows) {
        let resources = resource_names(columns);
        let units = Units::new(&resources);
        let levels = Levels::of(columns);
        let order = levels.canonical(&columns.nodes.names);
        let topology = levels.topology(columns, &order);
        let amounts = Amounts::of(columns, &resources);
        let nodes = order.iter().map(|row| NodeFacts {
            name: columns.nodes.names[*row as usize].clone(),
            allocatable: amounts.allocatable(&columns.nodes.allocatable, *row as usize),
            is_open: columns.nodes.ready.get(*row as usize).copied().unwrap_or(true)
                && !columns.nodes.unschedulable.get(*row as usize).copied().unwrap_or(false),
            zones: Vec::new(),
            zoned: Vec::new(),
        });
        let nodes: Vec<NodeFacts> = nodes.collect();
        let mut queues: Vec<&Queue> = columns.queues.iter().collect();
        queues.sort_by(|a, b| a.name.cmp(&b.name));
        let ids = queue_ids(&queues);
        let mut place = vec![NodeId::new(0); order.len()];
        for (index, row) in order.iter().enumerate() {
            place[*row as usize] = NodeId::new(index);
        }
        let part = Part {
            columns,
            order: &order,
            place: &place,
            queues: columns.queues.iter().map(|queue| ids[queue.name.as_str()]).collect(),
            amounts,
        };
        let gangs = part.gangs(&topology);
        let model = Self {
            pods: part.pods().into(),
            classes: gangs.classes.into(),
            shapes: gangs.shapes,
            gangs: gangs.facts,
            queues: queues.iter().map(|queue| queue_facts(queue, &units, &ids, resources.len())).collect(),
            capacity: capacity_of(&nodes, resources.len()),
            nodes: nodes.into(),
            topology: topology.into(),
            resources,
            likenesses: Vec::new().into(),
            crowds: Vec::new().into(),
            shy: Vec::new(),
            quotas: Vec::new(),
        };
        let rows = Rows {
            nodes: order,
            place,
            gangs: gangs.rows,
            roles: gangs.role_rows,
            classes: gangs.class_rows,
        };
        (model, rows)
    }
}

/// Rows of amounts as the model holds them.
pub(crate) struct Amounts {
    /// By resource of the columns, its id.
    ids: Vec<ResourceId>,
    pods: ResourceId,
    resources: usize,
    limits_pods: bool,
}

impl Amounts {
    /// For the resources of a model that was built of these columns.
    pub(crate) fn of(columns: &Columns, resources: &[String]) -> Self {
        let (units, resources) = (Units::new(resources), resources.len());
        Self {
            ids: columns.resources.iter().map(|name| units.id(name)).collect(),
            pods: units.id(PODS),
            resources,
            limits_pods: columns.resources.iter().any(|name| name == PODS),
        }
    }

    /// By resource of the columns, its id in the model.
    pub(crate) fn ids(&self) -> &[ResourceId] {
        &self.ids
    }

    /// A row of one column for each resource.
    fn row(&self, table: &[Vec<i64>], row: usize) -> ResourceVec {
        let mut amounts = ResourceVec::zero(self.resources);
        for (column, id) in table.iter().zip(&self.ids) {
            amounts.set(*id, column[row]);
        }
        amounts
    }

    pub(crate) fn allocatable(&self, table: &[Vec<i64>], row: usize) -> ResourceVec {
        let mut amounts = self.row(table, row);
        if !self.limits_pods {
            amounts.set(self.pods, UNLIMITED_PODS);
        }
        amounts
    }

    /// What a replica takes: one of `pods`, whatever the row says.
    pub(crate) fn request(&self, table: &[Vec<i64>], row: usize) -> ResourceVec {
        let mut amounts = self.row(table, row);
        amounts.set(self.pods, 1);
        amounts
    }
}

/// Columns on their way into the model.
struct Part<'a> {
    columns: &'a Columns,
    /// Node rows in canonical order, and back.
    order: &'a [u32],
    place: &'a [NodeId],
    /// By queue row.
    queues: Vec<QueueId>,
    amounts: Amounts,
}

/// Gangs by name, with what their roles share.
struct Gangs {
    facts: Vec<Arc<GangFacts>>,
    classes: Vec<Vec<Option<Rule>>>,
    shapes: Vec<Shape>,
    rows: Vec<u32>,
    role_rows: Vec<Vec<u32>>,
    class_rows: Vec<u32>,
}

impl Part<'_> {
    fn queue(&self, column: &[u32], row: usize) -> Option<QueueId> {
        column.get(row).filter(|queue| **queue != NONE).map(|queue| self.queues[*queue as usize])
    }

    fn gangs(&self, topology: &Topology) -> Gangs {
        let (columns, gangs) = (self.columns, &self.columns.gangs);
        let mut running = replicas(columns, self.place);
        let mut classes = Classes::new(columns, self.order);
        let mut shapes = Shapes::default();
        let (rows, grouped) = gang_order(columns);
        let mut facts = Vec::with_capacity(rows.len());
        let mut role_rows = Vec::with_capacity(rows.len());
        for gang in rows.iter().map(|row| *row as usize) {
            let level = |column: &[u32]| {
                column.get(gang).filter(|level| **level != NONE).map(|level| topology.key(*level as usize))
            };
            let (required, preferred) = (level(&gangs.required), level(&gangs.preferred));
            let tied = required.is_some() || preferred.is_some();
            let mut of_gang = grouped.of(gang).to_vec();
            let min_member = optional(&gangs.min_members, gang);
            let created = gangs.created.get(gang).copied().unwrap_or(0);
            let name = |row: &u32| &columns.roles.names[*row as usize];
            of_gang.sort_unstable_by(|a, b| name(a).cmp(name(b)));
            let roles =
                of_gang.iter().enumerate().map(|(index, row)| (index, *row as usize)).map(|(index, row)| {
                    let request = self.amounts.request(&columns.roles.requests, row);
                    let class = classes.of(columns.roles.needs.get(row).copied().unwrap_or(NONE));
                    RoleFacts {
                        name: columns.roles.names[row].clone(),
                        replicas: columns.roles.replicas[row],
                        shape: shapes.intern(&request, class, tied),
                        request,
                        class,
                        inside_topology: tied,
                        running: std::mem::take(&mut running[row]),
                        own: [RoleId::new(index)],
                        leaving: Vec::new(),
                        min: optional(&columns.roles.mins, row).unwrap_or(if min_member.is_some() {
                            0
                        } else {
                            columns.roles.replicas[row]
                        }),
                        priority: columns.roles.priorities.get(row).copied().unwrap_or(0),
                        closeness: None,
                        company: Vec::new(),
                        ranks: None,
                        single_zone: false,
                        scores: Vec::new(),
                    }
                });
            let roles: Vec<RoleFacts> = roles.collect();
            facts.push(Arc::new(GangFacts {
                is_structured: false,
                roles,
                name: gangs.names[gang].clone(),
                queue: self.queue(&gangs.queues, gang),
                priority: gangs.priorities.get(gang).copied().unwrap_or(0),
                created,
                preemptible: gangs.preemptible.get(gang).copied().unwrap_or(true),
                runtime_s: optional(&gangs.runtimes_s, gang),
                age_s: age(columns.now, created),
                bypassed: gangs.bypassed.get(gang).copied().unwrap_or(0),
                required,
                closeness: tied.then(|| Closeness { required, preferred, ..Closeness::default() }),
                groups: Vec::new(),
                min_groups: Vec::new(),
                min_member,
                quota: None,
                traffic: all_pairs(of_gang.len()),
            }));
            role_rows.push(of_gang);
        }
        let class_rows = classes.needs;
        Gangs { facts, classes: classes.verdicts, shapes: shapes.list, rows, role_rows, class_rows }
    }

    fn pods(&self) -> Vec<PodFacts> {
        let pods = &self.columns.pods;
        // A row that a session has emptied.
        let gone = || PodFacts {
            name: String::new(),
            node: NodeId::new(0),
            request: ResourceVec::zero(self.amounts.resources),
            queue: None,
            reserved: false,
            ends_s: None,
            zone: None,
        };
        let facts = |row: usize| PodFacts {
            name: pods.names.get(row).cloned().unwrap_or_default(),
            node: self.place[pods.nodes[row] as usize],
            request: self.amounts.request(&pods.requests, row),
            queue: self.queue(&pods.queues, row),
            reserved: false,
            ends_s: None,
            zone: None,
        };
        (0..pods.nodes.len()).map(|row| if pods.nodes[row] == NONE { gone() } else { facts(row) }).collect()
    }
}

fn resource_names(columns: &Columns) -> Vec<String> {
    let mut names = columns.resources.clone();
    names.push(PODS.to_owned());
    for queue in &columns.queues {
        let deserved = queue.deserved.iter().flat_map(std::collections::BTreeMap::keys);
        names.extend(queue.limit.keys().chain(queue.guarantee.keys()).chain(deserved).cloned());
    }
    names.sort();
    names.dedup();
    names
}

/// By role row, where its replicas run, by index.
fn replicas(columns: &Columns, place: &[NodeId]) -> Vec<Vec<RunningReplica>> {
    let running = &columns.running;
    let mut counts = vec![0_usize; columns.roles.names.len()];
    for role in &running.roles {
        counts[*role as usize] += 1;
    }
    let mut lists: Vec<Vec<RunningReplica>> = counts.into_iter().map(Vec::with_capacity).collect();
    for (row, role) in running.roles.iter().enumerate() {
        lists[*role as usize].push(RunningReplica {
            node: place[running.nodes[row] as usize],
            index: running.indexes[row],
            reserved: running.reserved.get(row).copied().unwrap_or(false),
            ends_s: None,
            zone: None,
        });
    }
    for list in &mut lists {
        list.sort_unstable_by_key(|replica| replica.index);
    }
    lists
}

/// Rows of roles, grouped by the row of their gang.
struct Grouped {
    first: Vec<usize>,
    rows: Vec<u32>,
}

impl Grouped {
    fn of(&self, gang: usize) -> &[u32] {
        &self.rows[self.first[gang]..self.first[gang + 1]]
    }
}

/// Rows of gangs by name, and the rows of their roles.
fn gang_order(columns: &Columns) -> (Vec<u32>, Grouped) {
    let names = &columns.gangs.names;
    let mut order: Vec<u32> = (0..u32::try_from(names.len()).expect("positions have 32 bits")).collect();
    order.sort_by(|a, b| names[*a as usize].cmp(&names[*b as usize]));
    let mut first = vec![0; names.len() + 1];
    // Rows of gangs that a session has removed name none.
    for gang in columns.roles.gangs.iter().filter(|gang| **gang != NONE) {
        first[*gang as usize + 1] += 1;
    }
    for gang in 0..names.len() {
        first[gang + 1] += first[gang];
    }
    let mut next = first.clone();
    let mut rows = vec![0; columns.roles.gangs.len()];
    for (row, gang) in (0_u32..).zip(&columns.roles.gangs).filter(|(_, gang)| **gang != NONE) {
        rows[next[*gang as usize]] = row;
        next[*gang as usize] += 1;
    }
    (order, Grouped { first, rows })
}
