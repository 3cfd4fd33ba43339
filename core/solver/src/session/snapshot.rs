//! Columns → Snapshot: the same cluster in names and quantities.

use std::collections::{BTreeMap, BTreeSet};

use super::columns::{Columns, NONE, optional};
use super::held::Session;
use crate::document::{Closeness, Gang, Node, Role, Running, Snapshot, format_quantity};
use crate::model::PODS;

impl Session {
    /// The cluster as it is now, as a document: rows that are gone are left out, but for nodes, which are not ready and
    /// offer nothing.
    pub fn document(&mut self) -> Snapshot {
        self.name_pods();
        let mut columns = self.columns.clone();
        columns.running = self.running();
        document(&columns)
    }

    /// Gives pods that have no name of their own one by their row.
    pub(super) fn name_pods(&mut self) {
        let count = self.columns.pods.nodes.len();
        if self.pods_named == count {
            return;
        }
        let names = &mut self.columns.pods.names;
        super::columns::fill(names, count, String::new());
        let mut seen = BTreeSet::new();
        let mut twice = Vec::new();
        for (row, name) in names.iter().enumerate() {
            if name.is_empty() || !seen.insert(name.clone()) {
                twice.push(row);
            }
        }
        for row in twice {
            let name = free_name(&format!("pod-{row}"), &seen);
            seen.insert(name.clone());
            names[row] = name;
        }
        let facts = std::sync::Arc::make_mut(&mut self.built.model.pods);
        for (facts, name) in facts.iter_mut().zip(names) {
            facts.name.clone_from(name);
        }
        self.pods_named = count;
    }
}

/// A name that nobody has.
pub(super) fn free_name(name: &str, seen: &BTreeSet<String>) -> String {
    let mut free = name.to_owned();
    while seen.contains(&free) {
        free.push('+');
    }
    free
}

/// The name of a replica that holds a place, where nobody gave it another.
pub(super) fn replica_name(gang: &str, role: &str, index: i64) -> String {
    format!("{gang}/{role}/{index}")
}

fn document(columns: &Columns) -> Snapshot {
    let rows = Rows { columns };
    let mut gangs: Vec<Option<Gang>> = rows.gangs();
    for row in 0..columns.roles.names.len() {
        // Roles of gangs that are gone name none.
        if let Some(Some(gang)) = gangs.get_mut(columns.roles.gangs[row] as usize) {
            gang.roles.push(rows.role(row));
        }
    }
    let mut running = rows.pods();
    let mut seen: BTreeSet<String> = running.iter().map(|pod| pod.name.clone()).collect();
    for row in 0..columns.running.roles.len() {
        let mut replica = rows.replica(row);
        replica.name = free_name(&replica.name, &seen);
        seen.insert(replica.name.clone());
        running.push(replica);
    }
    Snapshot {
        now: columns.now,
        topology: columns.topology.clone(),
        nodes: (0..columns.nodes.names.len()).map(|row| rows.node(row)).collect(),
        queues: columns.queues.clone(),
        gangs: gangs.into_iter().flatten().collect(),
        running,
        ..Snapshot::default()
    }
}

struct Rows<'a> {
    columns: &'a Columns,
}

impl Rows<'_> {
    /// What a row of a table lists, `pods` only where it is asked for.
    fn amounts(&self, table: &[Vec<i64>], row: usize, of_node: bool) -> BTreeMap<String, String> {
        let listed = self.columns.resources.iter().zip(table).map(|(name, column)| (name, column[row]));
        listed
            .filter(|(name, amount)| of_node || (*amount != 0 && *name != PODS))
            .map(|(name, amount)| (name.clone(), format_quantity(name, amount)))
            .collect()
    }

    fn node(&self, row: usize) -> Node {
        let nodes = &self.columns.nodes;
        let label = |column: &super::columns::LabelColumn| {
            Some((column.key.clone(), column.values.get(column.codes[row] as usize)?.clone()))
        };
        let taints = nodes.taints.get(row).and_then(|set| nodes.taint_sets.get(*set as usize));
        Node {
            name: nodes.names[row].clone(),
            allocatable: self.amounts(&nodes.allocatable, row, true),
            labels: nodes.labels.iter().filter_map(label).collect(),
            taints: taints.cloned().unwrap_or_default(),
            unschedulable: nodes.unschedulable.get(row).copied().unwrap_or(false),
            ready: nodes.ready.get(row).copied().unwrap_or(true),
            zones: Vec::new(),
        }
    }

    fn queue(&self, column: &[u32], row: usize) -> Option<String> {
        let queue = self.columns.queues.get(*column.get(row)? as usize)?;
        Some(queue.name.clone())
    }

    /// By row; none where a gang is gone.
    fn gangs(&self) -> Vec<Option<Gang>> {
        let gangs = &self.columns.gangs;
        let mut is_there = vec![false; gangs.names.len()];
        for gang in self.columns.roles.gangs.iter().filter(|gang| **gang != NONE) {
            is_there[*gang as usize] = true;
        }
        let level = |column: &[u32], row: usize| {
            let level = *column.get(row).filter(|level| **level != NONE)? as usize;
            Some(self.columns.topology.get(level).map_or("node", String::as_str).to_owned())
        };
        let gang = |(row, is_there): (usize, bool)| {
            let (required, preferred) = (level(&gangs.required, row), level(&gangs.preferred, row));
            let asks = required.is_some() || preferred.is_some();
            is_there.then(|| Gang {
                name: gangs.names[row].clone(),
                queue: self.queue(&gangs.queues, row),
                priority: gangs.priorities.get(row).copied().unwrap_or(0),
                created: gangs.created.get(row).copied().unwrap_or(0),
                topology: asks.then(|| Closeness { required, preferred, ..Closeness::default() }),
                min_member: optional(&gangs.min_members, row),
                preemptible: gangs.preemptible.get(row).copied().unwrap_or(true),
                runtime_s: optional(&gangs.runtimes_s, row),
                bypassed: gangs.bypassed.get(row).copied().unwrap_or(0),
                ..Gang::default()
            })
        };
        is_there.into_iter().enumerate().map(gang).collect()
    }

    fn role(&self, row: usize) -> Role {
        let roles = &self.columns.roles;
        let needs = roles.needs.get(row).and_then(|needs| self.columns.needs.get(*needs as usize));
        let needs = needs.cloned().unwrap_or_default();
        Role {
            name: roles.names[row].clone(),
            replicas: roles.replicas[row],
            requests: self.amounts(&roles.requests, row, false),
            node_selector: needs.node_selector,
            node_affinity: needs.node_affinity,
            tolerations: needs.tolerations,
            min: optional(&roles.mins, row),
            priority: roles.priorities.get(row).copied().unwrap_or(0),
            ..Role::default()
        }
    }

    fn replica(&self, row: usize) -> Running {
        let (running, roles) = (&self.columns.running, &self.columns.roles);
        let role = running.roles[row] as usize;
        let gang = &self.columns.gangs.names[roles.gangs[role] as usize];
        Running {
            name: replica_name(gang, &roles.names[role], running.indexes[row]),
            node: self.columns.nodes.names[running.nodes[row] as usize].clone(),
            gang: Some(gang.clone()),
            role: Some(roles.names[role].clone()),
            index: Some(running.indexes[row]),
            reserved: running.reserved.get(row).copied().unwrap_or(false),
            ..Running::default()
        }
    }

    /// Those that are there; they have names.
    fn pods(&self) -> Vec<Running> {
        let pods = &self.columns.pods;
        let there = (0..pods.nodes.len()).filter(|row| pods.nodes[*row] != NONE);
        let pod = |row: usize| Running {
            name: pods.names[row].clone(),
            node: self.columns.nodes.names[pods.nodes[row] as usize].clone(),
            requests: self.amounts(&pods.requests, row, false),
            queue: self.queue(&pods.queues, row),
            ..Running::default()
        };
        there.map(pod).collect()
    }
}
