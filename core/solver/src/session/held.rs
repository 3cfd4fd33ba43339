//! A cluster held in memory: columns for what has structure, a model and books for what is asked of it.

use std::sync::atomic::AtomicBool;

use super::built::Built;
use super::columns::{Columns, NONE, RunningColumns};
use super::decisions::Decisions;
use super::sound;
use crate::document::{Plan, SolveOptions};
use crate::error::Error;
use crate::model::{GangId, Model, NodeId, RoleId};

/// A cluster held in memory, kept up by deltas. What a solve needs to count it counts once, and then only what
/// changed.
#[derive(Debug)]
pub struct Session {
    /// As they are now, but for what runs: that is in the model.
    pub(super) columns: Columns,
    pub(super) built: Built,
    /// By row of a role, what it is in the model; none once its gang was removed.
    pub(super) role_at: Vec<Option<(GangId, RoleId)>>,
    /// Of the last deltas.
    pub(super) version: u64,
    /// Counts the changes that were effective.
    pub(super) epoch: u64,
    /// By row of a gang, and of a node, the epoch in which it changed last.
    pub(super) gang_epochs: Vec<u64>,
    pub(super) node_epochs: Vec<u64>,
    /// The epoch in which nodes, gangs or queues were added or removed last.
    pub(super) structure_epoch: u64,
    /// So many pods have names that no other has.
    pub(super) pods_named: usize,
}

impl Session {
    /// Takes a cluster in.
    ///
    /// # Errors
    /// [`Error::Invalid`] with every problem of the columns, each with its path.
    pub fn open(mut columns: Columns) -> Result<Self, Error> {
        sound::sound(&columns)?;
        let (model, rows) = Model::of_columns(&columns);
        columns.running = RunningColumns::default();
        let (gangs, nodes) = (columns.gangs.names.len(), columns.nodes.names.len());
        let mut session = Self {
            built: Built::new(model, rows),
            role_at: Vec::new(),
            version: 0,
            epoch: 0,
            gang_epochs: vec![0; gangs],
            node_epochs: vec![0; nodes],
            structure_epoch: 0,
            pods_named: 0,
            columns,
        };
        session.find_roles();
        Ok(session)
    }

    /// Counts the changes so far; deltas that change nothing leave it as it is.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The version of the last deltas.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The row of a gang that waits or runs.
    pub fn gang_row(&self, name: &str) -> Option<u32> {
        let gangs = self.columns.gangs.names.iter().zip(0_u32..);
        let mut rows = gangs.filter(|(known, _)| *known == name).map(|(_, row)| row);
        rows.find(|row| self.columns.roles.gangs.contains(row))
    }

    /// Names of the resources, as amounts are given.
    pub fn resources(&self) -> &[String] {
        &self.columns.resources
    }

    /// Names of nodes by row, those that are gone too.
    pub fn node_names(&self) -> &[String] {
        &self.columns.nodes.names
    }

    /// Names of gangs by row, those that are gone too.
    pub fn gang_names(&self) -> &[String] {
        &self.columns.gangs.names
    }

    /// Names of roles by row, those that are gone too.
    pub fn role_names(&self) -> &[String] {
        &self.columns.roles.names
    }

    /// Builds the model anew, after nodes, gangs or queues were added to the columns or removed from them.
    pub(super) fn rebuild(&mut self) {
        self.columns.running = self.running();
        let (model, rows) = Model::of_columns(&self.columns);
        self.columns.running = RunningColumns::default();
        self.built = Built::new(model, rows);
        self.gang_epochs.resize(self.columns.gangs.names.len(), self.epoch);
        self.node_epochs.resize(self.columns.nodes.names.len(), self.epoch);
        self.find_roles();
    }

    fn find_roles(&mut self) {
        self.role_at = vec![None; self.columns.roles.names.len()];
        for (gang, roles) in self.built.rows.roles.iter().enumerate() {
            for (role, row) in roles.iter().enumerate() {
                self.role_at[*row as usize] = Some((GangId::new(gang), RoleId::new(role)));
            }
        }
    }

    /// What runs, by row of the role, then index.
    pub(super) fn running(&self) -> RunningColumns {
        let mut running = RunningColumns::default();
        for (row, at) in (0_u32..).zip(&self.role_at) {
            // Roles that were added since the model was built run nowhere yet.
            let Some((gang, role)) = at.filter(|_| self.columns.roles.gangs[row as usize] != NONE) else {
                continue;
            };
            for replica in &self.built.model.role(gang, role).running {
                running.roles.push(row);
                running.indexes.push(replica.index);
                running.nodes.push(self.built.rows.nodes[replica.node.index()]);
                running.reserved.push(replica.reserved);
            }
        }
        running
    }

    /// The cluster as it is now. Rows keep their numbers; removed nodes are not ready and offer nothing, and removed
    /// gangs and pods are left out, so that rows of gangs, roles and pods after them move up.
    pub fn snapshot(&self) -> Columns {
        let mut columns = self.columns.clone();
        columns.running = self.running();
        super::compact::compact(&mut columns);
        columns
    }

    /// Decides which waiting gangs start now, and where; nothing is kept of it but what was counted on the way. A new
    /// session of the same cluster decides the same.
    ///
    /// # Errors
    /// [`Error::Invalid`] for unsound options, [`Error::Interrupted`] once `stop` is set.
    pub fn solve(&mut self, options: &SolveOptions, stop: &AtomicBool) -> Result<Decisions, Error> {
        self.built.solve(self.epoch, options, stop)
    }

    /// The same decisions as a document with reasons, which [`solve`](crate::solve()) gives of the snapshot.
    ///
    /// # Errors
    /// As [`Self::solve`].
    pub fn plan(&mut self, options: &SolveOptions, stop: &AtomicBool) -> Result<Plan, Error> {
        self.name_pods();
        self.built.plan(options, stop)
    }

    /// Counts now what changed, for all shapes that are kept; a solve does it for those it asks for. How many nodes
    /// were counted.
    pub fn catch_up(&mut self) -> usize {
        self.built.books.refresh_all(&self.built.model)
    }

    /// The node of a row.
    pub(super) fn node(&self, row: u32) -> NodeId {
        self.built.rows.place[row as usize]
    }
}
