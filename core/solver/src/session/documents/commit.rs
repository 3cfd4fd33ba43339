//! Decisions into a session that is told in names: whole gangs, if they still hold.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::held::DocumentSession;
use crate::check::broken;
use crate::document::{Placements, Plan, Running};
use crate::error::Error;
use crate::model::{GangId, NodeId, RoleId};
use crate::session::Decisions;
use crate::session::commit::{Cause, Conflict, rows_are_known};
use crate::session::snapshot::{free_name, replica_name};

/// A gang as it was decided.
struct Decided {
    /// Row of the gang.
    row: u32,
    gang: GangId,
    replicas: Vec<(RoleId, i64, NodeId)>,
}

impl DocumentSession {
    /// Books the placed gangs, each whole or not at all, as reserved places; those that do not hold any more are
    /// returned, in the order of the decisions. Decisions that are committed a second time are in conflict with
    /// themselves.
    ///
    /// # Errors
    /// [`Error::Invalid`] if rows of the decisions are not of this session.
    pub fn commit(&mut self, decisions: &Decisions) -> Result<Vec<Conflict>, Error> {
        let names = &self.names;
        rows_are_known(decisions, names.gangs.count(), names.nodes.count(), names.roles.count())?;
        self.build();
        let mut lost: BTreeMap<u32, Cause> = BTreeMap::new();
        let mut open = Vec::new();
        for rows in runs(&decisions.gangs) {
            match self.find(decisions, rows.clone()) {
                Ok(decided) => open.push(decided),
                Err(cause) => {
                    lost.insert(decisions.gangs[rows.start], cause);
                }
            }
        }
        let mut taken: BTreeSet<String> =
            self.snapshot.running.iter().map(|holder| holder.name.clone()).collect();
        let count = open.len();
        // What was decided together holds together as long as nothing changes.
        let is_same = self.epoch == decisions.epoch && decisions.is_whole && lost.is_empty();
        self.epoch += 1;
        if is_same || broken(&self.snapshot, &self.placements(&open)).is_empty() {
            open.drain(..).for_each(|one| self.book(&one, &mut taken));
        }
        // Else each by itself; it may need one that comes later.
        let mut before = usize::MAX;
        while open.len() < before {
            before = open.len();
            let mut still = Vec::new();
            for one in open {
                if let Some(cause) = self.hindrance(&one) {
                    lost.insert(one.row, cause);
                    still.push(one);
                } else {
                    lost.remove(&one.row);
                    self.book(&one, &mut taken);
                }
            }
            open = still;
        }
        if open.len() == count {
            self.epoch -= 1;
        }
        let conflict = |rows: Range<usize>| {
            let gang = decisions.gangs[rows.start];
            lost.get(&gang).map(|cause| Conflict { gang, cause: *cause })
        };
        Ok(runs(&decisions.gangs).filter_map(conflict).collect())
    }

    /// The gang of some rows, unless it changed or a node is gone.
    fn find(&mut self, decisions: &Decisions, of: Range<usize>) -> Result<Decided, Cause> {
        let row = decisions.gangs[of.start];
        if self.gang_epochs[row as usize] > decisions.epoch {
            return Err(Cause::Gang);
        }
        let gang = self.build().gang(row).ok_or(Cause::Gang)?;
        let mut replicas = Vec::new();
        let mut places = BTreeSet::new();
        for at in of {
            let (of_gang, name) = self.names.roles.name(decisions.roles[at]).clone();
            let index = i64::from(decisions.indexes[at]);
            let built = self.build();
            let facts = &built.model.gang(gang).roles;
            let role = facts.binary_search_by(|facts| facts.name.cmp(&name)).map_err(|_| Cause::Gang)?;
            let (facts, role) = (&facts[role], RoleId::new(role));
            let leaves = built.leaving.get(&(gang, role)).is_some_and(|leaving| leaving.contains(&index));
            let runs = facts.running.binary_search_by_key(&index, |replica| replica.index).is_ok();
            if of_gang != row || index >= facts.replicas || leaves || runs || !places.insert((role, index)) {
                return Err(Cause::Gang);
            }
            let node = decisions.nodes[at];
            let place = built.rows.place[node as usize];
            if built.rows.nodes.get(place.index()) != Some(&node) {
                return Err(Cause::Node(node));
            }
            replicas.push((role, index, place));
        }
        Ok(Decided { row, gang, replicas })
    }

    /// What keeps a gang from its places as things stand.
    fn hindrance(&mut self, one: &Decided) -> Option<Cause> {
        let places: Vec<(RoleId, NodeId)> =
            one.replicas.iter().map(|(role, _, node)| (*role, *node)).collect();
        let cause = self.build().hindrance(&places, one.gang);
        let breaks = || !broken(&self.snapshot, &self.placements(std::slice::from_ref(one))).is_empty();
        cause.or_else(|| breaks().then_some(Cause::Rule))
    }

    fn book(&mut self, one: &Decided, taken: &mut BTreeSet<String>) {
        for (role, index, node) in &one.replicas {
            let built = self.build();
            built.bind((one.gang, *role), *index, Some((*node, true)));
            let gang = built.model.gang(one.gang);
            let (gang, role, node) =
                (&gang.name, &gang.roles[role.index()].name, &built.model.nodes[node.index()].name);
            let name = free_name(&replica_name(gang, role, *index), taken);
            taken.insert(name.clone());
            let holder = Running {
                name,
                node: node.clone(),
                gang: Some(gang.clone()),
                role: Some(role.clone()),
                index: Some(*index),
                reserved: true,
                ..Running::default()
            };
            self.snapshot.running.push(holder);
        }
        self.gang_epochs[one.row as usize] = self.epoch;
    }

    /// The gangs as a plan has them.
    fn placements(&self, gangs: &[Decided]) -> Plan {
        let mut placements = Placements::new();
        let Some(built) = &self.built else { return Plan::default() };
        for one in gangs {
            let facts = built.model.gang(one.gang);
            let roles = placements.entry(facts.name.clone()).or_default();
            for (role, _, node) in &one.replicas {
                let nodes: &mut Vec<String> =
                    roles.entry(facts.roles[role.index()].name.clone()).or_default();
                nodes.push(built.model.nodes[node.index()].name.clone());
            }
        }
        Plan { placements, ..Plan::default() }
    }
}

/// The rows of one gang after the other.
fn runs(gangs: &[u32]) -> impl Iterator<Item = Range<usize>> {
    let mut start = 0;
    gangs.chunk_by(|a, b| a == b).map(move |chunk| {
        let rows = start..start + chunk.len();
        start = rows.end;
        rows
    })
}
