//! Rows of names: the first name that is met has row 0; a name keeps its row for good.

use std::collections::{BTreeMap, BTreeSet};

use crate::document::Snapshot;
use crate::model::{GangId, Model, NodeId, RoleId, Rows};
use crate::session::{Columns, NONE};

/// Names and their rows, both ways.
#[derive(Debug, Clone)]
pub(super) struct Names<K> {
    by_row: Vec<K>,
    rows: BTreeMap<K, u32>,
}

impl<K: Ord + Clone> Names<K> {
    fn new() -> Self {
        Self { by_row: Vec::new(), rows: BTreeMap::new() }
    }

    /// Names in the order of their rows; those that are not there any more have none but keep the row.
    fn listed(names: impl Iterator<Item = (K, bool)>) -> Self {
        let mut listed = Self::new();
        for (row, (name, is_there)) in (0_u32..).zip(names) {
            listed.by_row.push(name.clone());
            if is_there {
                listed.rows.insert(name, row);
            }
        }
        listed
    }

    /// The row of a name, a new one if it has none yet.
    pub(super) fn row(&mut self, name: &K) -> u32 {
        if let Some(row) = self.rows.get(name) {
            return *row;
        }
        let row = u32::try_from(self.by_row.len()).expect("positions have 32 bits");
        self.by_row.push(name.clone());
        self.rows.insert(name.clone(), row);
        row
    }

    pub(super) fn known(&self, name: &K) -> Option<u32> {
        self.rows.get(name).copied()
    }

    pub(super) fn name(&self, row: u32) -> &K {
        &self.by_row[row as usize]
    }

    pub(super) fn count(&self) -> usize {
        self.by_row.len()
    }

    pub(super) fn all(&self) -> &[K] {
        &self.by_row
    }
}

/// The rows of everything that rows can name.
#[derive(Debug, Clone)]
pub(super) struct AllNames {
    pub(super) nodes: Names<String>,
    pub(super) queues: Names<String>,
    pub(super) gangs: Names<String>,
    /// Row of the gang, and name.
    pub(super) roles: Names<(u32, String)>,
    /// Pods of no gang.
    pub(super) pods: Names<String>,
}

impl AllNames {
    /// In the order of a snapshot; roles gang by gang.
    pub(super) fn of(snapshot: &Snapshot) -> Self {
        let mut names = Self {
            nodes: Names::new(),
            queues: Names::new(),
            gangs: Names::new(),
            roles: Names::new(),
            pods: Names::new(),
        };
        names.note(snapshot);
        names
    }

    /// As the columns have them; `snapshot` is what they say.
    pub(super) fn of_columns(columns: &Columns, snapshot: &Snapshot) -> Self {
        let mut is_there = vec![false; columns.gangs.names.len()];
        for gang in columns.roles.gangs.iter().filter(|gang| **gang != NONE) {
            is_there[*gang as usize] = true;
        }
        let roles = columns.roles.gangs.iter().zip(&columns.roles.names);
        let mut names = Self {
            nodes: Names::listed(columns.nodes.names.iter().map(|name| (name.clone(), true))),
            queues: Names::listed(columns.queues.iter().map(|queue| (queue.name.clone(), true))),
            gangs: Names::listed(columns.gangs.names.iter().cloned().zip(is_there)),
            roles: Names::listed(roles.map(|(gang, name)| ((*gang, name.clone()), *gang != NONE))),
            pods: Names::listed(
                columns
                    .pods
                    .names
                    .iter()
                    .zip(&columns.pods.nodes)
                    .map(|(name, node)| (name.clone(), *node != NONE)),
            ),
        };
        names.note(snapshot);
        names
    }

    /// Gives rows to all that has none yet.
    pub(super) fn note(&mut self, snapshot: &Snapshot) {
        for node in &snapshot.nodes {
            self.nodes.row(&node.name);
        }
        for queue in &snapshot.queues {
            self.queues.row(&queue.name);
        }
        for gang in &snapshot.gangs {
            let row = self.gangs.row(&gang.name);
            for role in &gang.roles {
                self.roles.row(&(row, role.name.clone()));
            }
        }
        for pod in snapshot.running.iter().filter(|holder| holder.gang.is_none()) {
            self.pods.row(&pod.name);
        }
    }

    /// Which row each thing of the model is.
    pub(super) fn rows(&self, model: &Model) -> Rows {
        let known = "what is in the model was noted";
        let mut rows = Rows { place: vec![NodeId::new(0); self.nodes.count()], ..Rows::default() };
        for (index, node) in model.nodes.iter().enumerate() {
            let row = self.nodes.known(&node.name).expect(known);
            rows.place[row as usize] = NodeId::new(index);
            rows.nodes.push(row);
        }
        for gang in &model.gangs {
            let row = self.gangs.known(&gang.name).expect(known);
            rows.gangs.push(row);
            let roles = gang.roles.iter().map(|role| self.roles.known(&(row, role.name.clone())));
            rows.roles.push(roles.map(|role| role.expect(known)).collect());
        }
        rows
    }
}

/// Indexes of replicas that are leaving, by what they are in the model.
pub(super) fn leaving(snapshot: &Snapshot, model: &Model) -> BTreeMap<(GangId, RoleId), Vec<i64>> {
    let mut found: BTreeMap<(GangId, RoleId), BTreeSet<i64>> = BTreeMap::new();
    for holder in snapshot.running.iter().filter(|holder| holder.terminating) {
        let (Some(gang), Some(role), Some(index)) = (&holder.gang, &holder.role, holder.index) else {
            continue;
        };
        let gang = model.gangs.binary_search_by(|facts| facts.name.cmp(gang)).map(GangId::new);
        let Ok(gang) = gang else { continue };
        let roles = &model.gang(gang).roles;
        if let Ok(role) = roles.binary_search_by(|facts| facts.name.cmp(role)) {
            found.entry((gang, RoleId::new(role))).or_default().insert(index);
        }
    }
    found.into_iter().map(|(role, indexes)| (role, indexes.into_iter().collect())).collect()
}
