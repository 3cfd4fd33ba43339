//! Deltas in columns into a session in columns.

use std::collections::BTreeSet;

use super::columns::NONE;
use super::delta::{Delta, NewGang, NewRole};
use super::held::Session;
use super::row_deltas::DeltaColumns;
use super::row_judge::{Extent, judge};
use crate::error::Error;
use crate::model::Amounts;

impl Session {
    /// As [`Session::apply`], for many changes at once.
    ///
    /// # Errors
    /// [`Error::Invalid`] with every problem of the columns, each with its path, or if they come out of order.
    pub fn apply_columns(&mut self, version: u64, columns: &DeltaColumns) -> Result<bool, Error> {
        if !super::apply::is_new(self.version, version)? {
            return Ok(false);
        }
        self.judge_columns(columns)?;
        let (before, pods) = (self.epoch, self.columns.pods.nodes.len());
        let changed = self.apply(version, &self.deltas(columns))?;
        let freed = self.set_free(columns);
        if !columns.pods.names.is_empty() {
            self.columns.pods.names[pods..].clone_from_slice(&columns.pods.names);
            self.pods_named = 0;
        }
        if changed || freed {
            self.epoch = before + 1;
        }
        Ok(changed || freed)
    }

    /// Judges deltas, and does nothing.
    ///
    /// # Errors
    /// [`Error::Invalid`] with every problem of the columns, each with its path.
    pub fn judge_columns(&self, columns: &DeltaColumns) -> Result<(), Error> {
        judge(columns, &self.extent(columns, &|name| self.has_gang(name)))
    }

    fn extent<'a>(&self, deltas: &DeltaColumns, has_gang: &'a dyn Fn(&str) -> bool) -> Extent<'a> {
        let mut known = super::Columns { resources: self.columns.resources.clone(), ..Default::default() };
        known.queues.clone_from(&self.columns.queues);
        if !deltas.gangs.names.is_empty() || !deltas.roles.names.is_empty() {
            known.topology.clone_from(&self.columns.topology);
            known.needs.clone_from(&self.columns.needs);
        }
        Extent {
            known,
            takes_new_resources: false,
            gone_nodes: vec![false; self.columns.nodes.names.len()],
            gangs: self.columns.gangs.names.len(),
            pods: self.columns.pods.nodes.len(),
            replicas: self.columns.roles.replicas.clone(),
            has_gang,
            has_pod: &|_| false,
        }
    }

    fn has_gang(&self, name: &str) -> bool {
        self.gang_row(name).is_some()
    }

    /// By resource of the deltas, the position of that resource in the session.
    fn places(&self, deltas: &DeltaColumns) -> Vec<usize> {
        let names = &self.columns.resources;
        if deltas.resources.is_empty() {
            return (0..names.len()).collect();
        }
        let place = |name: &String| names.iter().position(|known| known == name);
        deltas.resources.iter().filter_map(place).collect()
    }

    /// One by one, in the order in which they are done.
    fn deltas(&self, columns: &DeltaColumns) -> Vec<Delta> {
        let places = self.places(columns);
        let amounts = |table: &[Vec<i64>], row: usize, mut amounts: Vec<i64>| {
            for (column, place) in table.iter().zip(&places) {
                amounts[*place] = column[row];
            }
            amounts
        };
        let nothing = || vec![0; self.columns.resources.len()];
        let mut deltas: Vec<Delta> = Vec::new();
        deltas.extend(columns.gone_gangs.iter().map(|gang| Delta::GangRemoved { gang: *gang }));
        deltas.extend(columns.gone_pods.iter().map(|pod| Delta::PodGone { pod: *pod }));
        let ended = columns.ended.roles.iter().zip(&columns.ended.indexes);
        // Who holds a place again has never ended.
        let bound: BTreeSet<(&u32, &i64)> = columns.bound.roles.iter().zip(&columns.bound.indexes).collect();
        let ended = ended.filter(|replica| !bound.contains(replica));
        deltas.extend(ended.map(|(role, index)| Delta::ReplicaGone { role: *role, index: *index }));
        let nodes = &columns.nodes;
        for (at, node) in nodes.rows.iter().copied().enumerate() {
            if !nodes.allocatable.is_empty() {
                let known = self.columns.nodes.allocatable.iter().map(|column| column[node as usize]);
                let allocatable = amounts(&nodes.allocatable, at, known.collect());
                deltas.push(Delta::NodeResized { node, allocatable });
            }
            let cordoned = nodes.unschedulable.get(at).copied();
            deltas.extend(cordoned.map(|unschedulable| Delta::NodeCordoned { node, unschedulable }));
            deltas.extend(nodes.ready.get(at).copied().map(|ready| Delta::NodeReady { node, ready }));
        }
        let roles = &columns.roles;
        let mut gangs: Vec<NewGang> = (0..columns.gangs.names.len()).map(|row| gang(columns, row)).collect();
        for row in 0..roles.names.len() {
            gangs[roles.gangs[row] as usize].roles.push(NewRole {
                name: roles.names[row].clone(),
                replicas: roles.replicas[row],
                requests: amounts(&roles.requests, row, nothing()),
                needs: roles.needs.get(row).copied().unwrap_or(NONE),
                min: roles.mins.get(row).copied().unwrap_or(NONE),
                priority: roles.priorities.get(row).copied().unwrap_or(0),
            });
        }
        deltas.extend(gangs.into_iter().map(Delta::GangAdded));
        deltas.extend(columns.pods.nodes.iter().enumerate().map(|(row, node)| Delta::PodBound {
            requests: amounts(&columns.pods.requests, row, nothing()),
            queue: columns.pods.queues.get(row).copied().unwrap_or(NONE),
            node: *node,
        }));
        let bound = &columns.bound;
        let first = self.columns.roles.names.len();
        let places = role_rows(columns, first);
        deltas.extend(
            (0..bound.roles.len()).map(|row| Delta::ReplicaBound {
                role: (bound.roles[row] as usize)
                    .checked_sub(first)
                    .map_or(bound.roles[row], |added| places[added]),
                index: bound.indexes[row],
                node: bound.nodes[row],
                reserved: bound.reserved.get(row).copied().unwrap_or(false),
            }),
        );
        deltas
    }

    /// Makes nodes offer what they hold and what is said to be free; whether that is anything else than before.
    fn set_free(&mut self, columns: &DeltaColumns) -> bool {
        if columns.nodes.free.iter().all(Vec::is_empty) {
            return false;
        }
        let places = self.places(columns);
        let ids = Amounts::of(&self.columns, &self.built.model.resources).ids().to_vec();
        self.epoch += 1;
        let mut changed = false;
        for (at, row) in columns.nodes.rows.iter().enumerate() {
            let mut allocatable: Vec<i64> =
                self.columns.nodes.allocatable.iter().map(|column| column[*row as usize]).collect();
            let free = self.built.books.free(&self.built.model, self.node(*row));
            for (column, place) in columns.nodes.free.iter().zip(&places) {
                let held = allocatable[*place].saturating_sub(free[ids[*place].index()]);
                allocatable[*place] = held.saturating_add(column[at]);
            }
            changed |= self.resize(*row, &allocatable);
        }
        if !changed {
            self.epoch -= 1;
        }
        changed
    }
}

/// New roles get rows gang by gang: where each row of the deltas goes.
fn role_rows(columns: &DeltaColumns, first: usize) -> Vec<u32> {
    let mut order: Vec<usize> = (0..columns.roles.gangs.len()).collect();
    order.sort_by_key(|row| columns.roles.gangs[*row]);
    let mut rows = vec![0; order.len()];
    for (place, row) in order.into_iter().enumerate() {
        rows[row] = u32::try_from(first + place).expect("positions have 32 bits");
    }
    rows
}

fn gang(columns: &DeltaColumns, row: usize) -> NewGang {
    let gangs = &columns.gangs;
    let position = |column: &[u32]| column.get(row).copied().unwrap_or(NONE);
    let number = |column: &[i64]| column.get(row).copied().unwrap_or(0);
    NewGang {
        name: gangs.names[row].clone(),
        queue: position(&gangs.queues),
        priority: number(&gangs.priorities),
        created: number(&gangs.created),
        required: position(&gangs.required),
        preferred: position(&gangs.preferred),
        min_member: position(&gangs.min_members),
        preemptible: gangs.preemptible.get(row).copied().unwrap_or(true),
        runtime_s: position(&gangs.runtimes_s),
        bypassed: number(&gangs.bypassed),
        roles: Vec::new(),
    }
}
