//! Decisions into a session: whole gangs, if they still hold.

use super::decisions::Decisions;
use super::held::Session;
use crate::constraint::{Demand, quota};
use crate::error::{Error, Problem, ProblemCode};
use crate::model::{GangId, NodeId, RoleId};
use crate::state::Ledger;

/// A gang whose placement does not hold any more; nothing of it was booked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Conflict {
    /// Row of the gang.
    pub gang: u32,
    /// What changed since it was decided.
    pub cause: Cause,
}

/// Why a placement does not hold any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// Nodes, gangs or queues were added or removed.
    Structure,
    /// The gang changed.
    Gang,
    /// Its queue does not admit it any more.
    Queue,
    /// A node takes a replica no longer; its row.
    Node(u32),
}

/// Replicas of a gang in decisions: role, index, node.
type Replicas = Vec<((GangId, RoleId), i64, NodeId)>;

impl Session {
    /// Books the placed gangs, each whole or not at all, as reserved places; those that do not hold any more are
    /// returned. Decisions that are committed a second time are in conflict with themselves.
    ///
    /// # Errors
    /// [`Error::Invalid`] if rows of the decisions are not of this session.
    pub fn commit(&mut self, decisions: &Decisions) -> Result<Vec<Conflict>, Error> {
        self.judge_rows(decisions)?;
        self.epoch += 1;
        let mut conflicts = Vec::new();
        let mut booked = false;
        let mut start = 0;
        while start < decisions.gangs.len() {
            let gang = decisions.gangs[start];
            let length = decisions.gangs[start..].iter().take_while(|other| **other == gang).count();
            match self.holds(decisions, start..start + length) {
                Ok(replicas) => {
                    for (at, index, node) in replicas {
                        self.bind(at, index, Some((node, true)));
                    }
                    booked = true;
                }
                Err(cause) => conflicts.push(Conflict { gang, cause }),
            }
            start += length;
        }
        if !booked {
            self.epoch -= 1;
        }
        Ok(conflicts)
    }

    /// Whether the replicas of one gang can be booked now.
    fn holds(&mut self, decisions: &Decisions, of: std::ops::Range<usize>) -> Result<Replicas, Cause> {
        if self.structure_epoch > decisions.epoch {
            return Err(Cause::Structure);
        }
        let row = decisions.gangs[of.start];
        if self.gang_epochs[row as usize] > decisions.epoch {
            return Err(Cause::Gang);
        }
        let mut replicas = Replicas::new();
        for at in of {
            let role = self.role_at[decisions.roles[at] as usize].ok_or(Cause::Gang)?;
            replicas.push((role, i64::from(decisions.indexes[at]), self.node(decisions.nodes[at])));
        }
        let gang = replicas[0].0.0;
        let mut places: Vec<_> = replicas.iter().map(|(role, index, _)| (*role, *index)).collect();
        places.sort_unstable();
        let is_twice = places.windows(2).any(|pair| pair[0] == pair[1]);
        let runs = places.iter().any(|((gang, role), index)| {
            let running = &self.model.role(*gang, *role).running;
            running.binary_search_by_key(index, |replica| replica.index).is_ok()
        });
        if is_twice || runs || places.iter().any(|(role, _)| role.0 != gang) {
            return Err(Cause::Gang);
        }
        let mut ledger = Ledger::over(&self.model, std::mem::take(&mut self.books));
        let before = ledger.checkpoint();
        let mut demand = Demand::of(&self.model, gang);
        demand.counts.fill(0);
        for ((_, role), _, _) in &replicas {
            demand.counts[role.index()] += 1;
        }
        let mut cause = (!quota::admits(&ledger, &demand)).then_some(Cause::Queue);
        for ((_, role), _, node) in &replicas {
            let shape = self.model.role(gang, *role);
            let open = self.model.exclusion(shape, *node).is_none();
            if cause.is_none() && (!open || ledger.most(gang, *role, *node) < 1) {
                cause = Some(Cause::Node(self.rows.nodes[node.index()]));
            }
            ledger.take(gang, *role, *node, 1);
        }
        ledger.rollback(&before);
        self.books = ledger.into_books();
        cause.map_or(Ok(replicas), Err)
    }

    fn judge_rows(&self, decisions: &Decisions) -> Result<(), Error> {
        let count = decisions.gangs.len();
        let mut problems = Vec::new();
        let mut report = |path: String, message: String| {
            problems.push(Problem { path, code: ProblemCode::OutOfRange, message });
        };
        let columns = [
            ("gangs", &decisions.gangs, self.columns.gangs.names.len()),
            ("roles", &decisions.roles, self.columns.roles.names.len()),
            ("nodes", &decisions.nodes, self.columns.nodes.names.len()),
            ("indexes", &decisions.indexes, u32::MAX as usize),
        ];
        for (name, column, end) in columns {
            if column.len() != count {
                report(format!("$.{name}"), format!("must have {count} rows, not {}", column.len()));
            }
            for (row, position) in
                column.iter().enumerate().filter(|(_, position)| **position as usize >= end)
            {
                report(format!("$.{name}[{row}]"), format!("must be below {end}, not {position}"));
            }
        }
        for (row, (role, index)) in decisions.roles.iter().zip(&decisions.indexes).enumerate() {
            let replicas = self.columns.roles.replicas.get(*role as usize).copied();
            if let Some(replicas) = replicas.filter(|replicas| i64::from(*index) >= *replicas) {
                report(format!("$.indexes[{row}]"), format!("must be below {replicas}, not {index}"));
            }
        }
        if problems.is_empty() { Ok(()) } else { Err(Error::Invalid { document: "decisions", problems }) }
    }
}
