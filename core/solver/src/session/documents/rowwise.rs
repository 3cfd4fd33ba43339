//! Deltas in columns into a session that is told in names: rows → names.

use std::collections::{BTreeMap, BTreeSet};

use super::held::DocumentSession;
use crate::document::{
    Closeness, Deltas, Gang, Node, Queue, Role, Rounding, Running, format_quantity, parse_quantity,
};
use crate::error::Error;
use crate::model::PODS;
use crate::session::row_judge::{Extent, judge};
use crate::session::snapshot::{free_name, replica_name};
use crate::session::{Columns, DeltaColumns, optional};

/// Which replica of which gang.
type Replica = (String, String, i64);

impl DocumentSession {
    /// As [`DocumentSession::apply`], for many changes at once. New gangs have no needs.
    ///
    /// # Errors
    /// [`Error::Invalid`] with every problem of the columns, each with its path, or if they come out of order.
    pub fn apply_columns(&mut self, version: u64, columns: &DeltaColumns) -> Result<bool, Error> {
        if !crate::session::apply::is_new(self.version, version)? {
            return Ok(false);
        }
        self.judge_columns(columns)?;
        let before = self.epoch;
        let deltas = self.deltas(columns);
        let mut changed = self.take(&deltas)?;
        if columns.nodes.free.iter().any(|column| !column.is_empty()) {
            let freed = self.freed(columns);
            changed |= self.take(&freed)?;
        }
        if changed {
            self.epoch = before + 1;
            self.gang_epochs.iter_mut().for_each(|epoch| *epoch = (*epoch).min(before + 1));
        }
        self.version = version;
        Ok(changed)
    }

    /// Judges deltas, and does nothing.
    ///
    /// # Errors
    /// [`Error::Invalid`] with every problem of the columns, each with its path.
    pub fn judge_columns(&self, columns: &DeltaColumns) -> Result<(), Error> {
        let gangs: BTreeSet<&str> = self.snapshot.gangs.iter().map(|gang| gang.name.as_str()).collect();
        let running: BTreeSet<&str> =
            self.snapshot.running.iter().map(|holder| holder.name.as_str()).collect();
        judge(columns, &self.extent(&|name| gangs.contains(name), &|name| running.contains(name)))
    }

    fn extent<'a>(
        &self,
        has_gang: &'a dyn Fn(&str) -> bool,
        has_pod: &'a dyn Fn(&str) -> bool,
    ) -> Extent<'a> {
        let nodes: BTreeSet<&str> = self.snapshot.nodes.iter().map(|node| node.name.as_str()).collect();
        let mut replicas: BTreeMap<(&str, &str), i64> = BTreeMap::new();
        for gang in &self.snapshot.gangs {
            replicas.extend(
                gang.roles.iter().map(|role| ((gang.name.as_str(), role.name.as_str()), role.replicas)),
            );
        }
        let of_role = |(gang, role): &(u32, String)| {
            let gang = self.names.gangs.all().get(*gang as usize).map_or("", String::as_str);
            // What is said of a role that is gone changes nothing.
            replicas.get(&(gang, role.as_str())).copied().unwrap_or(i64::MAX)
        };
        let queue = |name: &String| Queue { name: name.clone(), ..Queue::default() };
        Extent {
            known: Columns {
                resources: self.resources.clone(),
                topology: self.snapshot.topology.clone(),
                queues: self.names.queues.all().iter().map(queue).collect(),
                ..Columns::default()
            },
            takes_new_resources: true,
            gone_nodes: self.names.nodes.all().iter().map(|name| !nodes.contains(name.as_str())).collect(),
            gangs: self.names.gangs.count(),
            pods: self.names.pods.count(),
            replicas: self.names.roles.all().iter().map(of_role).collect(),
            has_gang,
            has_pod,
        }
    }

    fn deltas(&self, columns: &DeltaColumns) -> Deltas {
        let mut deltas = Deltas { nodes: self.nodes(columns), ..Deltas::default() };
        let gone = &mut deltas.gone;
        gone.gangs = columns.gone_gangs.iter().map(|row| self.names.gangs.name(*row).clone()).collect();
        gone.running = columns.gone_pods.iter().map(|row| self.names.pods.name(*row).clone()).collect();
        deltas.gangs = self.gangs(columns);
        if !(columns.bound.roles.is_empty() && columns.ended.roles.is_empty()) {
            self.add_replicas(columns, &mut deltas);
        }
        if !columns.pods.nodes.is_empty() {
            self.add_pods(columns, &mut deltas);
        }
        deltas
    }

    fn add_replicas(&self, columns: &DeltaColumns, deltas: &mut Deltas) {
        let held: BTreeMap<Replica, &Running> = self
            .snapshot
            .running
            .iter()
            .filter_map(|holder| Some((super::put::replica(holder)?, holder)))
            .collect();
        let there = self.roles_after(deltas);
        let mut taken = self.taken();
        let mut bound = BTreeSet::new();
        for row in 0..columns.bound.roles.len() {
            let role = columns.bound.roles[row];
            let Some(replica) = self.replica(columns, role, columns.bound.indexes[row]) else { continue };
            if !there.contains(&(replica.0.clone(), replica.1.clone())) {
                continue;
            }
            let node = self.names.nodes.name(columns.bound.nodes[row]);
            let reserved = columns.bound.reserved.get(row).copied().unwrap_or(false);
            let holder = held.get(&replica).map_or_else(
                || named(&replica, &mut taken),
                |known| Running { zone: known.zone.filter(|_| known.node == *node), ..(*known).clone() },
            );
            deltas.running.push(Running { node: node.clone(), reserved, ..holder });
            bound.insert(replica);
        }
        for (role, index) in columns.ended.roles.iter().zip(&columns.ended.indexes) {
            let Some(replica) = self.replica(columns, *role, *index) else { continue };
            if let Some(holder) = held.get(&replica).filter(|_| !bound.contains(&replica)) {
                deltas.gone.running.push(holder.name.clone());
            }
        }
    }

    /// Names of all that holds a place.
    fn taken(&self) -> BTreeSet<String> {
        self.snapshot.running.iter().map(|holder| holder.name.clone()).collect()
    }

    /// The replica of a row of roles, of the session or of the deltas.
    fn replica(&self, columns: &DeltaColumns, role: u32, index: i64) -> Option<Replica> {
        let added = (role as usize).checked_sub(self.names.roles.count());
        if let Some(row) = added {
            let gang = columns.gangs.names[columns.roles.gangs[row] as usize].clone();
            return Some((gang, columns.roles.names[row].clone(), index));
        }
        let (gang, name) = self.names.roles.name(role);
        let known = self.names.gangs.all().get(*gang as usize)?;
        Some((known.clone(), name.clone(), index))
    }

    /// Gang and name of all roles once the deltas are done.
    fn roles_after(&self, deltas: &Deltas) -> BTreeSet<(String, String)> {
        let gone: BTreeSet<&String> = deltas.gone.gangs.iter().collect();
        let stay = self.snapshot.gangs.iter().filter(|gang| !gone.contains(&gang.name));
        stay.chain(&deltas.gangs)
            .flat_map(|gang| gang.roles.iter().map(|role| (gang.name.clone(), role.name.clone())))
            .collect()
    }

    /// Names of the resources that amounts of the deltas are of.
    fn told<'a>(&'a self, columns: &'a DeltaColumns) -> &'a [String] {
        if columns.resources.is_empty() { &self.resources } else { &columns.resources }
    }

    /// The nodes as they are with what the deltas say, but for what is free.
    fn nodes(&self, columns: &DeltaColumns) -> Vec<Node> {
        let by_name: BTreeMap<&str, &Node> =
            self.snapshot.nodes.iter().map(|node| (node.name.as_str(), node)).collect();
        let told = &columns.nodes;
        let node = |(at, row): (usize, &u32)| {
            let mut node = by_name[self.names.nodes.name(*row).as_str()].clone();
            for (resource, column) in self.told(columns).iter().zip(&told.allocatable) {
                offer(&mut node, resource, column[at]);
            }
            node.unschedulable = told.unschedulable.get(at).copied().unwrap_or(node.unschedulable);
            node.ready = told.ready.get(at).copied().unwrap_or(node.ready);
            node
        };
        told.rows.iter().enumerate().map(node).collect()
    }

    /// Nodes that offer what they hold and what is said to be free.
    fn freed(&mut self, columns: &DeltaColumns) -> Deltas {
        self.build();
        let Some(built) = &self.built else { return Deltas::default() };
        let mut nodes = self.nodes(columns);
        for (at, (node, row)) in nodes.iter_mut().zip(&columns.nodes.rows).enumerate() {
            let id = built.rows.place[*row as usize];
            let free = built.books.free(&built.model, id);
            for (resource, column) in self.told(columns).iter().zip(&columns.nodes.free) {
                let place = built.model.resources.iter().position(|known| known == resource);
                let held = place.map_or(0, |place| {
                    built.model.nodes[id.index()].allocatable.as_slice()[place].saturating_sub(free[place])
                });
                offer(node, resource, held.saturating_add(column[at]));
            }
        }
        Deltas { nodes, ..Deltas::default() }
    }

    fn gangs(&self, columns: &DeltaColumns) -> Vec<Gang> {
        let (table, roles) = (&columns.gangs, &columns.roles);
        let number = |column: &[i64], row: usize| column.get(row).copied().unwrap_or(0);
        let level = |column: &[u32], row: usize| {
            let level = optional(column, row)?;
            let key = usize::try_from(level).ok().and_then(|level| self.snapshot.topology.get(level));
            Some(key.map_or("node", String::as_str).to_owned())
        };
        let gang = |row: usize| {
            let (required, preferred) = (level(&table.required, row), level(&table.preferred, row));
            let asks = required.is_some() || preferred.is_some();
            Gang {
                name: table.names[row].clone(),
                queue: self.queue(&table.queues, row),
                priority: number(&table.priorities, row),
                created: number(&table.created, row),
                topology: asks.then(|| Closeness { required, preferred, ..Closeness::default() }),
                min_member: optional(&table.min_members, row),
                preemptible: table.preemptible.get(row).copied().unwrap_or(true),
                runtime_s: optional(&table.runtimes_s, row),
                bypassed: number(&table.bypassed, row),
                ..Gang::default()
            }
        };
        let mut gangs: Vec<Gang> = (0..table.names.len()).map(gang).collect();
        for row in 0..roles.names.len() {
            let mut role = Role {
                name: roles.names[row].clone(),
                replicas: roles.replicas[row],
                min: optional(&roles.mins, row),
                priority: number(&roles.priorities, row),
                ..Role::default()
            };
            for (resource, column) in self.told(columns).iter().zip(&roles.requests) {
                if column[row] != 0 && resource != PODS {
                    role.requests.insert(resource.clone(), format_quantity(resource, column[row]));
                }
            }
            gangs[roles.gangs[row] as usize].roles.push(role);
        }
        gangs
    }

    fn queue(&self, column: &[u32], row: usize) -> Option<String> {
        let queue = usize::try_from(optional(column, row)?).ok()?;
        self.names.queues.all().get(queue).cloned()
    }

    fn add_pods(&self, columns: &DeltaColumns, deltas: &mut Deltas) {
        let pods = &columns.pods;
        let mut taken = self.taken();
        taken.extend(deltas.running.iter().map(|holder| holder.name.clone()));
        taken.extend(pods.names.iter().cloned());
        for row in 0..pods.nodes.len() {
            let given = pods.names.get(row).filter(|name| !name.is_empty()).cloned();
            let name =
                given.unwrap_or_else(|| free_name(&format!("pod-{}", self.names.pods.count() + row), &taken));
            taken.insert(name.clone());
            let mut pod = Running {
                name,
                node: self.names.nodes.name(pods.nodes[row]).clone(),
                queue: self.queue(&pods.queues, row),
                ..Running::default()
            };
            for (resource, column) in self.told(columns).iter().zip(&pods.requests) {
                if column[row] != 0 && resource != PODS {
                    pod.requests.insert(resource.clone(), format_quantity(resource, column[row]));
                }
            }
            deltas.running.push(pod);
        }
    }
}

/// A replica that nobody gave a name.
fn named(replica: &Replica, taken: &mut BTreeSet<String>) -> Running {
    let (gang, role, index) = replica;
    let name = free_name(&replica_name(gang, role, *index), taken);
    taken.insert(name.clone());
    Running {
        name,
        gang: Some(gang.clone()),
        role: Some(role.clone()),
        index: Some(*index),
        ..Running::default()
    }
}

/// Makes a node offer an amount, in the words that it has if they mean that already.
fn offer(node: &mut Node, resource: &str, amount: i64) {
    let known = node.allocatable.get(resource).map(|text| parse_quantity(resource, text, Rounding::Down));
    let is_same = known.map_or(amount == 0 && resource != PODS, |known| known == Ok(amount));
    if !is_same {
        node.allocatable.insert(resource.to_owned(), format_quantity(resource, amount));
    }
}
